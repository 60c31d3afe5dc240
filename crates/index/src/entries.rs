//! The index entries of one document, and the difference between the entries of two versions.

use std::cell::Cell;
use std::cmp::Ordering;

use bytes::Bytes;

use crate::IndexHash;

/// All entries of a document, sorted and without duplicates, in one buffer.
#[derive(Debug, Clone, Default)]
pub struct Entries {
    buffer: Bytes,
    slots: Vec<Slot>,
    document_key_bytes: usize,
    charged: usize,
    /// Hashes of scalars that share their entry with other scalars; sorted, without duplicates.
    charged_apart: Vec<u64>,
}

/// The entries that only one of two versions of a document has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    pub removed: Vec<(IndexHash, Bytes)>,
    pub added: Vec<(IndexHash, Bytes)>,
}

/// Bytes of the container and of the index hash, at the start of every entry.
const PREFIX_BYTES: usize = 12;

impl Entries {
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The number of indexes in which the document has entries.
    pub fn count_indexes(&self) -> usize {
        self.slots.chunk_by(|a, b| a.index == b.index).count()
    }

    /// The index and the complete key of each entry, in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (IndexHash, Bytes)> {
        self.slots.iter().map(|slot| (slot.index, self.key(slot)))
    }

    /// The index and the value bytes of each entry, in the order of [`Entries::iter`].
    pub fn values(&self) -> impl ExactSizeIterator<Item = (IndexHash, &[u8])> {
        self.slots.iter().map(|slot| {
            let key = self.bytes(slot);
            let value = &key[PREFIX_BYTES..key.len() - self.document_key_bytes];
            (slot.index, value)
        })
    }

    /// The entries to remove and to add when the version with entries `old` is replaced by `new`.
    pub fn difference(old: &Entries, new: &Entries) -> Difference {
        let mut difference = Difference::default();
        Entries::merge(old, new, |side, slot| match side {
            Side::Old => difference.removed.push((slot.index, old.key(slot))),
            Side::New => difference.added.push((slot.index, new.key(slot))),
        });
        difference
    }

    /// The number of index terms that a write of the document is charged for: one for each indexed
    /// scalar.
    pub fn charged_terms(&self) -> usize {
        self.charged + self.charged_apart.len()
    }

    /// The number of charged terms that only one of the two versions has.
    pub fn charged_difference(old: &Entries, new: &Entries) -> usize {
        let mut count = 0;
        Entries::merge(old, new, |_, slot| {
            count += usize::from(slot.kind == ChargeKind::Charged);
        });
        let is_in = |terms: &[u64], term: &u64| terms.binary_search(term).is_ok();
        let only = |a: &[u64], b: &[u64]| a.iter().filter(|term| !is_in(b, term)).count();
        count
            + only(&old.charged_apart, &new.charged_apart)
            + only(&new.charged_apart, &old.charged_apart)
    }

    /// Calls `only` for each entry that only one of the two versions has.
    fn merge<'a>(old: &'a Entries, new: &'a Entries, mut only: impl FnMut(Side, &'a Slot)) {
        let (mut left, mut right) = (old.slots.iter().peekable(), new.slots.iter().peekable());
        loop {
            // Both lists are sorted by index and bytes, so one merge finds the differences.
            // Comparing whole keys is sound because both versions have the same container and
            // document key.
            let order = match (left.peek(), right.peek()) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a
                    .index
                    .cmp(&b.index)
                    .then_with(|| old.bytes(a).cmp(new.bytes(b))),
            };
            let from_left = left.next_if(|_| order.is_le());
            let from_right = right.next_if(|_| order.is_ge());
            match (from_left, from_right) {
                (Some(slot), None) => only(Side::Old, slot),
                (None, Some(slot)) => only(Side::New, slot),
                _ => {}
            }
        }
    }

    fn key(&self, slot: &Slot) -> Bytes {
        self.buffer.slice(slot.start..slot.start + slot.length)
    }

    fn bytes(&self, slot: &Slot) -> &[u8] {
        &self.buffer[slot.start..slot.start + slot.length]
    }
}

enum Side {
    Old,
    New,
}

/// The position of an entry in the buffer.
#[derive(Debug, Clone, Copy)]
struct Slot {
    index: IndexHash,
    start: usize,
    length: usize,
    kind: ChargeKind,
}

/// Whether an entry counts as a term of the write charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChargeKind {
    Charged,
    Uncharged,
}

/// Builds the entries of one document.
pub(crate) struct Writer<'a> {
    container: [u8; 4],
    document_key: &'a [u8],
    buffer: Vec<u8>,
    slots: Vec<Slot>,
    charged_apart: Vec<u64>,
}

/// Capacity that suffices for the entries of most documents.
const SLOTS_EXPECTED: usize = 32;
/// A larger buffer is freed instead of being reused for the next document.
const SCRATCH_BYTES_MAX: usize = 256 * 1024;

thread_local! {
    /// Scratch buffer in which entries are written. A copy of exact size is stored, because entries
    /// stay in memory for long and would otherwise keep the unused capacity of a growing buffer.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl<'a> Writer<'a> {
    pub(crate) fn new(container: u32, document_key: &'a [u8]) -> Writer<'a> {
        let mut buffer = SCRATCH.take();
        buffer.clear();
        Writer {
            container: container.to_be_bytes(),
            document_key,
            buffer,
            slots: Vec::with_capacity(SLOTS_EXPECTED),
            charged_apart: Vec::new(),
        }
    }

    /// Adds an entry. `value` appends the bytes of the value.
    pub(crate) fn write(
        &mut self,
        index: IndexHash,
        kind: ChargeKind,
        value: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = self.buffer.len();
        let mut prefix = [0; PREFIX_BYTES];
        prefix[..4].copy_from_slice(&self.container);
        prefix[4..].copy_from_slice(&index.0.to_be_bytes());
        self.buffer.extend_from_slice(&prefix);
        value(&mut self.buffer);
        self.buffer.extend_from_slice(self.document_key);
        self.slots.push(Slot {
            index,
            start,
            length: self.buffer.len() - start,
            kind,
        });
    }

    /// Counts a scalar whose entry does not distinguish it from other scalars.
    pub(crate) fn charge(&mut self, term: u64) {
        self.charged_apart.push(term);
    }

    pub(crate) fn finish(mut self) -> Entries {
        let buffer = &self.buffer;
        let bytes = |slot: &Slot| &buffer[slot.start + PREFIX_BYTES..slot.start + slot.length];
        self.slots
            .sort_unstable_by(|a, b| a.index.cmp(&b.index).then_with(|| bytes(a).cmp(bytes(b))));
        self.slots
            .dedup_by(|a, b| a.index == b.index && bytes(a) == bytes(b));
        self.charged_apart.sort_unstable();
        self.charged_apart.dedup();
        let is_charged = |slot: &&Slot| slot.kind == ChargeKind::Charged;
        let buffer = Bytes::copy_from_slice(&self.buffer);
        if self.buffer.capacity() <= SCRATCH_BYTES_MAX {
            SCRATCH.set(self.buffer);
        }
        Entries {
            charged: self.slots.iter().filter(is_charged).count(),
            document_key_bytes: self.document_key.len(),
            buffer,
            slots: self.slots,
            charged_apart: self.charged_apart,
        }
    }
}
