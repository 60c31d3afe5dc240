//! Values of one map that were read before, in front of the engine.
//!
//! A hit costs one hash and one shared lock; the engine behind it searches its memtables, index
//! blocks and data blocks for every key. A value that is read while it is being written must not
//! be kept, or the cache would hold it for ever: keys share a few *gates*, a writer closes the
//! gates of its keys while it writes, and a reader keeps what it found only if its gate stayed
//! open all the time.
//!
//! Batches are counted, and the count is a [`Moment`]. A kept value has not changed since the moment
//! at which it was read, so it is also the value in every snapshot taken at that moment or later.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Weighter};

/// So many that two writers or readers seldom meet at one.
const GATES: usize = 256;
/// What the cache itself needs for an entry, about.
const ENTRY_BYTES: usize = 128;
/// The size of a document with its key that the cache makes room for at first.
const EXPECTED_ENTRY_BYTES: u64 = 1024;

pub(crate) struct ValueCache {
    values: Cache<Bytes, Kept, Bytesize, DefaultHashBuilder>,
    hasher: DefaultHashBuilder,
    gates: Vec<Mutex<Gate>>,
    /// Batches that have ended.
    written: AtomicU64,
}

/// How many batches had ended: all of them are in whatever is read later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Moment(u64);

#[derive(Debug, Clone)]
struct Kept {
    value: Bytes,
    /// It has had this value since then.
    since: Moment,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Gate {
    /// Writes under way.
    writing: u32,
    /// When the last write ended.
    last: Moment,
}

#[derive(Clone)]
struct Bytesize;

impl Weighter<Bytes, Kept> for Bytesize {
    fn weight(&self, key: &Bytes, kept: &Kept) -> u64 {
        (key.len() + kept.value.len() + ENTRY_BYTES) as u64
    }
}

impl ValueCache {
    pub(crate) fn new(bytes_max: u64) -> ValueCache {
        let expected = usize::try_from(bytes_max / EXPECTED_ENTRY_BYTES).unwrap_or(usize::MAX);
        ValueCache {
            values: Cache::with(
                expected.max(1),
                bytes_max,
                Bytesize,
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
            hasher: DefaultHashBuilder::default(),
            gates: (0..GATES).map(|_| Mutex::default()).collect(),
            written: AtomicU64::new(0),
        }
    }

    /// The value of a key, from here or by `read`, which is then kept.
    pub(crate) fn get<E>(
        &self,
        key: &[u8],
        read: impl FnOnce() -> Result<Option<Bytes>, E>,
    ) -> Result<Option<Bytes>, E> {
        if let Some(kept) = self.values.get(key) {
            return Ok(Some(kept.value));
        }
        let before = *self.gate(key);
        let since = self.now();
        let Some(found) = read()? else {
            return Ok(None);
        };
        let gate = self.gate(key);
        if before.writing == 0 && *gate == before {
            self.keep(key, &found, since);
        }
        drop(gate);
        Ok(Some(found))
    }

    /// The value that a key had in a snapshot, from here or by `read`. The snapshot must have been
    /// taken after this moment.
    pub(crate) fn get_at<E>(
        &self,
        moment: Moment,
        key: &[u8],
        read: impl FnOnce() -> Result<Option<Bytes>, E>,
    ) -> Result<Option<Bytes>, E> {
        if let Some(kept) = self.values.get(key)
            && kept.since <= moment
        {
            return Ok(Some(kept.value));
        }
        let Some(found) = read()? else {
            return Ok(None);
        };
        let gate = self.gate(key);
        if gate.writing == 0 && gate.last <= moment {
            self.keep(key, &found, moment);
        }
        drop(gate);
        Ok(Some(found))
    }

    pub(crate) fn now(&self) -> Moment {
        Moment(self.written.load(Ordering::SeqCst))
    }

    fn keep(&self, key: &[u8], found: &[u8], since: Moment) {
        // A copy, because what the engine gives is a part of a whole block.
        let value = Bytes::copy_from_slice(found);
        let kept = Kept { value, since };
        self.values.insert(Bytes::copy_from_slice(key), kept);
    }

    /// Forgets the keys and runs `write`, during which nobody keeps a value of theirs.
    pub(crate) fn write<R>(&self, keys: &[Bytes], write: impl FnOnce() -> R) -> R {
        for key in keys {
            self.gate(key).writing += 1;
            self.values.remove(&key[..]);
        }
        let result = write();
        // Before the gates open: what is kept from then on has the value of this batch.
        let ended = Moment(self.written.fetch_add(1, Ordering::SeqCst) + 1);
        for key in keys {
            let mut gate = self.gate(key);
            gate.writing -= 1;
            gate.last = gate.last.max(ended);
        }
        result
    }

    fn gate(&self, key: &[u8]) -> MutexGuard<'_, Gate> {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash do")]
        let number = self.hasher.hash_one(key) as usize % GATES;
        self.gates[number]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cache: &ValueCache, found: &'static str) -> Bytes {
        let read = || Ok::<_, ()>(Some(Bytes::from_static(found.as_bytes())));
        cache.get(b"k", read).unwrap().unwrap()
    }

    #[test]
    fn a_value_is_kept_until_it_is_written() {
        let cache = ValueCache::new(1 << 20);
        assert_eq!(read(&cache, "old"), "old");
        assert_eq!(read(&cache, "never asked"), "old");
        cache.write(&[Bytes::from_static(b"k")], || {
            // Whoever reads now may see either, but must not keep it.
            assert_eq!(read(&cache, "old"), "old");
            assert_eq!(read(&cache, "new"), "new");
        });
        assert_eq!(read(&cache, "new"), "new");
        assert_eq!(read(&cache, "never asked"), "new");
    }

    #[test]
    fn what_was_read_before_a_write_is_not_kept_after_it() {
        let cache = ValueCache::new(1 << 20);
        let slow = cache.get(b"k", || {
            cache.write(&[Bytes::from_static(b"k")], || {});
            Ok::<_, ()>(Some(Bytes::from_static(b"old")))
        });
        assert_eq!(slow.unwrap().unwrap(), "old");
        assert_eq!(read(&cache, "new"), "new");
    }

    #[test]
    fn a_snapshot_sees_only_values_that_are_as_old_as_it_is() {
        let cache = ValueCache::new(1 << 20);
        let key = [Bytes::from_static(b"k")];
        let read_at = |moment, found: &'static str| {
            let read = || Ok::<_, ()>(Some(Bytes::from_static(found.as_bytes())));
            cache.get_at(moment, b"k", read).unwrap().unwrap()
        };
        let first = cache.now();
        assert_eq!(read_at(first, "old"), "old");
        assert_eq!(read_at(first, "never asked"), "old");
        cache.write(&key, || assert_eq!(read_at(first, "old"), "old"));
        let second = cache.now();
        assert_eq!(read_at(first, "old"), "old");
        assert_eq!(read_at(second, "new"), "new");
        assert_eq!(read_at(first, "old"), "old");
        assert_eq!(read_at(second, "never asked"), "new");
        assert_eq!(read(&cache, "never asked"), "new");
        cache.write(&[Bytes::from_static(b"another key")], || ());
        assert_eq!(read_at(cache.now(), "never asked"), "new");
        assert_eq!(read_at(second, "never asked"), "new");
    }

    #[test]
    fn it_stays_within_its_size() {
        let cache = ValueCache::new(64 * 1024);
        for number in 0..1_000_u32 {
            let value = || Ok::<_, ()>(Some(Bytes::from(vec![0; 1024])));
            cache.get(&number.to_be_bytes(), value).unwrap();
        }
        assert!(cache.values.weight() <= 64 * 1024);
    }
}
