//! When a follower pulls records, and which pages it takes.
//!
//! One pull is in flight at a time and its page is bounded in bytes: this window is the
//! back-pressure. A follower takes a page only if the page continues exactly its last record, so
//! lost, duplicated and late pages need no other care.

use crate::{Millis, Sequence};

#[derive(Clone, Debug, Default)]
pub struct Puller {
    asked: Option<Millis>,
    /// Pulls without an answer since the preferred source last answered.
    unanswered: u32,
    /// How many pulls were sent.
    attempts: usize,
}

/// After this many unanswered pulls in a row, chance loss is an unlikely cause.
const UNANSWERED_MAX: u32 = 2;

impl Puller {
    /// Whether to send a pull now; records that the pull is in flight.
    pub fn ask(&mut self, now: Millis, retry_ms: u64) -> bool {
        if !self.is_due(now, retry_ms) {
            return false;
        }
        // A pull that is still in flight here has passed `retry_ms` without an answer.
        self.unanswered = match self.asked {
            Some(_) => self.unanswered.saturating_add(1),
            None => self.unanswered,
        };
        self.attempts = self.attempts.wrapping_add(1);
        self.asked = Some(now);
        true
    }

    /// Whether no pull is in flight or the pull in flight is overdue.
    pub(crate) fn is_due(&self, now: Millis, retry_ms: u64) -> bool {
        self.asked.is_none_or(|asked| now.since(asked) >= retry_ms)
    }

    /// The answer to the pull sent at `asked` has come. A late answer to an earlier pull does not
    /// clear the pull in flight.
    pub fn answered(&mut self, asked: Millis) {
        if self.asked == Some(asked) {
            self.asked = None;
        }
    }

    /// Whether to pull from another region, because the preferred source answers no pull.
    pub(crate) fn is_source_unresponsive(&self) -> bool {
        self.unanswered >= UNANSWERED_MAX
    }

    /// The index of the region whose turn it is, among `count` candidates.
    pub(crate) fn index_in_turn(&self, count: usize) -> Option<usize> {
        self.attempts.checked_rem(count)
    }

    /// The preferred source has answered a pull.
    pub(crate) fn reset_unanswered(&mut self) {
        self.unanswered = 0;
    }

    /// Whether the pull sent at `asked` waits for its answer.
    pub fn is_in_flight(&self, asked: Millis) -> bool {
        self.asked == Some(asked)
    }

    /// Forgets the pull in flight.
    pub fn restart(&mut self) {
        self.asked = None;
    }
}

/// How many records at the start of a page after `after` a log that ends at `last` has already;
/// none if the page leaves a gap.
pub(crate) fn overlap(after: Sequence, last: Sequence) -> Option<usize> {
    (after <= last).then(|| usize::try_from(last.beyond(after)).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pull_is_in_flight() {
        let mut puller = Puller::default();
        assert!(puller.ask(Millis(10), 5));
        assert!(!puller.ask(Millis(12), 5));
        puller.answered(Millis(9));
        assert!(!puller.ask(Millis(12), 5));
        puller.answered(Millis(10));
        assert!(puller.ask(Millis(12), 5));
        assert!(puller.ask(Millis(17), 5), "the answer is overdue");
    }

    #[test]
    fn only_contiguous_pages_are_accepted() {
        assert_eq!(overlap(Sequence(5), Sequence(4)), None);
        assert_eq!(overlap(Sequence(5), Sequence(5)), Some(0));
        assert_eq!(overlap(Sequence(3), Sequence(5)), Some(2));
    }
}
