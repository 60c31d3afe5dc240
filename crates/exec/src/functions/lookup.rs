//! Facts about built-in functions for callers that run no query.

use std::borrow::Cow;

use orrery_json::Value;

use crate::context::Context;

use super::{Arity, FAMILIES, Function, pending};

/// The number of arguments of a function: a minimum and an optional maximum.
///
/// A function that is not implemented yet is known; the compiler refuses a query that calls it.
pub fn function_arity(name: &str) -> Option<(usize, Option<usize>)> {
    let arity = match named(name) {
        Some(function) => function.arity,
        None => pending::arity(name)?,
    };
    Some(match arity {
        Arity::Exactly(count) => (count, Some(count)),
        Arity::Between(low, high) => (low, Some(high)),
        Arity::AtLeast(low) => (low, None),
    })
}

/// The value of a call with constant arguments; `None` if the value depends on the query's time,
/// takes too long, or the function is not implemented.
pub fn evaluate_function(name: &str, arguments: &[Value]) -> Option<Value> {
    let function = named(name)?;
    if function.takes_now || !function.arity.accepts(arguments.len()) {
        return None;
    }
    let context = Context::untimed();
    let value = function.call_in(&context, arguments.iter().map(Cow::Borrowed));
    (!context.has_failed()).then_some(value)
}

/// Finds a function by its name in any case.
fn named(name: &str) -> Option<&'static Function> {
    let mut functions = FAMILIES.iter().flat_map(|family| family.iter());
    functions.find(|function| function.name.eq_ignore_ascii_case(name))
}
