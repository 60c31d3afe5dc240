//! Bounded staleness where every region writes: each holds its own writes and reads to the bound, of 20
//! versions and five seconds here.

use std::time::{Duration, Instant};

use orrery_account::LinkOrder;
use orrery_model::{ConsistencyLevel, Failure};

use crate::support::{World, end, eventually};

const BOUNDED: ConsistencyLevel = ConsistencyLevel::BoundedStaleness;

async fn start() -> World {
    let world = World::multi_at(None, BOUNDED, &["a", "b"]);
    world.create_container("a").await;
    for region in ["a", "b"] {
        eventually("it has the container", || world.has_container(region)).await;
        world.write_patiently(region, region, 0).await;
    }
    world.sees("a", "b", 0).await;
    world.sees("b", "a", 0).await;
    world
}

fn is_throttled(written: &Result<(), Failure>) -> bool {
    matches!(written, Err(Failure::TooManyRequests { .. }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_writes_no_further_ahead_than_the_bound() {
    let world = start().await;
    world.link("a", "b", LinkOrder::Pause).await;
    let mut number = 0;
    let refused = loop {
        let written = world.write("a", "a", number + 1).await;
        if written.is_err() {
            break written;
        }
        number += 1;
        assert!(number < 100, "the bound is 20 versions");
    };
    assert!(is_throttled(&refused), "{refused:?}");
    assert!((18..=20).contains(&number), "{number}");
    assert_eq!(world.peek("b", "a"), Some(0));
    // What the other region writes arrives.
    for number in 1..40 {
        world.write_patiently("b", "b", number).await;
    }
    world.sees("a", "b", 39).await;
    world.link("a", "b", LinkOrder::Resume).await;
    world.sees("b", "a", number).await;
    world.write_patiently("a", "a", number + 1).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn regions_that_hear_nothing_stop_when_the_time_of_the_bound_is_over() {
    let world = start().await;
    let begun = Instant::now();
    for region in ["a", "b"] {
        while world.read(region, region, BOUNDED).await.is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(3),
                "it hears of the other"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    eventually("each knows that the other has everything", || {
        let links = world.account.report().links;
        links
            .iter()
            .all(|link| link.behind.is_some_and(|behind| behind.records == 0))
    })
    .await;
    world.isolate("b").await;
    world.write("a", "a", 1).await.unwrap();
    let cut = Instant::now();
    for region in ["a", "b"] {
        while world.read(region, region, BOUNDED).await.is_ok() {
            assert!(
                cut.elapsed() < Duration::from_secs(7),
                "the bound is five seconds"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let session = world.read(region, region, ConsistencyLevel::Session).await;
        assert!(session.is_ok(), "weaker reads go on");
    }
    assert!(cut.elapsed() > Duration::from_secs(4));
    eventually("it is behind for too long", || {
        world.region("a").check_write().is_err()
    })
    .await;
    assert!(is_throttled(&world.write("a", "a", 2).await));
    // Nothing waits for b's stream: it has written nothing since.
    world.write("b", "b", 1).await.unwrap();
    world.connect("b").await;
    world.write_patiently("a", "a", 2).await;
    world.sees("b", "a", 2).await;
    let again = Instant::now();
    while world.read("b", "b", BOUNDED).await.is_err() {
        assert!(again.elapsed() < Duration::from_secs(3), "it hears again");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    end(world.account).await;
}
