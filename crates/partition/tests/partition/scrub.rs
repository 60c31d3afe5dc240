//! The scrub of a running store reads all data and finds damage.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use orrery_log::{Disk, SystemDisk};
use orrery_partition::{MaintenanceOptions, ScrubReport, Store, StoreOptions};
use orrery_storage::{Batch, KeyspaceId};

use crate::check::{entries, filled, storage};
use crate::support::{options, wait_until};

const UNIQUE: KeyspaceId = KeyspaceId(1);

/// An offset within the records of fifty items, after their beginning.
const LAST_RECORDS: u64 = 4096 + 4000;

fn open(directory: &Path, scrub_bytes_per_second: u64) -> Store {
    let upkeep = MaintenanceOptions {
        scrub_bytes_per_second,
        ..MaintenanceOptions::default()
    };
    let options = StoreOptions {
        maintenance: upkeep,
        ..options(directory)
    };
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    Store::open_on(&options, &disk).unwrap()
}

/// The report of the first pass over a directory.
fn scrubbed(directory: &Path) -> ScrubReport {
    let store = open(directory, 100 << 20);
    wait_until(|| store.scrub().passes > 0);
    let report = store.scrub();
    store.close().unwrap();
    report
}

#[test]
fn a_whole_store_is_read_and_nothing_is_found() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), 50);
    let report = scrubbed(directory.path());
    assert_eq!(report.findings, 0, "{:?}", report.first_findings);
    assert!(report.rows > 200 && report.records >= 50, "{report:?}");
}

#[test]
fn rows_that_are_gone_are_found() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), 50);
    let storage = storage(directory.path());
    let mut batch = Batch::default();
    for (key, _) in entries(&storage, UNIQUE, b"") {
        batch.delete(UNIQUE, key);
    }
    storage.write(batch).unwrap();
    storage.flush().unwrap();
    drop(storage);
    let report = scrubbed(directory.path());
    assert_eq!(report.findings, 6, "one of eight of fifty: {report:?}");
    let finding = &report.first_findings[0];
    assert!(
        finding.contains("a unique key entry does not name it"),
        "{finding}"
    );
}

#[test]
fn a_flipped_bit_of_the_log_is_found() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), 50);
    // The damage occurs while the store is open, because opening a damaged log would fail. The
    // first step of the scrub comes later than the damage; otherwise a later step reads the rest of
    // the log.
    let store = open(directory.path(), 400);
    let segment = directory.path().join("log/00000000000000000001.segment");
    let mut file = fs::File::options().write(true).open(&segment).unwrap();
    file.seek(SeekFrom::Start(LAST_RECORDS)).unwrap();
    file.write_all(&[0xff; 64]).unwrap();
    wait_until(|| store.scrub().findings > 0);
    let report = store.scrub();
    assert!(report.first_findings[0].starts_with("log: "), "{report:?}");
}
