//! The progress of every region, and the horizon behind which tombstones and losers can be
//! forgotten.
//!
//! A version cannot be forgotten merely because all regions have it. A region may have written a
//! change before it saw that version, and the change may still be in flight; it would arrive in a
//! state that has forgotten the version with which it conflicts. So the progress of a region counts
//! only once this region has applied the other's own stream up to that progress: every later record
//! of the other depends on that progress or more.

use std::collections::{BTreeMap, VecDeque};

use crate::{RegionId, StreamId, VersionVector};

/// Progress reports that wait to count; a report that is skipped beyond this number delays the
/// horizon a little.
const WAITING_MAX: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Stability {
    regions: BTreeMap<RegionId, PeerVectors>,
}

#[derive(Debug, Default)]
struct PeerVectors {
    sure: VersionVector,
    latest: VersionVector,
    waiting: VecDeque<VersionVector>,
}

impl Stability {
    /// Records the progress of another region: durable, and all of it from one moment.
    pub(super) fn hear(
        &mut self,
        region: RegionId,
        progress: &VersionVector,
        applied: &VersionVector,
    ) {
        let known = self.regions.entry(region).or_default();
        known.latest.merge(progress);
        let is_newer = known
            .waiting
            .back()
            .is_none_or(|last| progress.includes_all(last));
        if is_newer && known.waiting.len() < WAITING_MAX {
            known.waiting.push_back(progress.clone());
        }
        self.review(applied);
    }

    /// Reviews the waiting reports after this region has applied more.
    pub(super) fn review(&mut self, applied: &VersionVector) {
        for (region, known) in &mut self.regions {
            let stream = StreamId::Region(*region);
            while let Some(progress) = known.waiting.front()
                && applied.includes(stream, progress.of(stream))
            {
                known.sure.merge(progress);
                known.waiting.pop_front();
            }
        }
    }

    /// The newest progress that a region reported.
    pub(super) fn latest(&self, region: RegionId) -> VersionVector {
        let known = self.regions.get(&region);
        known.map(|known| known.latest.clone()).unwrap_or_default()
    }

    /// The progress on which every later record of these regions depends.
    pub(super) fn horizon(
        &self,
        applied: &VersionVector,
        others: impl Iterator<Item = RegionId>,
    ) -> VersionVector {
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

    fn at(first: u64, second: u64) -> VersionVector {
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
            VersionVector::default()
        );
        stability.review(&at(5, 3));
        assert_eq!(stability.horizon(&at(5, 3), [other].into_iter()), at(5, 3));
        assert_eq!(
            stability.horizon(&at(5, 3), [other, RegionId(2)].into_iter()),
            VersionVector::default()
        );
    }
}
