//! `OFFSET` and `LIMIT`: all skipped rows may come from one partition, so each partition returns up
//! to offset plus limit rows.

use orrery_sql::ast::{OffsetLimit, RowCount};

use super::count::RowCounts;
use super::{Draft, LimitEnforcement};

pub(super) fn plan(draft: &mut Draft, counts: &RowCounts, limit_enforcement: LimitEnforcement) {
    let Some((offset, limit)) = counts.offset_limit else {
        return;
    };
    draft.info.offset = Some(offset);
    draft.info.limit = Some(limit);
    draft.is_rewritten = true;
    draft.query.offset_limit = match limit_enforcement {
        LimitEnforcement::Client => None,
        LimitEnforcement::Both => Some(first(offset.saturating_add(limit))),
    };
}

/// `OFFSET 0 LIMIT count`.
pub(super) fn first(count: u32) -> OffsetLimit {
    OffsetLimit {
        offset: RowCount::Literal(0),
        limit: RowCount::Literal(count),
    }
}
