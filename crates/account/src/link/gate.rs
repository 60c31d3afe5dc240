//! A pause: frames with data wait, everything else passes.
//!
//! A follower whose question is not answered asks again, and each answer begins where it stands. So
//! only the newest frame of each kind is worth keeping, and however long the pause, it holds at
//! most one page of each stream.

use std::collections::BTreeMap;

use orrery_regions::{Epoch, Sequence, StreamId};

use super::load::{Load, load_of, records_of};
use crate::Frame;

#[derive(Debug, Default)]
pub(super) struct Gate {
    is_paused: bool,
    /// How many records may pass although it is paused.
    steps: u64,
    /// In order of arrival.
    held: Vec<(Load, Frame)>,
    /// The last record of each stream that has passed. A page that was asked for before that brings
    /// earlier ones again, which are not steps.
    passed: BTreeMap<StreamId, (Epoch, Sequence)>,
}

impl Gate {
    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// What passes of a frame.
    pub(super) fn admit(&mut self, frame: Frame) -> Option<Frame> {
        let Some(load) = load_of(&frame) else {
            return Some(frame);
        };
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

    /// Ends the pause; gives what waited.
    pub(super) fn resume(&mut self) -> Vec<Frame> {
        (self.is_paused, self.steps) = (false, 0);
        self.release()
    }

    /// Lets so many more records pass; gives what waited of them. A piece of a copy counts as one.
    pub(super) fn step(&mut self, records: u64) -> Vec<Frame> {
        if !self.is_paused {
            return Vec::new();
        }
        self.steps = self.steps.saturating_add(records);
        self.release()
    }

    /// Forgets what waits.
    pub(super) fn clear(&mut self) {
        self.held.clear();
    }

    fn release(&mut self) -> Vec<Frame> {
        let held = std::mem::take(&mut self.held);
        held.into_iter()
            .filter_map(|(_, frame)| self.admit(frame))
            .collect()
    }

    /// The frame without the records for which no steps are left.
    fn pass(&mut self, mut frame: Frame) -> Frame {
        let Some((stream, records)) = records_of(&mut frame) else {
            self.steps = self.steps.saturating_sub(1);
            return frame;
        };
        let passed = self.passed.get(&stream).copied();
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
        // Asked for before the step: the third record is no news.
        assert_eq!(gate.admit(page(2, 3..=6)), None);
        assert_eq!(gate.step(2), [page(2, 3..=5)]);
        // Steps that find nothing wait for the next page.
        assert!(gate.step(2).is_empty());
        assert_eq!(sequences(&gate.admit(page(5, 6..=6)).unwrap()), [6]);
        assert_eq!(sequences(&gate.admit(page(6, 7..=9)).unwrap()), [7]);
        assert_eq!(gate.admit(page(7, 8..=9)), None);
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
