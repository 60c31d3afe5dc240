//! Single partitions that fail over: of each key one region takes the writes, and none is lost.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use orrery_account::{ControlError, LinkOrder, OperatorOrder, PartitionAddress, PartitionReport};
use orrery_model::Failure;

use crate::support::{PATIENCE, World, Writes, end, eventually};

const ALL: [&str; 3] = ["a", "b", "c"];
/// How long a write waits for a partition whose ownership moves.
const WRITE_WAITS: Duration = Duration::from_secs(3);

/// Only operators move partitions.
async fn start(directory: Option<&std::path::Path>) -> World {
    start_with(directory, Writes::PerPartition).await
}

/// Regions move what is down or silent by themselves.
async fn start_managed() -> World {
    start_with(None, Writes::PerPartitionManaged).await
}

async fn start_with(directory: Option<&std::path::Path>, writes: Writes) -> World {
    let world = World::with_writes(directory, &ALL, writes);
    world.create_container_with("a", 30_000).await;
    for region in ALL {
        let what = format!("{region} has the container");
        eventually(&what, || world.has_container(region)).await;
    }
    takes(&world, "a", "x").await;
    world
}

/// Waits until a region takes the writes of an item.
async fn takes(world: &World, region: &str, id: &str) {
    let begun = Instant::now();
    while let Err(failure) = world.write(region, id, 0).await {
        assert!(begun.elapsed() < PATIENCE, "{region} {id}: {failure}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The partition of an item.
fn partition(world: &World, id: &str) -> PartitionAddress {
    PartitionAddress {
        database: "d".to_owned(),
        container: "c".to_owned(),
        range: world.range_of("a", id),
    }
}

/// An item in another partition than the given item.
fn elsewhere(world: &World, id: &str) -> String {
    let mut ids = (0..).map(|number| format!("e{number}"));
    let range = world.range_of("a", id);
    ids.find(|other| world.range_of("a", other) != range)
        .unwrap()
}

async fn give(world: &World, to: &str, id: &str) {
    let order = OperatorOrder::MovePartition {
        to: to.to_owned(),
        partition: partition(world, id),
        forced: false,
    };
    world.order(order).await;
}

/// Promotes another region by force, while the earlier write region may be lost. An automatic
/// promotion would pick a region by timing, so the tests name one.
async fn replace(world: &World, to: &str) {
    let order = OperatorOrder::Failover {
        to: to.to_owned(),
        forced: true,
        accepts_loss: false,
        offline: Vec::new(),
    };
    world.order(order).await;
}

async fn set(world: &World, region: &str, id: &str, is_up: bool) {
    let (region, partition) = (region.to_owned(), partition(world, id));
    world
        .order(if is_up {
            OperatorOrder::BringUpPartition { region, partition }
        } else {
            OperatorOrder::TakeDownPartition { region, partition }
        })
        .await;
}

fn reports(world: &World) -> Vec<PartitionReport> {
    world.account.report().partitions
}

fn owner(world: &World) -> Option<String> {
    reports(world)
        .first()
        .and_then(|report| report.owner.clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_see_one_write_region() {
    let world = start(None).await;
    let locations = world.region("b").locations().unwrap();
    assert!(locations.per_partition_failover && !locations.multi_write);
    let report = world.account.report();
    assert!(report.per_partition_failover && !report.multi_write);
    world.write("a", "x", 1).await.unwrap();
    for region in ["b", "c"] {
        world.sees(region, "x", 1).await;
        let refused = world.write(region, "x", 2).await;
        assert_eq!(refused, Err(Failure::WriteForbidden), "{region}");
    }
    end(world.account).await;
}

/// How many writes of an item each region took.
type Taken = Arc<Mutex<BTreeMap<&'static str, u64>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_moves_and_comes_back_under_load_and_nothing_is_lost() {
    let world = Arc::new(start(None).await);
    let other = elsewhere(&world, "x");
    world.write("a", &other, 0).await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let taken: [Taken; 2] = Default::default();
    let writers: Vec<_> = ["x".to_owned(), other.clone()]
        .into_iter()
        .zip(taken.clone())
        .map(|(id, taken)| {
            let (world, is_over) = (Arc::clone(&world), Arc::clone(&is_over));
            tokio::spawn(async move {
                while !is_over.load(Ordering::Acquire) {
                    for region in ALL {
                        if world.increment(region, &id).await.is_ok() {
                            *taken.lock().unwrap().entry(region).or_default() += 1;
                        }
                    }
                }
            })
        })
        .collect();
    for to in ["b", "c", "b", "a"] {
        give(&world, to, "x").await;
        eventually("it is told", || match &*reports(&world) {
            [] => to == "a",
            [moved, ..] => {
                moved.owner.as_deref() == Some(to) && moved.address == partition(&world, "x")
            }
        })
        .await;
        let count = || taken[0].lock().unwrap().get(to).copied();
        let before = count();
        eventually("it is written there", || count() > before).await;
    }
    is_over.store(true, Ordering::Release);
    for writer in writers {
        writer.await.unwrap();
    }
    let results = taken.map(|taken| taken.lock().unwrap().clone());
    assert!(results[1].keys().eq(["a"].iter()), "{results:?}");
    for region in ALL {
        // An increment of an outdated value would be missing from the sum.
        world.sees(region, "x", results[0].values().sum()).await;
        let sum = results[1].values().sum();
        world.sees(region, &other, sum).await;
    }
    assert_eq!(world.conflicts("b"), Vec::<String>::new());
    let world = Arc::into_inner(world).unwrap();
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_is_down_is_written_elsewhere_and_comes_back() {
    let world = start_managed().await;
    let other = elsewhere(&world, "x");
    world.write("a", "x", 1).await.unwrap();
    set(&world, "a", "x", false).await;
    let refused = world.write("a", "x", 2).await;
    assert!(
        matches!(refused, Err(Failure::Unavailable(_))),
        "{refused:?}"
    );
    assert_eq!(world.peek("a", "x"), None, "reads are not answered either");
    world.write("a", &other, 1).await.unwrap();
    // A write in another region waits until the partition has moved.
    world.sees("b", "x", 1).await;
    eventually("b has heard", || !world.is_closed("b", "x")).await;
    let asked = Instant::now();
    if let Err(failure) = world.write("b", "x", 2).await {
        assert!(asked.elapsed() >= WRITE_WAITS, "{failure}");
        world.write_patiently("b", "x", 2).await;
    }
    eventually("it is told", || owner(&world).as_deref() == Some("b")).await;
    assert_eq!(reports(&world)[0].down, ["a"]);
    assert!(reports(&world)[0].is_automatic);
    world.write("a", &other, 2).await.unwrap();
    set(&world, "a", "x", true).await;
    takes(&world, "a", "x").await;
    eventually("all have heard", || reports(&world).is_empty()).await;
    eventually("b as well", || world.is_closed("b", "x")).await;
    let refused = world.write("b", "x", 9).await;
    assert_eq!(refused, Err(Failure::WriteForbidden));
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_service_only_operators_move() {
    let world = start(None).await;
    set(&world, "a", "x", false).await;
    let (begun, mut quickest) = (Instant::now(), Duration::MAX);
    while begun.elapsed() < Duration::from_millis(1_500) || quickest >= WRITE_WAITS {
        let refused = world.write("a", "x", 1).await;
        assert!(matches!(refused, Err(Failure::Unavailable(_))));
        let asked = Instant::now();
        let refused = world.write("b", "x", 1).await;
        assert_eq!(refused, Err(Failure::WriteForbidden));
        quickest = quickest.min(asked.elapsed());
        assert!(begun.elapsed() < PATIENCE, "nothing to wait for");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    give(&world, "b", "x").await;
    world.write("b", "x", 1).await.unwrap();
    set(&world, "a", "x", true).await;
    give(&world, "a", "x").await;
    world.write("a", "x", 2).await.unwrap();
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_write_region_takes_the_partitions_of_a_region_that_is_lost() {
    let world = start_managed().await;
    give(&world, "b", "x").await;
    world.write("b", "x", 1).await.unwrap();
    world.sees("a", "x", 1).await;
    let region = || "b".to_owned();
    world
        .order(OperatorOrder::TakeDown { region: region() })
        .await;
    // If the machine pauses for a moment, another region may be the write region.
    let begun = Instant::now();
    while world.write("a", "x", 2).await.is_err() && world.write("c", "x", 2).await.is_err() {
        assert!(begun.elapsed() < PATIENCE, "nobody takes it");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    world
        .order(OperatorOrder::BringUp { region: region() })
        .await;
    world.sees("b", "x", 2).await;
    eventually("b knows", || world.is_closed("b", "x")).await;
    let refused = world.write("b", "x", 3).await;
    assert_eq!(refused, Err(Failure::WriteForbidden));
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_write_region_takes_what_was_not_moved() {
    let world = start(None).await;
    let other = elsewhere(&world, "x");
    give(&world, "c", "x").await;
    world
        .order(OperatorOrder::TakeDown {
            region: "a".to_owned(),
        })
        .await;
    replace(&world, "b").await;
    takes(&world, "b", &other).await;
    takes(&world, "c", "x").await;
    let refused = world.write("b", "x", 3).await;
    assert_eq!(refused, Err(Failure::WriteForbidden));
    world
        .order(OperatorOrder::BringUp {
            region: "a".to_owned(),
        })
        .await;
    eventually("a knows", || world.writer().as_deref() == Some("b")).await;
    // As planned, and back.
    world.fail_over("a").await;
    takes(&world, "a", &other).await;
    let refused = world.write("b", &other, 3).await;
    assert_eq!(refused, Err(Failure::WriteForbidden));
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_write_region_takes_what_it_had_once_and_gave_back() {
    let world = start(None).await;
    give(&world, "b", "x").await;
    world.write("b", "x", 1).await.unwrap();
    give(&world, "a", "x").await;
    world.write("a", "x", 2).await.unwrap();
    world.sees("b", "x", 2).await;
    let region = || "a".to_owned();
    world
        .order(OperatorOrder::TakeDown { region: region() })
        .await;
    replace(&world, "b").await;
    takes(&world, "b", "x").await;
    world
        .order(OperatorOrder::BringUp { region: region() })
        .await;
    eventually("a knows", || world.writer().as_deref() == Some("b")).await;
    world.fail_over("a").await;
    takes(&world, "a", "x").await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_owners_during_a_cut_end_alike_and_what_lost_is_listed() {
    let world = start(None).await;
    world.write("a", "x", 1).await.unwrap();
    world.sees("b", "x", 1).await;
    world.isolate("a").await;
    world.write("a", "x", 2).await.unwrap();
    world.write("a", "only", 7).await.unwrap();
    replace(&world, "b").await;
    takes(&world, "b", "x").await;
    // The greater time wins, and with equal times the lower region: wait for another second.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    world.write("b", "x", 3).await.unwrap();
    world.connect("a").await;
    for region in ALL {
        world.sees(region, "x", 3).await;
        world.sees(region, "only", 7).await;
        let what = format!("{region} lists it");
        eventually(&what, || world.conflicts(region).len() == 1).await;
        assert!(world.conflicts(region)[0].contains(r#""n":2"#));
    }
    eventually("a knows", || world.is_closed("a", "x")).await;
    let refused = world.write("a", "x", 4).await;
    assert_eq!(refused, Err(Failure::WriteForbidden));
    world.write("b", "x", 5).await.unwrap();
    for region in ALL {
        let what = format!("{region}: whoever writes it has seen it");
        eventually(&what, || world.conflicts(region).is_empty()).await;
    }
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_keeps_what_was_moved() {
    let directory = tempfile::tempdir().unwrap();
    let world = start(Some(directory.path())).await;
    let other = elsewhere(&world, "x");
    give(&world, "c", "x").await;
    world.write("c", "x", 1).await.unwrap();
    let world = world.reopen().await;
    takes(&world, "c", "x").await;
    takes(&world, "a", &other).await;
    assert_eq!(owner(&world).as_deref(), Some("c"));
    for (region, id) in [("a", "x"), ("b", "x"), ("c", &other[..])] {
        eventually("it knows", || world.is_closed(region, id)).await;
        let refused = world.write(region, id, 2).await;
        assert_eq!(refused, Err(Failure::WriteForbidden), "{region} {id}");
    }
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orders_that_make_no_sense_are_refused() {
    let world = start(None).await;
    let known = partition(&world, "x");
    let unknown = PartitionAddress {
        range: 999,
        ..known.clone()
    };
    let order = |to: &str, partition: &PartitionAddress| OperatorOrder::MovePartition {
        to: to.to_owned(),
        partition: partition.clone(),
        forced: false,
    };
    for (order, phrase) in [
        (order("b", &unknown), "there is no partition"),
        (order("z", &known), "there is no region"),
    ] {
        let refused = world.account.carry_out(order).await.unwrap_err();
        assert!(refused.to_string().contains(phrase), "{refused}");
    }
    set(&world, "b", "x", false).await;
    eventually("the write region has heard", || !reports(&world).is_empty()).await;
    let refused = world.account.carry_out(order("b", &known)).await;
    assert!(
        matches!(refused, Err(ControlError::Refused(_))),
        "{refused:?}"
    );
    world.link("c", "*", LinkOrder::Cut).await;
    end(world.account).await;
    let world = World::multi(None, &ALL);
    world.create_container("a").await;
    let refused = world
        .account
        .carry_out(order("b", &known))
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("--per-partition-failover"),
        "{refused}"
    );
    end(world.account).await;
}
