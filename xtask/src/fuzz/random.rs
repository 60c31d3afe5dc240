//! Pseudo-random numbers from a seed.

/// Splitmix: small, fast, and random enough to mangle texts.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits of the sequence.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, or zero if `end` is zero.
    pub(super) fn below(&mut self, end: usize) -> usize {
        // The modulo prefers small numbers by a negligible margin.
        let end = u64::try_from(end.max(1)).expect("a length is 64 bits at most");
        usize::try_from(self.next() % end).expect("below a length")
    }

    /// A random byte.
    pub(super) fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    /// Returns true once in `one_in` calls on average.
    pub(super) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// A random element, or None from an empty list.
    pub(super) fn choice<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.below(choices.len()))
    }
}
