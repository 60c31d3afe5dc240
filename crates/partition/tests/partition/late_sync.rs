//! Records of another store that are seen before they are durable.

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use orrery_log::{Disk, SystemDisk};
use orrery_partition::{Position, ReplicationError, Seen};

use crate::disk::{FaultDisk, Random};
use crate::following::{everything, leader, open, take};
use crate::support::wait_until;

/// Much longer than a sync takes to come, on a busy machine too.
const QUIET: Duration = Duration::from_secs(2);

#[test]
fn they_are_durable_a_moment_later() {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [leading, following] = &directories;
    let (leader, records) = leader(leading.path());
    let disk = FaultDisk::default();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let store = open(following.path(), &shared, Seen::Written);
    let before = disk.syncs();
    for record in &records {
        take(&store, std::slice::from_ref(record)).unwrap();
    }
    assert_eq!(everything(&store), everything(&leader.store));
    let syncs = disk.syncs() - before;
    assert!(syncs < records.len(), "each of {syncs} was synced");
    // One or two more, as the last but one was under way or not; then nothing is left to sync.
    let mut seen = 0;
    wait_until(|| {
        std::thread::sleep(QUIET);
        std::mem::replace(&mut seen, disk.syncs()) == disk.syncs()
    });
    assert!(seen > before, "nothing was synced");
    let disk: Arc<dyn Disk> = Arc::new(disk.crash(&mut Random(1)));
    drop(store);

    fs::remove_dir_all(following.path().join("state")).unwrap();
    let store = open(following.path(), &disk, Seen::Written);
    assert_eq!(store.committed(), leader.store.committed());
    assert_eq!(everything(&store), everything(&leader.store));
    store.close().unwrap();
}

#[test]
fn what_the_log_has_lost_is_asked_for_again() {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [leading, following] = &directories;
    let (leader, records) = leader(leading.path());
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    for lost in ["log", "state"] {
        let store = open(following.path(), &disk, Seen::Written);
        let had = store.committed();
        take(&store, &records[..20]).unwrap();
        store.close().unwrap();
        fs::remove_dir_all(following.path().join(lost)).unwrap();
        if lost == "log" {
            // The directory looks as if the power had failed before the log was durable, and so
            // before the mark said that it was.
            fs::remove_file(following.path().join("log.durable")).unwrap();
            fs::create_dir(following.path().join(lost)).unwrap();
        }
        let store = open(following.path(), &disk, Seen::Written);
        // A state goes on without its log; without both it begins again.
        assert_eq!(store.committed(), Position(20), "without {lost}, had {had}");
        take(&store, &records).unwrap();
        assert_eq!(everything(&store), everything(&leader.store));
        store.close().unwrap();
        fs::remove_dir_all(following.path()).unwrap();
        fs::create_dir(following.path()).unwrap();
    }
}

#[test]
fn a_disk_that_fails_is_noticed() {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [leading, following] = &directories;
    let (_leader, records) = leader(leading.path());
    let disk = FaultDisk::default();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let store = open(following.path(), &shared, Seen::Written);
    disk.fail_syncs(true);
    assert_eq!(take(&store, &records[..20]), Ok(Position(20)));
    let mut end = Ok(Position(20));
    wait_until(|| {
        end = take(&store, &records[..21]);
        end.is_err()
    });
    assert!(matches!(end, Err(ReplicationError::ReadOnly(_))), "{end:?}");
    assert!(store.problem().unwrap().contains("cannot sync"));
    // What the system has dropped does not become durable when the disk is well again.
    disk.fail_syncs(false);
    let (reply, answer) = channel();
    store.submit_sync(Box::new(move |result| reply.send(result).unwrap()));
    assert!(answer.recv().unwrap().is_err());
    assert!(store.close().is_err());
}
