//! `OFFSET` and `LIMIT`: the skipped rows may all be in one partition, so each is asked for the
//! sum.

use orrery_sql::ast::{Count, OffsetLimit};

use super::count::Counts;
use super::{Counting, Draft};

pub(super) fn plan(draft: &mut Draft, counts: &Counts, counting: Counting) {
    let Some((offset, limit)) = counts.offset_limit else {
        return;
    };
    if counting == Counting::Server {
        return;
    }
    draft.info.offset = Some(offset);
    draft.info.limit = Some(limit);
    draft.is_rewritten = true;
    draft.query.offset_limit = match counting {
        Counting::Client => None,
        Counting::Both | Counting::Server => Some(first(offset.saturating_add(limit))),
    };
}

/// `OFFSET 0 LIMIT count`
pub(super) fn first(count: u32) -> OffsetLimit {
    OffsetLimit {
        offset: Count::Literal(0),
        limit: Count::Literal(count),
    }
}
