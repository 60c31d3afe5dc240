//! Pulls for the account stream. A pull without an answer waits a little for the next record, which
//! then leaves at once instead of with the next pull.

use std::collections::BTreeMap;

use orrery_partition::LogRecord;
use orrery_regions::{Millis, Pull, RecordPage, RecordPageHeader, RegionId, Sequence};

/// How long a pull waits. The limit is far below the time after which the follower repeats a pull.
const HELD_MS: u64 = 100;
/// The limit of bytes that follow one answer unasked.
const UNASKED_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Default)]
pub(super) struct PendingPulls {
    asked: BTreeMap<RegionId, LastPull>,
    held: BTreeMap<RegionId, HeldPull>,
}

/// The last pull of a region.
struct LastPull {
    pull: Pull,
    /// Whether a page has been sent since the pull.
    is_answered: bool,
    /// The last record that was sent to the region.
    sent: Sequence,
    /// The commit index that the region received last.
    commit_sent: Sequence,
    unasked_bytes: usize,
}

struct HeldPull {
    since: Millis,
    head: RecordPageHeader,
    pull: Pull,
}

impl PendingPulls {
    pub(super) fn asked(&mut self, by: RegionId, pull: Pull) {
        self.held.remove(&by);
        let before = self.asked.get(&by);
        let commit_sent = before.map_or(Sequence::ZERO, |before| before.commit_sent);
        let sent = match before {
            // The records up to the last sent one are still in flight.
            Some(before) if before.pull.after < pull.after => before.sent.max(pull.after),
            // The region repeats its pull, so the sent records were lost.
            _ => pull.after,
        };
        self.asked.insert(
            by,
            LastPull {
                pull,
                is_answered: false,
                sent,
                commit_sent,
                unasked_bytes: 0,
            },
        );
    }

    /// The last pull of a region.
    pub(super) fn last_pull(&self, of: RegionId) -> Option<Pull> {
        self.asked.get(&of).map(|asked| asked.pull)
    }

    /// The last record that was sent to a region, if the region had not received it when it pulled.
    pub(super) fn sent_beyond(&self, to: RegionId, after: Sequence) -> Option<Sequence> {
        let sent = self.asked.get(&to).map(|asked| asked.sent);
        sent.filter(|sent| *sent > after)
    }

    pub(super) fn count_unasked(&mut self, to: RegionId, records: &[LogRecord]) {
        if let Some(asked) = self.asked.get_mut(&to) {
            asked.unasked_bytes += records.iter().map(|(_, data)| data.len()).sum::<usize>();
        }
    }

    /// Records that a page with this header, and records up to `upto`, is sent to a region.
    pub(super) fn answered(&mut self, to: RegionId, head: &RecordPageHeader, upto: Sequence) {
        if let Some(asked) = self.asked.get_mut(&to) {
            asked.is_answered = true;
            asked.sent = asked.sent.max(upto);
            asked.commit_sent = asked.commit_sent.max(head.commit);
        }
    }

    /// Whether the state of a region can follow as soon as the region receives this commit index.
    /// Then even a page without records is sent: with the next heartbeat the index would arrive too
    /// late for waiting readers.
    pub(super) fn needs_commit_index(&self, to: RegionId, commit: Sequence) -> bool {
        let asked = self.asked.get(&to);
        asked.is_some_and(|asked| asked.commit_sent < commit)
    }

    /// The regions with an answered pull that lack records, each with the last sent record and the
    /// time of its pull.
    pub(super) fn to_continue(&self, appended: Sequence) -> Vec<(RegionId, Sequence, Millis)> {
        let lacks = |(to, asked): &(&RegionId, &LastPull)| {
            let may_follow = asked.is_answered && !self.held.contains_key(to);
            may_follow && asked.sent < appended && asked.unasked_bytes < UNASKED_BYTES_MAX
        };
        let lacking = self.asked.iter().filter(lacks);
        lacking
            .map(|(to, asked)| (*to, asked.sent, asked.pull.asked))
            .collect()
    }

    pub(super) fn hold(&mut self, by: RegionId, head: RecordPageHeader, since: Millis) -> bool {
        let Some(LastPull { pull, .. }) = self.asked.get(&by) else {
            return false;
        };
        let pull = *pull;
        self.held.insert(by, HeldPull { since, head, pull });
        true
    }

    /// The waiting pulls that have an answer now.
    pub(super) fn due(&mut self, appended: Sequence, commit: Sequence) -> Vec<(RegionId, Pull)> {
        let is_due = |held: &HeldPull| held.head.after < appended || held.head.commit < commit;
        let due: Vec<RegionId> = self
            .held
            .iter()
            .filter(|(_, held)| is_due(held))
            .map(|(by, _)| *by)
            .collect();
        due.into_iter()
            .filter_map(|by| Some((by, self.held.remove(&by)?.pull)))
            .collect()
    }

    /// The pulls that have waited for their full time, each with an empty page.
    pub(super) fn overdue(&mut self, now: Millis) -> Vec<(RegionId, RecordPage)> {
        let mut overdue = Vec::new();
        self.held.retain(|by, held| {
            let is_over = now.since(held.since) >= HELD_MS;
            if is_over {
                let page = RecordPage {
                    head: held.head,
                    records: Vec::new(),
                };
                overdue.push((*by, page));
            }
            !is_over
        });
        for (by, page) in &overdue {
            self.answered(*by, &page.head, page.head.after);
        }
        overdue
    }
}
