//! How many entries an index has, how many of them are of arrays and objects, and about how many
//! different values.
//!
//! The last is a `HyperLogLog` of 64 registers, off by some 13 per cent. It does not forget: what
//! is removed stays in it until the statistics are made anew.

use xxhash_rust::xxh3::xxh3_64;

use crate::value::{ARRAY, OBJECT};

/// Of one index of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathStatistics {
    pub entries: u64,
    /// Entries of arrays and objects, which do not say what is in them.
    pub composed: u64,
    /// For each part of the hashes, one more than the most zeros a hash began with.
    pub sketch: [u8; REGISTERS],
}

/// What the statistics of an index say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathFigures {
    pub entries: u64,
    pub composed: u64,
    /// About how many different values there are; never more than entries, never none for some.
    pub distinct: u64,
}

const REGISTERS: usize = 64;
const REGISTER_BITS: u32 = REGISTERS.trailing_zeros();

impl Default for PathStatistics {
    fn default() -> PathStatistics {
        PathStatistics {
            entries: 0,
            composed: 0,
            sketch: [0; REGISTERS],
        }
    }
}

impl PathStatistics {
    pub fn add(&mut self, value: &[u8]) {
        self.entries += 1;
        self.composed += u64::from(is_composed(value));
        let hash = xxh3_64(value);
        let register = usize::from(hash.to_le_bytes()[0]) % REGISTERS;
        let zeros = (hash >> REGISTER_BITS).leading_zeros() - REGISTER_BITS;
        let rank = u8::try_from(zeros + 1).unwrap_or(u8::MAX);
        self.sketch[register] = self.sketch[register].max(rank);
    }

    pub fn remove(&mut self, value: &[u8]) {
        self.entries = self.entries.saturating_sub(1);
        let composed = u64::from(is_composed(value));
        self.composed = self.composed.saturating_sub(composed);
    }

    pub fn figures(&self) -> PathFigures {
        PathFigures {
            entries: self.entries,
            composed: self.composed,
            distinct: self.distinct(),
        }
    }

    fn distinct(&self) -> u64 {
        const BIAS: f64 = 0.709;
        let registers = REGISTERS as f64;
        let sum: f64 = self
            .sketch
            .iter()
            .map(|rank| 0.5_f64.powi(i32::from(*rank)))
            .sum();
        let estimate = BIAS * registers * registers / sum;
        let is_empty = |rank: &u8| u32::from(*rank == 0);
        let empty: u32 = self.sketch.iter().map(is_empty).sum();
        let estimate = if estimate <= 2.5 * registers && empty > 0 {
            registers * (registers / f64::from(empty)).ln()
        } else {
            estimate
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and a double too large becomes the largest integer"
        )]
        let estimate = estimate.round() as u64;
        estimate.clamp(self.entries.min(1), self.entries)
    }

    /// Bytes of the encoding.
    pub const BYTES: usize = 8 + 8 + REGISTERS;

    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.entries.to_be_bytes());
        out.extend_from_slice(&self.composed.to_be_bytes());
        out.extend_from_slice(&self.sketch);
    }

    /// None for what has another length.
    pub fn read(encoded: &[u8]) -> Option<PathStatistics> {
        let (entries, rest) = encoded.split_first_chunk()?;
        let (composed, rest) = rest.split_first_chunk()?;
        Some(PathStatistics {
            entries: u64::from_be_bytes(*entries),
            composed: u64::from_be_bytes(*composed),
            sketch: rest.try_into().ok()?,
        })
    }
}

fn is_composed(value: &[u8]) -> bool {
    matches!(value.first(), Some(&(ARRAY | OBJECT)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::encode;

    #[test]
    fn different_values_are_estimated() {
        for (count, repeats) in [(1_u32, 1_u32), (1, 100), (30, 3), (1000, 2), (50_000, 1)] {
            let mut statistics = PathStatistics::default();
            for value in (0..count * repeats).map(|number| number % count) {
                statistics.add(&value.to_be_bytes());
            }
            let (estimate, truth) = (statistics.distinct() as f64, f64::from(count));
            assert!(
                (estimate - truth).abs() <= 0.3 * truth,
                "{estimate} for {truth}"
            );
            assert_eq!(statistics.entries, u64::from(count * repeats));
        }
    }

    #[test]
    fn removal_counts_down() {
        let mut statistics = PathStatistics::default();
        assert_eq!(statistics.distinct(), 0);
        statistics.add(b"a");
        statistics.add(b"b");
        statistics.remove(b"a");
        assert_eq!((statistics.entries, statistics.distinct()), (1, 1));
        statistics.remove(b"b");
        statistics.remove(b"b");
        assert_eq!((statistics.entries, statistics.distinct()), (0, 0));
    }

    #[test]
    fn arrays_and_objects_are_counted() {
        let mut statistics = PathStatistics::default();
        for text in ["1", "[]", "null", "{}", "[1]"] {
            let mut value = Vec::new();
            encode(&orrery_json::parse(text.as_bytes()).unwrap(), &mut value);
            statistics.add(&value);
        }
        assert_eq!(statistics.composed, 3);
        statistics.remove(&[OBJECT]);
        statistics.remove(&[]);
        assert_eq!(statistics.composed, 2);
    }

    #[test]
    fn statistics_survive_encoding() {
        let mut statistics = PathStatistics::default();
        statistics.add(b"a");
        let mut encoded = Vec::new();
        statistics.write(&mut encoded);
        assert_eq!(encoded.len(), PathStatistics::BYTES);
        assert_eq!(PathStatistics::read(&encoded), Some(statistics));
        assert_eq!(PathStatistics::read(&encoded[1..]), None);
        assert_eq!(PathStatistics::read(&[9; 90]), None);
    }
}
