//! A sorted sequence of keys, each of them live or a tombstone.

use bytes::Bytes;

/// Flag in the end offset of a key that marks a tombstone.
const TOMBSTONE: u32 = 1 << 31;
const COUNT_BYTES: usize = 4;
const END_BYTES: usize = 4;

/// Keys in ascending order, concatenated in one buffer.
#[derive(Debug, Default)]
pub(crate) struct SortedRun {
    keys: Bytes,
    /// The end offset of each key in `keys`.
    ends: Box<[u32]>,
}

impl SortedRun {
    /// Builds a run from the last change of each key. Changes that are already in order are not
    /// sorted again.
    pub(crate) fn new(mut changes: Vec<(Bytes, bool)>) -> SortedRun {
        if !changes.is_sorted_by(|(a, _), (b, _)| a < b) {
            // `sort_by` is stable, so equal keys stay in write order. `dedup_by` keeps the first of
            // equal elements; on the reversed list that is the last change of a key.
            changes.sort_by(|(a, _), (b, _)| a.cmp(b));
            changes.reverse();
            changes.dedup_by(|(a, _), (b, _)| a == b);
            changes.reverse();
        }
        let mut run = SortedRunBuilder::default();
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
        let end = |at: usize| (self.ends[at] & !TOMBSTONE) as usize;
        let start = at.checked_sub(1).map_or(0, end);
        start..end(at)
    }

    pub(crate) fn key(&self, at: usize) -> &[u8] {
        &self.keys[self.span(at)]
    }

    /// The key as a slice of the shared buffer, without a copy.
    pub(crate) fn shared_key(&self, at: usize) -> Bytes {
        self.keys.slice(self.span(at))
    }

    pub(crate) fn is_live(&self, at: usize) -> bool {
        self.ends[at] & TOMBSTONE == 0
    }

    /// The index of the first key that is not less than `key`.
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

    /// Whether the run inserts or deletes this key. `None` if the run does not contain the key.
    pub(crate) fn find(&self, key: &[u8]) -> Option<bool> {
        let at = self.lower_bound(key);
        (at < self.len() && self.key(at) == key).then(|| self.is_live(at))
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

    /// Decodes a run; `None` if the bytes are damaged.
    pub(crate) fn decode(bytes: &Bytes) -> Option<SortedRun> {
        let (count, rest) = bytes.split_first_chunk::<COUNT_BYTES>()?;
        let ends_bytes = usize::try_from(u32::from_le_bytes(*count)).ok()? * END_BYTES;
        let (ends, _) = rest.split_at_checked(ends_bytes)?;
        let ends: Box<[u32]> = ends
            .chunks_exact(END_BYTES)
            .map(|end| u32::from_le_bytes([end[0], end[1], end[2], end[3]]))
            .collect();
        let keys = bytes.slice(COUNT_BYTES + ends_bytes..);
        let plain = |end: &u32| (end & !TOMBSTONE) as usize;
        let is_whole = ends.last().map_or(0, plain) == keys.len() && ends.is_sorted_by_key(plain);
        is_whole.then_some(SortedRun { keys, ends })
    }
}

#[derive(Default)]
pub(crate) struct SortedRunBuilder {
    keys: Vec<u8>,
    ends: Vec<u32>,
}

impl SortedRunBuilder {
    pub(crate) fn with_capacity(keys: usize, bytes: usize) -> SortedRunBuilder {
        SortedRunBuilder {
            keys: Vec::with_capacity(bytes),
            ends: Vec::with_capacity(keys),
        }
    }

    /// Appends a key, which must be greater than every key before it.
    pub(crate) fn push(&mut self, key: &[u8], is_there: bool) {
        self.keys.extend_from_slice(key);
        let end = u32::try_from(self.keys.len()).expect("a run is written out long before");
        assert!(end & TOMBSTONE == 0, "a run is written out long before");
        self.ends.push(if is_there { end } else { end | TOMBSTONE });
    }

    pub(crate) fn finish(self) -> SortedRun {
        SortedRun {
            keys: self.keys.into(),
            ends: self.ends.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(changes: &[(&'static str, bool)]) -> SortedRun {
        let changes = changes.iter();
        SortedRun::new(
            changes
                .map(|(key, is_there)| (Bytes::from(*key), *is_there))
                .collect(),
        )
    }

    fn list(run: &SortedRun) -> Vec<(&[u8], bool)> {
        (0..run.len())
            .map(|at| (run.key(at), run.is_live(at)))
            .collect()
    }

    #[test]
    fn a_run_is_sorted_and_has_the_last_change_of_each_key() {
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
    fn a_run_round_trips() {
        let run = run(&[("a", true), ("b", false), ("longer", true)]);
        let bytes = run.encode();
        let again = SortedRun::decode(&bytes).unwrap();
        assert_eq!(list(&again), list(&run));
        for cut in 0..bytes.len() {
            assert!(
                SortedRun::decode(&bytes.slice(..cut)).is_none(),
                "cut at {cut}"
            );
        }
    }
}
