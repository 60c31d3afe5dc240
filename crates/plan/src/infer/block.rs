//! A query or subquery: the rows that it can have under the facts about its document.

use orrery_json::Value;
use orrery_sql::ast::{Collection, Expr, FromSource, Identifier, PathStep, Projection, Query};

use super::facts::{Facts, ValuePath};
use super::values::{Kinds, Values};
use crate::aggregate::contains_aggregate;
use crate::limits::{INFERENCE_DEPTH_MAX as DEPTH_MAX, INFERENCE_STEPS_MAX as STEPS_MAX};
use crate::ranges::ConstantFolder;
use crate::scope::{PathSegment, is_root_word};
use crate::walk::selected;

/// The state of one inference.
pub(super) struct Inference<'a> {
    pub(super) constants: ConstantFolder<'a>,
    pub(super) facts: Facts,
    /// The visible names, innermost last.
    names: Vec<(String, Named)>,
    /// Number of sources so far; the container is the first.
    sources: usize,
    /// Number of expressions that may still be looked at. Then everything counts as possible.
    steps: usize,
    /// Number of expressions around the one that is looked at.
    pub(super) depth: usize,
}

/// What a name stands for.
#[derive(Debug, Clone)]
pub(super) enum Named {
    ValuePath(ValuePath),
    /// A computed value.
    Values(Box<Values>),
}

impl<'a> Inference<'a> {
    pub(super) fn new(constants: ConstantFolder<'a>) -> Inference<'a> {
        Inference {
            constants,
            facts: Facts::default(),
            names: Vec::new(),
            sources: 1,
            steps: STEPS_MAX,
            depth: 0,
        }
    }

    /// The possible rows of a query; `None` if it has none. What must hold for a row becomes known.
    pub(super) fn block(&mut self, query: &Query) -> Option<Values> {
        let mark = self.names.len();
        let rows = self.rows(query);
        self.names.truncate(mark);
        rows
    }

    fn rows(&mut self, query: &Query) -> Option<Values> {
        if !self.step() {
            return Some(Values::of_kinds(Kinds::DEFINED));
        }
        for source in &query.from {
            self.source(source)?;
        }
        if let Some(filter) = &query.filter
            && !self.assume(filter, true)
        {
            return None;
        }
        let rows = match &query.select.projection {
            Projection::Star(_) => Values::of_kinds(Kinds::DEFINED),
            Projection::Items(_) => Values::of_kinds(Kinds::OBJECT),
            Projection::Value(expr) => self.eval(expr).of_only(Kinds::DEFINED),
        };
        (!rows.is_empty()).then_some(rows)
    }

    /// Binds the name of a source; `None` if the source has no rows.
    fn source(&mut self, source: &FromSource) -> Option<()> {
        let (FromSource::Value { collection, .. } | FromSource::Elements { collection, .. }) =
            source;
        let named = match collection {
            Collection::Path { root, steps } => Named::ValuePath(self.path(root, steps)?),
            Collection::Subquery(query) => self.subquery_source(query)?,
        };
        let named = match source {
            FromSource::Value { .. } => named,
            FromSource::Elements { .. } => {
                let is_array = match &named {
                    Named::ValuePath(place) => {
                        let arrays = Values::of_kinds(Kinds::ARRAY);
                        self.facts.narrow(place, &arrays)
                    }
                    Named::Values(values) => values.may_be(Kinds::ARRAY),
                };
                if !is_array {
                    return None;
                }
                self.sources += 1;
                Named::ValuePath(ValuePath::of_source(self.sources - 1))
            }
        };
        if let Some(alias) = source.alias() {
            self.bind(alias, named);
        }
        Some(())
    }

    /// The place of a path in `FROM`, where the documents must have a value.
    fn path(&mut self, root: &Identifier, steps: &[PathStep]) -> Option<ValuePath> {
        let mut place = match self.lookup(&root.name) {
            Some(Named::ValuePath(place)) => place.clone(),
            Some(Named::Values(_)) => {
                self.sources += 1;
                ValuePath::of_source(self.sources - 1)
            }
            None => ValuePath::of_source(0),
        };
        for step in steps {
            place = place.step(match step {
                PathStep::Name(name) | PathStep::Key(name, _) => PathSegment::Name(name.clone()),
                PathStep::Index(index) => PathSegment::Index(*index),
            });
        }
        let defined = Values::of_kinds(Kinds::DEFINED);
        self.facts.narrow(&place, &defined).then_some(place)
    }

    /// A subquery that gives back a path stands for this path.
    fn subquery_source(&mut self, query: &Query) -> Option<Named> {
        let mark = self.names.len();
        let rows = self.rows(query);
        let place = match &query.select.projection {
            Projection::Value(expr) => self.place(expr),
            Projection::Star(_) => match query.from.as_slice() {
                [source] => source.alias().and_then(|alias| match self.lookup(alias) {
                    Some(Named::ValuePath(place)) => Some(place.clone()),
                    _ => None,
                }),
                _ => None,
            },
            Projection::Items(_) => None,
        };
        self.names.truncate(mark);
        let rows = rows?;
        Some(place.map_or_else(|| Named::Values(Box::new(rows)), Named::ValuePath))
    }

    /// The possible values of a subquery in place of a value.
    pub(super) fn scalar(&mut self, query: &Query) -> Values {
        let is_certain = query.from.is_empty() && query.filter.is_none();
        let is_aggregate =
            query.group_by.is_empty() && selected(query).into_iter().any(contains_aggregate);
        let before = self.facts.clone();
        let rows = self.block(query);
        // What holds for a row need not hold for the document.
        self.facts = before;
        let nothing = Values::of_kinds(Kinds::UNDEFINED);
        match rows {
            Some(rows) if is_certain && !rows.may_be(Kinds::UNDEFINED) => {
                match &query.select.projection {
                    Projection::Value(expr) => self.eval(expr),
                    Projection::Star(_) | Projection::Items(_) => rows,
                }
            }
            Some(rows) => rows.union(&nothing),
            None if is_aggregate => Values::of_kinds(Kinds::ALL),
            None => nothing,
        }
    }

    /// Counts one step; false if none is left.
    pub(super) fn step(&mut self) -> bool {
        self.steps = self.steps.saturating_sub(1);
        self.steps > 0 && self.depth < DEPTH_MAX
    }

    pub(super) fn bind(&mut self, name: &str, named: Named) {
        self.names.push((name.to_owned(), named));
    }

    pub(super) fn unbind(&mut self) {
        self.names.pop();
    }

    pub(super) fn lookup(&self, name: &str) -> Option<&Named> {
        self.names
            .iter()
            .rev()
            .find(|(known, _)| known == name || is_root_word(known) && is_root_word(name))
            .map(|(_, named)| named)
    }

    /// The place of a path expression.
    pub(super) fn place(&self, expr: &Expr) -> Option<ValuePath> {
        match expr {
            Expr::Identifier(name) => match self.lookup(&name.name)? {
                Named::ValuePath(place) => Some(place.clone()),
                Named::Values(_) => None,
            },
            Expr::Member { object, name, .. } => {
                Some(self.place(object)?.step(PathSegment::Name(name.clone())))
            }
            Expr::Index { object, index, .. } => {
                let segment = match self.constants.value(index)? {
                    Value::String(name) => PathSegment::Name(name),
                    value => PathSegment::Index(u64::try_from(value.as_number()?.as_i64()?).ok()?),
                };
                Some(self.place(object)?.step(segment))
            }
            Expr::Subquery {
                kind: orrery_sql::ast::SubqueryKind::Scalar,
                query,
            } => match &query.select.projection {
                Projection::Value(value) if query.from.is_empty() && query.filter.is_none() => {
                    self.place(value)
                }
                _ => None,
            },
            _ => None,
        }
    }
}
