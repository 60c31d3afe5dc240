//! The times at which the log is synced.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_log::Disk;
use orrery_partition::Durability;

use crate::support::{World, item};
use orrery_fault_disk::FaultDisk;

const INTERVAL: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn interval_durability_syncs_under_load() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultDisk::default();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let durability = Durability::Interval(INTERVAL);
    let world = World::open(directory.path(), &shared, durability, "");
    let (begun, before) = (Instant::now(), disk.syncs());
    let (mut writes, mut syncs) = (0, 0);
    // Several syncs, and fewer than there are writes.
    while syncs < 3 || writes <= syncs {
        world.upsert(&item("1", "")).unwrap();
        writes += 1;
        syncs = disk.syncs() - before;
        let time = begun.elapsed();
        assert!(time < PATIENCE, "{syncs} of {writes} were synced");
    }
    // The first interval may have begun with the container; the others followed one after another.
    let intervals = u32::try_from(syncs - 1).unwrap();
    assert!(begun.elapsed() >= intervals * INTERVAL, "synced too often");

    let before = disk.syncs();
    world.upsert(&item("2", "")).unwrap();
    let begun = Instant::now();
    while disk.syncs() == before {
        assert!(
            begun.elapsed() < PATIENCE,
            "the last write was never synced"
        );
        std::thread::yield_now();
    }
    world.store.close().unwrap();
}
