//! Every region writes: what is written anywhere is had everywhere, and all end alike.

use orrery_account::{LinkOrder, OperatorOrder};
use orrery_model::Failure;

use crate::support::{World, end, eventually};

const ALL: [&str; 3] = ["a", "b", "c"];

async fn start(directory: Option<&std::path::Path>) -> World {
    let world = World::multi(directory, &ALL);
    world.create_container("a").await;
    for region in ALL {
        let what = format!("{region} writes");
        eventually(&what, || {
            world.region(region).check_write().is_ok() && world.has_container(region)
        })
        .await;
    }
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_anywhere_is_seen_everywhere() {
    let world = start(None).await;
    for number in 0..60 {
        for (place, region) in ALL.iter().enumerate() {
            let id = format!("{region}{}", number % 10);
            world
                .write_patiently(region, &id, number + place as u64)
                .await;
        }
    }
    for region in ALL {
        for (place, from) in ALL.iter().enumerate() {
            world
                .sees(region, &format!("{from}9"), 59 + place as u64)
                .await;
        }
    }
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_hinders_nobody_and_all_agree_afterwards() {
    let world = start(None).await;
    world.write_patiently("a", "x", 1).await;
    for region in ALL {
        world.sees(region, "x", 1).await;
    }
    world.isolate("c").await;
    world.write("a", "x", 2).await.unwrap();
    world.write("c", "x", 3).await.unwrap();
    world.write("c", "only-c", 4).await.unwrap();
    world.sees("b", "x", 2).await;
    assert_eq!(
        (world.peek("c", "x"), world.peek("a", "only-c")),
        (Some(3), None)
    );
    world.connect("c").await;
    for region in ALL {
        world.sees(region, "only-c", 4).await;
    }
    eventually("all see the same", || {
        let seen = ALL.map(|region| world.peek(region, "x"));
        seen[0] == seen[1] && seen[1] == seen[2]
    })
    .await;
    world.write("b", "x", 9).await.unwrap();
    for region in ALL {
        world.sees(region, "x", 9).await;
    }
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_catalogue_is_changed_in_the_hub() {
    let world = start(None).await;
    for (region, expected) in [("b", Err(Failure::WriteForbidden)), ("a", Ok(()))] {
        let engine = world.region(region).engine();
        let created = engine.create_database(&format!("d{region}"), None).await;
        assert_eq!(created.map(drop), expected, "{region}");
    }
    world.fail_over("b").await;
    let engine = world.region("b").engine();
    eventually("b is the hub", || engine.is_hub()).await;
    engine.create_database("later", None).await.unwrap();
    for region in ALL {
        let what = format!("{region} has it");
        let engine = world.region(region).engine();
        eventually(&what, || engine.catalogue().databases.contains_key("later")).await;
    }
    drop(engine);
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_was_down_catches_up_with_all_others() {
    let world = start(None).await;
    world
        .order(OperatorOrder::TakeDown {
            region: "a".to_owned(),
        })
        .await;
    for number in 0..200 {
        world
            .write("b", &format!("b{number}"), number)
            .await
            .unwrap();
        world
            .write("c", &format!("c{number}"), number)
            .await
            .unwrap();
    }
    world.sees("c", "b199", 199).await;
    world
        .order(OperatorOrder::BringUp {
            region: "a".to_owned(),
        })
        .await;
    world.sees("a", "b199", 199).await;
    world.sees("a", "c199", 199).await;
    world.write("a", "x", 1).await.unwrap();
    world.sees("c", "x", 1).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn regions_go_on_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = start(Some(directory.path())).await;
    for round in 0..3 {
        world.link("b", "*", LinkOrder::Cut).await;
        for number in 0..30 {
            world
                .write_patiently("a", &format!("a{number}"), round)
                .await;
            world
                .write_patiently("b", &format!("b{number}"), round)
                .await;
        }
        // Records that no other region received before the restart are sent after it.
        world = world.reopen().await;
        for region in ALL {
            world.sees(region, "a29", round).await;
            world.sees(region, "b29", round).await;
        }
    }
    end(world.account).await;
}
