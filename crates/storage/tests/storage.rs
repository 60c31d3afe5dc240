//! The disk engine and the memory engine give the same answers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use orrery_storage::{Batch, KeyspaceId, Storage, StorageOptions};

const A: KeyspaceId = KeyspaceId(0);
const B: KeyspaceId = KeyspaceId(1);
const C: KeyspaceId = KeyspaceId(2);
const NAMES: [&str; 3] = ["a", "b", "c"];
const OPTIONS: StorageOptions = StorageOptions {
    cache_bytes: 1024 * 1024,
    cached_keyspace: A,
    buffered_keyspace: C,
    run_buffer_bytes: 4096,
    required_keyspaces: 0,
};

/// A newer program adds keyspaces after those that the directory has.
#[test]
fn keyspaces_after_the_required_ones_are_created() {
    let directory = tempfile::tempdir().unwrap();
    let open = |names: &[&str], required_keyspaces| {
        let options = StorageOptions {
            buffered_keyspace: A,
            required_keyspaces,
            ..OPTIONS
        };
        Storage::open(directory.path(), names, options)
    };
    put(&open(&NAMES[..2], 0).unwrap(), B, "b", "1");
    let error = open(&NAMES, 3).err().unwrap().to_string();
    assert!(error.contains("the map `c` is missing"), "{error}");
    let storage = open(&NAMES, 2).unwrap();
    put(&storage, C, "c", "2");
    assert_eq!(storage.get(B, b"b").unwrap().unwrap(), "1");
    drop(storage);
    // The map `c` exists, so the map `lost` before it existed too and was lost.
    let error = open(&["a", "b", "lost", "c"], 2).err().unwrap().to_string();
    assert!(error.contains("the map `lost` is missing"), "{error}");
    open(&NAMES, 3).unwrap();
}

fn on_both(check: impl Fn(&Storage)) {
    check(&Storage::in_memory(&NAMES));
    let directory = tempfile::tempdir().unwrap();
    check(&Storage::open(directory.path(), &NAMES, OPTIONS).unwrap());
}

fn keys(storage: &Storage, space: KeyspaceId, from: &[u8], to: Option<&[u8]>) -> Vec<String> {
    let snapshot = storage.snapshot();
    let entries = snapshot.range(space, from, to);
    entries
        .map(|entry| String::from_utf8(entry.unwrap().0.to_vec()).unwrap())
        .collect()
}

fn put(storage: &Storage, space: KeyspaceId, key: &'static str, value: &'static str) {
    let mut batch = Batch::default();
    batch.put(space, key, value);
    storage.write(batch).unwrap();
}

#[test]
fn keyspaces_are_separate_and_ranges_are_half_open() {
    on_both(|storage| {
        for key in ["a", "b", "c"] {
            put(storage, A, key, "1");
        }
        put(storage, B, "b", "2");
        assert_eq!(storage.get(B, b"b").unwrap().unwrap(), "2");
        assert_eq!(storage.get(B, b"a").unwrap(), None);
        assert_eq!(keys(storage, A, b"a", Some(b"c")), ["a", "b"]);
        assert_eq!(keys(storage, A, b"b", None), ["b", "c"]);
        assert_eq!(keys(storage, A, b"c", Some(b"a")), [""; 0]);
        assert_eq!(keys(storage, A, b"b", Some(b"b")), [""; 0]);
    });
}

#[test]
fn ranges_are_read_from_both_ends() {
    on_both(|storage| {
        for key in ["a", "b", "c", "d"] {
            put(storage, A, key, "1");
        }
        let snapshot = storage.snapshot();
        let mut range = snapshot.range(A, b"a", Some(b"d"));
        let key = |entry: Option<Result<(Bytes, Bytes), _>>| entry.map(|entry| entry.unwrap().0);
        assert_eq!(key(range.next_back()).unwrap(), "c");
        assert_eq!(key(range.next()).unwrap(), "a");
        assert_eq!(key(range.next_back()).unwrap(), "b");
        assert_eq!(key(range.next_back()), None);
        assert_eq!(key(range.next()), None);
    });
}

#[test]
fn a_snapshot_does_not_move() {
    on_both(|storage| {
        put(storage, A, "a", "old");
        let snapshot = storage.snapshot();
        put(storage, A, "a", "new");
        put(storage, A, "b", "new");
        assert_eq!(snapshot.get(A, b"a").unwrap().unwrap(), "old");
        assert_eq!(snapshot.range(A, b"", None).count(), 1);
        assert_eq!(storage.get(A, b"a").unwrap().unwrap(), "new");
    });
}

#[test]
fn the_last_change_of_a_batch_wins() {
    on_both(|storage| {
        let mut batch = Batch::default();
        batch.put(A, "a", "1");
        batch.delete(A, "a");
        batch.put(A, "b", "1");
        batch.put(A, "b", "2");
        storage.write(batch).unwrap();
        assert_eq!(storage.get(A, b"a").unwrap(), None);
        assert_eq!(storage.get(A, b"b").unwrap().unwrap(), "2");
    });
}

#[test]
fn data_survives_a_reopen() {
    let directory = tempfile::tempdir().unwrap();
    {
        let storage = Storage::open(directory.path(), &NAMES, OPTIONS).unwrap();
        put(&storage, A, "a", "1");
        storage.flush().unwrap();
        put(&storage, A, "b", "2");
        storage.persist().unwrap();
    }
    let storage = Storage::open(directory.path(), &NAMES, OPTIONS).unwrap();
    assert_eq!(keys(&storage, A, b"", None), ["a", "b"]);
}

/// Other platforms refuse to remove a directory whose files are open.
#[cfg(unix)]
#[test]
fn writing_out_to_a_directory_that_is_gone_fails_and_does_not_wait() {
    let directory = tempfile::tempdir().unwrap();
    let storage = Storage::open(directory.path(), &NAMES, OPTIONS).unwrap();
    put(&storage, A, "a", "1");
    std::fs::remove_dir_all(directory.path()).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(storage.flush().is_err()));
    assert_eq!(told.recv_timeout(Duration::from_mins(1)), Ok(true));
}

#[test]
fn random_batches_agree_with_a_btree() {
    on_both(|storage| {
        let mut model = BTreeMap::new();
        let mut state = 7_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 33
        };
        for _ in 0..300 {
            let mut batch = Batch::default();
            for _ in 0..random() % 8 {
                let key = format!("k{:02}", random() % 60);
                if random() % 3 == 0 {
                    model.remove(&key);
                    batch.delete(A, key);
                } else {
                    let value = format!("v{}", random());
                    model.insert(key.clone(), value.clone());
                    batch.put(A, key, value);
                }
            }
            storage.write(batch).unwrap();
        }
        let entries: Vec<_> = storage
            .snapshot()
            .range(A, b"", None)
            .map(|entry| entry.unwrap())
            .collect();
        assert_eq!(entries.len(), model.len());
        for ((key, value), (model_key, model_value)) in entries.iter().zip(&model) {
            assert_eq!(
                (&key[..], &value[..]),
                (model_key.as_bytes(), model_value.as_bytes())
            );
        }
    });
}

/// Readers that fill the cache without pause never make a writer read the value that it has
/// replaced.
#[test]
fn kept_values_are_the_newest() {
    on_both(|storage| {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        storage.get_cached(A, b"k").unwrap();
                    }
                });
            }
            for number in 0..2_000_u32 {
                let mut batch = Batch::default();
                batch.put(A, "k", number.to_string());
                storage.write(batch).unwrap();
                let read = storage.get_cached(A, b"k").unwrap().unwrap();
                assert_eq!(read, number.to_string());
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut batch = Batch::default();
        batch.delete(A, "k");
        storage.write(batch).unwrap();
        assert_eq!(storage.get_cached(A, b"k").unwrap(), None);
    });
}
