//! What every region has seen: the horizon behind which tombstones and losers can be forgotten.
//!
//! That all regions have a version is not enough to forget it. A region may have written something
//! before it saw that version, and this may still be on its way here; it would meet a state that
//! does not remember what it conflicts with. So the progress of a region counts only when its own
//! stream has been applied here up to where it was at that time: from then on, whatever comes from
//! it was made with that progress or more.

use std::collections::{BTreeMap, VecDeque};

use crate::{Progress, RegionId, StreamId};

/// Progresses that wait to count; between many of them little is lost by skipping some.
const WAITING_MAX: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Stability {
    regions: BTreeMap<RegionId, Known>,
}

#[derive(Debug, Default)]
struct Known {
    sure: Progress,
    latest: Progress,
    waiting: VecDeque<Progress>,
}

impl Stability {
    /// A region says what it has, durably and all at one moment.
    pub(super) fn hear(&mut self, region: RegionId, progress: &Progress, applied: &Progress) {
        let known = self.regions.entry(region).or_default();
        known.latest.merge(progress);
        let is_newer = known
            .waiting
            .back()
            .is_none_or(|last| progress.covers(last));
        if is_newer && known.waiting.len() < WAITING_MAX {
            known.waiting.push_back(progress.clone());
        }
        self.review(applied);
    }

    /// More was applied here.
    pub(super) fn review(&mut self, applied: &Progress) {
        for (region, known) in &mut self.regions {
            let stream = StreamId::Region(*region);
            while let Some(progress) = known.waiting.front()
                && applied.has(stream, progress.of(stream))
            {
                known.sure.merge(progress);
                known.waiting.pop_front();
            }
        }
    }

    /// What a region said that it has.
    pub(super) fn latest(&self, region: RegionId) -> Progress {
        let known = self.regions.get(&region);
        known.map(|known| known.latest.clone()).unwrap_or_default()
    }

    /// What every later record of these regions will have seen.
    pub(super) fn horizon(
        &self,
        applied: &Progress,
        others: impl Iterator<Item = RegionId>,
    ) -> Progress {
        let mut horizon = applied.clone();
        for region in others {
            let sure = self.regions.get(&region).map(|known| &known.sure);
            horizon = sure.map(|sure| horizon.common(sure)).unwrap_or_default();
        }
        horizon
    }

    pub(super) fn forget(&mut self, region: RegionId) {
        self.regions.remove(&region);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sequence;

    fn at(first: u64, second: u64) -> Progress {
        [(0, first), (1, second)]
            .into_iter()
            .map(|(region, sequence)| (StreamId::Region(RegionId(region)), Sequence(sequence)))
            .collect()
    }

    #[test]
    fn progress_counts_when_its_own_stream_has_arrived() {
        let mut stability = Stability::default();
        let other = RegionId(1);
        stability.hear(other, &at(5, 3), &at(5, 2));
        assert_eq!(
            stability.horizon(&at(5, 2), [other].into_iter()),
            Progress::default()
        );
        stability.review(&at(5, 3));
        assert_eq!(stability.horizon(&at(5, 3), [other].into_iter()), at(5, 3));
        assert_eq!(
            stability.horizon(&at(5, 3), [other, RegionId(2)].into_iter()),
            Progress::default()
        );
    }
}
