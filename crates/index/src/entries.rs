//! The entries of one document, and what a change of the document changes in them.

use std::cell::Cell;
use std::cmp::Ordering;

use bytes::Bytes;

use crate::IndexHash;

/// All entries of a document, in their order and without repetitions, in one buffer.
#[derive(Debug, Clone, Default)]
pub struct Entries {
    buffer: Bytes,
    slots: Vec<Slot>,
    place_bytes: usize,
    charged: usize,
    /// Scalars whose entries do not tell them from others; sorted, each once.
    charged_apart: Vec<u64>,
}

/// The entries that only one of two documents has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    pub removed: Vec<(IndexHash, Bytes)>,
    pub added: Vec<(IndexHash, Bytes)>,
}

/// Container and hash.
const PREFIX_BYTES: usize = 12;

impl Entries {
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many indexes have entries of the document.
    pub fn count_indexes(&self) -> usize {
        self.slots.chunk_by(|a, b| a.index == b.index).count()
    }

    /// The index and the whole key of each entry, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (IndexHash, Bytes)> {
        self.slots.iter().map(|slot| (slot.index, self.key(slot)))
    }

    /// The index and the bytes of the value of each entry, in the order of [`Entries::iter`].
    pub fn values(&self) -> impl ExactSizeIterator<Item = (IndexHash, &[u8])> {
        self.slots.iter().map(|slot| {
            let key = self.bytes(slot);
            let value = &key[PREFIX_BYTES..key.len() - self.place_bytes];
            (slot.index, value)
        })
    }

    /// What has to be removed and added when a document with the entries `old` gets those of `new`.
    pub fn difference(old: &Entries, new: &Entries) -> Difference {
        let mut difference = Difference::default();
        Entries::merge(old, new, |side, slot| match side {
            Side::Old => difference.removed.push((slot.index, old.key(slot))),
            Side::New => difference.added.push((slot.index, new.key(slot))),
        });
        difference
    }

    /// How many terms a write of the document is charged for: one for each indexed scalar.
    pub fn charged_terms(&self) -> usize {
        self.charged + self.charged_apart.len()
    }

    /// How many of the charged terms only one of the two has.
    pub fn charged_difference(old: &Entries, new: &Entries) -> usize {
        let mut count = 0;
        Entries::merge(old, new, |_, slot| {
            count += usize::from(slot.kind == Kind::Charged);
        });
        let is_in = |terms: &[u64], term: &u64| terms.binary_search(term).is_ok();
        let only = |a: &[u64], b: &[u64]| a.iter().filter(|term| !is_in(b, term)).count();
        count
            + only(&old.charged_apart, &new.charged_apart)
            + only(&new.charged_apart, &old.charged_apart)
    }

    /// Tells of each entry that only one side has.
    fn merge<'a>(old: &'a Entries, new: &'a Entries, mut only: impl FnMut(Side, &'a Slot)) {
        let (mut left, mut right) = (old.slots.iter().peekable(), new.slots.iter().peekable());
        loop {
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

/// Where an entry is in the buffer.
#[derive(Debug, Clone, Copy)]
struct Slot {
    index: IndexHash,
    start: usize,
    length: usize,
    kind: Kind,
}

/// Whether an entry is a term that writes are charged for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Charged,
    Uncharged,
}

/// Makes the entries of one document.
pub(crate) struct Writer<'a> {
    container: [u8; 4],
    place: &'a [u8],
    buffer: Vec<u8>,
    slots: Vec<Slot>,
    charged_apart: Vec<u64>,
}

/// Room for the entries of most documents.
const SLOTS_EXPECTED: usize = 32;
/// A buffer that has grown beyond this is not kept for the next document.
const SCRATCH_BYTES_MAX: usize = 256 * 1024;

thread_local! {
    /// Entries are written here and copied when they are complete: they are kept in memory for long,
    /// and a buffer that grew as it was written would keep its unused end with them.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl<'a> Writer<'a> {
    pub(crate) fn new(container: u32, place: &'a [u8]) -> Writer<'a> {
        let mut buffer = SCRATCH.take();
        buffer.clear();
        Writer {
            container: container.to_be_bytes(),
            place,
            buffer,
            slots: Vec::with_capacity(SLOTS_EXPECTED),
            charged_apart: Vec::new(),
        }
    }

    /// Adds an entry; `value` appends its bytes.
    pub(crate) fn write(&mut self, index: IndexHash, kind: Kind, value: impl FnOnce(&mut Vec<u8>)) {
        let start = self.buffer.len();
        let mut prefix = [0; PREFIX_BYTES];
        prefix[..4].copy_from_slice(&self.container);
        prefix[4..].copy_from_slice(&index.0.to_be_bytes());
        self.buffer.extend_from_slice(&prefix);
        value(&mut self.buffer);
        self.buffer.extend_from_slice(self.place);
        self.slots.push(Slot {
            index,
            start,
            length: self.buffer.len() - start,
            kind,
        });
    }

    /// Counts a scalar that its entry does not tell from others.
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
        let is_charged = |slot: &&Slot| slot.kind == Kind::Charged;
        let buffer = Bytes::copy_from_slice(&self.buffer);
        if self.buffer.capacity() <= SCRATCH_BYTES_MAX {
            SCRATCH.set(self.buffer);
        }
        Entries {
            charged: self.slots.iter().filter(is_charged).count(),
            place_bytes: self.place.len(),
            buffer,
            slots: self.slots,
            charged_apart: self.charged_apart,
        }
    }
}
