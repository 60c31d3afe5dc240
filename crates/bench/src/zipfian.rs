//! Skewed keys as YCSB draws them (Gray et al., "Quickly generating billion-record synthetic
//! databases", 1994).
//!
//! `Zipfian` prefers small numbers. `scrambled` spreads these numbers over the key space by
//! hashing, so that hot keys are not neighbours; like YCSB it draws from a fixed universe of ten
//! thousand million numbers, whose normalising sum is a constant.

use crate::random::Random;

const THETA: f64 = 0.99;
const SCRAMBLED_UNIVERSE: u64 = 10_000_000_000;
const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;

#[derive(Clone, Debug)]
pub(crate) struct Zipfian {
    count: u64,
    zeta: f64,
    eta: f64,
}

impl Zipfian {
    /// The distribution over `count` numbers. Takes time linear in `count`.
    pub(crate) fn new(count: u64) -> Self {
        let mut zipfian = Self {
            count: 0,
            zeta: 0.0,
            eta: 0.0,
        };
        zipfian.extend_to(count);
        zipfian
    }

    pub(crate) fn scrambled_universe() -> Self {
        let (count, zeta) = (SCRAMBLED_UNIVERSE, SCRAMBLED_ZETA);
        Self {
            count,
            zeta,
            eta: eta(count, zeta),
        }
    }

    /// Extends the distribution to `count` numbers. Takes time linear in the growth.
    pub(crate) fn extend_to(&mut self, count: u64) {
        if count <= self.count {
            return;
        }
        self.zeta += (self.count + 1..=count)
            .map(|rank| (rank as f64).powf(-THETA))
            .sum::<f64>();
        self.count = count;
        self.eta = eta(count, self.zeta);
    }

    /// Draws a number below the count. The number 0 is the most frequent.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the product lies between zero and the count"
    )]
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        let uniform = random.fraction();
        let scaled = uniform * self.zeta;
        // The two most frequent numbers have closed forms; the rest follows the approximation of
        // the paper.
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(THETA) {
            return 1.min(self.count - 1);
        }
        let alpha = 1.0 / (1.0 - THETA);
        let rank = self.count as f64 * (self.eta * uniform - self.eta + 1.0).powf(alpha);
        (rank as u64).min(self.count - 1)
    }

    pub(crate) fn draw_scrambled(&self, random: &mut Random, bound: u64) -> u64 {
        fnv1a(self.draw(random)) % bound
    }
}

fn eta(count: u64, zeta: f64) -> f64 {
    let zeta_two = 1.0 + 0.5_f64.powf(THETA);
    (1.0 - (2.0 / count as f64).powf(1.0 - THETA)) / (1.0 - zeta_two / zeta)
}

/// The hash that YCSB uses to scatter keys.
fn fnv1a(value: u64) -> u64 {
    value
        .to_le_bytes()
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 200_000;

    #[test]
    fn frequencies_follow_the_law() {
        let zipfian = Zipfian::new(1000);
        let mut random = Random::new(1, 0);
        let mut counts = [0_u32; 1000];
        for _ in 0..DRAWS {
            counts[usize::try_from(zipfian.draw(&mut random)).unwrap()] += 1;
        }
        // The published method is exact for the first two ranks and approximate after them.
        for (rank, tolerance) in [(1_u32, 0.03), (2, 0.05), (10, 0.35), (100, 0.35)] {
            let expected = f64::from(DRAWS) * f64::from(rank).powf(-THETA) / zipfian.zeta;
            let seen = f64::from(counts[rank as usize - 1]);
            assert!(
                (seen / expected - 1.0).abs() < tolerance,
                "{rank}: {seen} of {expected}"
            );
        }
    }

    #[test]
    fn scrambling_spreads_the_favourites() {
        let zipfian = Zipfian::scrambled_universe();
        let mut random = Random::new(1, 0);
        let mut counts = vec![0_u32; 1000];
        for _ in 0..DRAWS {
            counts[usize::try_from(zipfian.draw_scrambled(&mut random, 1000)).unwrap()] += 1;
        }
        let hottest = counts
            .iter()
            .position(|count| count == counts.iter().max().unwrap());
        assert_eq!(hottest, Some(usize::try_from(fnv1a(0) % 1000).unwrap()));
        counts.sort_unstable();
        let share = f64::from(counts[999]) / f64::from(DRAWS);
        assert!(
            (0.03..0.06).contains(&share),
            "the hottest key takes {share}"
        );
        assert!(counts[0] > 0, "every key occurs");
    }

    #[test]
    fn growing_equals_starting_large() {
        let mut grown = Zipfian::new(10);
        grown.extend_to(500);
        let whole = Zipfian::new(500);
        assert!((grown.zeta - whole.zeta).abs() < 1e-9);
        assert!((grown.eta - whole.eta).abs() < 1e-9);
    }

    #[test]
    fn tiny_counts_stay_in_range() {
        let mut random = Random::new(3, 0);
        for count in 1..4 {
            let zipfian = Zipfian::new(count);
            assert!((0..1000).all(|_| zipfian.draw(&mut random) < count));
        }
    }
}
