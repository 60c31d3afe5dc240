//! Multi-write accounts in which a region was away for longer than the others retain its missing
//! records.

use std::path::Path;
use std::time::{Duration, Instant};

use orrery_account::{LinkOrder, OperatorOrder};

use crate::support::{PATIENCE, World, end, eventually, outrun};

const ALL: [&str; 3] = ["a", "b", "c"];
/// The bytes of records that a region retains for disconnected regions.
const KEPT_BYTES: u64 = 20_000;

async fn start(directory: Option<&Path>) -> World {
    let world = World::forgetful(directory, &ALL, KEPT_BYTES);
    world.create_container("a").await;
    for region in ALL {
        world.writes(region).await;
    }
    world
}

async fn all_see(world: &World, from: &str, name: &str) {
    for region in ALL {
        world.sees(region, &format!("{from}-{name}-0"), 0).await;
        world.sees(region, &format!("{from}-{name}-49"), 49).await;
    }
}

/// The origin of a region's state, which changes with each snapshot.
fn state(world: &World, region: &str) -> Option<(u8, u64)> {
    let engine = world.region(region).engine();
    engine.copied_from().map(|(from, at)| (from.0, at))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_was_away_for_too_long_is_copied_and_keeps_what_it_wrote() {
    let world = start(None).await;
    world.write_patiently("c", "before", 1).await;
    for region in ALL {
        world.sees(region, "before", 1).await;
    }
    world.isolate("c").await;
    for number in 0..20 {
        world
            .write("c", &format!("cut{number}"), number)
            .await
            .unwrap();
    }
    outrun(&world, &["a", "b"], "x", 500).await;
    assert_eq!(state(&world, "c"), None);
    world.connect("c").await;
    all_see(&world, "a", "x").await;
    all_see(&world, "b", "x").await;
    assert!(state(&world, "c").is_some(), "it was copied");
    world.writes("c").await;
    for number in 0..20 {
        for region in ALL {
            world.sees(region, &format!("cut{number}"), number).await;
        }
    }
    // Its numbers go on.
    world.write_patiently("c", "after", 2).await;
    for region in ALL {
        world.sees(region, "after", 2).await;
    }
    world.is_the_same_everywhere(&ALL).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_go_on_while_a_region_is_copied() {
    let world = start(None).await;
    let begun = Instant::now();
    let mut written = 0;
    // A busy machine may complete the snapshot before it lets clients write.
    for round in 0.. {
        let before = (state(&world, "c"), written);
        world.isolate("c").await;
        world.write("c", "cut", 1).await.unwrap();
        outrun(&world, &["a", "b"], &format!("x{round}"), 500).await;
        // The pieces of the snapshot arrive slowly.
        world
            .link("*", "c", LinkOrder::Delay(Duration::from_millis(60)))
            .await;
        world.connect("c").await;
        while state(&world, "c") == before.0 {
            let id = format!("during{written}");
            if world.write("c", &id, written).await.is_ok() {
                written += 1;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
            assert!(begun.elapsed() < 2 * PATIENCE, "it is not copied");
        }
        world.link("*", "c", LinkOrder::Delay(Duration::ZERO)).await;
        if written > before.1 + 10 {
            break;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{written} writes while it was copied"
        );
    }
    for number in 0..written {
        for region in ALL {
            world.sees(region, &format!("during{number}"), number).await;
        }
    }
    world.is_the_same_everywhere(&ALL).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_a_restart_interrupted_is_taken_again() {
    let directory = tempfile::tempdir().unwrap();
    let world = start(Some(directory.path())).await;
    world.isolate("c").await;
    for number in 0..20 {
        world
            .write("c", &format!("cut{number}"), number)
            .await
            .unwrap();
    }
    outrun(&world, &["a", "b"], "x", 200_000).await;
    let slowly = LinkOrder::Delay(Duration::from_secs(1));
    world.link("*", "c", slowly).await;
    world.connect("c").await;
    let beside = directory.path().join("c").join("b");
    eventually("a copy is taken", || beside.exists()).await;
    assert_eq!(state(&world, "c"), None);
    let world = world.reopen().await;
    all_see(&world, "a", "x").await;
    for number in 0..20 {
        for region in ALL {
            world.sees(region, &format!("cut{number}"), number).await;
        }
    }
    world.write_patiently("c", "after", 2).await;
    let world = world.reopen().await;
    for region in ALL {
        world.sees(region, "after", 2).await;
    }
    world.is_the_same_everywhere(&ALL).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_was_down_is_copied_when_it_comes_up() {
    let world = start(None).await;
    world.write_patiently("b", "before", 1).await;
    let down = OperatorOrder::TakeDown {
        region: "b".to_owned(),
    };
    world.order(down).await;
    outrun(&world, &["a", "c"], "x", 500).await;
    let up = OperatorOrder::BringUp {
        region: "b".to_owned(),
    };
    world.order(up).await;
    all_see(&world, "c", "x").await;
    assert!(state(&world, "b").is_some(), "it was copied");
    for region in ALL {
        world.sees(region, "before", 1).await;
    }
    world.is_the_same_everywhere(&ALL).await;
    end(world.account).await;
}

/// While a request uses the state that a copy has replaced, no other copy takes its directory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_waits_for_requests_that_use_the_state_before_the_last_copy() {
    let directory = tempfile::tempdir().unwrap();
    let world = start(Some(directory.path())).await;
    let oldest = world.region("c").engine();
    world.isolate("c").await;
    outrun(&world, &["a", "b"], "x", 200_000).await;
    world.connect("c").await;
    all_see(&world, "a", "x").await;
    let first = state(&world, "c");
    assert!(first.is_some(), "it was copied");
    world.isolate("c").await;
    outrun(&world, &["a", "b"], "y", 200_000).await;
    world.connect("c").await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(state(&world, "c"), first, "the next copy waits");
    drop(oldest);
    all_see(&world, "a", "y").await;
    assert_ne!(state(&world, "c"), first);
    // The copy is in the directory that the oldest state had.
    let world = world.reopen().await;
    all_see(&world, "a", "y").await;
    world.is_the_same_everywhere(&ALL).await;
    end(world.account).await;
}
