//! Multi-write accounts to which regions are added, and from which regions are removed, during
//! writes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use orrery_account::{Availability, ControlError, OperatorOrder, RegionState};

use crate::support::{World, Writes, end, eventually};

const ALL: [&str; 3] = ["a", "b", "c"];

async fn start(directory: Option<&std::path::Path>, regions: &[&'static str]) -> World {
    let world = World::multi(directory, regions);
    prepare(&world, regions).await;
    world
}

async fn prepare(world: &World, regions: &[&str]) {
    world.create_container("a").await;
    for region in regions {
        world.writes(region).await;
    }
}

fn remove(region: &str, forced: bool) -> OperatorOrder {
    OperatorOrder::Remove {
        region: region.to_owned(),
        forced,
    }
}

fn state(world: &World, region: &str) -> Option<RegionState> {
    let report = world.account.report();
    let mut regions = report.regions.iter();
    let found = regions.find(|report| report.name == region);
    found.map(|region| region.state)
}

async fn is_removed(world: &World, region: &str) {
    let what = format!("{region} knows that it was removed");
    eventually(&what, || {
        world.region(region).availability() == Availability::Removed
    })
    .await;
}

/// Writes in a region until `stop` is set; counts the acknowledged writes of each item.
async fn keep_writing(world: &World, region: &str, stop: &AtomicBool, count: &AtomicU64) {
    while !stop.load(Ordering::Acquire) {
        let number = count.load(Ordering::Acquire);
        let id = format!("{region}-{number}");
        if world.write(region, &id, number).await.is_ok() {
            count.store(number + 1, Ordering::Release);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn regions_come_and_go_while_all_others_write() {
    let world = start(None, &["a", "b"]).await;
    let stop = AtomicBool::new(false);
    let counts = [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];
    let orders = async {
        world.account.add(world.options("c")).await.unwrap();
        assert_eq!(state(&world, "c"), Some(RegionState::Write));
        for number in 0..50 {
            world
                .write("c", &format!("c-{number}"), number)
                .await
                .unwrap();
        }
        counts[2].store(50, Ordering::Release);
        world.order(remove("b", false)).await;
        assert_eq!(state(&world, "b"), Some(RegionState::Removed));
        is_removed(&world, "b").await;
        assert!(world.write("b", "late", 1).await.is_err());
        stop.store(true, Ordering::Release);
    };
    let writers = async {
        tokio::join!(
            keep_writing(&world, "a", &stop, &counts[0]),
            keep_writing(&world, "b", &stop, &counts[1]),
        )
    };
    tokio::join!(orders, writers);
    for (name, count) in ALL.iter().zip(&counts) {
        let count = count.load(Ordering::Acquire);
        assert!(count > 10, "{name} wrote {count}");
        for number in 0..count {
            for region in ["a", "c"] {
                world
                    .sees(region, &format!("{name}-{number}"), number)
                    .await;
            }
        }
    }
    world.is_the_same_everywhere(&["a", "c"]).await;
    let lost = world.account.diverged_suffix("b").unwrap().unwrap();
    assert_eq!(
        lost,
        Vec::<String>::new(),
        "a planned removal loses nothing"
    );
    let refused = world.account.carry_out(remove("a", false)).await;
    assert_eq!(
        refused.unwrap_err().to_string(),
        "region 'a' is the hub: fail over to another region first"
    );
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_left_is_added_again_and_its_stream_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let world = start(Some(directory.path()), &ALL).await;
    world.write_patiently("c", "first", 1).await;
    world.order(remove("c", false)).await;
    is_removed(&world, "c").await;
    world.write_patiently("a", "x", 1).await;
    world.account.add(world.options("c")).await.unwrap();
    world.sees("c", "x", 1).await;
    world.write_patiently("c", "again", 2).await;
    for region in ALL {
        world.sees(region, "first", 1).await;
        world.sees(region, "again", 2).await;
    }
    let world = world.reopen().await;
    // The region joins only once, even while another region is unreachable at the restart.
    world.isolate("b").await;
    world.writes("c").await;
    world.write_patiently("c", "later", 3).await;
    world.sees("a", "later", 3).await;
    world.connect("b").await;
    world.is_the_same_everywhere(&ALL).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_a_lost_region_had_is_put_aside_when_it_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let world = start(Some(directory.path()), &ALL).await;
    world.write_patiently("c", "had", 1).await;
    for region in ALL {
        world.sees(region, "had", 1).await;
    }
    world.isolate("c").await;
    for number in 0..5 {
        world
            .write("c", &format!("only{number}"), number)
            .await
            .unwrap();
    }
    let planned = world.account.carry_out(remove("c", true)).await;
    planned.unwrap();
    assert_eq!(state(&world, "c"), Some(RegionState::Removed));
    // The removed region has not received its removal, and takes writes that become false progress.
    world.write("c", "only5", 5).await.unwrap();
    world.write_patiently("a", "x", 1).await;
    world.sees("b", "x", 1).await;
    world.connect("c").await;
    is_removed(&world, "c").await;
    let aside = || world.account.diverged_suffix("c").unwrap().unwrap();
    eventually("it is put aside", || !aside().is_empty()).await;
    let lines = aside();
    assert_eq!(lines.len(), 6, "{lines:#?}");
    for (number, line) in lines.iter().enumerate() {
        assert!(line.contains(&format!(r#""id":"only{number}""#)), "{line}");
    }
    assert_eq!(world.peek("a", "only0"), None);

    // A restart changes nothing, and saves no false progress twice.
    let world = world.reopen().await;
    is_removed(&world, "c").await;
    let aside = || world.account.diverged_suffix("c").unwrap().unwrap();
    assert_eq!(aside().len(), 6);

    world.writes("a").await;
    world.account.add(world.options("c")).await.unwrap();
    world.sees("c", "x", 1).await;
    assert_eq!(world.peek("c", "only0"), None, "its state is a copy");
    world.write_patiently("c", "new", 7).await;
    for region in ALL {
        world.sees(region, "new", 7).await;
        world.sees(region, "had", 1).await;
    }
    world.is_the_same_everywhere(&ALL).await;
    assert_eq!(aside().len(), 6);
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_is_down_leaves_only_by_force() {
    let world = start(None, &ALL).await;
    world
        .order(OperatorOrder::TakeDown {
            region: "c".to_owned(),
        })
        .await;
    let refused = world.account.carry_out(remove("c", false)).await;
    assert!(
        matches!(refused, Err(ControlError::Refused(_))),
        "{refused:?}"
    );
    assert_eq!(state(&world, "c"), Some(RegionState::Down));
    world.order(remove("c", true)).await;
    for region in ["a", "b"] {
        world.write_patiently(region, "x", 1).await;
        eventually("tokens name those that are left", || {
            let region = world.region(region);
            let session = region.session(&region.engine());
            session
                .vector
                .is_some_and(|vector| vector.locals.len() == 2)
        })
        .await;
    }
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hub_is_replaced_as_planned_by_votes_and_by_force() {
    let world = World::with_writes(None, &ALL, Writes::EveryManaged);
    prepare(&world, &ALL).await;
    let creates = async |region: &str, name: &str| {
        let engine = world.region(region).engine();
        eventually("it is the hub", || engine.is_hub()).await;
        engine.create_database(name, None).await.unwrap();
        for other in ALL {
            let what = format!("{other} has {name}");
            let engine = world.region(other).engine();
            eventually(&what, || engine.catalogue().databases.contains_key(name)).await;
        }
    };
    world.fail_over("b").await;
    creates("b", "planned").await;

    // The others vote when the hub is silent, and write all the time.
    world.isolate("b").await;
    world.write_patiently("c", "x", 1).await;
    world.write_patiently("b", "y", 2).await;
    eventually("another one is the hub", || {
        world.writer().is_some_and(|writer| writer != "b")
    })
    .await;
    world.connect("b").await;
    for region in ALL {
        world.sees(region, "x", 1).await;
        world.sees(region, "y", 2).await;
    }
    let hub = world.writer().unwrap();
    creates(&hub, "voted").await;

    // A failover by force, with which the lost regions leave the account.
    let others: Vec<&str> = ALL.into_iter().filter(|region| *region != hub).collect();
    world
        .order(OperatorOrder::TakeDown {
            region: hub.clone(),
        })
        .await;
    world
        .order(OperatorOrder::Failover {
            to: others[0].to_owned(),
            forced: true,
            accepts_loss: false,
            offline: vec![hub.clone()],
        })
        .await;
    eventually("the old hub has left", || {
        let members = world.region(others[0]).locations().unwrap();
        members.readable.is_empty() && {
            let engine = world.region(others[0]).engine();
            engine.is_hub()
        }
    })
    .await;
    let engine = world.region(others[0]).engine();
    engine.create_database("forced", None).await.unwrap();
    drop(engine);
    world.write_patiently(others[1], "z", 3).await;
    world.sees(others[0], "z", 3).await;
    world
        .order(OperatorOrder::BringUp {
            region: hub.clone(),
        })
        .await;
    is_removed(&world, &hub).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_the_catalogue_that_was_taken_back_is_not_told_to_have_been_made() {
    let world = start(None, &ALL).await;
    let engine = world.region("a").engine();
    world.isolate("a").await;
    let (told, taken) = tokio::join!(engine.create_database("mine", None), async {
        let forced = OperatorOrder::Failover {
            to: "b".to_owned(),
            forced: true,
            accepts_loss: false,
            offline: Vec::new(),
        };
        world.order(forced).await;
        let other = world.region("b").engine();
        eventually("b is the hub", || other.is_hub()).await;
        // It stands where the other change stood.
        other.create_database("theirs", None).await.unwrap();
        world.connect("a").await;
    });
    let () = taken;
    assert!(told.is_err(), "{told:?}");
    for region in ALL {
        let engine = world.region(region).engine();
        eventually("all have the other change", || {
            engine.catalogue().databases.contains_key("theirs")
        })
        .await;
        assert!(
            !engine.catalogue().databases.contains_key("mine"),
            "{region}"
        );
    }
    drop(engine);
    end(world.account).await;
}
