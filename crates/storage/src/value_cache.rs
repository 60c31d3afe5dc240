//! A cache of single values of one keyspace, in front of the engine.
//!
//! A cache hit costs one hash and one shared lock. The engine behind it searches its memtables,
//! index blocks and data blocks for every key. A reader that caches a value during a write of the
//! same key would leave the old value in the cache for ever. So the keys share a few *gates*: a
//! writer closes the gates of its keys while it writes, and a reader caches the value only if its
//! gate stayed open during the whole read.
//!
//! The cache counts batches, and the count is a [`BatchSequence`]. A cached value has not changed
//! since the batch after which a reader found it, so the value is valid in every snapshot of that
//! batch or a later one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Weighter};

/// Number of gates: large enough that two concurrent keys seldom share one.
const GATES: usize = 256;
/// Estimated overhead of the cache for one entry.
const ENTRY_BYTES: usize = 128;
/// Estimated size of a document with its key, which sizes the hash table at the start.
const EXPECTED_ENTRY_BYTES: u64 = 1024;

pub(crate) struct ValueCache {
    values: Cache<Bytes, CachedValue, Bytesize, DefaultHashBuilder>,
    hasher: DefaultHashBuilder,
    gates: Vec<Mutex<Gate>>,
    /// Number of batches whose write has ended.
    written: AtomicU64,
}

/// Number of batches that had ended. Every later read of the engine sees all of these batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct BatchSequence(u64);

#[derive(Debug, Clone)]
struct CachedValue {
    value: Bytes,
    /// The sequence of the batch from which on this value is current.
    since: BatchSequence,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Gate {
    /// Number of writers between the two halves of [`ValueCache::write`].
    writing: u32,
    /// The sequence of the last batch that wrote a key of this gate.
    last: BatchSequence,
}

#[derive(Clone)]
struct Bytesize;

impl Weighter<Bytes, CachedValue> for Bytesize {
    fn weight(&self, key: &Bytes, cached: &CachedValue) -> u64 {
        (key.len() + cached.value.len() + ENTRY_BYTES) as u64
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

    /// The newest value of a key from the cache, or from `read` and then cached.
    pub(crate) fn get<E>(
        &self,
        key: &[u8],
        read: impl FnOnce() -> Result<Option<Bytes>, E>,
    ) -> Result<Option<Bytes>, E> {
        if let Some(cached) = self.values.get(key) {
            return Ok(Some(cached.value));
        }
        // The gate is copied before the read and compared after it. A difference means that a
        // writer of this gate started or ended in between, so the value that `read` found may be
        // old. The lock is not held during `read`, which may touch the disk.
        let before = *self.gate(key);
        let since = self.last_batch();
        let Some(found) = read()? else {
            return Ok(None);
        };
        let gate = self.gate(key);
        if before.writing == 0 && *gate == before {
            self.insert(key, &found, since);
        }
        drop(gate);
        Ok(Some(found))
    }

    /// The value of a key in the snapshot of batch `batch`, from the cache or from `read`. The
    /// caller reads `batch` before it creates the snapshot, so the snapshot contains at least the
    /// batches up to `batch`.
    pub(crate) fn get_at<E>(
        &self,
        batch: BatchSequence,
        key: &[u8],
        read: impl FnOnce() -> Result<Option<Bytes>, E>,
    ) -> Result<Option<Bytes>, E> {
        if let Some(cached) = self.values.get(key)
            && cached.since <= batch
        {
            return Ok(Some(cached.value));
        }
        let Some(found) = read()? else {
            return Ok(None);
        };
        let gate = self.gate(key);
        // A write to this gate after `batch` makes the snapshot's value possibly stale for readers
        // of newer snapshots.
        if gate.writing == 0 && gate.last <= batch {
            self.insert(key, &found, batch);
        }
        drop(gate);
        Ok(Some(found))
    }

    pub(crate) fn last_batch(&self) -> BatchSequence {
        BatchSequence(self.written.load(Ordering::SeqCst))
    }

    fn insert(&self, key: &[u8], found: &[u8], since: BatchSequence) {
        // The engine returns a slice of a whole block; the copy keeps the cache from pinning that
        // block.
        let value = Bytes::copy_from_slice(found);
        let cached = CachedValue { value, since };
        self.values.insert(Bytes::copy_from_slice(key), cached);
    }

    /// Evicts the keys, runs `write`, and keeps readers from caching values of these keys
    /// meanwhile.
    pub(crate) fn write<R>(&self, keys: &[Bytes], write: impl FnOnce() -> R) -> R {
        for key in keys {
            // The gate closes before the eviction. In the other order a reader could cache the old
            // value between the two lines.
            self.gate(key).writing += 1;
            self.values.remove(&key[..]);
        }
        let result = write();
        // The count grows before the gates open: a reader that caches a value afterwards must give
        // it a sequence that includes this batch.
        let ended = BatchSequence(self.written.fetch_add(1, Ordering::SeqCst) + 1);
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
            // A reader during the write may see the old or the new value, but must not cache it.
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
        let read_at = |batch, found: &'static str| {
            let read = || Ok::<_, ()>(Some(Bytes::from_static(found.as_bytes())));
            cache.get_at(batch, b"k", read).unwrap().unwrap()
        };
        let first = cache.last_batch();
        assert_eq!(read_at(first, "old"), "old");
        assert_eq!(read_at(first, "never asked"), "old");
        cache.write(&key, || assert_eq!(read_at(first, "old"), "old"));
        let second = cache.last_batch();
        assert_eq!(read_at(first, "old"), "old");
        assert_eq!(read_at(second, "new"), "new");
        assert_eq!(read_at(first, "old"), "old");
        assert_eq!(read_at(second, "never asked"), "new");
        assert_eq!(read(&cache, "never asked"), "new");
        cache.write(&[Bytes::from_static(b"another key")], || ());
        assert_eq!(read_at(cache.last_batch(), "never asked"), "new");
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
