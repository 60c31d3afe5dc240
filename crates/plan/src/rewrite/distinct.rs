//! `DISTINCT`: each partition removes its own duplicates, and the client removes duplicates across
//! partitions.

use orrery_sql::ast::{Expr, OrderBy, Query};

use super::Draft;
use crate::plan::DistinctType;
use crate::walk::selected;

pub(super) fn plan(draft: &mut Draft) {
    draft.info.distinct = match &draft.query {
        query if !query.select.distinct => DistinctType::None,
        query if is_contiguous(query) => DistinctType::Ordered,
        _ => DistinctType::Unordered,
    };
}

/// Whether equal rows are adjacent: this holds if the row consists of exactly the leading sort
/// keys.
fn is_contiguous(query: &Query) -> bool {
    let Some(OrderBy::Items(items)) = &query.order_by else {
        return false;
    };
    let keys: Vec<&Expr> = items.iter().map(|item| &item.expr).collect();
    let selected = selected(query);
    // With more selected expressions than sort keys, equal rows need not be adjacent.
    let Some(keys) = keys.get(..selected.len()) else {
        return false;
    };
    !selected.is_empty()
        && query.group_by.is_empty()
        && keys.iter().all(|key| selected.contains(key))
        && selected.iter().all(|expr| keys.contains(expr))
}
