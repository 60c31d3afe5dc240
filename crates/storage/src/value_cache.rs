//! Values of one map that were read before, in front of the engine.
//!
//! A hit costs one hash and one shared lock; the engine behind it searches its memtables, index
//! blocks and data blocks for every key. A value that is read while it is being written must not
//! be kept, or the cache would hold it for ever: keys share a few *gates*, a writer closes the
//! gates of its keys while it writes, and a reader keeps what it found only if its gate stayed
//! open all the time.

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
    values: Cache<Bytes, Bytes, Bytesize, DefaultHashBuilder>,
    hasher: DefaultHashBuilder,
    gates: Vec<Mutex<Gate>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Gate {
    /// Writes under way.
    writing: u32,
    /// Writes that have ended.
    written: u64,
}

#[derive(Clone)]
struct Bytesize;

impl Weighter<Bytes, Bytes> for Bytesize {
    fn weight(&self, key: &Bytes, value: &Bytes) -> u64 {
        (key.len() + value.len() + ENTRY_BYTES) as u64
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
        }
    }

    /// The value of a key, from here or by `read`, which is then kept.
    pub(crate) fn get<E>(
        &self,
        key: &[u8],
        read: impl FnOnce() -> Result<Option<Bytes>, E>,
    ) -> Result<Option<Bytes>, E> {
        if let Some(value) = self.values.get(key) {
            return Ok(Some(value));
        }
        let before = *self.gate(key);
        let Some(found) = read()? else {
            return Ok(None);
        };
        let gate = self.gate(key);
        if before.writing == 0 && *gate == before {
            // A copy, because what the engine gives is a part of a whole block.
            let value = Bytes::copy_from_slice(&found);
            self.values.insert(Bytes::copy_from_slice(key), value);
        }
        drop(gate);
        Ok(Some(found))
    }

    /// Forgets the keys and runs `write`, during which nobody keeps a value of theirs.
    pub(crate) fn write<R>(&self, keys: &[Bytes], write: impl FnOnce() -> R) -> R {
        for key in keys {
            self.gate(key).writing += 1;
            self.values.remove(&key[..]);
        }
        let result = write();
        for key in keys {
            let mut gate = self.gate(key);
            gate.writing -= 1;
            gate.written += 1;
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
    fn it_stays_within_its_size() {
        let cache = ValueCache::new(64 * 1024);
        for number in 0..1_000_u32 {
            let value = || Ok::<_, ()>(Some(Bytes::from(vec![0; 1024])));
            cache.get(&number.to_be_bytes(), value).unwrap();
        }
        assert!(cache.values.weight() <= 64 * 1024);
    }
}
