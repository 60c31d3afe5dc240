//! The offline check finds rows that contradict the documents.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use orrery_log::{Disk, SystemDisk};
use orrery_partition::{Durability, check};
use orrery_storage::{Batch, KeyspaceId, Storage, StorageOptions};

use crate::support::{NUMBER, World, item};

/// As in `docs/format.md`.
const NAMES: [&str; 11] = [
    "documents",
    "unique",
    "expiry",
    "catalogue",
    "meta",
    "index",
    "statistics",
    "feed",
    "history",
    "versions",
    "claims",
];
const DOCUMENTS: KeyspaceId = KeyspaceId(0);
const UNIQUE: KeyspaceId = KeyspaceId(1);
const EXPIRY: KeyspaceId = KeyspaceId(2);
const CATALOGUE: KeyspaceId = KeyspaceId(3);
const META: KeyspaceId = KeyspaceId(4);
const INDEX: KeyspaceId = KeyspaceId(5);
const FEED: KeyspaceId = KeyspaceId(7);
const HISTORY: KeyspaceId = KeyspaceId(8);
const STATISTICS: KeyspaceId = KeyspaceId(6);

const SETTINGS: &str = r#","defaultTtl":100,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}"#;

fn open(directory: &Path) -> World {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    World::open(directory, &disk, Durability::None, SETTINGS)
}

fn fill(world: &World, items: u32) {
    for number in 0..items {
        let properties = format!(r#","u":{number}"#);
        let text = item(&number.to_string(), &properties);
        world.upsert(&text).unwrap();
    }
}

/// A closed store with this number of items.
pub(crate) fn filled(directory: &Path, items: u32) {
    let world = open(directory);
    fill(&world, items);
    world.store.close().unwrap();
}

/// The rows of a keyspace whose keys begin with `prefix`.
pub(crate) fn entries(
    storage: &Storage,
    space: KeyspaceId,
    prefix: &[u8],
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let range = storage.snapshot().range(space, prefix, None);
    range
        .map(|entry| entry.unwrap())
        .take_while(|(key, _)| key.starts_with(prefix))
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect()
}

pub(crate) fn storage(directory: &Path) -> Storage {
    let options = StorageOptions {
        cache_bytes: 1 << 20,
        cached_keyspace: DOCUMENTS,
        buffered_keyspace: INDEX,
        run_buffer_bytes: 1 << 20,
        required_keyspaces: NAMES.len(),
    };
    Storage::open(&directory.join("state"), &NAMES, options).unwrap()
}

/// The problems that the check reports after `damage`, one line each.
fn problems(damage: impl FnOnce(&Storage, &mut Batch)) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let world = open(directory.path());
    fill(&world, 3);
    world.store.close().unwrap();
    assert_eq!(check(directory.path()).unwrap().problems, [""; 0]);

    let storage = storage(directory.path());
    let mut batch = Batch::default();
    damage(&storage, &mut batch);
    storage.write(batch).unwrap();
    storage.flush().unwrap();
    drop(storage);
    check(directory.path()).unwrap().problems
}

fn assert_problems(found: &[String], expected: &[&str]) {
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            found.contains(expected),
            "{found:?} instead of {expected:?}"
        );
    }
}

fn delete_first(space: KeyspaceId, prefix: &'static [u8]) -> impl FnOnce(&Storage, &mut Batch) {
    move |storage, batch| {
        let (key, _) = entries(storage, space, prefix).remove(0);
        batch.delete(space, key);
    }
}

#[test]
fn a_missing_entry_is_found() {
    assert_problems(
        &problems(delete_first(DOCUMENTS, b"")),
        &[
            "the document it names is not there",
            "the document it names is not there",
            "feed entry",
            "it counts other entries than there are",
            "container 7: its counters say 3 items",
        ],
    );
    assert_problems(
        &problems(delete_first(UNIQUE, b"")),
        &["a unique key entry does not name it"],
    );
    assert_problems(
        &problems(delete_first(EXPIRY, b"")),
        &["it has no expiry entry although its header names one"],
    );
    assert_problems(
        &problems(delete_first(FEED, b"")),
        &["it has 2 feed entries and should have 3"],
    );
    assert_problems(
        &problems(delete_first(META, b"p")),
        &[
            "partition 0 has changes and no counters",
            "its counters say 0 items of 0 bytes, but it has 3 of",
        ],
    );
    assert_problems(
        &problems(delete_first(INDEX, b"")),
        &[
            "it lacks an index entry",
            "it counts other entries than there are",
            "it has 11 index entries and should have 12",
        ],
    );
}

#[test]
fn the_catalogue_and_the_history_are_read() {
    let put = |space: KeyspaceId, key: &'static [u8], value: &'static [u8]| {
        move |_: &Storage, batch: &mut Batch| batch.put(space, key, value)
    };
    assert_problems(
        &problems(put(CATALOGUE, b"d\0\0\0\x01", b"{\"id\":")),
        &["its value is not JSON"],
    );
    assert_problems(
        &problems(put(CATALOGUE, b"?", b"{}")),
        &["there is no such kind of entry"],
    );
    assert_problems(
        &problems(put(CATALOGUE, b"c\0\0\0\x09", b"{}")),
        &["container 7 has data and no entry in the catalogue"],
    );
    let key = b"\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\x01\0\0";
    assert_problems(
        &problems(put(HISTORY, key, b"\x01\x09")),
        &["does not decode"],
    );
    let newer = b"\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\x01\0\0\0";
    let event = b"\x01\x01\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0{}\0\0\0\0";
    assert_problems(
        &problems(put(HISTORY, newer, event)),
        &["its partition has a newer change than it counts"],
    );
}

#[test]
fn the_report_counts_rows_and_records() {
    let directory = tempfile::tempdir().unwrap();
    let world = open(directory.path());
    fill(&world, 3);
    world.store.close().unwrap();
    let report = check(directory.path()).unwrap();
    let rows = |map: &str| report.rows.iter().find(|(name, _)| *name == map).unwrap().1;
    assert_eq!(
        (rows("documents"), rows("feed"), rows("history")),
        (3, 3, 0)
    );
    assert_eq!(report.rows.len(), NAMES.len());
    assert!(report.applied == report.log_last && report.watermark == report.log_last);
    assert_eq!(report.log_records, report.log_last.0);
}

#[test]
fn a_superfluous_entry_is_found() {
    let second_expiry = |storage: &Storage, batch: &mut Batch| {
        let (mut key, value) = entries(storage, EXPIRY, b"").remove(0);
        key[3] ^= 1;
        batch.put(EXPIRY, key, value);
    };
    assert_problems(
        &problems(second_expiry),
        &["the document it names does not have it"],
    );
    let second_unique = |storage: &Storage, batch: &mut Batch| {
        let (mut key, value) = entries(storage, UNIQUE, b"").remove(0);
        *key.last_mut().unwrap() ^= 1;
        batch.put(UNIQUE, key, value);
    };
    assert_problems(
        &problems(second_unique),
        &["the document it names does not have it"],
    );
    let short = |_: &Storage, batch: &mut Batch| {
        batch.put(UNIQUE, "u", "");
        batch.put(EXPIRY, "e", "");
        batch.put(
            META,
            [&b"p"[..], &NUMBER.to_be_bytes(), &[9; 4]].concat(),
            "c",
        );
    };
    assert_problems(
        &problems(short),
        &[
            "it is too short",
            "it is too short",
            "counters of 1 bytes do not decode",
        ],
    );
}

#[test]
fn counters_are_compared() {
    let one_more = |storage: &Storage, batch: &mut Batch| {
        let (key, mut value) = entries(storage, META, b"p").remove(0);
        value[8] += 1;
        batch.put(META, key, value);
    };
    assert_problems(&problems(one_more), &["its counters say 4 items"]);
}

#[test]
fn statistics_are_compared() {
    let page = [&NUMBER.to_be_bytes()[..], b"p"].concat();
    for (byte, what) in [
        (0, "the statistics of a container do not decode"),
        (1 + 1 + 8 + 7, "it counts other entries than there are"),
        (1 + 1 + 8 + 8 + 7, "it counts other entries than there are"),
    ] {
        let changed = |storage: &Storage, batch: &mut Batch| {
            let (key, mut value) = entries(storage, STATISTICS, &page).remove(0);
            value[byte] += 1;
            batch.put(STATISTICS, key, value);
        };
        let found = problems(changed);
        assert!(found[0].contains(what), "{found:?}");
    }
    let no_page = |storage: &Storage, batch: &mut Batch| {
        let (key, _) = entries(storage, STATISTICS, &page).remove(0);
        batch.delete(STATISTICS, key);
    };
    let lost = "it leads to a page without its index";
    assert_problems(&problems(no_page), &[lost; 5]);
    let no_slot = |storage: &Storage, batch: &mut Batch| {
        let slots = [&NUMBER.to_be_bytes()[..], b"s"].concat();
        let (key, _) = entries(storage, STATISTICS, &slots).remove(0);
        batch.delete(STATISTICS, key);
    };
    assert_problems(
        &problems(no_slot),
        &["it has an index that cannot be found in it"],
    );
    let no_row = |_: &Storage, batch: &mut Batch| {
        batch.put(STATISTICS, [&NUMBER.to_be_bytes()[..], b"?"].concat(), "");
    };
    assert_problems(&problems(no_row), &["do not decode"]);
}

#[test]
fn a_long_list_is_cut() {
    let all = |_: &Storage, batch: &mut Batch| {
        for number in 0..1_500_u32 {
            batch.put(EXPIRY, [&[9; 8], &number.to_be_bytes()[..]].concat(), "");
        }
    };
    let found = problems(all);
    assert_eq!(found.len(), 1_001);
    assert_eq!(found[1_000], "500 more problems are not listed here");
}

#[test]
fn the_removal_of_a_container_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let world = open(directory.path());
    fill(&world, 4_100);
    world.write_catalogue("x\0\0\0\x07").unwrap();
    assert!(world.purge().unwrap());
    world.store.close().unwrap();
    // The directory is consistent in the middle of a purge as well.
    let report = check(directory.path()).unwrap();
    assert_eq!((report.documents, report.problems), (2_100, Vec::new()));

    let world = open(directory.path());
    while world.purge().unwrap() {}
    world.store.close().unwrap();
    let storage = storage(directory.path());
    for space in [DOCUMENTS, UNIQUE, EXPIRY, INDEX, STATISTICS] {
        assert_eq!(entries(&storage, space, b""), []);
    }
    for kind in [b"p", b"i"] {
        assert_eq!(entries(&storage, META, kind), []);
    }
    assert_eq!(entries(&storage, CATALOGUE, b"x").len(), 1);
}

#[test]
fn a_start_that_was_cut_off_leaves_a_directory_that_opens() {
    let directory = tempfile::tempdir().unwrap();
    assert!(check(directory.path()).is_err());
    fs::write(directory.path().join("FORMAT.new"), "orr").unwrap();
    open(directory.path()).store.close().unwrap();
    let mark = fs::read_to_string(directory.path().join("FORMAT")).unwrap();
    assert_eq!(mark, "orrery 2\n");
    assert!(!directory.path().join("FORMAT.new").exists());
}
