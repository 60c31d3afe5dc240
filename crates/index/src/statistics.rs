//! Statistics of an index: the number of entries, the number of array and object entries, and an
//! estimate of the number of distinct values.
//!
//! The estimate is a `HyperLogLog` with 64 registers and a standard error of about 13 per cent.
//! Removals do not lower the sketch: a removed value counts until the statistics are rebuilt.

use xxhash_rust::xxh3::xxh3_64;

use crate::value::{ARRAY, OBJECT};

/// Statistics of one index in a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathStatistics {
    pub entries: u64,
    /// Number of entries for arrays and objects, which hold no contents of the array or object.
    pub non_scalar: u64,
    /// For each register, one more than the longest run of leading zeros among its hashes.
    pub sketch: [u8; REGISTERS],
}

/// The figures that the planner reads from the statistics of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathSummary {
    pub entries: u64,
    pub non_scalar: u64,
    /// Estimated number of distinct values: at most `entries`, and at least one if there are
    /// entries.
    pub distinct: u64,
}

const REGISTERS: usize = 64;
const REGISTER_BITS: u32 = REGISTERS.trailing_zeros();

impl Default for PathStatistics {
    fn default() -> PathStatistics {
        PathStatistics {
            entries: 0,
            non_scalar: 0,
            sketch: [0; REGISTERS],
        }
    }
}

impl PathStatistics {
    pub fn add(&mut self, value: &[u8]) {
        self.entries += 1;
        self.non_scalar += u64::from(is_non_scalar(value));
        let hash = xxh3_64(value);
        let register = usize::from(hash.to_le_bytes()[0]) % REGISTERS;
        let zeros = (hash >> REGISTER_BITS).leading_zeros() - REGISTER_BITS;
        let rank = u8::try_from(zeros + 1).unwrap_or(u8::MAX);
        self.sketch[register] = self.sketch[register].max(rank);
    }

    pub fn remove(&mut self, value: &[u8]) {
        self.entries = self.entries.saturating_sub(1);
        let composed = u64::from(is_non_scalar(value));
        self.non_scalar = self.non_scalar.saturating_sub(composed);
    }

    pub fn summary(&self) -> PathSummary {
        PathSummary {
            entries: self.entries,
            non_scalar: self.non_scalar,
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
        // Small cardinalities leave registers empty, and linear counting is then more precise.
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

    /// Size of the encoding.
    pub const BYTES: usize = 8 + 8 + REGISTERS;

    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.entries.to_be_bytes());
        out.extend_from_slice(&self.non_scalar.to_be_bytes());
        out.extend_from_slice(&self.sketch);
    }

    /// Decodes statistics. `None` if the length is wrong.
    pub fn read(encoded: &[u8]) -> Option<PathStatistics> {
        let (entries, rest) = encoded.split_first_chunk()?;
        let (composed, rest) = rest.split_first_chunk()?;
        Some(PathStatistics {
            entries: u64::from_be_bytes(*entries),
            non_scalar: u64::from_be_bytes(*composed),
            sketch: rest.try_into().ok()?,
        })
    }
}

fn is_non_scalar(value: &[u8]) -> bool {
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
        assert_eq!(statistics.non_scalar, 3);
        statistics.remove(&[OBJECT]);
        statistics.remove(&[]);
        assert_eq!(statistics.non_scalar, 2);
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
