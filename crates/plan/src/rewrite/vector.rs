//! The sort direction of vector distances, which depends on the distance function.

use orrery_sql::ast::{Call, Expr, Literal, OrderItem, SortDirection};

use crate::scope::{Scope, matches_path};
use crate::{DistanceFunction, PlanRequest};

/// The direction of an `ORDER BY` item. Without an explicit direction, the nearest vectors sort
/// first.
pub(super) fn direction(item: &OrderItem, request: &PlanRequest<'_>) -> SortDirection {
    if let Some(direction) = item.direction {
        return direction;
    }
    match &item.expr {
        Expr::Call(call) => match distance_function(call, request) {
            DistanceFunction::Euclidean => SortDirection::Ascending,
            DistanceFunction::Cosine | DistanceFunction::DotProduct => SortDirection::Descending,
        },
        _ => SortDirection::Ascending,
    }
}

/// The distance function from the options of the call, else from the container's policy for the
/// path, else cosine.
fn distance_function(call: &Call, request: &PlanRequest<'_>) -> DistanceFunction {
    let of_call = call.arguments.get(3).and_then(option);
    let of_policy = || {
        call.arguments
            .iter()
            .take(2)
            .find_map(|argument| of_path(argument, request))
    };
    of_call
        .or_else(of_policy)
        .unwrap_or(DistanceFunction::Cosine)
}

/// The option `distanceFunction` of a `VectorDistance` call.
fn option(options: &Expr) -> Option<DistanceFunction> {
    let Expr::Object(options) = options else {
        return None;
    };
    let option = options
        .iter()
        .find(|option| option.name == "distanceFunction")?;
    match &option.value {
        Expr::Literal(Literal::String(name)) => DistanceFunction::parse(name),
        _ => None,
    }
}

/// The distance function that the container's vector policy defines for a path.
fn of_path(argument: &Expr, request: &PlanRequest<'_>) -> Option<DistanceFunction> {
    let mut scope = Scope::default();
    for source in &request.query.from {
        scope.bind_source(source);
    }
    let path = scope.document_path(argument)?;
    request
        .vectors
        .iter()
        .find(|embedding| matches_path(&path, &embedding.path))
        .map(|embedding| embedding.distance_function)
}
