//! The pause of a link: frames with records wait, all other frames pass.
//!
//! A follower whose pull gets no answer pulls again, and each page begins at the follower's last
//! record. So only the newest frame of each kind is worth storing, and a pause of any length stores
//! at most one page of each stream.

use std::collections::BTreeMap;

use orrery_regions::{Epoch, Sequence, StreamId};

use super::load::{Load, load_of, records_of};
use crate::LinkFrame;

#[derive(Debug, Default)]
pub(super) struct Gate {
    is_paused: bool,
    /// How many records may pass in spite of the pause.
    steps: u64,
    /// The waiting frames, in order of arrival.
    held: Vec<(Load, LinkFrame)>,
    /// The last record of each stream that has passed. A page that was pulled before that record
    /// repeats earlier records, and those cost no steps.
    passed: BTreeMap<StreamId, (Epoch, Sequence)>,
    /// The last record that passed of a page whose other records were cut off. The sender regards
    /// those as sent, so its next page may begin behind them, and the follower could not accept
    /// such a page.
    cut_after: BTreeMap<StreamId, Sequence>,
}

impl Gate {
    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// The part of a frame that passes now.
    pub(super) fn admit(&mut self, mut frame: LinkFrame) -> Option<LinkFrame> {
        let Some(load) = load_of(&frame) else {
            return Some(frame);
        };
        if self.begins_behind_a_cut(&mut frame) {
            // The follower pulls again from its last record.
            return None;
        }
        if self.is_paused && self.steps == 0 {
            self.held.retain(|(other, _)| *other != load);
            self.held.push((load, frame));
            return None;
        }
        Some(self.pass(frame))
    }

    pub(super) fn pause(&mut self) {
        self.is_paused = true;
    }

    /// Ends the pause and returns the waiting frames.
    pub(super) fn resume(&mut self) -> Vec<LinkFrame> {
        (self.is_paused, self.steps) = (false, 0);
        self.release()
    }

    /// Lets `records` more records pass, and returns the waiting frames that fit. A piece of a
    /// snapshot counts as one record.
    pub(super) fn step(&mut self, records: u64) -> Vec<LinkFrame> {
        if !self.is_paused {
            return Vec::new();
        }
        self.steps = self.steps.saturating_add(records);
        self.release()
    }

    /// Drops the waiting frames.
    pub(super) fn clear(&mut self) {
        self.held.clear();
    }

    fn release(&mut self) -> Vec<LinkFrame> {
        let held = std::mem::take(&mut self.held);
        held.into_iter()
            .filter_map(|(_, frame)| self.admit(frame))
            .collect()
    }

    /// Whether the records before the first record of a page were cut off.
    fn begins_behind_a_cut(&self, frame: &mut LinkFrame) -> bool {
        let Some((stream, records)) = records_of(frame) else {
            return false;
        };
        let cut_after = self.cut_after.get(&stream);
        let first = records.first().map(|record| record.sequence);
        cut_after.is_some_and(|cut_after| first > Some(cut_after.next()))
    }

    /// The frame without the records that exceed the remaining steps.
    fn pass(&mut self, mut frame: LinkFrame) -> LinkFrame {
        let Some((stream, records)) = records_of(&mut frame) else {
            self.steps = self.steps.saturating_sub(1);
            return frame;
        };
        let passed = self.passed.get(&stream).copied();
        let count = records.len();
        if self.is_paused {
            let mut fitting = 0;
            for record in records.iter() {
                let is_new = Some((record.epoch, record.sequence)) > passed;
                let Some(left) = self.steps.checked_sub(u64::from(is_new)) else {
                    break;
                };
                self.steps = left;
                fitting += 1;
            }
            records.truncate(fitting);
        }
        if let Some(last) = records.last() {
            let last = (last.epoch, last.sequence);
            let farthest = passed.map_or(last, |passed| passed.max(last));
            self.passed.insert(stream, farthest);
        }
        match (records.len() < count, self.passed.get(&stream)) {
            (true, Some((_, last))) => self.cut_after.insert(stream, *last),
            _ => self.cut_after.remove(&stream),
        };
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::testing::{beat, page, sequences};

    #[test]
    fn steps_let_new_records_pass_and_cut_pages() {
        let mut gate = Gate::default();
        assert_eq!(gate.admit(page(0, 1..=2)), Some(page(0, 1..=2)));
        gate.pause();
        assert_eq!(gate.admit(beat(1)), Some(beat(1)));
        assert_eq!(gate.admit(page(2, 3..=5)), None);
        assert_eq!(gate.admit(page(5, [])), Some(page(5, [])));
        assert_eq!(gate.step(1), [page(2, 3..=3)]);
        // The page was pulled before the step, so its third record costs no step.
        assert_eq!(gate.admit(page(2, 3..=6)), None);
        assert_eq!(gate.step(2), [page(2, 3..=5)]);
        // Steps without a waiting frame count for the next page.
        assert!(gate.step(2).is_empty());
        assert_eq!(sequences(&gate.admit(page(5, 6..=6)).unwrap()), [6]);
        assert_eq!(sequences(&gate.admit(page(6, 7..=9)).unwrap()), [7]);
        assert_eq!(gate.admit(page(7, 8..=9)), None);
    }

    #[test]
    fn a_page_behind_records_that_were_cut_off_is_dropped() {
        let mut gate = Gate::default();
        gate.pause();
        assert_eq!(gate.admit(page(2, 3..=5)), None);
        assert_eq!(gate.step(1), [page(2, 3..=3)]);
        // The sender regards the fifth record as sent.
        assert_eq!(gate.admit(page(5, 6..=7)), None);
        assert!(gate.step(1).is_empty());
        assert_eq!(gate.admit(page(5, 6..=8)), None);
        assert_eq!(sequences(&gate.admit(page(3, 4..=8)).unwrap()), [4]);
        gate.resume();
        assert_eq!(gate.admit(page(4, 5..=8)), Some(page(4, 5..=8)));
    }

    #[test]
    fn only_the_newest_of_a_kind_waits() {
        let mut gate = Gate::default();
        gate.pause();
        for last in 1..=9 {
            assert_eq!(gate.admit(page(0, 1..=last)), None);
        }
        assert_eq!(gate.resume(), [page(0, 1..=9)]);
        assert!(!gate.is_paused());
        assert_eq!(gate.admit(page(9, 10..=11)), Some(page(9, 10..=11)));
    }
}
