//! Promises that a region must not make to other regions.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use orrery_account::{Availability, OperatorOrder, RegionState};

use crate::faults::{end_broken, state};
use crate::support::{World, Writes, eventually, find};

/// Longer than the others take to promote another region.
const PROMOTION: Duration = Duration::from_secs(6);

/// From now on the log files of a region can be written, but their later syncs fail.
pub(crate) fn spoil_late_syncs(directory: &Path) {
    let log = find(directory, "log").unwrap();
    for entry in fs::read_dir(&log).unwrap() {
        let path = entry.unwrap().path();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_whose_syncs_fail_is_seen_and_promises_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let regions = ["a", "b", "c"];
    let world = World::with_writes(Some(directory.path()), &regions, Writes::OneManaged);
    world.create_container("a").await;
    for region in ["b", "c"] {
        world.write_patiently("a", "x", 1).await;
        world.sees(region, "x", 1).await;
    }
    let own = directory.path().join("b");
    spoil_late_syncs(&own);
    let promised = fs::read(own.join("region")).unwrap();
    // The sync of this record fails in b, before or after b has applied it.
    world.write("a", "x", 2).await.unwrap();
    eventually("it is broken", || {
        state(&world, "b").0 == RegionState::Broken
    })
    .await;
    let cause = state(&world, "b").1.unwrap();
    assert!(cause.contains("sync"), "{cause}");
    assert_eq!(world.region("b").availability(), Availability::Serving);

    // The vote of the broken region would be enough for the third one.
    world.isolate("a").await;
    let begun = Instant::now();
    while begun.elapsed() < PROMOTION {
        assert!(world.region("c").check_write().is_err(), "it was promoted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(world.region("b").availability(), Availability::Serving);

    // A region also makes a promise when it follows another region.
    let order = OperatorOrder::Failover {
        to: "c".to_owned(),
        forced: true,
        accepts_loss: false,
        offline: Vec::new(),
    };
    world.order(order).await;
    eventually("it says nothing more", || {
        world.region("b").availability() == Availability::Down
    })
    .await;
    assert!(
        fs::read(own.join("region")).unwrap() == promised,
        "it was saved"
    );
    assert!(world.region("b").is_broken() && !world.region("c").is_broken());
    assert_eq!(state(&world, "b").0, RegionState::Broken);
    world.connect("a").await;
    world.write_patiently("c", "x", 3).await;
    world.sees("a", "x", 3).await;
    end_broken(world).await;
}
