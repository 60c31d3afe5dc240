//! Splits and merges: their triggers, and everything that they must preserve.

use std::sync::Arc;
use std::time::Duration;

use orrery_engine::{Container, CounterStatus, FeedScope, PartitionLimits, SplitMethod};
use orrery_json::Value;
use orrery_model::{DistributionChange, Failure, PartitionShares, RangeId};

use crate::support::{
    TestOptions, World, address, before_any_sweep, create, delete, eventually, json, text_property,
    upsert,
};

async fn small(bytes: u64, logical_bytes: u64) -> World {
    World::limited(TestOptions {
        partitions: PartitionLimits {
            bytes,
            logical_bytes,
            ..PartitionLimits::default()
        },
        ..TestOptions::default()
    })
    .await
}

fn item(key: &str, number: usize) -> String {
    let filling = "x".repeat(500);
    format!(r#"{{"id":"{number}","p":"{key}","filling":"{filling}"}}"#)
}

fn header(key: &str) -> String {
    format!(r#"["{key}"]"#)
}

fn ids(container: &Container) -> Vec<u32> {
    container.partitions.iter().map(|one| one.id.0).collect()
}

async fn counted(container: &Container) {
    let is_estimated = |container: &Container| {
        let mut partitions = container.partitions.iter();
        partitions.any(|one| one.counters().status != CounterStatus::Exact)
    };
    while is_estimated(container) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_partition_that_is_too_big_is_split_in_the_middle_of_its_data() {
    let world = before_any_sweep(async || {
        let world = small(60_000, u64::MAX).await;
        let container = world.container("c", "").await;
        for number in 0..120 {
            let key = format!("k{}", number % 40);
            let text = item(&key, number);
            world.ok(&container, &header(&key), create(&text)).await;
        }
        world.engine.auto_split().await.unwrap();
        world
    })
    .await;
    let container = world.find("c");
    assert_eq!(ids(&container), [1, 2]);
    assert_eq!(container.partitions[0].ancestors, [RangeId(0)]);
    assert_eq!(container.partitions[0].counters().lsn.0, 121);
    counted(&container).await;
    let items: Vec<_> = container
        .partitions
        .iter()
        .map(|one| one.counters().items)
        .collect();
    assert_eq!(items.iter().sum::<u64>(), 120);
    assert!(
        items.iter().all(|items| (45..=75).contains(items)),
        "{items:?}"
    );
    // Each is small enough now.
    world.engine.auto_split().await.unwrap();
    assert_eq!(ids(&world.find("c")), [1, 2]);
}

#[tokio::test]
async fn one_logical_partition_is_never_cut() {
    let world = small(20_000, u64::MAX).await;
    let container = world.container("c", "").await;
    for number in 0..60 {
        let text = item("only", number);
        world.ok(&container, &header("only"), create(&text)).await;
    }
    for _ in 0..3 {
        world.engine.auto_split().await.unwrap();
    }
    assert_eq!(ids(&world.find("c")), [0]);
    let split = world
        .engine
        .split_partition(address("c"), RangeId(0), SplitMethod::MiddleOfData);
    assert!(matches!(split.await, Err(Failure::BadRequest(_))));
}

#[tokio::test]
async fn a_logical_partition_that_is_too_big_takes_no_more() {
    let world = small(u64::MAX, 50_000).await;
    let container = world.container("c", "").await;
    let mut number = 0;
    let mut grow = async |key: &'static str| {
        number += 1;
        let text = item(key, number);
        let answer = world.write(&container, &header(key), create(&text)).await;
        answer.result.map(|_| number)
    };
    for _ in 0..60 {
        grow("big").await.unwrap();
        world.engine.auto_split().await.unwrap();
    }
    let mut more = 0;
    while grow("big").await.is_ok() {
        more += 1;
        assert!(more < 60, "it grew beyond any limit");
    }
    assert_eq!(grow("big").await, Err(Failure::LogicalPartitionFull));
    grow("small").await.unwrap();
    // The refusal survives a split, and ends when the partition has room again.
    world
        .engine
        .split_partition(address("c"), RangeId(0), SplitMethod::MiddleOfRange)
        .await
        .unwrap();
    assert_eq!(grow("big").await, Err(Failure::LogicalPartitionFull));
    assert!(world.read(&container, &header("big"), "1").is_ok());
    for id in 1..20 {
        world
            .ok(&container, &header("big"), delete(&id.to_string()))
            .await;
    }
    grow("big").await.unwrap();
}

async fn set_throughput(world: &World, throughput: u32) {
    let catalogue = world.engine.catalogue();
    let (_, entry) = catalogue.container(address("c")).unwrap();
    let offer = catalogue.offer(entry.offer.unwrap()).unwrap();
    let Value::Object(mut body) = offer.to_value() else {
        panic!("an offer is an object");
    };
    let content = json(&format!(r#"{{"offerThroughput":{throughput}}}"#));
    body.insert("content".to_owned(), content);
    let body = Value::Object(body);
    world
        .engine
        .replace_offer(offer.rid, &body, None, None)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_share_beyond_one_partition_splits_that_partition_only() {
    let world = World::in_memory().await;
    world.container("c", "").await;
    set_throughput(&world, 12_000).await;
    eventually("it is split", || world.find("c").partitions.len() == 2).await;
    let kept = world.find("c").partitions[1].id;
    let first = world.find("c").partitions[0].id;
    let division = PartitionShares::Custom(vec![(first, 15_000)]);
    let change = DistributionChange {
        division: Some(division),
        buckets: None,
    };
    world
        .engine
        .redistribute(address("c"), change)
        .await
        .unwrap();
    // 21,000 RU/s need three partitions, and the split for the share makes the third one.
    world.engine.auto_split().await.unwrap();
    world.engine.auto_split().await.unwrap();
    let container = world.find("c");
    assert_eq!(container.partitions.len(), 3);
    assert_eq!(container.partitions[2].id, kept);
}

#[tokio::test]
async fn more_throughput_than_the_partitions_can_have_splits_them() {
    let world = World::in_memory().await;
    world.container("c", "").await;
    set_throughput(&world, 10_000).await;
    world.engine.auto_split().await.unwrap();
    assert_eq!(world.find("c").partitions.len(), 1);
    set_throughput(&world, 25_000).await;
    eventually("it is split", || world.find("c").partitions.len() >= 3).await;
    // No more partitions split than necessary.
    let container = world.find("c");
    let widths: Vec<_> = container
        .partitions
        .iter()
        .map(|one| container.definition.key().width(&one.range))
        .collect();
    let quarters: Vec<_> = widths.iter().map(|width| (width * 4.0).round()).collect();
    let mut sorted = quarters.clone();
    sorted.sort_by(f64::total_cmp);
    assert_eq!(sorted, [1.0, 1.0, 2.0]);
    // Less throughput merges nothing by itself.
    set_throughput(&world, 400).await;
    world.engine.auto_split().await.unwrap();
    assert_eq!(world.find("c").partitions.len(), 3);
    let merge = |pair| world.engine.merge_partitions(address("c"), pair);
    let [a, b, c] = &container.partitions[..] else {
        panic!("three partitions");
    };
    assert!(matches!(
        merge([a.id, c.id]).await,
        Err(Failure::BadRequest(_))
    ));
    merge([a.id, b.id]).await.unwrap();
    let merged = world.find("c");
    assert_eq!(merged.partitions.len(), 2);
    assert!(matches!(merge([a.id, b.id]).await, Err(Failure::Gone(_))));
}

#[tokio::test]
async fn rids_and_etags_survive_a_split() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let mut before = Vec::new();
    for number in 0..20 {
        let key = header(&format!("k{number}"));
        let text = format!(r#"{{"id":"i","p":"k{number}"}}"#);
        before.push((key.clone(), world.ok(&container, &key, upsert(&text)).await));
    }
    world
        .engine
        .split_partition(address("c"), RangeId(0), SplitMethod::MiddleOfRange)
        .await
        .unwrap();
    let now = world.find("c");
    for (key, old) in before {
        let new = world.read(&now, &key, "i").unwrap();
        for name in ["_rid", "_etag", "_self"] {
            assert_eq!(text_property(&new, name), text_property(&old, name));
        }
        // A request with the old container value writes to the same child partition.
        let text = String::from_utf8(new.body.unwrap().to_vec()).unwrap();
        world.ok(&container, &key, upsert(&text)).await;
    }
    let gone = world
        .page(&now, FeedScope::Range(RangeId(0), None), 10, None)
        .await;
    assert!(matches!(gone, Err(Failure::Gone(_))));
    let left: u64 = now.partitions.iter().map(|one| one.counters().lsn.0).sum();
    // The LSN of the first partition's creation, the LSN from which both children continue, and the
    // writes of each child.
    assert_eq!(left, 2 * (1 + 20) + 20);
    let container: Arc<Container> = now;
    assert_eq!(
        world.all(&container, FeedScope::Container, 7).await.len(),
        20
    );
}
