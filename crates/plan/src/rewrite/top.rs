//! `TOP`: applied in every partition and again in the client.

use super::count::RowCounts;
use super::{Draft, LimitEnforcement};

pub(super) fn plan(draft: &mut Draft, counts: &RowCounts, limit_enforcement: LimitEnforcement) {
    draft.info.top = counts.top;
    if counts.top.is_some() && limit_enforcement == LimitEnforcement::Client {
        draft.query.select.top = None;
        draft.is_rewritten = true;
    }
}
