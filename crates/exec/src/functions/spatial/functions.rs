//! Spatial functions. An invalid shape makes the result undefined, except in the validity
//! functions.

use orrery_json::{Object, Value};

use super::geojson::{self, GeoShape};
use super::{measure, relation};
use crate::functions::{Argument, Arity, Evaluate, Function};

pub(in super::super) const FUNCTIONS: &[Function] = &[
    binary("ST_DISTANCE", |arguments| {
        let (a, b) = shapes(arguments)?;
        Some(Value::from(measure::distance(&a, &b)))
    }),
    binary("ST_WITHIN", |arguments| {
        let (a, b) = shapes(arguments)?;
        Some(Value::Bool(relation::within(&a, &b)))
    }),
    binary("ST_INTERSECTS", |arguments| {
        let (a, b) = shapes(arguments)?;
        Some(Value::Bool(relation::intersects(&a, &b)))
    }),
    unary("ST_AREA", |arguments| {
        Some(Value::from(measure::area(&shape(arguments.first()?)?)))
    }),
    Function::seeing_undefined("ST_ISVALID", Arity::Exactly(1), |arguments| {
        Some(Value::Bool(shape(arguments.first()?).is_some()))
    }),
    Function::seeing_undefined("ST_ISVALIDDETAILED", Arity::Exactly(1), is_valid_detailed),
];

const fn unary(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Exactly(1), evaluate)
}

const fn binary(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Exactly(2), evaluate).with_step_cost(pairs_of_points)
}

/// Step count: a function may compare every edge of one shape with every edge of the other.
fn pairs_of_points(arguments: &[Argument<'_>]) -> u64 {
    let points = arguments
        .iter()
        .map(|shape| points(shape.get("coordinates")));
    points.product::<u64>() / PAIRS_PER_STEP
}

/// The number of points in nested coordinate arrays.
fn points(coordinates: &Value) -> u64 {
    match coordinates.as_array().unwrap_or_default() {
        [] => 0,
        [Value::Number(_), ..] => 1,
        parts => parts.iter().map(points).sum(),
    }
}

/// Pairs of edges that are compared in about the time of one loop row.
const PAIRS_PER_STEP: u64 = 8;

fn shapes(arguments: &[Argument<'_>]) -> Option<(GeoShape, GeoShape)> {
    Some((shape(arguments.first()?)?, shape(arguments.get(1)?)?))
}

fn shape(value: &Value) -> Option<GeoShape> {
    geojson::parse(value.as_object()?).ok()
}

/// The reason for values that are no objects.
const NO_GEOMETRY: &str = "Unable to process the geometry.";

/// The validity of a shape with the reason of a refusal, in the form of the service.
fn is_valid_detailed(arguments: &[Argument<'_>]) -> Option<Value> {
    let shape = arguments.first()?.as_object().map(geojson::parse);
    let mut details = Object::default();
    let is_valid = matches!(shape, Some(Ok(_)));
    details.insert("valid".to_owned(), Value::Bool(is_valid));
    match shape {
        Some(Ok(_)) => None,
        Some(Err(invalid)) => details.insert("reason".to_owned(), Value::from(invalid.to_string())),
        None => details.insert("reason".to_owned(), Value::from(NO_GEOMETRY)),
    };
    Some(Value::Object(details))
}
