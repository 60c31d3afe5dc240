//! Aggregates: each partition gives a partial value that can be combined with others.

use orrery_sql::ast::{Call, Expr, Projection, Property, Query};

use super::Draft;
use super::select_names::names;
use super::tree::{aliased, call, object, property};
use crate::PlanError;
use crate::aggregate::{Aggregate, contains_aggregate};
use crate::plan::QueryInfo;
use crate::walk::selected;

/// Whether there are aggregates. One inside another expression has no partial value, so there is
/// no plan for it.
pub(super) fn are_selected(query: &Query) -> Result<bool, PlanError> {
    let mut found = false;
    for expr in selected(query) {
        if Aggregate::of(expr).is_some() {
            found = true;
        } else if contains_aggregate(expr) {
            return Err(PlanError::ComposedAggregates);
        }
    }
    Ok(found)
}

pub(super) fn plan(draft: &mut Draft) {
    draft.is_rewritten = true;
    draft.query.select.distinct = false;
    let payload = payload(&draft.query.select.projection, &mut draft.info);
    draft.query.select.projection = match &draft.query.select.projection {
        Projection::Value(_) => Projection::Value(payload),
        Projection::Star(_) | Projection::Items(_) => {
            Projection::Items(vec![aliased(payload, "payload")])
        }
    };
}

/// The row with partial values in place of aggregates; notes how the client combines them.
pub(super) fn payload(projection: &Projection, info: &mut QueryInfo) -> Expr {
    match projection {
        Projection::Value(expr) => match (Aggregate::of(expr), expr) {
            (Some(aggregate), Expr::Call(call)) => {
                info.aggregates.push(aggregate);
                Expr::Array(vec![partial(aggregate, call)])
            }
            _ => expr.clone(),
        },
        Projection::Items(items) => {
            let mut properties: Vec<Property> = Vec::with_capacity(items.len());
            for (name, item) in names(items).into_iter().zip(items) {
                let aggregate = Aggregate::of(&item.expr);
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

/// Clients prefer `item2` to `item`: the count tells a partition without values from one whose
/// values have no minimum.
fn partial(aggregate: Aggregate, original: &Call) -> Expr {
    let itself = Expr::Call(original.clone());
    let arguments = || original.arguments.clone();
    let with_count = |name| {
        object([
            (name, itself.clone()),
            ("count", call("COUNT", arguments())),
        ])
    };
    match aggregate {
        Aggregate::Average => object([(
            "item",
            object([
                ("sum", call("SUM", arguments())),
                ("count", call("COUNT", arguments())),
            ]),
        )]),
        Aggregate::Min => object([("item", itself.clone()), ("item2", with_count("min"))]),
        Aggregate::Max => object([("item", itself.clone()), ("item2", with_count("max"))]),
        Aggregate::Count
        | Aggregate::CountIf
        | Aggregate::MakeList
        | Aggregate::MakeSet
        | Aggregate::Sum => object([("item", itself)]),
    }
}
