//! A small seeded generator (splitmix64): the same seed draws the same keys on every machine.

/// The alphabet of random text. Two characters occur twice, so that six random bits choose one.
const ALPHANUMERIC: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789AZ";

#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// The generator of the `stream`-th independent sequence of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        // The seed is mixed once, so that neighbouring seeds give unrelated streams.
        let mut outer = Self { state: seed };
        Self {
            state: outer.next() ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93),
        }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A uniform number in `0..bound`. The bias of the multiplication is far below the error of a
    /// run.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A uniform number in `[0, 1)`.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Appends random alphanumerics. Six random bits choose one character.
    pub(crate) fn alphanumeric(&mut self, out: &mut Vec<u8>, mut count: usize) {
        while count > 0 {
            let mut bits = self.next();
            // Sixty of the 64 bits give ten characters.
            let batch = count.min(10);
            for _ in 0..batch {
                out.push(ALPHANUMERIC[(bits & 63) as usize]);
                bits >>= 6;
            }
            count -= batch;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_sequence() {
        let take = |seed, stream| {
            let mut random = Random::new(seed, stream);
            [random.next(), random.next(), random.next()]
        };
        assert_eq!(take(1, 2), take(1, 2));
        assert_ne!(take(1, 2), take(1, 3));
        assert_ne!(take(1, 2), take(2, 2));
    }

    #[test]
    fn values_stay_in_range() {
        let mut random = Random::new(7, 0);
        for _ in 0..10_000 {
            assert!(random.below(10) < 10);
            assert!((0.0..1.0).contains(&random.fraction()));
        }
    }
}
