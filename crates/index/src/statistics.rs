//! How many entries an index has, and about how many different values.
//!
//! The second is a `HyperLogLog` of 64 registers, off by some 13 per cent. It does not forget: what
//! is removed stays in it until the statistics are made anew.

use xxhash_rust::xxh3::xxh3_64;

/// Of one index of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathStatistics {
    pub entries: u64,
    /// For each part of the hashes, one more than the most zeros a hash began with.
    pub sketch: [u8; REGISTERS],
}

const REGISTERS: usize = 64;
const REGISTER_BITS: u32 = REGISTERS.trailing_zeros();

/// The first byte of the encoding.
const VERSION: u8 = 1;

impl Default for PathStatistics {
    fn default() -> PathStatistics {
        PathStatistics {
            entries: 0,
            sketch: [0; REGISTERS],
        }
    }
}

impl PathStatistics {
    pub fn add(&mut self, value: &[u8]) {
        self.entries += 1;
        let hash = xxh3_64(value);
        let register = usize::from(hash.to_le_bytes()[0]) % REGISTERS;
        let zeros = (hash >> REGISTER_BITS).leading_zeros() - REGISTER_BITS;
        let rank = u8::try_from(zeros + 1).unwrap_or(u8::MAX);
        self.sketch[register] = self.sketch[register].max(rank);
    }

    pub fn remove(&mut self) {
        self.entries = self.entries.saturating_sub(1);
    }

    /// About how many different values there are; never more than entries, never none for some.
    pub fn distinct(&self) -> u64 {
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

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1 + 8 + REGISTERS);
        out.push(VERSION);
        out.extend_from_slice(&self.entries.to_be_bytes());
        out.extend_from_slice(&self.sketch);
        out
    }

    /// None for what is of another version or damaged.
    pub fn decode(encoded: &[u8]) -> Option<PathStatistics> {
        let rest = encoded.strip_prefix(&[VERSION])?;
        let (entries, rest) = rest.split_first_chunk::<8>()?;
        Some(PathStatistics {
            entries: u64::from_be_bytes(*entries),
            sketch: rest.try_into().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        statistics.remove();
        assert_eq!((statistics.entries, statistics.distinct()), (1, 1));
        statistics.remove();
        statistics.remove();
        assert_eq!((statistics.entries, statistics.distinct()), (0, 0));
    }

    #[test]
    fn statistics_survive_encoding() {
        let mut statistics = PathStatistics::default();
        statistics.add(b"a");
        let encoded = statistics.encode();
        assert_eq!(PathStatistics::decode(&encoded), Some(statistics));
        assert_eq!(PathStatistics::decode(&encoded[..40]), None);
        assert_eq!(PathStatistics::decode(&[9; 80]), None);
    }
}
