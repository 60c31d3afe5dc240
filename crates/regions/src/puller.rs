//! When to ask for more records, and which answers to take.
//!
//! One question is under way at a time and its answer is bounded in bytes: that is the window, and
//! so the back-pressure. An answer is taken only if it continues exactly what is there, so that
//! lost, doubled and late answers need no other care.

use crate::{Millis, Sequence};

#[derive(Clone, Debug, Default)]
pub struct Puller {
    asked: Option<Millis>,
}

impl Puller {
    /// Whether to ask now; takes note that it is asked.
    pub fn ask(&mut self, now: Millis, retry_ms: u64) -> bool {
        if self.asked.is_some_and(|asked| now.since(asked) < retry_ms) {
            return false;
        }
        self.asked = Some(now);
        true
    }

    /// An answer to the question of that time has come. Late answers to other questions leave the
    /// one under way alone.
    pub fn answered(&mut self, asked: Millis) {
        if self.asked == Some(asked) {
            self.asked = None;
        }
    }

    /// Whether the question of that time waits for its answer.
    pub fn is_under_way(&self, asked: Millis) -> bool {
        self.asked == Some(asked)
    }

    /// Forgets the question under way.
    pub fn restart(&mut self) {
        self.asked = None;
    }
}

/// Of an answer that begins after `after`, how many records are had already when `last` is the last
/// one; none if there is a gap.
pub(crate) fn overlap(after: Sequence, last: Sequence) -> Option<usize> {
    (after <= last).then(|| usize::try_from(last.beyond(after)).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_is_under_way() {
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
    fn only_what_continues_is_taken() {
        assert_eq!(overlap(Sequence(5), Sequence(4)), None);
        assert_eq!(overlap(Sequence(5), Sequence(5)), Some(0));
        assert_eq!(overlap(Sequence(3), Sequence(5)), Some(2));
    }
}
