//! `DISTINCT`: each partition removes its own duplicates, and the client removes duplicates across
//! partitions.

use orrery_sql::ast::{OrderBy, Projection, Query};

use super::Draft;
use crate::plan::DistinctType;

pub(super) fn plan(draft: &mut Draft) {
    draft.info.distinct = match &draft.query {
        query if !query.select.distinct => DistinctType::None,
        query if is_contiguous(query) => DistinctType::Ordered,
        _ => DistinctType::Unordered,
    };
}

/// Whether equal rows are adjacent: this holds if the row is the only sort key.
fn is_contiguous(query: &Query) -> bool {
    match (&query.select.projection, &query.order_by) {
        (Projection::Value(expr), Some(OrderBy::Items(items))) => {
            matches!(items.as_slice(), [item] if item.expr == *expr)
        }
        _ => false,
    }
}
