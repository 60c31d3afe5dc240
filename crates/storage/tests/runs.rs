//! The buffered keyspace answers like an ordered map, through batches, snapshots, restarts and
//! flushes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::BTreeSet;
use std::path::Path;

use bytes::Bytes;
use orrery_storage::{Batch, KeyspaceId, Snapshot, Storage, StorageOptions};

const VALUES: KeyspaceId = KeyspaceId(0);
const RUNS: KeyspaceId = KeyspaceId(1);
const NAMES: [&str; 2] = ["values", "runs"];

fn open(directory: &Path, runs_bytes: usize) -> Storage {
    let options = StorageOptions {
        cache_bytes: 1024 * 1024,
        cached_keyspace: VALUES,
        buffered_keyspace: RUNS,
        run_buffer_bytes: runs_bytes,
        required_keyspaces: 0,
    };
    Storage::open(directory, &NAMES, options).unwrap()
}

/// Pseudo-random numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 >> 32).unwrap() % bound
    }
}

type Model = BTreeSet<Bytes>;

fn key(number: u32) -> Bytes {
    // Keys are long, so a few thousand of them are enough to flush.
    format!("{number:04}{}", "k".repeat(number as usize % 200)).into()
}

fn compare(snapshot: &Snapshot, model: &Model, numbers: &mut Numbers) {
    let (from, to) = (key(numbers.below(600)), key(numbers.below(600)));
    let found = snapshot.range(RUNS, &from, Some(&to));
    let found: Vec<Bytes> = found.map(|entry| entry.unwrap().0).collect();
    let expected: Vec<Bytes> = if from < to {
        let range = model.range(from.clone()..to.clone());
        range.cloned().collect()
    } else {
        Vec::new()
    };
    assert_eq!(found, expected);

    // Reads from both ends, in any mixture.
    let mut entries = snapshot.range(RUNS, &from, None);
    let expected = model.range(from..).cloned();
    let mut expected = expected.collect::<Vec<_>>().into_iter();
    loop {
        let (entry, other) = if numbers.below(2) == 0 {
            (entries.next(), expected.next())
        } else {
            (entries.next_back(), expected.next_back())
        };
        assert_eq!(entry.map(|entry| entry.unwrap().0), other);
        if other.is_none() {
            break;
        }
    }
    let key = key(numbers.below(600));
    let is_there = snapshot.get(RUNS, &key).unwrap().is_some();
    assert_eq!(is_there, model.contains(&key));
}

fn life(seed: u64) {
    let directory = tempfile::tempdir().unwrap();
    let mut numbers = Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let runs_bytes = 20_000 * 10_usize.pow(numbers.below(3));
    let mut storage = open(directory.path(), runs_bytes);
    let mut model = Model::new();
    let mut kept: Vec<(Snapshot, Model)> = Vec::new();
    for step in 0..120_u64 {
        match numbers.below(20) {
            0 => {
                kept.clear();
                // Half of the restarts skip the flush.
                if numbers.below(2) == 0 {
                    storage.flush().unwrap();
                }
                drop(storage);
                storage = open(directory.path(), runs_bytes);
            }
            1 => storage.flush().unwrap(),
            2 => kept.push((storage.snapshot(), model.clone())),
            _ => {
                let mut batch = Batch::default();
                batch.put(VALUES, "step", step.to_be_bytes().to_vec());
                for _ in 0..numbers.below(60) {
                    let key = key(numbers.below(600));
                    if numbers.below(3) > 0 {
                        model.insert(key.clone());
                        batch.put(RUNS, key, Bytes::new());
                    } else {
                        model.remove(&key);
                        batch.delete(RUNS, key);
                    }
                }
                storage.write(batch).unwrap();
            }
        }
        compare(&storage.snapshot(), &model, &mut numbers);
        for (snapshot, model) in &kept {
            compare(snapshot, model, &mut numbers);
        }
    }
}

#[test]
fn random_batches_flushes_and_restarts_agree_with_a_set() {
    let only = std::env::var("ORRERY_SEED").ok();
    let only = only.map(|seed| seed.parse().unwrap());
    for seed in only.map_or(0..8, |seed| seed..seed + 1) {
        println!("ORRERY_SEED={seed}");
        life(seed);
    }
}

/// Readers see a batch and its run atomically, also while runs are merged and flushed.
#[test]
fn a_snapshot_has_the_entries_of_its_values() {
    let directory = tempfile::tempdir().unwrap();
    let storage = open(directory.path(), 300_000);
    let batches = 4000_u64;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..batches {
                let mut batch = Batch::default();
                batch.put(VALUES, "last", number.to_be_bytes().to_vec());
                // Each batch moves the one entry and some weight with it.
                batch.put(RUNS, format!("m{number:08}"), Bytes::new());
                if number > 0 {
                    batch.delete(RUNS, format!("m{:08}", number - 1));
                }
                for weight in 0..8 {
                    let key = format!("w{:08}", number.wrapping_mul(7919) % 100_000);
                    batch.put(
                        RUNS,
                        format!("{key}{weight}{}", "x".repeat(100)),
                        Bytes::new(),
                    );
                }
                storage.write(batch).unwrap();
            }
        });
        scope.spawn(|| {
            loop {
                let snapshot = storage.snapshot();
                let Some(last) = snapshot.get(VALUES, b"last").unwrap() else {
                    continue;
                };
                let last = u64::from_be_bytes(last.as_ref().try_into().unwrap());
                let entries = snapshot.range(RUNS, b"m", Some(b"n"));
                let entries: Vec<_> = entries.map(|entry| entry.unwrap().0).collect();
                assert_eq!(entries, [Bytes::from(format!("m{last:08}"))]);
                if last + 1 == batches {
                    break;
                }
            }
        });
    });
}
