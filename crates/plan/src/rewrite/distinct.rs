//! `DISTINCT`: each partition removes its own duplicates, the client the rest.

use orrery_sql::ast::{Expr, OrderBy, Query};

use super::Draft;
use crate::plan::Distinct;
use crate::walk::selected;

pub(super) fn plan(draft: &mut Draft) {
    draft.info.distinct = match &draft.query {
        query if !query.select.distinct => Distinct::None,
        query if is_contiguous(query) => Distinct::Ordered,
        _ => Distinct::Unordered,
    };
}

/// Equal rows follow each other if the rows are made of just the first sort keys.
fn is_contiguous(query: &Query) -> bool {
    let Some(OrderBy::Items(items)) = &query.order_by else {
        return false;
    };
    let keys: Vec<&Expr> = items.iter().map(|item| &item.expr).collect();
    let selected = selected(query);
    let Some(keys) = keys.get(..selected.len()) else {
        return false;
    };
    !selected.is_empty()
        && query.group_by.is_empty()
        && keys.iter().all(|key| selected.contains(key))
        && selected.iter().all(|expr| keys.contains(expr))
}
