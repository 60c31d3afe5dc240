//! Arrays as sets: no element twice in a result.

use orrery_json::Value;

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
    Function::new(name, Arity::Exactly(2), evaluate)
}

fn arrays<'a>(arguments: &'a [Argument<'_>]) -> Option<(&'a [Value], &'a [Value])> {
    Some((
        arguments.first()?.as_array()?,
        arguments.get(1)?.as_array()?,
    ))
}

/// In the order of the second array, as the service answers.
fn intersect(arguments: &[Argument<'_>]) -> Option<Value> {
    let (a, b) = arrays(arguments)?;
    Some(distinct(b.iter().filter(|value| a.contains(value))))
}

fn union(arguments: &[Argument<'_>]) -> Option<Value> {
    let (a, b) = arrays(arguments)?;
    Some(distinct(a.iter().chain(b)))
}

fn difference(arguments: &[Argument<'_>]) -> Option<Value> {
    let (a, b) = arrays(arguments)?;
    Some(distinct(a.iter().filter(|value| !b.contains(value))))
}

fn equals(arguments: &[Argument<'_>]) -> Option<Value> {
    let (a, b) = arrays(arguments)?;
    let within = |a: &[Value], b: &[Value]| a.iter().all(|value| b.contains(value));
    Some(Value::Bool(within(a, b) && within(b, a)))
}

fn distinct<'a>(values: impl Iterator<Item = &'a Value>) -> Value {
    let mut kept: Vec<Value> = Vec::new();
    for value in values {
        if !kept.contains(value) {
            kept.push(value.clone());
        }
    }
    Value::Array(kept)
}
