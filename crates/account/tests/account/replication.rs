//! What one region writes, the others have a moment later, whatever happens in between.

use std::time::{Duration, Instant};

use orrery_account::{LinkOrder, RegionState};
use orrery_model::{ConsistencyLevel, Failure};

use crate::support::{PATIENCE, World, end, eventually};

const SESSION: ConsistencyLevel = ConsistencyLevel::Session;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn catalogue_and_items_travel() {
    let world = World::in_memory(SESSION, &["a", "b", "c"]);
    world.create_container("a").await;
    for number in 0..200 {
        let id = format!("i{}", number % 20);
        world.write("a", &id, number).await.unwrap();
    }
    for region in ["b", "c"] {
        world.sees(region, "i19", 199).await;
        let refused = world.write(region, "x", 1).await;
        assert_eq!(refused, Err(Failure::WriteForbidden));
    }
    let report = world.account.report();
    let states: Vec<_> = report.regions.iter().map(|region| region.state).collect();
    let expected = [RegionState::Write, RegionState::Read, RegionState::Read];
    assert_eq!(
        (states, report.write_region.as_deref()),
        (expected.to_vec(), Some("a"))
    );
    let versions: Vec<i64> = world
        .account
        .regions()
        .iter()
        .map(|region| region.token_version(&region.engine()))
        .collect();
    assert!(
        versions
            .iter()
            .all(|version| *version == versions[0] && *version > 0),
        "{versions:?}"
    );
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_link_is_stepped_through() {
    let world = World::in_memory(SESSION, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "x", 0).await.unwrap();
    world.sees("b", "x", 0).await;
    world.link("a", "b", LinkOrder::Pause).await;
    for number in 1..=5 {
        world.write("a", "x", number).await.unwrap();
    }
    eventually("the lag is seen", || {
        let report = world.account.report();
        let link = report.links.iter().find(|link| link.from == "a");
        link.and_then(|link| link.behind)
            .is_some_and(|behind| behind.records == 5)
    })
    .await;
    for number in 1..=3 {
        assert_eq!(world.peek("b", "x"), Some(number - 1));
        world.link("a", "b", LinkOrder::Step(1)).await;
        world.sees("b", "x", number).await;
    }
    world.link("a", "b", LinkOrder::Resume).await;
    world.sees("b", "x", 5).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delay_is_the_age_of_what_is_read() {
    let world = World::in_memory(SESSION, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "x", 0).await.unwrap();
    world.sees("b", "x", 0).await;
    let delay = Duration::from_millis(150);
    world.link("a", "b", LinkOrder::Delay(delay)).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let started = Instant::now();
    for number in 1.. {
        let begun = Instant::now();
        world.write("a", "x", number).await.unwrap();
        let took = begun.elapsed();
        world.sees("b", "x", number).await;
        let age = begun.elapsed();
        assert!(age >= delay, "{age:?}");
        // A write does not wait for other regions, but the machine may delay it now and then.
        if took < delay && age < delay * 4 {
            break;
        }
        assert!(started.elapsed() < PATIENCE, "{took:?} {age:?}");
    }
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn regions_go_on_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::open(Some(directory.path()), SESSION, &["a", "b"]);
    world.create_container("a").await;
    for round in 0..3 {
        for number in 0..50 {
            let id = format!("i{number}");
            world.write("a", &id, round).await.unwrap();
        }
        world = world.reopen().await;
        eventually("the write region goes on", || {
            world.region("a").check_write().is_ok() && world.writer().as_deref() == Some("a")
        })
        .await;
        for number in 0..50 {
            world.sees("b", &format!("i{number}"), round).await;
        }
        world.write_patiently("a", "x", round).await;
    }
    end(world.account).await;
}
