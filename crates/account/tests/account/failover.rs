//! Another region writes: planned, by the regions themselves, by force; and the old one comes back.

use std::path::Path;
use std::time::{Duration, Instant};

use orrery_account::{Availability, ControlError, OperatorOrder, RegionState};
use orrery_model::{ConsistencyLevel, Failure};

use crate::support::{PATIENCE, World, Writes, end, eventually, find, outrun};

const SESSION: ConsistencyLevel = ConsistencyLevel::Session;

fn forced(to: &str, offline: &[&str]) -> OperatorOrder {
    OperatorOrder::Failover {
        to: to.to_owned(),
        forced: true,
        accepts_loss: false,
        offline: offline.iter().map(|&region| region.to_owned()).collect(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_planned_failover_loses_nothing() {
    for level in [
        SESSION,
        ConsistencyLevel::Strong,
        ConsistencyLevel::BoundedStaleness,
    ] {
        let world = World::in_memory(level, &["a", "b", "c"]);
        world.create_container("a").await;
        let mut number = 0;
        for to in ["b", "c", "a", "b"] {
            let from = world.writer().unwrap();
            for _ in 0..10 {
                number += 1;
                // At bounded staleness a write may have to wait for slow regions.
                world.write_patiently(&from, "x", number).await;
            }
            let region = world.region(to);
            let version = region.token_version(&region.engine());
            world.fail_over(to).await;
            assert_eq!(world.writer().as_deref(), Some(to));
            assert_eq!(world.peek(to, "x"), Some(number), "{level:?}");
            assert!(region.token_version(&region.engine()) > version);
            let refused = world.write(&from, "x", 0).await;
            assert_eq!(refused, Err(Failure::WriteForbidden));
        }
        number += 1;
        world.write_patiently("b", "x", number).await;
        for region in ["a", "c"] {
            world.sees(region, "x", number).await;
        }
        let report = world.account.report();
        assert!(
            report
                .regions
                .iter()
                .all(|region| region.diverged_records == Some(0))
        );
        end(world.account).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_regions_replace_one_that_is_lost() {
    let world = World::with_writes(None, &["a", "b", "c"], Writes::OneManaged);
    world.create_container("a").await;
    world.write("a", "x", 1).await.unwrap();
    for region in ["b", "c"] {
        world.sees(region, "x", 1).await;
    }
    world
        .order(OperatorOrder::TakeDown {
            region: "a".to_owned(),
        })
        .await;
    assert_eq!(world.region("a").availability(), Availability::Down);
    let begun = Instant::now();
    while world.write("b", "x", 2).await.is_err() && world.write("c", "x", 2).await.is_err() {
        assert!(begun.elapsed() < PATIENCE, "another region writes");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    world
        .order(OperatorOrder::BringUp {
            region: "a".to_owned(),
        })
        .await;
    world.sees("a", "x", 2).await;
    assert_eq!(world.write("a", "x", 3).await, Err(Failure::WriteForbidden));
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_the_lost_region_had_is_kept_aside() {
    for directory in [None, Some(tempfile::tempdir().unwrap())] {
        let path = directory.as_ref().map(tempfile::TempDir::path);
        let world = World::open(path, SESSION, &["a", "b"]);
        world.create_container("a").await;
        world.write("a", "x", 1).await.unwrap();
        world.sees("b", "x", 1).await;
        world.isolate("a").await;
        world.write("a", "x", 2).await.unwrap();
        world.write("a", "only-here", 7).await.unwrap();
        world.order(forced("b", &[])).await;
        world.write("b", "x", 3).await.unwrap();
        assert_eq!(world.peek("a", "x"), Some(2), "it does not know yet");
        let region = world.region("a");
        let before = region.engine();
        let version = region.token_version(&before);
        world.connect("a").await;
        world.sees("a", "x", 3).await;
        // A request that began before the snapshot names a position that no other region has.
        assert_eq!(region.token_version(&before), version);
        assert!(region.token_version(&region.engine()) > version);
        drop((before, region));
        assert_eq!(world.peek("a", "only-here"), None);
        assert_eq!(world.writer().as_deref(), Some("b"));
        let kept = world.account.diverged_suffix("a").unwrap().unwrap();
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert!(
            kept[0].contains(r#""n":2"#) && kept[1].contains("only-here"),
            "{kept:?}"
        );
        let mut world = world;
        if path.is_some() {
            world = world.reopen().await;
            world.sees("a", "x", 3).await;
            assert_eq!(world.account.diverged_suffix("a").unwrap().unwrap(), kept);
        }
        world.write_patiently("b", "x", 4).await;
        world.sees("a", "x", 4).await;
        end(world.account).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_returns_takes_nothing_before_it_knows_who_writes() {
    let world = World::in_memory(SESSION, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "x", 1).await.unwrap();
    world.sees("b", "x", 1).await;
    let region = || "a".to_owned();
    world
        .order(OperatorOrder::TakeDown { region: region() })
        .await;
    world.order(forced("b", &[])).await;
    world.write("b", "x", 2).await.unwrap();
    world
        .order(OperatorOrder::BringUp { region: region() })
        .await;
    while world.peek("a", "x") != Some(2) {
        assert_eq!(world.write("a", "y", 1).await, Err(Failure::WriteForbidden));
    }
    assert_eq!(
        world.account.diverged_suffix("a").unwrap().unwrap(),
        [""; 0]
    );
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_region_that_writes_is_listed_first() {
    let world = World::in_memory(SESSION, &["a", "b", "c"]);
    world.create_container("a").await;
    for region in world.account.regions() {
        region.set_endpoint(&format!("http://{}/", region.name()));
    }
    for (to, expected) in [("c", ["c", "a", "b"]), ("a", ["a", "b", "c"])] {
        world.fail_over(to).await;
        let names = || {
            let locations = world.region("b").locations().unwrap();
            let names = locations.readable.into_iter();
            names.map(|location| location.name).collect::<Vec<_>>()
        };
        eventually("it is known elsewhere", || names() == expected).await;
    }
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_strong_a_minority_cannot_be_promoted() {
    let world = World::in_memory(ConsistencyLevel::Strong, &["a", "b", "c"]);
    world.create_container("a").await;
    world.write("a", "x", 1).await.unwrap();
    world.isolate("c").await;
    let refused = world.account.carry_out(forced("c", &[])).await;
    assert!(
        matches!(refused, Err(ControlError::Failed(_))),
        "{refused:?}"
    );
    world.connect("c").await;
    world.write_patiently("a", "x", 2).await;
    world.sees("c", "x", 2).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_was_taken_offline_is_no_member_until_it_is_added() {
    let world = World::in_memory(SESSION, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "x", 1).await.unwrap();
    world.sees("b", "x", 1).await;
    world
        .order(OperatorOrder::TakeDown {
            region: "a".to_owned(),
        })
        .await;
    world.order(forced("b", &["a"])).await;
    world.write("b", "x", 2).await.unwrap();
    world
        .order(OperatorOrder::BringUp {
            region: "a".to_owned(),
        })
        .await;
    eventually("it knows", || {
        world.region("a").availability() == Availability::Removed
    })
    .await;
    let report = world.account.report();
    let state = |name: &str| {
        report
            .regions
            .iter()
            .find(|region| region.name == name)
            .unwrap()
            .state
    };
    assert_eq!(
        (state("a"), state("b")),
        (RegionState::Removed, RegionState::Write)
    );
    world.account.add(world.options("a")).await.unwrap();
    world.sees("a", "x", 2).await;
    eventually("it serves", || {
        world.region("a").availability() == Availability::Serving
    })
    .await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn false_progress_names_the_records_that_the_log_has_lost() {
    let world = World::forgetful_with_one_writer(&["a", "b"], 20_000);
    world.create_container("a").await;
    world.write("a", "x", 1).await.unwrap();
    world.sees("b", "x", 1).await;
    let common = world.region("a").engine().applied().0;
    world.isolate("a").await;
    outrun(&world, &["a"], "y", 500).await;
    let last = world.region("a").engine().applied().0;
    world.order(forced("b", &[])).await;
    world.write("b", "x", 3).await.unwrap();
    world.connect("a").await;
    world.sees("a", "x", 3).await;
    assert_eq!(world.peek("a", "a-y-49"), None);
    let saved = world.account.diverged_suffix("a").unwrap().unwrap();
    let begins = last - (saved.len() as u64 - 1);
    let gap =
        format!(r#"{{"stream":"account","operation":"unknown","after":{common},"upto":{begins}}}"#);
    assert_eq!(saved[0], gap);
    assert!(common < begins && begins < last, "{common} {begins} {last}");
    for (sequence, line) in (begins + 1..).zip(&saved[1..]) {
        assert!(
            line.contains(&format!(r#""sequence":{sequence},"#)),
            "{line}"
        );
    }
    assert!(saved.last().unwrap().contains("a-y-49"));
    end(world.account).await;
}

/// A region that wrote alone, was replaced and is down; `b` has x = 3.
async fn replaced_while_down(directory: Option<&Path>) -> World {
    let world = World::open(directory, SESSION, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "x", 1).await.unwrap();
    world.sees("b", "x", 1).await;
    world.isolate("a").await;
    world.write("a", "x", 2).await.unwrap();
    world.order(down("a")).await;
    world.order(forced("b", &[])).await;
    world.write("b", "x", 3).await.unwrap();
    world
}

fn down(region: &str) -> OperatorOrder {
    OperatorOrder::TakeDown {
        region: region.to_owned(),
    }
}

fn up(region: &str) -> OperatorOrder {
    OperatorOrder::BringUp {
        region: region.to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_with_another_history_does_not_serve_it() {
    let world = replaced_while_down(None).await;
    world.connect("a").await;
    world.order(up("a")).await;
    let region = world.region("a");
    eventually("it serves again", || {
        // The availability is read first, because the item may only become visible later.
        let availability = region.availability();
        let number = world.peek("a", "x");
        assert!(availability == Availability::Returning || number == Some(3));
        availability == Availability::Serving
    })
    .await;
    drop(region);
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_region_waits_briefly_to_hear_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::open(Some(directory.path()), SESSION, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "x", 1).await.unwrap();
    world.sees("b", "x", 1).await;
    let serves = |world: &World, name| world.region(name).availability() == Availability::Serving;

    // A region without any message waits for three seconds. On a busy machine one attempt may take
    // as long, but not every attempt.
    let (started, mut world) = (Instant::now(), world);
    loop {
        let begun = Instant::now();
        world = world.reopen().await;
        for name in ["a", "b"] {
            eventually("all come up at once", || serves(&world, name)).await;
        }
        if begun.elapsed() < Duration::from_millis(2_500) {
            break;
        }
        assert!(started.elapsed() < PATIENCE, "they heard of each other");
    }
    end(world.account).await;

    for name in ["a", "b"] {
        let begun = Instant::now();
        let world = World::open(Some(directory.path()), SESSION, &[name]);
        let availability = world.region(name).availability();
        if begun.elapsed() < Duration::from_millis(2_500) {
            assert_eq!(availability, Availability::Returning);
        }
        eventually("it serves alone", || serves(&world, name)).await;
        assert_eq!(world.peek(name, "x"), Some(1));
        end(world.account).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_broke_down_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let world = replaced_while_down(Some(directory.path())).await;
    // The region cannot save its diverged suffix, so its state must not be replaced.
    std::fs::create_dir(directory.path().join("a").join("false-progress.jsonl")).unwrap();
    world.connect("a").await;
    world.order(up("a")).await;
    let state = || {
        let regions = world.account.report().regions.into_iter();
        let mut regions = regions.filter(|region| region.name == "a");
        let region = regions.next().unwrap();
        (region.state, region.cause)
    };
    eventually("it is broken", || state().0 == RegionState::Broken).await;
    assert!(state().1.unwrap().contains("directory"), "{:?}", state().1);
    assert_eq!(world.region("a").availability(), Availability::Returning);
    assert_eq!(world.write("a", "x", 4).await, Err(Failure::WriteForbidden));
    world.write("b", "x", 4).await.unwrap();
    // Long enough for several requests for a snapshot.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(state().0, RegionState::Broken);
    assert_eq!(world.peek("a", "x"), Some(2), "no snapshot replaced it");
    world.order(down("a")).await;
    let refused = world.account.carry_out(up("a")).await.unwrap_err();
    assert!(refused.to_string().contains("broke down"), "{refused}");
    end(world.account).await;
}

/// As after a loss of power: the state has records of another region that the log has lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_whose_log_was_lost_goes_on_behind_its_state() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::open(Some(directory.path()), SESSION, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "x", 1).await.unwrap();
    world.sees("b", "x", 1).await;
    end(world.account).await;
    let log = find(&directory.path().join("b"), "log").unwrap();
    std::fs::remove_dir_all(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    // What the power took was not marked as durable.
    std::fs::remove_file(log.with_extension("durable")).unwrap();

    let world = World::open(Some(directory.path()), SESSION, &["a", "b"]);
    world.write_patiently("a", "y", 2).await;
    world.sees("b", "x", 1).await;
    world.sees("b", "y", 2).await;
    world.fail_over("b").await;
    world.write_patiently("b", "y", 3).await;
    world.sees("a", "y", 3).await;
    end(world.account).await;
}
