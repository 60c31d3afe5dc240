//! Keys in order, each either there or gone.

use bytes::Bytes;

/// Set in the end of a key that is gone.
const GONE: u32 = 1 << 31;
const COUNT_BYTES: usize = 4;
const END_BYTES: usize = 4;

/// Keys in ascending order, one after the other in one piece of memory.
#[derive(Debug, Default)]
pub(crate) struct Run {
    keys: Bytes,
    /// Where each key ends.
    ends: Box<[u32]>,
}

impl Run {
    /// The last word of each key. Changes that are in order already are taken as they are.
    pub(crate) fn new(mut changes: Vec<(Bytes, bool)>) -> Run {
        if !changes.is_sorted_by(|(a, _), (b, _)| a < b) {
            changes.sort_by(|(a, _), (b, _)| a.cmp(b));
            changes.reverse();
            changes.dedup_by(|(a, _), (b, _)| a == b);
            changes.reverse();
        }
        let mut run = RunBuilder::default();
        for (key, is_there) in &changes {
            run.push(key, *is_there);
        }
        run.finish()
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.keys.len() + self.ends.len() * END_BYTES
    }

    fn span(&self, at: usize) -> std::ops::Range<usize> {
        let end = |at: usize| (self.ends[at] & !GONE) as usize;
        let start = at.checked_sub(1).map_or(0, end);
        start..end(at)
    }

    pub(crate) fn key(&self, at: usize) -> &[u8] {
        &self.keys[self.span(at)]
    }

    /// The key, without a copy.
    pub(crate) fn shared_key(&self, at: usize) -> Bytes {
        self.keys.slice(self.span(at))
    }

    pub(crate) fn is_there(&self, at: usize) -> bool {
        self.ends[at] & GONE == 0
    }

    /// The place of the first key that is not less.
    pub(crate) fn lower_bound(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.key(middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// What the run says of a key; none if nothing.
    pub(crate) fn find(&self, key: &[u8]) -> Option<bool> {
        let at = self.lower_bound(key);
        (at < self.len() && self.key(at) == key).then(|| self.is_there(at))
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(COUNT_BYTES + self.bytes());
        let count = u32::try_from(self.len()).expect("as many as a run has ends");
        out.extend_from_slice(&count.to_le_bytes());
        for end in &self.ends {
            out.extend_from_slice(&end.to_le_bytes());
        }
        out.extend_from_slice(&self.keys);
        out.into()
    }

    /// None if the bytes are no run.
    pub(crate) fn decode(bytes: &Bytes) -> Option<Run> {
        let (count, rest) = bytes.split_first_chunk::<COUNT_BYTES>()?;
        let ends_bytes = usize::try_from(u32::from_le_bytes(*count)).ok()? * END_BYTES;
        let (ends, _) = rest.split_at_checked(ends_bytes)?;
        let ends: Box<[u32]> = ends
            .chunks_exact(END_BYTES)
            .map(|end| u32::from_le_bytes([end[0], end[1], end[2], end[3]]))
            .collect();
        let keys = bytes.slice(COUNT_BYTES + ends_bytes..);
        let plain = |end: &u32| (end & !GONE) as usize;
        let is_whole = ends.last().map_or(0, plain) == keys.len() && ends.is_sorted_by_key(plain);
        is_whole.then_some(Run { keys, ends })
    }
}

#[derive(Default)]
pub(crate) struct RunBuilder {
    keys: Vec<u8>,
    ends: Vec<u32>,
}

impl RunBuilder {
    pub(crate) fn with_capacity(keys: usize, bytes: usize) -> RunBuilder {
        RunBuilder {
            keys: Vec::with_capacity(bytes),
            ends: Vec::with_capacity(keys),
        }
    }

    /// Adds a key that is greater than all before it.
    pub(crate) fn push(&mut self, key: &[u8], is_there: bool) {
        self.keys.extend_from_slice(key);
        let end = u32::try_from(self.keys.len()).expect("a run is written out long before");
        assert!(end & GONE == 0, "a run is written out long before");
        self.ends.push(if is_there { end } else { end | GONE });
    }

    pub(crate) fn finish(self) -> Run {
        Run {
            keys: self.keys.into(),
            ends: self.ends.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(changes: &[(&'static str, bool)]) -> Run {
        let changes = changes.iter();
        Run::new(
            changes
                .map(|(key, is_there)| (Bytes::from(*key), *is_there))
                .collect(),
        )
    }

    fn list(run: &Run) -> Vec<(&[u8], bool)> {
        (0..run.len())
            .map(|at| (run.key(at), run.is_there(at)))
            .collect()
    }

    #[test]
    fn the_last_word_of_each_key_stands_in_order() {
        let run = run(&[
            ("b", true),
            ("a", true),
            ("c", true),
            ("a", false),
            ("", true),
        ]);
        let expected: [(&[u8], bool); 4] = [(b"", true), (b"a", false), (b"b", true), (b"c", true)];
        assert_eq!(list(&run), expected);
        assert_eq!(
            ["", "a", "aa", "c", "d"].map(|key| run.find(key.as_bytes())),
            [Some(true), Some(false), None, Some(true), None]
        );
    }

    #[test]
    fn a_run_is_what_it_was_after_it_was_bytes() {
        let run = run(&[("a", true), ("b", false), ("longer", true)]);
        let bytes = run.encode();
        let again = Run::decode(&bytes).unwrap();
        assert_eq!(list(&again), list(&run));
        for cut in 0..bytes.len() {
            assert!(Run::decode(&bytes.slice(..cut)).is_none(), "cut at {cut}");
        }
    }
}
