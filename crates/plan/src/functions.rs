//! The planner's interface to the built-in functions.

use std::fmt;

use orrery_json::Value;

/// The built-in functions of the engine that runs the query.
///
/// The planner treats aggregates, `FullTextScore` and `RRF` as clauses and does not look them up
/// here.
pub trait BuiltinFunctions {
    /// The number of arguments of the function; `None` if the function does not exist. Names are
    /// compared without case.
    fn arity(&self, name: &str) -> Option<Arity>;

    /// The value of a call with constant arguments.
    ///
    /// `None` if the value is not constant, because the function depends on the clock or on random
    /// numbers, or cannot run during planning. The planner then assumes that a constant filter may
    /// hold.
    fn evaluate(&self, name: &str, arguments: &[Value]) -> Option<Value>;
}

/// The number of arguments that a function accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    Exactly(usize),
    Between(usize, usize),
    AtLeast(usize),
}

impl Arity {
    pub fn accepts(self, count: usize) -> bool {
        match self {
            Arity::Exactly(expected) => count == expected,
            Arity::Between(low, high) => (low..=high).contains(&count),
            Arity::AtLeast(low) => count >= low,
        }
    }
}

impl fmt::Display for Arity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arity::Exactly(count) => write!(f, "{count}"),
            Arity::Between(low, high) => write!(f, "{low} to {high}"),
            Arity::AtLeast(low) => write!(f, "at least {low}"),
        }
    }
}
