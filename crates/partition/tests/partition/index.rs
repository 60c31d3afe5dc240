//! The index agrees with the documents after all kinds of writes and policy changes.
//!
//! The tests use the offline check, which derives every entry from the documents again.

use std::path::Path;
use std::sync::Arc;

use orrery_log::{Disk, SystemDisk};
use orrery_partition::{Durability, check};

use crate::support::{World, item};

const ALL: &str = "";
const FEW: &str = r#","indexingPolicy":{"includedPaths":[{"path":"/a/*"}],"excludedPaths":[{"path":"/*"}],
    "compositeIndexes":[[{"path":"/a/b"},{"path":"/_ts","order":"descending"}]]}"#;
const NONE: &str = r#","indexingPolicy":{"indexingMode":"none"}"#;

fn open(directory: &Path, settings: &str) -> World {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    World::open(directory, &disk, Durability::None, settings)
}

fn write(world: &World, round: u32) {
    for number in 0..700 {
        if (number + round).is_multiple_of(3) {
            let properties = format!(
                r#","a":{{"b":{},"c":["x",{number},"x"]}},"long":"{}","g":null"#,
                number * round % 17,
                "y".repeat(150 + (number % 5) as usize),
            );
            world
                .upsert(&item(&format!("{number:04}"), &properties))
                .unwrap();
        }
    }
}

fn assert_agrees(directory: &Path) {
    let report = check(directory).unwrap();
    assert_eq!(report.problems, [""; 0]);
    assert!(report.documents > 0);
}

#[test]
fn entries_follow_writes_and_replays() {
    let directory = tempfile::tempdir().unwrap();
    let world = open(directory.path(), ALL);
    write(&world, 1);
    // The store is not closed, so the next start replays the log.
    drop(world);
    assert_agrees(directory.path());
    let world = open(directory.path(), ALL);
    write(&world, 2);
    write(&world, 4);
    world.store.close().unwrap();
    assert_agrees(directory.path());
}

#[test]
fn a_policy_changes_while_documents_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let world = open(directory.path(), ALL);
    write(&world, 1);
    write(&world, 2);
    write(&world, 3);
    drop(world);
    for (round, settings) in [(4, FEW), (5, ALL), (6, NONE), (7, FEW), (8, FEW)] {
        let world = open(directory.path(), settings);
        write(&world, round);
        // The first walk is interrupted half way, and the next policy is added to it.
        let more = world.reindex().unwrap();
        write(&world, round + 1);
        if round > 5 {
            while world.reindex().unwrap() {}
            assert_eq!(world.store.index_progress(7).unwrap(), 100);
        } else {
            assert!(more);
            assert!(world.store.index_progress(7).unwrap() < 100);
        }
        drop(world);
        assert_agrees(directory.path());
    }
}
