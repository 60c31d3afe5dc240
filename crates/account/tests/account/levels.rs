//! What each level promises between regions.

use std::time::{Duration, Instant};

use orrery_account::{LinkOrder, Order};
use orrery_model::{ConsistencyLevel, Failure};

use crate::support::{World, end, eventually};

const STRONG: ConsistencyLevel = ConsistencyLevel::Strong;
const BOUNDED: ConsistencyLevel = ConsistencyLevel::BoundedStaleness;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strong_reads_see_what_was_acknowledged_anywhere() {
    let world = World::in_memory(STRONG, &["a", "b", "c"]);
    world.create_container("a").await;
    for number in 0..50 {
        world.write("a", "x", number).await.unwrap();
        for region in ["b", "c", "a"] {
            let seen = world.read(region, "x", STRONG).await.unwrap();
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
    for number in 2..6 {
        let begun = Instant::now();
        world.write("a", "x", number).await.unwrap();
        let took = begun.elapsed();
        assert!(took >= delay * 2 && took < delay * 3, "{took:?}");
        let seen = world.read("b", "x", STRONG).await.unwrap();
        assert_eq!(seen, Some(number));
    }
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_two_regions_strong_writes_stop_until_the_lost_one_is_offline() {
    let world = World::in_memory(STRONG, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "x", 1).await.unwrap();
    world
        .order(Order::TakeDown {
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
    let order = Order::Failover {
        to: "a".to_owned(),
        forced: true,
        accepts_loss: false,
        offline: vec!["b".to_owned()],
    };
    world.order(order).await;
    world.write_patiently("a", "x", 3).await;
    assert_eq!(world.read("a", "x", STRONG).await, Ok(Some(3)));
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
    assert_eq!(world.read("b", "x", STRONG).await, Ok(Some(2)));
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
    let world = World::in_memory(BOUNDED, &["a", "b"]);
    world.create_container("a").await;
    world.write("a", "x", 0).await.unwrap();
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
    world.write("a", "x", 0).await.unwrap();
    world.sees("b", "x", 0).await;
    let begun = Instant::now();
    while world.read("b", "x", BOUNDED).await.is_err() {
        assert!(
            begun.elapsed() < Duration::from_secs(3),
            "it hears of the write region"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    world.isolate("b").await;
    let begun = Instant::now();
    while world.read("b", "x", BOUNDED).await.is_ok() {
        assert!(
            begun.elapsed() < Duration::from_secs(7),
            "the bound is five seconds"
        );
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
