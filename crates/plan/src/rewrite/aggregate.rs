//! Aggregates: each partition returns a partial value, and the client combines the partial values.

use orrery_sql::ast::{Call, Expr, Projection, Property, Query};

use super::Draft;
use super::select_names::names;
use super::tree::{aliased, call, object, property};
use crate::PlanError;
use crate::aggregate::{AggregateKind, contains_aggregate};
use crate::plan::QueryInfo;
use crate::walk::selected;

/// Whether the select list has aggregates. An aggregate inside a larger expression is an error: the
/// expression cannot be computed from partial values.
pub(super) fn are_selected(query: &Query) -> Result<bool, PlanError> {
    let mut found = false;
    for expr in selected(query) {
        if AggregateKind::of(expr).is_some() {
            found = true;
        } else if contains_aggregate(expr) {
            return Err(PlanError::ComposedAggregates);
        }
    }
    Ok(found)
}

pub(super) fn plan(draft: &mut Draft) {
    draft.is_rewritten = true;
    let payload = payload(&draft.query.select.projection, &mut draft.info);
    draft.query.select.projection = match &draft.query.select.projection {
        Projection::Value(_) => Projection::Value(payload),
        Projection::Star(_) | Projection::Items(_) => {
            Projection::Items(vec![aliased(payload, "payload")])
        }
    };
}

/// The row with partial values in place of aggregates. Records in `info` how the client combines
/// them.
pub(super) fn payload(projection: &Projection, info: &mut QueryInfo) -> Expr {
    match projection {
        Projection::Value(expr) => match (AggregateKind::of(expr), expr) {
            (Some(aggregate), Expr::Call(call)) => {
                info.aggregates.push(aggregate);
                Expr::Array(vec![partial(aggregate, call)])
            }
            _ => expr.clone(),
        },
        Projection::Items(items) => {
            let mut properties: Vec<Property> = Vec::with_capacity(items.len());
            for (name, item) in names(items).into_iter().zip(items) {
                let aggregate = AggregateKind::of(&item.expr);
                let value = match (aggregate, &item.expr) {
                    (Some(aggregate), Expr::Call(call)) => partial(aggregate, call),
                    (_, expr) => expr.clone(),
                };
                properties.push(property(name.clone(), value));
                info.group_by_aliases.push((name, aggregate));
            }
            Expr::Object(properties)
        }
        Projection::Star(_) => unreachable!("SELECT * has no aggregates and is not grouped"),
    }
}

/// The partial value of an aggregate. For `MIN` and `MAX` clients prefer `item2` over `item`: its
/// count distinguishes a partition without values from a partition whose values have no minimum.
fn partial(aggregate: AggregateKind, original: &Call) -> Expr {
    let itself = Expr::Call(original.clone());
    let arguments = || original.arguments.clone();
    let with_count = |name, function| {
        object([
            (name, call(function, arguments())),
            ("count", call("COUNT", arguments())),
        ])
    };
    match aggregate {
        // Averages cannot be averaged, so the partial value holds sum and count.
        AggregateKind::Average => object([(
            "item",
            object([
                ("sum", call("SUM", arguments())),
                ("count", call("COUNT", arguments())),
            ]),
        )]),
        AggregateKind::Min => object([("item", itself), ("item2", with_count("min", "MIN"))]),
        AggregateKind::Max => object([("item", itself), ("item2", with_count("max", "MAX"))]),
        AggregateKind::Count
        | AggregateKind::CountIf
        | AggregateKind::MakeList
        | AggregateKind::MakeSet
        | AggregateKind::Sum => object([("item", itself)]),
    }
}
