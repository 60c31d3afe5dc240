//! Derives predicates about single paths from a compiled query.
//!
//! The filter is analysed for being true, and below a `NOT` for being false. Both analyses give
//! consequences only. Three-valued logic needs no third analysis: an undefined condition is
//! neither. A frame of a join or subquery stands for a path through an array element where
//! possible. A document gives a row only if some element satisfies the filter, so the document has
//! a value at each path that the filter mentions.

mod atom;
mod call;
mod combine;
mod constant;
mod filter;
mod range;
mod resumed;
mod rows;

use orrery_json::Value;

use crate::predicate::{DocumentPath, PathStep, Predicate, SargableFilter};
use crate::program::Program;
use crate::scalar::{Scalar, ValueStep};

/// A consequence of a condition.
#[derive(Debug, Clone, PartialEq)]
struct ImpliedPredicate {
    predicate: Predicate,
    /// Whether the predicate also implies the condition.
    is_exact: bool,
}

impl ImpliedPredicate {
    /// The condition is always true.
    const TRUE: ImpliedPredicate = ImpliedPredicate {
        predicate: Predicate::Anything,
        is_exact: true,
    };

    /// The condition is never true.
    const FALSE: ImpliedPredicate = ImpliedPredicate {
        predicate: Predicate::Nothing,
        is_exact: true,
    };

    /// Nothing is known about the condition.
    const UNKNOWN: ImpliedPredicate = ImpliedPredicate {
        predicate: Predicate::Anything,
        is_exact: false,
    };

    /// Marks the predicate as a mere consequence. A condition that is never true stays exact.
    fn inexact(self) -> ImpliedPredicate {
        ImpliedPredicate {
            is_exact: self.is_exact && self.predicate == Predicate::Nothing,
            ..self
        }
    }
}

/// The values that the frames of an expression stand for, by level.
#[derive(Debug, Clone)]
struct FrameBindings<'a> {
    paths: Vec<Option<BoundPath>>,
    /// The values of the program's parameters.
    parameters: &'a [Value],
}

/// The document path of a value.
#[derive(Debug, Clone, PartialEq)]
struct BoundPath {
    path: DocumentPath,
    /// Whether the path leads to this single value.
    is_exact: bool,
}

impl<'a> FrameBindings<'a> {
    fn document(parameters: &'a [Value]) -> FrameBindings<'a> {
        let root = BoundPath {
            path: DocumentPath::default(),
            is_exact: true,
        };
        FrameBindings {
            paths: vec![Some(root)],
            parameters,
        }
    }

    fn with(&self, bound_path: Option<BoundPath>) -> FrameBindings<'a> {
        let mut frames = self.clone();
        frames.paths.push(bound_path);
        frames
    }

    /// The value of a constant expression.
    fn constant(&self, scalar: &Scalar) -> Option<Value> {
        constant::value(scalar, self.parameters)
    }

    /// The document path of an expression, if the expression is a path.
    fn bound_path(&self, scalar: &Scalar) -> Option<BoundPath> {
        let Scalar::Path(level, steps) = scalar else {
            return None;
        };
        let mut bound_path = self.paths.get(*level)?.clone()?;
        for step in steps {
            bound_path = match step {
                ValueStep::Name(name) => bound_path.then(PathStep::Name(name.clone())),
                ValueStep::Index(_) => bound_path.element(),
            };
        }
        Some(bound_path)
    }
}

impl BoundPath {
    fn then(mut self, step: PathStep) -> BoundPath {
        self.path.0.push(step);
        self
    }

    fn element(self) -> BoundPath {
        BoundPath {
            is_exact: false,
            ..self.then(PathStep::Element)
        }
    }
}

/// The predicate that every document with a row of the program satisfies.
pub(crate) fn sargable_filter(program: &Program) -> SargableFilter {
    if !program.reads_documents() {
        return SargableFilter {
            predicate: Predicate::Anything,
            is_exact: false,
        };
    }
    let (filter, _) = rows::frames_exist(
        program.block(),
        &FrameBindings::document(program.parameters()),
    );
    let resumed = resumed::of(program, &filter.predicate);
    let narrow = match resumed {
        None => filter,
        // A resume filter only starts the result, so it never makes the predicate exact.
        Some(resumed) => combine::all(vec![filter, resumed.inexact()]),
    };
    SargableFilter {
        predicate: narrow.predicate,
        is_exact: narrow.is_exact,
    }
}
