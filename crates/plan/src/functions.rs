//! What planning must know of the built-in functions.

use std::fmt;

use orrery_json::Value;

/// The built-in functions of whoever will run the query.
///
/// Aggregates, `FullTextScore` and `RRF` are clauses in disguise; the planner knows them itself
/// and does not ask for them.
pub trait Functions {
    /// How many arguments the function takes; `None` if there is no such function. Names are
    /// equal in any case.
    fn arity(&self, name: &str) -> Option<Arity>;

    /// The value of a call whose arguments are known before any document is read.
    ///
    /// `None` if the value is not known then: it depends on the clock, on chance, or the
    /// function cannot be run yet. A constant filter is then taken as one that may hold.
    fn evaluate(&self, name: &str, arguments: &[Value]) -> Option<Value>;
}

/// How many arguments a function takes.
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
