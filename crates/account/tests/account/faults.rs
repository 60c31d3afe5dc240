//! Regions whose disks fail.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use orrery_account::RegionState;
use orrery_model::{ConsistencyLevel, Failure};

use crate::support::{World, Writes, eventually, find};

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
    // A region whose log is gone may have nothing left to write.
    let _ = account.close();
}

/// Takes the directory of a region's log away and writes until that is noticed. Gives the number that was
/// acknowledged last.
async fn break_log(directory: &Path, world: &World, region: &str) -> Option<u64> {
    let log = find(&directory.join(region), "log").unwrap();
    fs::rename(&log, log.with_extension("gone")).unwrap();
    let begun = Instant::now();
    let mut acknowledged = None;
    for number in 0.. {
        match world.write_large(region, "large", number, 1_900_000).await {
            Ok(()) => acknowledged = Some(number),
            Err(failure) => {
                assert!(matches!(failure, Failure::Unavailable(_)), "{failure:?}");
                break;
            }
        }
        assert!(begun.elapsed() < Duration::from_mins(1));
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_cannot_write_its_own_records_is_seen() {
    for is_multi in [false, true] {
        // A failed test closes the stores after the end of this scope, so the directory must
        // outlive it.
        let directory = tempfile::tempdir().unwrap().keep();
        let world = if is_multi {
            World::multi(Some(&directory), &["a", "b"])
        } else {
            World::open(Some(&directory), SESSION, &["a", "b"])
        };
        world.create_container("a").await;
        world.write_patiently("a", "x", 1).await;
        assert_eq!(state(&world, "a"), (RegionState::Write, None));
        break_log(&directory, &world, "a").await;
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

/// Only the disk fails: the others receive every acknowledged write before one of them becomes the
/// write region.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_region_whose_disk_fails_is_replaced_and_nothing_is_lost() {
    for level in [SESSION, ConsistencyLevel::Strong] {
        let directory = tempfile::tempdir().unwrap().keep();
        let world = World::managed(Some(&directory), level, &["a", "b", "c"]);
        world.create_container("a").await;
        world.write_patiently("a", "x", 1).await;
        let acknowledged = break_log(&directory, &world, "a").await;
        let is_other = |name: &String| name != "a";
        eventually("another region writes", || {
            world.writer().as_ref().is_some_and(is_other)
        })
        .await;
        let writer = world.writer().unwrap();
        world.write_patiently(&writer, "x", 2).await;
        let found = world.peek(&writer, "large");
        assert!(found >= acknowledged, "{found:?} of {acknowledged:?}");
        let refused = world.write("a", "x", 3).await;
        assert!(
            matches!(
                refused,
                Err(Failure::WriteForbidden | Failure::Unavailable(_))
            ),
            "{refused:?}"
        );
        end_broken(world).await;
        fs::remove_dir_all(&directory).unwrap();
    }
}

/// Where every region writes, it is the hub that must be replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_whose_disk_fails_is_replaced() {
    let directory = tempfile::tempdir().unwrap().keep();
    let regions = ["a", "b", "c"];
    let world = World::with_writes(Some(&directory), &regions, Writes::EveryManaged);
    world.create_container("a").await;
    world.write_patiently("a", "x", 1).await;
    break_log(&directory, &world, "a").await;
    let makes_databases = |name: &&str| world.region(name).check_catalogue_write().is_ok();
    eventually("another region is the hub", || {
        ["b", "c"].iter().any(makes_databases)
    })
    .await;
    world.write_patiently("b", "y", 1).await;
    world.sees("c", "y", 1).await;
    end_broken(world).await;
    fs::remove_dir_all(&directory).unwrap();
}
