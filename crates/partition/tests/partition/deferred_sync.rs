//! Replicated records that are applied before they are durable.

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use orrery_log::{Disk, SystemDisk};
use orrery_partition::{ApplyAfter, Position, ReplicationError};

use crate::following::{everything, leader, open, take};
use crate::support::wait_until;
use orrery_fault_disk::{FaultDisk, Random};

/// Much longer than a sync takes, even on a busy machine.
const QUIET: Duration = Duration::from_secs(2);

#[test]
fn deferred_syncs_make_records_durable() {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [leading, following] = &directories;
    let (leader, records) = leader(leading.path());
    let disk = FaultDisk::default();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let store = open(following.path(), &shared, ApplyAfter::Written);
    let before = disk.syncs();
    for record in &records {
        take(&store, std::slice::from_ref(record)).unwrap();
    }
    assert_eq!(everything(&store), everything(&leader.store));
    let syncs = disk.syncs() - before;
    assert!(syncs < records.len(), "each of {syncs} was synced");
    // One or two more syncs, depending on whether the last but one was running; after them nothing
    // is left to sync.
    let mut seen = 0;
    wait_until(|| {
        std::thread::sleep(QUIET);
        std::mem::replace(&mut seen, disk.syncs()) == disk.syncs()
    });
    assert!(seen > before, "nothing was synced");
    let disk: Arc<dyn Disk> = Arc::new(disk.crash(&mut Random::new(1)));
    drop(store);

    fs::remove_dir_all(following.path().join("state")).unwrap();
    let store = open(following.path(), &disk, ApplyAfter::Written);
    assert_eq!(store.applied(), leader.store.applied());
    assert_eq!(everything(&store), everything(&leader.store));
    store.close().unwrap();
}

#[test]
fn records_lost_before_the_sync_are_replicated_again() {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [leading, following] = &directories;
    let (leader, records) = leader(leading.path());
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    for lost in ["log", "state"] {
        let store = open(following.path(), &disk, ApplyAfter::Written);
        let had = store.applied();
        take(&store, &records[..20]).unwrap();
        store.close().unwrap();
        fs::remove_dir_all(following.path().join(lost)).unwrap();
        if lost == "log" {
            // The directory looks like after a power failure before the log was durable, and so
            // before the watermark was written.
            fs::remove_file(following.path().join("log.durable")).unwrap();
            fs::create_dir(following.path().join(lost)).unwrap();
        }
        let store = open(following.path(), &disk, ApplyAfter::Written);
        // A state continues without its log; without both, the store starts from the beginning.
        assert_eq!(store.applied(), Position(20), "without {lost}, had {had}");
        take(&store, &records).unwrap();
        assert_eq!(everything(&store), everything(&leader.store));
        store.close().unwrap();
        fs::remove_dir_all(following.path()).unwrap();
        fs::create_dir(following.path()).unwrap();
    }
}

#[test]
fn a_failed_deferred_sync_stops_the_store() {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [leading, following] = &directories;
    let (_leader, records) = leader(leading.path());
    let disk = FaultDisk::default();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let store = open(following.path(), &shared, ApplyAfter::Written);
    disk.fail_syncs(true);
    assert_eq!(take(&store, &records[..20]), Ok(Position(20)));
    let mut end = Ok(Position(20));
    wait_until(|| {
        end = take(&store, &records[..21]);
        end.is_err()
    });
    assert!(matches!(end, Err(ReplicationError::ReadOnly(_))), "{end:?}");
    assert!(store.problem().unwrap().contains("cannot sync"));
    // Pages that the system has dropped do not become durable when the disk recovers.
    disk.fail_syncs(false);
    let (reply, answer) = channel();
    store.submit_sync(Box::new(move |result| reply.send(result).unwrap()));
    assert!(answer.recv().unwrap().is_err());
    assert!(store.close().is_err());
}
