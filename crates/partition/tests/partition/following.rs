//! A follower that appends replicated records on a failing disk.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

use orrery_log::{Disk, SystemDisk};
use orrery_partition::{
    AppliedRecords, ApplyAfter, CommitObserver, Durability, LogRecord, Position, ReplicationError,
    SnapshotChunk, Store, StoreOptions, StorePositions, SubscriptionRead,
};

use crate::support::{World, item};
use orrery_fault_disk::{FaultDisk, Random};

/// An observer that ignores all commits, because no layer exists above the store.
struct Nobody;

impl CommitObserver for Nobody {
    fn on_applied(&self, _: &AppliedRecords) {}
}

pub(crate) fn open(directory: &Path, disk: &Arc<dyn Disk>, seen: ApplyAfter) -> Store {
    let options = StoreOptions {
        directory: Some(directory.to_owned()),
        durability: Durability::Sync,
        cache_bytes: 4 << 20,
        apply_after: seen,
        multi_write: None,
        maintenance: orrery_partition::MaintenanceOptions::default(),
    };
    let store = Store::open_on(&options, disk).unwrap();
    store.submit_follow(true, Box::new(|()| ()));
    store
}

pub(crate) fn take(store: &Store, records: &[LogRecord]) -> Result<Position, ReplicationError> {
    let (reply, answer) = channel();
    let reply = Box::new(move |result| reply.send(result).unwrap());
    let all = Position(u64::MAX);
    store.submit_replicated(records.to_vec(), all, Arc::new(Nobody), reply);
    let reached: StorePositions = answer.recv().unwrap()?;
    Ok(reached.applied)
}

/// All rows except the statistics: the estimate of distinct values depends on the removals within a
/// group.
pub(crate) fn everything(store: &Store) -> Vec<SnapshotChunk> {
    let mut stream = store.snapshot_stream().unwrap();
    let pieces = std::iter::from_fn(|| stream.next_chunk(1_000).unwrap());
    pieces
        .filter(|piece| piece.keyspace_name() != "statistics")
        .collect()
}

/// A leader and its records.
pub(crate) fn leader(directory: &Path) -> (World, Vec<LogRecord>) {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let leader = World::open(directory, &disk, Durability::None, "");
    for number in 0..40 {
        let properties = format!(r#","n":{number},"s":"{}""#, "x".repeat(number * 10));
        let text = item(&(number % 9).to_string(), &properties);
        leader.upsert(&text).unwrap();
    }
    let mut subscription = leader.store.subscribe(Position::ZERO, 0);
    let piece = subscription.records_after(Position::ZERO, usize::MAX);
    let SubscriptionRead::Records(records) = piece.unwrap() else {
        panic!("nothing was trimmed");
    };
    (leader, records)
}

fn shared(disk: &FaultDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

#[test]
fn replicated_records_survive_a_failed_sync_and_a_crash() {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [leading, following] = &directories;
    let (leader, records) = leader(leading.path());
    let disk = FaultDisk::default();
    let store = open(following.path(), &shared(&disk), ApplyAfter::Durable);
    let syncs = disk.syncs();
    assert_eq!(take(&store, &records[..20]), Ok(Position(20)));
    assert_eq!(disk.syncs(), syncs + 1, "records share a sync");
    disk.fail_syncs(true);
    let failed = take(&store, &records[20..]);
    assert!(
        matches!(failed, Err(ReplicationError::ReadOnly(_))),
        "{failed:?}"
    );
    disk.fail_syncs(false);
    assert_eq!(take(&store, &records[20..]), failed);
    assert_eq!(store.applied(), Position(20));
    assert!(store.close().is_err());

    let mut disk = disk.crash(&mut Random::new(1));
    for state in ["kept", "lost"] {
        if state == "lost" {
            fs::remove_dir_all(following.path().join("state")).unwrap();
            disk = disk.crash(&mut Random::new(2));
        }
        let store = open(following.path(), &shared(&disk), ApplyAfter::Durable);
        assert!(store.applied() >= Position(20), "state {state}");
        let last = leader.store.applied();
        assert_eq!(take(&store, &records), Ok(last));
        assert_eq!(everything(&store), everything(&leader.store));
        store.close().unwrap();
    }
}
