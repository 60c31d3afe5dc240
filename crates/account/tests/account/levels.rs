//! What each level promises between regions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_account::{LinkOrder, OperatorOrder};
use orrery_model::{ConsistencyLevel, Failure};

use crate::support::{Kind, PATIENCE, World, Writes, end, eventually};

const STRONG: ConsistencyLevel = ConsistencyLevel::Strong;
const BOUNDED: ConsistencyLevel = ConsistencyLevel::BoundedStaleness;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strong_reads_see_what_was_acknowledged_anywhere() {
    let world = World::in_memory(STRONG, &["a", "b", "c"]);
    world.create_container("a").await;
    for number in 0..50 {
        world.write("a", "x", number).await.unwrap();
        for region in ["b", "c", "a"] {
            let seen = world.read_patiently(region, "x", STRONG).await;
            assert_eq!(seen, Some(number), "{region}");
        }
    }
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strong_write_takes_one_round_trip() {
    let world = World::in_memory(STRONG, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "x", 0).await.unwrap();
    let delay = Duration::from_millis(40);
    for (from, to) in [("a", "b"), ("b", "a")] {
        world.link(from, to, LinkOrder::Delay(delay)).await;
    }
    world.write("a", "x", 1).await.unwrap();
    // On a busy machine many take longer, but with two round trips none could be as quick.
    let (started, mut quick) = (Instant::now(), 0);
    for number in 2.. {
        let begun = Instant::now();
        world.write("a", "x", number).await.unwrap();
        let took = begun.elapsed();
        assert!(took >= delay * 2, "{took:?}");
        let seen = world.read_patiently("b", "x", STRONG).await;
        assert_eq!(seen, Some(number));
        quick += u32::from(took < delay * 3);
        if quick == 3 {
            break;
        }
        assert!(started.elapsed() < PATIENCE, "{quick} of {number}");
    }
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strong_writes_of_many_take_one_round_trip() {
    let world = Arc::new(World::in_memory(STRONG, &["a", "b"]));
    world.create_container("a").await;
    world.write("a", "x", 0).await.unwrap();
    let delay = Duration::from_millis(50);
    for (from, to) in [("a", "b"), ("b", "a")] {
        world.link(from, to, LinkOrder::Delay(delay)).await;
    }
    let started = Instant::now();
    loop {
        let times = times_of_many(&world).await;
        assert!(times[0] >= delay * 2, "{times:?}");
        // If they waited for one another no round would be as quick, on whichever machine.
        if times[times.len() / 2] < delay * 2 * 8 / 5 {
            break;
        }
        assert!(started.elapsed() < PATIENCE, "{times:?}");
    }
    for number in 0..16 {
        let seen = world
            .read_patiently("b", &format!("w{number}"), STRONG)
            .await;
        assert_eq!(seen, Some(5));
    }
    end(Arc::into_inner(world).unwrap().account).await;
}

/// The duration of each of many writes, in order. Each write begins when others are half done.
async fn times_of_many(world: &Arc<World>) -> Vec<Duration> {
    let writers = (0..16_u32).map(|number| {
        let world = Arc::clone(world);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(7) * number).await;
            let id = format!("w{number}");
            let mut times = Vec::new();
            for number in 0..6 {
                let begun = Instant::now();
                world.write_patiently("a", &id, number).await;
                times.push(begun.elapsed());
            }
            times
        })
    });
    let mut times = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        times.extend(writer.await.unwrap());
    }
    times.sort_unstable();
    times
}

/// A write that is decided while earlier writes are in flight sees those.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strong_writes_under_way_are_seen_by_later_writes_and_by_no_reader() {
    let world = World::in_memory(STRONG, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "x", 0).await.unwrap();
    world.link("a", "b", LinkOrder::Pause).await;
    let before = world.kept("a");
    // Each write has its own group.
    let is_kept = async |count| {
        eventually("it is kept", || world.kept("a") >= before + count).await;
    };
    let first = world.begin("a", "y", Kind::Create, 1);
    is_kept(1).await;
    let second = world.begin("a", "y", Kind::Create, 2);
    let third = world.begin("a", "y", Kind::Replace, 3);
    is_kept(2).await;
    let fourth = world.begin("a", "y", Kind::Delete, 0);
    is_kept(3).await;
    let fifth = world.begin("a", "y", Kind::Replace, 5);
    let sixth = world.begin("a", "y", Kind::Create, 6);
    is_kept(4).await;
    assert!(!first.is_finished(), "they are all under way");
    assert_eq!(world.peek("a", "y"), None);
    world.link("a", "b", LinkOrder::Resume).await;
    let first = first.await.unwrap().unwrap();
    assert!(matches!(second.await.unwrap(), Err(Failure::Conflict(_))));
    let third = third.await.unwrap().unwrap();
    fourth.await.unwrap().unwrap();
    assert_eq!(fifth.await.unwrap(), Err(Failure::NOT_FOUND));
    let sixth = sixth.await.unwrap().unwrap();
    assert!(first < third && third < sixth, "{first} {third} {sixth}");
    assert_eq!(world.read_patiently("b", "y", STRONG).await, Some(6));
    end(world.account).await;
}

/// Clients write while the write region changes: acknowledged writes survive, an unacknowledged
/// write is present as a whole or absent, and a later write is never present without the earlier
/// ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_in_the_middle_of_strong_writes_keeps_their_order() {
    let world = World::in_memory(STRONG, &["a", "b", "c"]);
    world.create_container("a").await;
    world.write("a", "x", 0).await.unwrap();
    world.sees("b", "x", 0).await;
    world.sees("c", "x", 0).await;
    world
        .link("*", "*", LinkOrder::Delay(Duration::from_millis(20)))
        .await;
    let mut writes = Vec::new();
    for number in 0..60_u64 {
        // All writes go to the same item in this order without a wait in between.
        writes.push((number, world.begin("a", "y", Kind::Upsert, number)));
        tokio::time::sleep(Duration::from_millis(2)).await;
        if number == 40 {
            let (_, first) = &writes[0];
            eventually("one is acknowledged", || first.is_finished()).await;
            world.isolate("a").await;
        }
    }
    // The links of a were cut one after the other, so one region may have more records, and it would
    // refuse its vote to the other.
    let (writer, other) = if world.kept("b") >= world.kept("c") {
        ("b", "c")
    } else {
        ("c", "b")
    };
    let order = OperatorOrder::Failover {
        to: writer.to_owned(),
        forced: true,
        accepts_loss: false,
        offline: vec!["a".to_owned()],
    };
    world.order(order).await;
    let mut acknowledged = None;
    let mut refused = 0;
    for (number, write) in writes {
        match write.await.unwrap() {
            Ok(_) => {
                assert_eq!(
                    refused, 0,
                    "{number} was acknowledged after one that was not"
                );
                acknowledged = Some(number);
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 0, "some were under way");
    let acknowledged = acknowledged.unwrap();
    eventually("it writes", || world.region(writer).check_write().is_ok()).await;
    let seen = world.read_patiently(writer, "y", STRONG).await.unwrap();
    assert!((acknowledged..60).contains(&seen), "{acknowledged} {seen}");
    assert_eq!(world.read_patiently(other, "y", STRONG).await, Some(seen));
    world.write_patiently(writer, "y", 100).await;
    assert_eq!(world.read_patiently(other, "y", STRONG).await, Some(100));
    end(world.account).await;
}

/// A region that restarts with groups in flight does not acknowledge them afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strong_writes_under_way_at_a_restart_end_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::open(Some(directory.path()), STRONG, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "y", 0).await.unwrap();
    world.sees("b", "y", 0).await;
    world.link("a", "b", LinkOrder::Pause).await;
    let before = world.kept("a");
    let mut writes = Vec::new();
    for number in 1..=5 {
        writes.push(world.begin("a", "y", Kind::Upsert, number));
        eventually("it is kept", || world.kept("a") >= before + number).await;
    }
    assert_eq!(world.peek("a", "y"), Some(0));
    for write in writes {
        write.abort();
    }
    let begun = Instant::now();
    let world = world.reopen().await;
    assert!(
        begun.elapsed() < PATIENCE,
        "nobody waits for others at the end"
    );
    // The log of the write region has them, so they become part of the history, all of them.
    world.sees("b", "y", 5).await;
    world.sees("a", "y", 5).await;
    world.write_patiently("a", "y", 6).await;
    assert_eq!(world.read_patiently("b", "y", STRONG).await, Some(6));
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_two_regions_strong_writes_stop_until_the_lost_one_is_offline() {
    let world = World::in_memory(STRONG, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "x", 1).await.unwrap();
    world
        .order(OperatorOrder::TakeDown {
            region: "b".to_owned(),
        })
        .await;
    let waiting = tokio::time::timeout(Duration::from_secs(1), world.write("a", "x", 2)).await;
    assert!(waiting.is_err(), "{waiting:?}");
    assert_eq!(
        world.peek("a", "x"),
        Some(1),
        "nobody reads what may be taken back"
    );
    let order = OperatorOrder::Failover {
        to: "a".to_owned(),
        forced: true,
        accepts_loss: false,
        offline: vec!["b".to_owned()],
    };
    world.order(order).await;
    world.write_patiently("a", "x", 3).await;
    assert_eq!(world.read_patiently("a", "x", STRONG).await, Some(3));
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_three_regions_a_silent_one_is_not_waited_for() {
    let world = World::in_memory(STRONG, &["a", "b", "c"]);
    world.create_container("a").await;
    world.write("a", "x", 1).await.unwrap();
    world.sees("c", "x", 1).await;
    world.isolate("c").await;
    world.write_patiently("a", "x", 2).await;
    assert_eq!(world.read_patiently("b", "x", STRONG).await, Some(2));
    let refused = world.read("c", "x", STRONG).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(
        world.read("c", "x", ConsistencyLevel::Eventual).await,
        Ok(Some(1))
    );
    world.connect("c").await;
    world.sees("c", "x", 2).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bounded_writes_stop_before_the_bound_breaks() {
    let world = World::bounded_by_versions(&["a", "b"], Writes::One);
    world.create_container("a").await;
    world.write_patiently("a", "x", 0).await;
    world.sees("b", "x", 0).await;
    world.link("a", "b", LinkOrder::Pause).await;
    let mut number = 0;
    let refusal = loop {
        match world.write("a", "x", number + 1).await {
            Ok(()) => number += 1,
            Err(failure) => break failure,
        }
        assert!(number < 100, "the bound is 20 versions");
    };
    assert!(
        matches!(refusal, Failure::TooManyRequests { .. }),
        "{refusal}"
    );
    assert!((15..=20).contains(&number), "{number}");
    assert_eq!(world.peek("b", "x"), Some(0));
    world.link("a", "b", LinkOrder::Resume).await;
    world.sees("b", "x", number).await;
    world.write_patiently("a", "x", number + 1).await;
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bounded_reads_stop_when_the_region_hears_nothing() {
    let world = World::in_memory(BOUNDED, &["a", "b"]);
    world.create_container("a").await;
    world.write_patiently("a", "x", 0).await;
    world.sees("b", "x", 0).await;
    // The region has received a page of the write region.
    assert_eq!(world.read_patiently("b", "x", BOUNDED).await, Some(0));
    world.isolate("b").await;
    let begun = Instant::now();
    loop {
        let asked = begun.elapsed();
        if world.read("b", "x", BOUNDED).await.is_err() {
            break;
        }
        assert!(asked < Duration::from_secs(7), "the bound is five seconds");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        world.read("b", "x", ConsistencyLevel::Session).await,
        Ok(Some(0))
    );
    world.connect("b").await;
    eventually("it hears again", || {
        world.region("b").check_write().is_err()
    })
    .await;
    end(world.account).await;
}
