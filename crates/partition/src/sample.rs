//! A sample of the documents of a physical partition, spread over its feed: estimates the split
//! point without reading the whole partition.

use std::collections::BTreeMap;

use orrery_keys::{Epk, EpkRange, PartitionKey};
use orrery_model::{Failure, Lsn};

use crate::changes::ChangeReader;
use crate::committer::internal;
use crate::indexing::stored_document;
use crate::scan::ScanRange;
use crate::{Container, Partition};

/// Maximum number of documents in a sample.
const SAMPLED: u64 = 512;

/// Points of the key space in order, with the bytes of the documents there.
#[derive(Debug, Default)]
pub struct Sample {
    points: Vec<(Epk, u64)>,
    /// One partition key for each sampled point.
    keys: BTreeMap<Epk, PartitionKey>,
}

impl Sample {
    pub(crate) fn take(
        reader: &ChangeReader,
        container: &Container,
        partition: &Partition,
    ) -> Result<Sample, Failure> {
        let scope = ScanRange::of_epk_range(container, &partition.range);
        let last = reader.lsn(partition)?.0;
        let step = last.div_ceil(SAMPLED).max(1);
        let mut points = Vec::new();
        let mut keys = BTreeMap::new();
        let mut reached = Lsn(0);
        for number in 0..SAMPLED {
            // The positions are spread evenly over the feed, which is ordered by time and
            // independent of the key.
            let after = Lsn((number * step).max(reached.0));
            if after.0 >= last {
                break;
            }
            let found = reader.first_after_position(partition, &scope, after);
            let Some((lsn, _, item)) = found.map_err(|error| internal(&error))? else {
                break;
            };
            reached = lsn;
            let document = stored_document(&item).map_err(|error| internal(&error))?;
            let partition_key = container.definition.key().extract(document.value());
            let point = container.definition.key().epk(&partition_key);
            points.push((point.clone(), item.text_bytes() as u64));
            keys.entry(point).or_insert(partition_key);
        }
        points.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(Sample { points, keys })
    }

    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The boundary between two logical partitions that divides the bytes most evenly.
    pub fn split_point(&self, range: &EpkRange) -> Option<Epk> {
        let all: u64 = self.points.iter().map(|(_, bytes)| bytes).sum();
        let mut before = 0;
        let mut best: Option<(u64, &Epk)> = None;
        for pair in self.points.windows(2) {
            before += pair[0].1;
            let point = &pair[1].0;
            if pair[0].0 < *point && range.min < *point {
                let off = (2 * before).abs_diff(all);
                if best.is_none_or(|(least, _)| off < least) {
                    best = Some((off, point));
                }
            }
        }
        best.map(|(_, point)| point.clone())
    }

    /// The fraction of the bytes before a point; `None` without any bytes.
    pub fn share_before(&self, at: &Epk) -> Option<f64> {
        let bytes = |points: &[(Epk, u64)]| points.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let (before, _) = self
            .points
            .split_at(self.points.partition_point(|(point, _)| point < at));
        let all = bytes(&self.points);
        (all > 0).then(|| bytes(before) as f64 / all as f64)
    }

    /// The logical partitions with at least this fraction of the bytes.
    pub fn heavy(&self, least: f64) -> Vec<&PartitionKey> {
        let all: u64 = self.points.iter().map(|(_, bytes)| bytes).sum();
        let same = self.points.chunk_by(|one, other| one.0 == other.0);
        let heavy = same.filter(|points| {
            let bytes: u64 = points.iter().map(|(_, bytes)| bytes).sum();
            bytes as f64 >= least * all as f64
        });
        heavy
            .filter_map(|points| self.keys.get(&points[0].0))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epk(hex: &str) -> Epk {
        Epk::from_hex(hex).unwrap()
    }

    #[test]
    fn the_middle_is_between_logical_partitions() {
        let sample = |points: &[(&str, u64)]| Sample {
            points: points
                .iter()
                .map(|(hex, bytes)| (epk(hex), *bytes))
                .collect(),
            keys: BTreeMap::from([(epk("20"), PartitionKey::new(Vec::new()))]),
        };
        for (points, middle, share) in [
            (&[][..], None, None),
            (&[("10", 5)][..], None, None),
            (&[("10", 5), ("10", 5)][..], None, None),
            (&[("10", 5), ("20", 5)][..], Some("20"), Some(0.5)),
            (
                &[("10", 1), ("20", 1), ("20", 1), ("30", 1)][..],
                Some("20"),
                Some(0.25),
            ),
            (
                &[("10", 10), ("20", 80), ("30", 30)][..],
                Some("30"),
                Some(0.75),
            ),
        ] {
            let sample = sample(points);
            let found = sample.split_point(&EpkRange::full());
            assert_eq!(found, middle.map(epk), "{points:?}");
            assert_eq!(found.and_then(|at| sample.share_before(&at)), share);
        }
        let sample = sample(&[("10", 10), ("20", 80), ("20", 10)]);
        assert_eq!(sample.heavy(0.95), [] as [&PartitionKey; 0]);
        let heavy = sample.heavy(0.5);
        assert_eq!(heavy, [&PartitionKey::new(Vec::new())]);
    }
}
