//! `ORDER BY`: each row carries its sort keys, by which the client merges, and the `_rid` of its
//! document, by which the client resumes.

use orrery_sql::ast::{OrderItem, Projection};

use super::tree::{aliased, all_of, call, items as item_list, payload, rid};
use super::{Draft, placeholder, vector};
use crate::PlanRequest;
use crate::bind::order_by::is_score;

pub(super) fn plan(draft: &mut Draft, request: &PlanRequest<'_>, items: &[OrderItem]) {
    let info = &mut draft.info;
    info.order_by = items
        .iter()
        .map(|item| vector::direction(item, request))
        .collect();
    info.order_by_expressions = items.iter().map(|item| item.expr.to_string()).collect();
    info.has_non_streaming_order_by = items.iter().any(|item| is_score(&item.expr));

    // `SELECT VALUE` returns no row for an undefined value, but the rewritten row always exists.
    // The condition `IS_DEFINED` restores the user's semantics.
    let query = &mut draft.query;
    let is_defined = match &query.select.projection {
        Projection::Value(expr) => Some(call("IS_DEFINED", vec![expr.clone()])),
        Projection::Star(_) | Projection::Items(_) => None,
    };
    query.filter = all_of([
        query.filter.take(),
        Some(placeholder::order_by_filter()),
        is_defined,
    ]);
    query.select.projection = Projection::Items(vec![
        rid(query),
        item_list(items.iter().map(|item| &item.expr), "orderByItems"),
        aliased(payload(query), "payload"),
    ]);
    query.select.distinct = false;
    draft.is_rewritten = true;
}
