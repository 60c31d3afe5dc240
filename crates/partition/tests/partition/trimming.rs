//! The records that the log retains for its followers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_log::{Disk, SystemDisk};
use orrery_partition::{Durability, Position, Subscription, SubscriptionRead};

use crate::support::{World, item};

const PATIENCE: Duration = Duration::from_secs(20);

/// The first record that a new subscription can read.
fn first(subscription: &mut Subscription) -> Option<u64> {
    match subscription.records_after(Position::ZERO, 1).unwrap() {
        SubscriptionRead::Records(records) => records.first().map(|(position, _)| position.0),
        SubscriptionRead::Trimmed => None,
    }
}

fn write_megabytes(world: &World, count: usize) {
    let text = item("1", &format!(r#","x":"{}""#, "x".repeat(1_000_000)));
    for _ in 0..count {
        world.upsert(&text).unwrap();
    }
}

#[test]
fn records_stay_for_a_follower_while_it_can_be_afforded() {
    let directory = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let settings = r#","indexingPolicy":{"indexingMode":"none","automatic":false}"#;
    let world = World::open(directory.path(), &disk, Durability::None, settings);
    let mut patient = world.store.subscribe(Position::ZERO, 1 << 30);
    // Several segments, each of which triggers a checkpoint.
    write_megabytes(&world, 60);
    assert_eq!(first(&mut patient), Some(1));
    let (mut after, mut count) = (Position::ZERO, 0);
    while let SubscriptionRead::Records(records) = patient.records_after(after, 3_000_000).unwrap()
        && let Some((last, _)) = records.last()
    {
        after = *last;
        count += records.len() as u64;
    }
    assert_eq!((after, count), (world.store.applied(), after.0));

    let mut poor = world.store.subscribe(Position::ZERO, 1);
    patient.acknowledge(after);
    let begun = Instant::now();
    while first(&mut poor).is_some() {
        assert!(begun.elapsed() < PATIENCE, "the log was never trimmed");
        write_megabytes(&world, 8);
    }
    // The subscription that acknowledged its records has lost none.
    let piece = patient.records_after(after, 1).unwrap();
    let SubscriptionRead::Records(records) = piece else {
        panic!("trimmed what was needed");
    };
    assert_eq!(records[0].0.0, after.0 + 1);
    drop((patient, poor));
    world.store.close().unwrap();
}
