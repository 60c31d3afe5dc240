//! `GROUP BY`: a partition returns one row for each of its groups, together with the grouping keys.

use orrery_sql::ast::Projection;

use super::tree::{aliased, items};
use super::{Draft, aggregate};

pub(super) fn plan(draft: &mut Draft) {
    let query = &mut draft.query;
    draft.info.group_by_expressions = query.group_by.iter().map(ToString::to_string).collect();
    // The payload is built from the user's select list before the next statement replaces that
    // list.
    let payload = aggregate::payload(&query.select.projection, &mut draft.info);
    query.select.projection = Projection::Items(vec![
        items(query.group_by.iter(), "groupByItems"),
        aliased(payload, "payload"),
    ]);
    draft.is_rewritten = true;
}
