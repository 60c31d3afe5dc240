//! `GROUP BY`: a partition gives a row for each of its groups, with the keys beside it.

use orrery_sql::ast::Projection;

use super::tree::{aliased, items};
use super::{Draft, aggregate};

pub(super) fn plan(draft: &mut Draft) {
    let query = &mut draft.query;
    draft.info.group_by_expressions = query.group_by.iter().map(ToString::to_string).collect();
    let payload = aggregate::payload(&query.select.projection, &mut draft.info);
    query.select.projection = Projection::Items(vec![
        items(query.group_by.iter(), "groupByItems"),
        aliased(payload, "payload"),
    ]);
    query.select.distinct = false;
    draft.is_rewritten = true;
}
