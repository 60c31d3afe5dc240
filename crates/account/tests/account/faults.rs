//! Regions whose disks fail.

use std::fs;
use std::time::{Duration, Instant};

use orrery_account::RegionState;
use orrery_model::{ConsistencyLevel, Failure};

use crate::support::{World, eventually, find};

const SESSION: ConsistencyLevel = ConsistencyLevel::Session;

pub(crate) fn state(world: &World, name: &str) -> (RegionState, Option<String>) {
    let regions = world.account.report().regions.into_iter();
    let mut regions = regions.filter(|region| region.name == name);
    let region = regions.next().unwrap();
    (region.state, region.cause)
}

pub(crate) async fn end_broken(world: World) {
    let account = world.account;
    account.stop();
    eventually("nobody uses it", || account.is_alone()).await;
    assert!(account.close().is_err(), "a region is broken");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_cannot_write_its_own_records_is_seen() {
    for is_multi in [false, true] {
        // If the test fails, the stores close over what is left: that must not be gone.
        let directory = tempfile::tempdir().unwrap().keep();
        let world = if is_multi {
            World::multi(Some(&directory), &["a", "b"])
        } else {
            World::open(Some(&directory), SESSION, &["a", "b"])
        };
        world.create_container("a").await;
        world.write_patiently("a", "x", 1).await;
        assert_eq!(state(&world, "a"), (RegionState::Write, None));
        let log = find(&directory.join("a"), "log").unwrap();
        fs::rename(&log, log.with_extension("gone")).unwrap();
        let begun = Instant::now();
        let failure = loop {
            match world.write_large("a", "large", 0, 1_900_000).await {
                Ok(()) => assert!(begun.elapsed() < Duration::from_mins(1)),
                Err(failure) => break failure,
            }
        };
        assert!(matches!(failure, Failure::Unavailable(_)), "{failure:?}");
        eventually("it is broken", || {
            state(&world, "a").0 == RegionState::Broken
        })
        .await;
        assert!(state(&world, "a").1.is_some());
        assert_eq!(world.peek("a", "x"), Some(1), "reads go on");
        let other = if is_multi {
            RegionState::Write
        } else {
            RegionState::Read
        };
        assert_eq!(state(&world, "b"), (other, None));
        end_broken(world).await;
        fs::remove_dir_all(&directory).unwrap();
    }
}
