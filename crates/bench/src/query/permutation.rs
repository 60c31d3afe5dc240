//! A shuffle of the numbers below a bound that needs no table.
//!
//! Each step of `mix` is invertible modulo a power of two, so `mix` is a permutation of the numbers
//! below that power. A result beyond the bound is mixed again until it is within the bound, which
//! gives a permutation of the numbers below the bound.

use crate::random::Random;

const ROUNDS: usize = 3;
const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    bound: u64,
    bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// A random permutation of the numbers below `bound`.
    pub(crate) fn new(bound: u64, random: &mut Random) -> Self {
        // The least power of two above the bound, and at least four, so that the shift moves bits.
        let bits = (u64::BITS - bound.leading_zeros()).max(2);
        let mut keys = [0; ROUNDS];
        keys.fill_with(|| random.next());
        Self { bound, bits, keys }
    }

    /// The image of a number below the bound.
    pub(crate) fn at(&self, number: u64) -> u64 {
        let mut mixed = self.mix(number);
        while mixed >= self.bound {
            mixed = self.mix(mixed);
        }
        mixed
    }

    fn mix(&self, number: u64) -> u64 {
        let mask = (1 << self.bits) - 1;
        self.keys.iter().fold(number, |number, key| {
            // Adding and multiplying by an odd number are invertible modulo a power of two.
            let scaled = number.wrapping_add(*key).wrapping_mul(ODD) & mask;
            // The shift folds the high half into the low half; the high half itself stays, so this
            // step can be undone.
            scaled ^ (scaled >> (self.bits / 2))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_met_once() {
        for bound in [1, 2, 10, 1000, 1024, 4097] {
            let permutation = Permutation::new(bound, &mut Random::new(1, bound));
            let mut met: Vec<u64> = (0..bound).map(|number| permutation.at(number)).collect();
            met.sort_unstable();
            assert!(met.into_iter().eq(0..bound), "{bound}");
        }
    }
}
