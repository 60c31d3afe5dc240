//! Built-in functions: one family per file, each with a table of what it has.

mod aggregate_array;
mod array;
mod conditional;
mod conversion;
mod integer;
mod math;
mod pending;
mod set;
mod string;
mod string_search;
mod type_check;

use std::borrow::Cow;
use std::fmt;

use orrery_json::Value;
use orrery_sql::ast::Call;

use crate::CompileError;

/// The tables, in no particular order; no name occurs twice.
const FAMILIES: &[&[Function]] = &[
    aggregate_array::FUNCTIONS,
    array::FUNCTIONS,
    conditional::FUNCTIONS,
    conversion::FUNCTIONS,
    integer::FUNCTIONS,
    math::FUNCTIONS,
    set::FUNCTIONS,
    string::FUNCTIONS,
    string_search::FUNCTIONS,
    type_check::FUNCTIONS,
];

/// One built-in function.
#[derive(Debug)]
pub(crate) struct Function {
    /// Found in any case.
    name: &'static str,
    arity: Arity,
    on_undefined: OnUndefined,
    evaluate: Evaluate,
}

pub(crate) type Argument<'a> = Cow<'a, Value>;

/// Gets as many arguments as the arity allows. Arguments of a wrong type give `None`, which is
/// `Undefined`; there are no errors.
type Evaluate = fn(&[Argument<'_>]) -> Option<Value>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnUndefined {
    /// One undefined argument makes the result undefined.
    Propagate,
    /// The function looks at undefined arguments itself.
    Evaluate,
}

#[derive(Debug, Clone, Copy)]
enum Arity {
    Exactly(usize),
    Between(usize, usize),
    AtLeast(usize),
}

impl Function {
    const fn new(name: &'static str, arity: Arity, evaluate: Evaluate) -> Function {
        Function {
            name,
            arity,
            on_undefined: OnUndefined::Propagate,
            evaluate,
        }
    }

    const fn seeing_undefined(name: &'static str, arity: Arity, evaluate: Evaluate) -> Function {
        Function {
            name,
            arity,
            on_undefined: OnUndefined::Evaluate,
            evaluate,
        }
    }

    /// The value of the call, with its arguments evaluated one by one as long as that matters.
    pub(crate) fn call<'a>(&self, arguments: impl Iterator<Item = Argument<'a>>) -> Value {
        let mut values = Vec::with_capacity(arguments.size_hint().0);
        for value in arguments {
            if value.is_undefined() && self.on_undefined == OnUndefined::Propagate {
                return Value::Undefined;
            }
            values.push(value);
        }
        (self.evaluate)(&values).unwrap_or_default()
    }
}

impl Arity {
    fn accepts(self, count: usize) -> bool {
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

/// The function that `call` names, if it takes as many arguments.
pub(crate) fn find(call: &Call) -> Result<&'static Function, CompileError> {
    let name = &call.name;
    let function = FAMILIES
        .iter()
        .flat_map(|family| family.iter())
        .find(|function| function.name.eq_ignore_ascii_case(&name.name));
    match function {
        Some(function) if function.arity.accepts(call.arguments.len()) => Ok(function),
        Some(function) => Err(CompileError::ArgumentCount {
            name: name.name.clone(),
            expected: function.arity.to_string(),
            span: call.span,
        }),
        None if pending::contains(&name.name) => {
            Err(CompileError::unsupported(format!("function {}", name.name)))
        }
        None => Err(CompileError::UnknownFunction {
            name: name.name.clone(),
            span: name.span,
        }),
    }
}

/// A count as a value.
fn count(count: usize) -> Option<Value> {
    i64::try_from(count).ok().map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<String> = FAMILIES
            .iter()
            .flat_map(|family| family.iter())
            .map(|function| function.name.to_ascii_uppercase())
            .collect();
        for name in &names {
            assert!(!pending::contains(name), "{name} is implemented");
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
