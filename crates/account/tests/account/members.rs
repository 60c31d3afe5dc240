//! Regions come and go while the account is used.

use orrery_account::{Availability, ControlError, OperatorOrder, RegionState};
use orrery_model::ConsistencyLevel;

use crate::support::{World, end, eventually, outrun};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_is_added_and_removed_while_others_write() {
    for level in [ConsistencyLevel::Session, ConsistencyLevel::Strong] {
        let world = World::in_memory(level, &["a", "b"]);
        world.create_container("a").await;
        for number in 0..300 {
            world
                .write("a", &format!("i{number}"), number)
                .await
                .unwrap();
        }
        world.account.add(world.options("c")).await.unwrap();
        let report = world.account.report();
        let added = report
            .regions
            .iter()
            .find(|region| region.name == "c")
            .unwrap();
        assert_eq!(added.state, RegionState::Read);
        world.sees("c", "i299", 299).await;
        world.write_patiently("a", "x", 1).await;
        world.sees("c", "x", 1).await;
        world.fail_over("c").await;
        world.write_patiently("c", "x", 2).await;
        world.sees("a", "x", 2).await;
        world
            .order(OperatorOrder::Remove {
                region: "a".to_owned(),
                forced: false,
            })
            .await;
        eventually("it knows", || {
            world.region("a").availability() == Availability::Removed
        })
        .await;
        world.write_patiently("c", "x", 3).await;
        world.sees("b", "x", 3).await;
        let again = world
            .account
            .carry_out(OperatorOrder::Remove {
                region: "c".to_owned(),
                forced: false,
            })
            .await;
        assert!(matches!(again, Err(ControlError::Refused(_))), "{again:?}");
        end(world.account).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_lost_touch_with_the_log_is_copied() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::open(Some(directory.path()), ConsistencyLevel::Session, &["a"]);
    world.create_container("a").await;
    for number in 0..100 {
        world
            .write("a", &format!("i{number}"), number)
            .await
            .unwrap();
    }
    let world = world.reopen().await;
    world.write_patiently("a", "x", 1).await;
    world.account.add(world.options("b")).await.unwrap();
    world.sees("b", "i99", 99).await;
    world.sees("b", "x", 1).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_was_away_for_longer_than_was_said_is_copied() {
    let world = World::forgetful_with_one_writer(&["a", "b"], 20_000);
    world.create_container("a").await;
    world.write("a", "before", 1).await.unwrap();
    world.sees("b", "before", 1).await;
    world.isolate("b").await;
    outrun(&world, &["a"], "x", 500).await;
    world.connect("b").await;
    world.sees("b", "a-x-49", 49).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn regions_must_exist() {
    let world = World::in_memory(ConsistencyLevel::Session, &["a", "b"]);
    world.create_container("a").await;
    let refused = world
        .account
        .carry_out(OperatorOrder::TakeDown {
            region: "z".to_owned(),
        })
        .await;
    let Err(error) = refused else {
        panic!("there is no such region");
    };
    assert_eq!(
        error.to_string(),
        "there is no region 'z'; the account has a, b"
    );
    end(world.account).await;
}

/// Clients read the account document of any region first, so a region is ready only when this
/// document has all regions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_is_ready_when_it_lists_all_regions() {
    let world = World::in_memory(ConsistencyLevel::Session, &["a", "b"]);
    world.create_container("a").await;
    assert!(!world.region("a").is_ready(), "no region has a URL");
    world.region("a").set_endpoint("http://a/");
    world.region("b").set_endpoint("http://b/");
    for name in ["a", "b"] {
        let region = world.region(name);
        eventually("the region is ready", || region.is_ready()).await;
        assert_eq!(region.locations().unwrap().readable.len(), 2, "{name}");
    }
}
