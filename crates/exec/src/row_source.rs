//! `FROM` and `JOIN`: the rows of one document, as a product of its parts.

use std::ops::ControlFlow::{self, Break, Continue};

use orrery_json::Value;
use orrery_sql::ast::{self, Collection, Identifier, PathStep};

use crate::CompileError;
use crate::compile::step_into;
use crate::frame::Frame;
use crate::query_block::QueryBlock;
use crate::scalar::{Scalar, ValueStep};
use crate::scope::Scope;

/// Limit of joins in one query.
const JOINS_MAX: usize = 10;

/// A compiled source.
#[derive(Debug, Clone)]
pub(crate) enum RowSource {
    /// A row if the value is defined. It needs no frame: its name stands for the path.
    Defined(Scalar),
    /// A row for each element of an array.
    Elements(Scalar),
    /// A row for each row of a subquery.
    Rows(Box<QueryBlock>),
    /// A row for each element of the arrays that a subquery returns.
    ElementsOfRows(Box<QueryBlock>),
}

/// The sources in written order, and the value of `*` for a single source.
#[derive(Debug)]
pub(crate) struct RowSources {
    pub(crate) list: Vec<RowSource>,
    /// Conditions of subqueries that only filter a path; they apply to every row.
    pub(crate) filters: Vec<Scalar>,
    pub(crate) star: Option<Scalar>,
}

impl RowSources {
    /// Compiles the sources and binds their aliases in `scope`; each source sees the earlier ones.
    pub(crate) fn compile(
        from: &[ast::FromSource],
        scope: &mut Scope<'_>,
    ) -> Result<RowSources, CompileError> {
        if from.len() > JOINS_MAX + 1 {
            return Err(CompileError::TooMany {
                what: "JOIN clauses",
                limit: JOINS_MAX,
            });
        }
        let outer = scope.inside();
        let (mut list, mut filters) = (Vec::new(), Vec::new());
        let mut star = None;
        for source in from {
            let (compiled, value) = compile(source, scope, &outer, &mut filters)?;
            list.extend(compiled);
            star = Some(value);
            // Only the first source may name the container, so later unknown names are errors.
            scope.fix_container_name();
        }
        Ok(RowSources {
            list,
            filters,
            star: star.filter(|_| from.len() == 1),
        })
    }
}

/// Compiles one source; returns it together with the value that `*` has for it.
fn compile(
    source: &ast::FromSource,
    scope: &mut Scope<'_>,
    outer: &Scope<'_>,
    filters: &mut Vec<Scalar>,
) -> Result<(Option<RowSource>, Scalar), CompileError> {
    match source {
        ast::FromSource::Value {
            collection: Collection::Path { root, steps },
            alias,
        } => {
            let value = path(root, steps, scope)?;
            if let Some(alias) = alias {
                check_alias(alias, scope, outer)?;
                scope.bind(&alias.name, value.clone());
            } else if let Some(name) = inferred_alias(root, steps) {
                scope.bind(name, value.clone());
            }
            // The document itself is always defined and needs no source.
            let is_document = matches!(&value, Scalar::Path(0, steps) if steps.is_empty());
            let defined = (!is_document).then(|| RowSource::Defined(value.clone()));
            Ok((defined, value))
        }
        ast::FromSource::Value {
            collection: Collection::Subquery(query),
            alias,
        } => {
            // A subquery that only filters a path becomes that path and a condition, so an index
            // can serve it.
            if let Some(filtered) = query.filtered_source() {
                let outside = scope.inside();
                let mut inside = scope.inside();
                let (compiled, value) = compile(filtered, &mut inside, &outside, filters)?;
                if let Some(filter) = &query.filter {
                    inside.fix_container_name();
                    filters.push(inside.compile(filter)?);
                }
                if let Some(alias) = alias {
                    check_alias(alias, scope, outer)?;
                    scope.bind(&alias.name, value.clone());
                }
                // A source that is not a path has its own frame, and later names must count that
                // frame.
                scope.adopt_level(&inside);
                return Ok((compiled, value));
            }
            let block = QueryBlock::subquery(query, scope)?;
            if let Some(alias) = alias {
                check_alias(alias, scope, outer)?;
            }
            let value = scope.push(alias.as_ref().map(|alias| &*alias.name));
            Ok((Some(RowSource::Rows(Box::new(block))), value))
        }
        ast::FromSource::Elements { alias, collection } => {
            let source = match collection {
                Collection::Path { root, steps } => RowSource::Elements(path(root, steps, scope)?),
                Collection::Subquery(query) => {
                    RowSource::ElementsOfRows(Box::new(QueryBlock::subquery(query, scope)?))
                }
            };
            check_alias(alias, scope, outer)?;
            Ok((Some(source), scope.push(Some(&alias.name))))
        }
    }
}

fn path(
    root: &Identifier,
    steps: &[PathStep],
    scope: &mut Scope<'_>,
) -> Result<Scalar, CompileError> {
    let root = scope.resolve_source(root)?;
    Ok(steps.iter().fold(root, |value, step| {
        step_into(
            value,
            match step {
                PathStep::Name(name) | PathStep::Key(name, _) => ValueStep::Name(name.clone()),
                PathStep::Index(index) => {
                    ValueStep::Index(usize::try_from(*index).unwrap_or(usize::MAX))
                }
            },
        )
    }))
}

/// The implicit alias: `FROM c.a.b` binds `b`; an indexer binds nothing.
fn inferred_alias<'a>(root: &'a Identifier, steps: &'a [PathStep]) -> Option<&'a str> {
    match steps.last() {
        None => Some(&root.name),
        Some(PathStep::Name(name)) => Some(name),
        Some(_) => None,
    }
}

/// Refuses an alias that the same `FROM` clause has bound before.
fn check_alias(
    alias: &Identifier,
    scope: &Scope<'_>,
    outer: &Scope<'_>,
) -> Result<(), CompileError> {
    if scope.binds_more_than(outer, &alias.name) {
        return Err(CompileError::DuplicateAlias {
            name: alias.name.clone(),
            span: alias.span,
        });
    }
    Ok(())
}

/// Visits every combination of the sources until `visit` breaks or the query fails.
pub(crate) fn each(
    sources: &[RowSource],
    frame: &Frame<'_>,
    visit: &mut dyn FnMut(&Frame<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some((source, rest)) = sources.split_first() else {
        return visit(frame);
    };
    let context = frame.context();
    let mut go_on = |value: &Value| {
        if !context.step() {
            return Break(());
        }
        each(rest, &frame.with(value), visit)
    };
    match source {
        RowSource::Defined(value) => {
            if value.evaluate(frame).is_undefined() {
                return Continue(());
            }
            each(rest, frame, visit)
        }
        RowSource::Elements(array) => {
            // The elements stay in memory during the whole loop below, so the lease spans the loop.
            let array = array.evaluate(frame);
            let mut held = context.scoped_lease();
            if !held.add_made(&array) {
                return Break(());
            }
            let elements = array.as_array().unwrap_or_default();
            elements.iter().try_for_each(go_on)
        }
        RowSource::Rows(block) => block.each_row(frame, &mut |row| {
            let mut held = context.scoped_lease();
            if !held.add(&row) {
                return Break(());
            }
            go_on(&row)
        }),
        RowSource::ElementsOfRows(block) => block.each_row(frame, &mut |row| {
            let mut held = context.scoped_lease();
            if !held.add(&row) {
                return Break(());
            }
            row.as_array()
                .unwrap_or_default()
                .iter()
                .try_for_each(&mut go_on)
        }),
    }
}
