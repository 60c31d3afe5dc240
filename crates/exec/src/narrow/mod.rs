//! From a compiled query to what it says about single paths.
//!
//! The filter is read twice: for when it is true, and, below a `NOT`, for when it is false. Both
//! readings are consequences only, so that three-valued logic needs no third: what is undefined is
//! neither. A frame of a join or a subquery stands for a path with an element on its way where it
//! can; a document gives a row only if some element satisfies the filter, and so the document has
//! a value at each path that the filter speaks of.

mod atom;
mod call;
mod combine;
mod constant;
mod filter;
mod range;
mod resumed;
mod rows;

use orrery_json::Value;

use crate::predicate::{DocumentPath, Narrowing, PathStep, Predicate};
use crate::program::Program;
use crate::scalar::{Scalar, Step};

/// A consequence of some condition.
#[derive(Debug, Clone, PartialEq)]
struct Narrow {
    predicate: Predicate,
    /// Whether the condition is a consequence of it as well.
    is_exact: bool,
}

impl Narrow {
    /// The condition is always true.
    const TRUE: Narrow = Narrow {
        predicate: Predicate::Anything,
        is_exact: true,
    };

    /// The condition is never true.
    const FALSE: Narrow = Narrow {
        predicate: Predicate::Nothing,
        is_exact: true,
    };

    /// Nothing is known.
    const UNKNOWN: Narrow = Narrow {
        predicate: Predicate::Anything,
        is_exact: false,
    };

    fn vague(self) -> Narrow {
        Narrow {
            is_exact: self.is_exact && self.predicate == Predicate::Nothing,
            ..self
        }
    }
}

/// What the frames of an expression stand for, by their level.
#[derive(Debug, Clone)]
struct Frames<'a> {
    places: Vec<Option<Place>>,
    /// The values of the program's parameters.
    parameters: &'a [Value],
}

/// Where in the document a value is.
#[derive(Debug, Clone, PartialEq)]
struct Place {
    path: DocumentPath,
    /// Whether the path has this value and no other.
    is_exact: bool,
}

impl<'a> Frames<'a> {
    fn document(parameters: &'a [Value]) -> Frames<'a> {
        let root = Place {
            path: DocumentPath::default(),
            is_exact: true,
        };
        Frames {
            places: vec![Some(root)],
            parameters,
        }
    }

    fn with(&self, place: Option<Place>) -> Frames<'a> {
        let mut frames = self.clone();
        frames.places.push(place);
        frames
    }

    /// The value of an expression that has the same one for every document.
    fn constant(&self, scalar: &Scalar) -> Option<Value> {
        constant::value(scalar, self.parameters)
    }

    /// Where the value of an expression is, if it is a path of the document.
    fn place(&self, scalar: &Scalar) -> Option<Place> {
        let Scalar::Path(level, steps) = scalar else {
            return None;
        };
        let mut place = self.places.get(*level)?.clone()?;
        for step in steps {
            place = match step {
                Step::Name(name) => place.then(PathStep::Name(name.clone())),
                Step::Index(_) => place.element(),
            };
        }
        Some(place)
    }
}

impl Place {
    fn then(mut self, step: PathStep) -> Place {
        self.path.0.push(step);
        self
    }

    fn element(self) -> Place {
        Place {
            is_exact: false,
            ..self.then(PathStep::Element)
        }
    }
}

/// What every document that gives a row of the program satisfies.
pub(crate) fn narrowing(program: &Program) -> Narrowing {
    if !program.reads_documents() {
        return Narrowing {
            predicate: Predicate::Anything,
            is_exact: false,
        };
    }
    let (filter, _) = rows::of_frames(program.block(), &Frames::document(program.parameters()));
    let resumed = resumed::of(program, &filter.predicate);
    let narrow = match resumed {
        None => filter,
        Some(resumed) => combine::all(vec![filter, resumed.vague()]),
    };
    Narrowing {
        predicate: narrow.predicate,
        is_exact: narrow.is_exact,
    }
}
