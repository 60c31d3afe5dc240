//! Bounded staleness where every region writes: each holds its own writes and reads to the bound, of 20
//! versions and five seconds here.

use std::time::{Duration, Instant};

use orrery_account::LinkOrder;
use orrery_model::{ConsistencyLevel, Failure};

use crate::support::{PATIENCE, World, Writes, end, eventually};

const BOUNDED: ConsistencyLevel = ConsistencyLevel::BoundedStaleness;

async fn start(world: World) -> World {
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
    let world = start(World::bounded_by_versions(&["a", "b"], Writes::Every)).await;
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
    let world = start(World::multi_at(None, BOUNDED, &["a", "b"])).await;
    let started = Instant::now();
    let mut number = 0;
    loop {
        number += 1;
        let refused = refused_after(&world, number).await;
        // Nothing waits for b's stream: it has written nothing since.
        let goes_on = world.region("b").check_write();
        // On a busy machine regions may have been silent before the cut, or b may not have a's last
        // progress.
        if refused > Duration::from_secs(4) && goes_on.is_ok() {
            eventually("it is behind for too long", || {
                world.region("a").check_write().is_err()
            })
            .await;
            assert!(is_throttled(&world.write("a", "a", number + 1).await));
            // If the cut came before b had counted its last write, b waits for a too.
            if world.write("b", "b", 1).await.is_ok() {
                break;
            }
        }
        assert!(started.elapsed() < 2 * PATIENCE, "{refused:?} {goes_on:?}");
        world.connect("b").await;
    }
    world.connect("b").await;
    world.write_patiently("a", "a", number + 1).await;
    world.sees("b", "a", number + 1).await;
    // The regions receive each other's progress again.
    assert_eq!(world.read_patiently("b", "b", BOUNDED).await, Some(1));
    end(world.account).await;
}

/// Cuts the links between regions with equal progress. Returns the time until neither region
/// answers bounded reads; `a` has then written a record that `b` lacks.
async fn refused_after(world: &World, number: u64) -> Duration {
    for region in ["a", "b"] {
        world.read_patiently(region, region, BOUNDED).await;
    }
    eventually("each knows that the other has everything", || {
        let links = world.account.report().links;
        links
            .iter()
            .all(|link| link.behind.is_some_and(|behind| behind.records == 0))
    })
    .await;
    world.isolate("b").await;
    let cut = Instant::now();
    if world.write("a", "a", number).await.is_err() {
        return Duration::ZERO;
    }
    for region in ["a", "b"] {
        loop {
            let asked = cut.elapsed();
            if world.read(region, region, BOUNDED).await.is_err() {
                break;
            }
            assert!(asked < Duration::from_secs(7), "the bound is five seconds");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let session = world.read(region, region, ConsistencyLevel::Session).await;
        assert!(session.is_ok(), "weaker reads go on");
    }
    cut.elapsed()
}
