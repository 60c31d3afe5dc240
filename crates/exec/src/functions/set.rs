//! Arrays as sets: results contain no element twice. The cost is linear in both arrays.

use std::collections::HashSet;

use orrery_json::Value;

use super::array::copies;
use super::canonical::canonical;
use super::{Argument, Arity, Evaluate, Function};

pub(super) const FUNCTIONS: &[Function] = &[
    binary("SETINTERSECT", intersect),
    binary("SET_INTERSECT", intersect),
    binary("SETUNION", union),
    binary("SET_UNION", union),
    binary("SETDIFFERENCE", difference),
    binary("SET_DIFFERENCE", difference),
    binary("SETEQUAL", equals),
    binary("SET_EQUAL", equals),
];

const fn binary(name: &'static str, evaluate: Evaluate) -> Function {
    // The bound covers the canonical forms for the comparison, and the result.
    Function::new(name, Arity::Exactly(2), evaluate)
        .with_memory_bound(|arguments| 2 * copies(arguments))
}

fn arrays<'a>(arguments: &'a [Argument<'_>]) -> Option<(&'a [Value], &'a [Value])> {
    Some((
        arguments.first()?.as_array()?,
        arguments.get(1)?.as_array()?,
    ))
}

/// The intersection in the order of the second array, as the service returns it.
fn intersect(arguments: &[Argument<'_>]) -> Option<Value> {
    let (a, b) = arrays(arguments)?;
    let a = members(a);
    Some(distinct(b, |member| a.contains(member)))
}

fn union(arguments: &[Argument<'_>]) -> Option<Value> {
    let (a, b) = arrays(arguments)?;
    Some(distinct(a.iter().chain(b), |_| true))
}

fn difference(arguments: &[Argument<'_>]) -> Option<Value> {
    let (a, b) = arrays(arguments)?;
    let b = members(b);
    Some(distinct(a, |member| !b.contains(member)))
}

fn equals(arguments: &[Argument<'_>]) -> Option<Value> {
    let (a, b) = arrays(arguments)?;
    Some(Value::Bool(members(a) == members(b)))
}

/// The canonical forms of all elements.
fn members(values: &[Value]) -> HashSet<Vec<u8>> {
    values.iter().map(canonical).collect()
}

/// The accepted values in their order, each once.
fn distinct<'a>(
    values: impl IntoIterator<Item = &'a Value>,
    accept: impl Fn(&Vec<u8>) -> bool,
) -> Value {
    let mut seen = HashSet::new();
    let first_of_its_kind = |value: &&Value| {
        let member = canonical(value);
        accept(&member) && seen.insert(member)
    };
    Value::Array(
        values
            .into_iter()
            .filter(first_of_its_kind)
            .cloned()
            .collect(),
    )
}
