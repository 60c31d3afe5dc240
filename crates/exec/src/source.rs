//! `FROM` and `JOIN`: the rows of one document, as a product of its parts.

use std::ops::ControlFlow::{self, Break, Continue};

use orrery_json::Value;
use orrery_sql::ast::{self, Collection, Identifier, PathStep};

use crate::CompileError;
use crate::block::Block;
use crate::compile::step_into;
use crate::frame::Frame;
use crate::scalar::{Scalar, Step};
use crate::scope::Scope;

const JOINS_MAX: usize = 10;

#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// A row where the value is there. It needs no frame: its name stands for the path.
    Defined(Scalar),
    /// A row for each element of an array.
    Elements(Scalar),
    /// A row for each row of a subquery.
    Rows(Box<Block>),
    /// A row for each element of the arrays that a subquery gives.
    ElementsOfRows(Box<Block>),
}

/// Sources in the order they are written, and what `*` is when there is one.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) list: Vec<Source>,
    pub(crate) star: Option<Scalar>,
}

impl Sources {
    /// Binds the aliases in `scope`; each source sees those before it.
    pub(crate) fn compile(
        from: &[ast::Source],
        scope: &mut Scope<'_>,
    ) -> Result<Sources, CompileError> {
        if from.len() > JOINS_MAX + 1 {
            return Err(CompileError::TooMany {
                what: "JOIN clauses",
                limit: JOINS_MAX,
            });
        }
        let outer = scope.inside();
        let mut list = Vec::new();
        let mut star = None;
        for source in from {
            let (compiled, value) = compile(source, scope, &outer)?;
            list.extend(compiled);
            star = Some(value);
            scope.seal_container();
        }
        Ok(Sources {
            list,
            star: star.filter(|_| from.len() == 1),
        })
    }
}

fn compile(
    source: &ast::Source,
    scope: &mut Scope<'_>,
    outer: &Scope<'_>,
) -> Result<(Option<Source>, Scalar), CompileError> {
    match source {
        ast::Source::Value {
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
            let is_document = matches!(&value, Scalar::Path(0, steps) if steps.is_empty());
            let defined = (!is_document).then(|| Source::Defined(value.clone()));
            Ok((defined, value))
        }
        ast::Source::Value {
            collection: Collection::Subquery(query),
            alias,
        } => {
            let block = Block::subquery(query, scope)?;
            if let Some(alias) = alias {
                check_alias(alias, scope, outer)?;
            }
            let value = scope.push(alias.as_ref().map(|alias| &*alias.name));
            Ok((Some(Source::Rows(Box::new(block))), value))
        }
        ast::Source::Elements { alias, collection } => {
            let source = match collection {
                Collection::Path { root, steps } => Source::Elements(path(root, steps, scope)?),
                Collection::Subquery(query) => {
                    Source::ElementsOfRows(Box::new(Block::subquery(query, scope)?))
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
                PathStep::Name(name) | PathStep::Key(name) => Step::Name(name.clone()),
                PathStep::Index(index) => {
                    Step::Index(usize::try_from(*index).unwrap_or(usize::MAX))
                }
            },
        )
    }))
}

/// `FROM c.a.b` binds `b`; an indexer binds nothing.
fn inferred_alias<'a>(root: &'a Identifier, steps: &'a [PathStep]) -> Option<&'a str> {
    match steps.last() {
        None => Some(&root.name),
        Some(PathStep::Name(name)) => Some(name),
        Some(_) => None,
    }
}

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

/// Gives every combination of the sources to `visit`, until it breaks or the query fails.
pub(crate) fn each(
    sources: &[Source],
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
        Source::Defined(value) => {
            if value.evaluate(frame).is_undefined() {
                return Continue(());
            }
            each(rest, frame, visit)
        }
        Source::Elements(array) => {
            let array = array.evaluate(frame);
            let mut held = context.hold();
            if !held.add_made(&array) {
                return Break(());
            }
            let elements = array.as_array().unwrap_or_default();
            elements.iter().try_for_each(go_on)
        }
        Source::Rows(block) => block.each_row(frame, &mut |row| {
            let mut held = context.hold();
            if !held.add(&row) {
                return Break(());
            }
            go_on(&row)
        }),
        Source::ElementsOfRows(block) => block.each_row(frame, &mut |row| {
            let mut held = context.hold();
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
