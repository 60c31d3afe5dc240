//! The map of runs is a map like any other: through batches, snapshots, restarts and writing out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::BTreeSet;
use std::path::Path;

use bytes::Bytes;
use orrery_storage::{Batch, Options, Snapshot, Space, Storage};

const VALUES: Space = Space(0);
const RUNS: Space = Space(1);
const NAMES: [&str; 2] = ["values", "runs"];

fn open(directory: &Path, runs_bytes: usize) -> Storage {
    let options = Options {
        cache_bytes: 1024 * 1024,
        kept: VALUES,
        runs: RUNS,
        runs_bytes,
        is_established: false,
    };
    Storage::open(directory, &NAMES, options).unwrap()
}

/// Numbers that look random and are the same every time.
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
    // Long ones, so that a few thousand are worth writing out.
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

    // From both ends, in any mixture.
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
                // Half of the ends are not announced.
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
fn runs_are_a_map_through_any_life() {
    let only = std::env::var("ORRERY_SEED").ok();
    let only = only.map(|seed| seed.parse().unwrap());
    for seed in only.map_or(0..8, |seed| seed..seed + 1) {
        println!("ORRERY_SEED={seed}");
        life(seed);
    }
}

/// A batch and its run are seen together or not at all, while they are merged and written out.
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
                // The one entry moves; some weight goes with it.
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
