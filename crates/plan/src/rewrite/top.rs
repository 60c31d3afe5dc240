//! `TOP` runs in every partition and again in the client.

use super::count::Counts;
use super::{Counting, Draft};

pub(super) fn plan(draft: &mut Draft, counts: &Counts, counting: Counting) {
    draft.info.top = counts.top;
    if counts.top.is_some() && counting == Counting::Client {
        draft.query.select.top = None;
        draft.is_rewritten = true;
    }
}
