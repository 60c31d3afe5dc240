//! When to ask for more records, and which answers to take.
//!
//! One question is under way at a time and its answer is bounded in bytes: that is the window, and
//! so the back-pressure. An answer is taken only if it continues exactly what is there, so that
//! lost, doubled and late answers need no other care.

use crate::{Millis, Sequence};

#[derive(Clone, Debug, Default)]
pub struct Puller {
    asked: Option<Millis>,
    /// Questions that had no answer since the first to ask answered.
    in_vain: u32,
    /// How many questions there were.
    turn: usize,
}

/// So many questions are lost by chance no more.
const IN_VAIN_MAX: u32 = 2;

impl Puller {
    /// Whether to ask now; takes note that it is asked.
    pub fn ask(&mut self, now: Millis, retry_ms: u64) -> bool {
        if !self.is_due(now, retry_ms) {
            return false;
        }
        self.in_vain = match self.asked {
            Some(_) => self.in_vain.saturating_add(1),
            None => self.in_vain,
        };
        self.turn = self.turn.wrapping_add(1);
        self.asked = Some(now);
        true
    }

    /// Whether nothing is under way, or for too long.
    pub(crate) fn is_due(&self, now: Millis, retry_ms: u64) -> bool {
        self.asked.is_none_or(|asked| now.since(asked) >= retry_ms)
    }

    /// An answer to the question of that time has come. Late answers to other questions leave the
    /// one under way alone.
    pub fn answered(&mut self, asked: Millis) {
        if self.asked == Some(asked) {
            self.asked = None;
        }
    }

    /// Whether somebody else had better be asked: whoever is asked does not hear it.
    pub(crate) fn is_in_vain(&self) -> bool {
        self.in_vain >= IN_VAIN_MAX
    }

    /// Whose turn it is, of so many that could be asked.
    pub(crate) fn turn_of(&self, count: usize) -> Option<usize> {
        self.turn.checked_rem(count)
    }

    /// Whoever should be asked first answers.
    pub(crate) fn is_heard(&mut self) {
        self.in_vain = 0;
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
