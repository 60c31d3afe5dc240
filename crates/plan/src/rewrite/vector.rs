//! The direction in which vectors are nearer: it is in no text, but in the distance function.

use orrery_sql::ast::{Call, Direction, Expr, Literal, OrderItem};

use crate::scope::{Scope, is_at};
use crate::{DistanceFunction, PlanRequest};

/// The direction of an `ORDER BY` item. Without a written one, vectors come nearest first.
pub(super) fn direction(item: &OrderItem, request: &PlanRequest<'_>) -> Direction {
    if let Some(direction) = item.direction {
        return direction;
    }
    match &item.expr {
        Expr::Call(call) => match distance_function(call, request) {
            DistanceFunction::Euclidean => Direction::Ascending,
            DistanceFunction::Cosine | DistanceFunction::DotProduct => Direction::Descending,
        },
        _ => Direction::Ascending,
    }
}

/// What the call says, else what the container's policy says of its path, else cosine.
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

fn of_path(argument: &Expr, request: &PlanRequest<'_>) -> Option<DistanceFunction> {
    let mut scope = Scope::default();
    for source in &request.query.from {
        scope.bind_source(source);
    }
    let place = scope.document_path(argument)?;
    request
        .vectors
        .iter()
        .find(|embedding| is_at(&place, &embedding.path))
        .map(|embedding| embedding.distance_function)
}
