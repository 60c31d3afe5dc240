//! Splits and merges that each region applies at its own moment.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use orrery_engine::{
    AccountOutcome, AccountStreamWriter, Container, CounterStatus, Engine, Position, SplitMethod,
    SubscriptionRead,
};
use orrery_json::Value;
use orrery_model::{ConsistencyLevel, Failure, Operation, RangeId};
use orrery_regions::{RegionId, Sequence, StreamId};

use super::cases::{exchange, follow, give, regions};
use super::fault_simulation::{find, hash, members};
use super::readers::Reader;
use super::region::Region;
use crate::support::{address, before_any_sweep, create, eventually, json, pk};

const LEVEL: ConsistencyLevel = ConsistencyLevel::Session;
const KEYS: [&str; 2] = ["a", "b"];

async fn put(region: &Region, container: &Arc<Container>, key: &str, operation: Operation) {
    let key = pk(&format!(r#"["{key}"]"#));
    let written = region.engine.write_item(container, key, operation, LEVEL);
    written.await.result.unwrap();
}

/// One item for each key.
async fn put_both(region: &Region, id: &str, more: &str) {
    for key in KEYS {
        let text = format!(r#"{{"id":"{id}","p":"{key}"{more}}}"#);
        put(region, &find(region, "c"), key, create(&text)).await;
    }
}

fn has(region: &Region, key: &str, id: &str) -> bool {
    let key = pk(&format!(r#"["{key}"]"#));
    let container = find(region, "c");
    let read = region.engine.read_item(&container, &key, id, None, LEVEL);
    read.result.is_ok()
}

/// The hub cuts between the two keys.
async fn split(hub: &Region) {
    let container = find(hub, "c");
    let [one, other] = KEYS.map(|key| hash(&container, key));
    let range = container.partitions[0].id;
    hub.engine.set_hub(true);
    let cut = SplitMethod::At(one.max(other));
    let split = hub.engine.split_partition(address("c"), range, cut);
    split.await.unwrap();
    hub.engine.set_hub(false);
}

async fn merge(hub: &Region, ranges: [u32; 2]) {
    hub.engine.set_hub(true);
    let ranges = ranges.map(RangeId);
    let merged = hub.engine.merge_partitions(address("c"), ranges);
    merged.await.unwrap();
    hub.engine.set_hub(false);
}

fn ids(region: &Region) -> Vec<u32> {
    let container = find(region, "c");
    container.partitions.iter().map(|one| one.id.0).collect()
}

/// Waits for the counts, and compares the items of each partition.
async fn counted(region: &Region, expected: &[u64]) {
    let container = find(region, "c");
    eventually("partitions are counted", || {
        let counters = container.partitions.iter().map(|one| one.counters());
        let exact = counters.filter(|counters| counters.status == CounterStatus::Exact);
        exact
            .map(|counters| counters.items)
            .eq(expected.iter().copied())
    })
    .await;
}

#[tokio::test]
async fn writes_from_before_a_split_reach_the_child_partitions() {
    let mut regions = regions(r#","defaultTtl":-1"#, &[None, None]).await;
    put_both(&regions[0], "short", r#","ttl":2"#).await;
    put_both(&regions[0], "kept", "").await;
    exchange(&mut regions).await;
    let before = find(&regions[1], "c");
    let mut reader = Reader::default();
    assert!(reader.read(&regions[1].engine, &before, 100).await);
    // One record expires items in both logical partitions; two further records follow.
    regions[0].advance(20);
    regions[0].engine.set_hub(true);
    regions[0].engine.remove_expired().await.unwrap();
    put_both(&regions[0], "late", "").await;
    split(&regions[0]).await;
    let own = StreamId::Region(RegionId(0));
    assert_eq!(regions[0].engine.version_vector().of(own), Sequence(7));
    follow(&mut regions).await;
    assert_eq!(ids(&regions[1]), [1, 2]);
    assert_eq!(before.partitions[0].counters().lsn.0, 1 + 4);
    exchange(&mut regions).await;
    // A request that began before the split writes to the child partitions.
    for key in KEYS {
        let text = format!(r#"{{"id":"old","p":"{key}"}}"#);
        put(&regions[1], &before, key, create(&text)).await;
    }
    exchange(&mut regions).await;
    for region in &regions {
        for key in KEYS {
            assert!(!has(region, key, "short"));
            assert!(has(region, key, "late") && has(region, key, "old"));
        }
        counted(region, &[3, 3]).await;
    }
    for partition in &find(&regions[1], "c").partitions {
        // Four records together; then per partition the expiry, the late record and the region's
        // own record.
        assert_eq!(partition.counters().lsn.0, 1 + 4 + 3);
    }
    assert_eq!(before.partitions[0].counters().lsn.0, 1 + 4);
    let now = find(&regions[1], "c");
    reader.read_all(&regions[1].engine, &now).await;
    for key in KEYS {
        for id in ["kept", "late", "old"] {
            let place = (key.to_owned(), id.to_owned());
            assert!(reader.seen.contains_key(&place), "{place:?}");
        }
    }
}

#[tokio::test]
async fn only_the_hub_splits_and_merges() {
    let mut regions = regions("", &[None, None]).await;
    put_both(&regions[1], "1", "").await;
    exchange(&mut regions).await;
    let satellite = &regions[1].engine;
    let range = RangeId(0);
    let refused = satellite.split_partition(address("c"), range, SplitMethod::MiddleOfRange);
    assert_eq!(refused.await.unwrap_err(), Failure::WriteForbidden);
    split(&regions[0]).await;
    assert_eq!((ids(&regions[0]), ids(&regions[1])), (vec![1, 2], vec![0]));
    merge(&regions[0], [1, 2]).await;
    follow(&mut regions).await;
    for region in &regions {
        assert_eq!(ids(region), [3]);
        counted(region, &[2]).await;
    }
    let merged = regions[1]
        .engine
        .merge_partitions(address("c"), [1, 2].map(RangeId));
    assert_eq!(merged.await.unwrap_err(), Failure::WriteForbidden);
}

/// A writer that keeps the data and reports an unknown outcome.
#[derive(Default)]
struct UnansweringWriter(Mutex<Vec<Bytes>>);

impl AccountStreamWriter for UnansweringWriter {
    fn write(&self, data: Bytes) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        self.0.lock().unwrap().push(data);
        Box::pin(async { Err(Failure::Timeout) })
    }
}

/// A writer that appends another record to the account stream first.
struct RacingWriter {
    first: Mutex<Option<Bytes>>,
    written: Mutex<Vec<Bytes>>,
    engine: Weak<Engine>,
}

impl AccountStreamWriter for RacingWriter {
    fn write(&self, data: Bytes) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            let engine = self.engine.upgrade().unwrap();
            let first = self.first.lock().unwrap().take();
            for data in first.into_iter().chain([data]) {
                self.written.lock().unwrap().push(data.clone());
                let sequence = engine.version_vector().of(StreamId::Account).next();
                let outcome = engine
                    .apply_account_record(sequence, Some(data))
                    .await
                    .unwrap();
                if outcome == AccountOutcome::Stale {
                    return Err(Failure::RetryWith);
                }
            }
            Ok(())
        })
    }
}

#[tokio::test]
async fn a_stale_split_is_decided_again() {
    let regions = regions("", &[None, None]).await;
    let (hub, other) = (&regions[0].engine, &regions[1].engine);
    let kept = Arc::new(UnansweringWriter::default());
    other.set_hub(true);
    other.set_account_writer(Some(Arc::clone(&kept) as Arc<dyn AccountStreamWriter>));
    let given_up = other.split_partition(address("c"), RangeId(0), SplitMethod::MiddleOfRange);
    assert_eq!(given_up.await.unwrap_err(), Failure::Timeout);
    let created = other.create_database("e", None).await;
    assert_eq!(created.unwrap_err(), Failure::Timeout);
    other.set_hub(false);
    assert_eq!(ids(&regions[1]), [0]);
    let decided = std::mem::take(&mut *kept.0.lock().unwrap());
    let [split, database] = &decided[..] else {
        panic!("two changes were decided");
    };
    let writer = Arc::new(RacingWriter {
        first: Mutex::new(Some(database.clone())),
        written: Mutex::default(),
        engine: Arc::downgrade(hub),
    });
    let last = hub.version_vector().of(StreamId::Account);
    hub.set_hub(true);
    hub.set_account_writer(Some(Arc::clone(&writer) as Arc<dyn AccountStreamWriter>));
    let done = hub.split_partition(address("c"), RangeId(0), SplitMethod::MiddleOfRange);
    assert_eq!(done.await.unwrap().container.partitions.len(), 2);
    // The abandoned split arrives after the repeated one and must not supersede a partition twice.
    let late = hub.version_vector().of(StreamId::Account).next();
    let applied = hub.apply_account_record(late, Some(split.clone())).await;
    assert_eq!(applied, Ok(AccountOutcome::Stale));
    hub.set_hub(false);
    let mut written = writer.written.lock().unwrap().clone();
    written.push(split.clone());
    let mut outcomes = Vec::new();
    for (data, sequence) in written.into_iter().zip(last.0 + 1..) {
        let applied = other
            .apply_account_record(Sequence(sequence), Some(data))
            .await;
        outcomes.push(applied.unwrap());
    }
    let (applied, void) = (AccountOutcome::Applied, AccountOutcome::Stale);
    assert_eq!(outcomes, [applied, void, applied, void]);
    for region in &regions {
        assert_eq!(ids(region), [1, 2]);
        assert!(region.engine.catalogue().databases.contains_key("e"));
    }
}

#[tokio::test]
async fn a_hub_without_a_majority_backs_off() {
    let (regions, before, seen) = before_any_sweep(a_hub_without_a_majority).await;
    assert_eq!(before, [0]);
    let expected = [
        (Err(Failure::Timeout), 1),
        (Ok(()), 1),
        (Err(Failure::Timeout), 2),
    ];
    assert_eq!(seen, expected);
    let hub = &regions[0].engine;
    hub.set_account_writer(None);
    regions[0].advance(70);
    hub.set_hub(true);
    hub.auto_split().await.unwrap();
    hub.set_hub(false);
    assert_eq!(ids(&regions[0]), [1, 2]);
}

/// Returns the partitions before, and per attempt the outcome together with the number of tries.
async fn a_hub_without_a_majority() -> (Vec<Region>, Vec<u32>, Vec<(Result<(), Failure>, usize)>) {
    let regions = regions("", &[None]).await;
    let hub = &regions[0].engine;
    hub.set_hub(true);
    let catalogue = hub.catalogue();
    let offer = catalogue.container(address("c")).unwrap().1.offer.unwrap();
    let Value::Object(mut body) = catalogue.offer(offer).unwrap().to_value() else {
        panic!("an offer is an object");
    };
    body.insert("content".to_owned(), json(r#"{"offerThroughput":20000}"#));
    let body = Value::Object(body);
    let replaced = hub.replace_offer(offer, &body, None, None);
    replaced.await.unwrap();
    hub.set_hub(false);
    // The sweep that this change wakes finds no work.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let before = ids(&regions[0]);
    let kept = Arc::new(UnansweringWriter::default());
    hub.set_account_writer(Some(Arc::clone(&kept) as Arc<dyn AccountStreamWriter>));
    let mut seen = Vec::new();
    for passed_seconds in [0, 50, 20] {
        regions[0].advance(passed_seconds);
        hub.set_hub(true);
        let outcome = hub.auto_split().await;
        hub.set_hub(false);
        seen.push((outcome, kept.0.lock().unwrap().len()));
    }
    (regions, before, seen)
}

#[tokio::test]
async fn a_follower_of_a_region_has_the_same_child_partitions() {
    let mut regions = regions("", &[None, None]).await;
    let follower = regions[1].follower();
    let mut subscription = regions[1].engine.subscribe(Position::ZERO, u64::MAX);
    put_both(&regions[1], "0", "").await;
    put_both(&regions[0], "late", "").await;
    split(&regions[0]).await;
    follow(&mut regions).await;
    exchange(&mut regions).await;
    put_both(&regions[1], "own", "").await;
    counted(&regions[1], &[3, 3]).await;
    let piece = subscription.records_after(follower.applied(), usize::MAX);
    let SubscriptionRead::Records(records) = piece.unwrap() else {
        panic!("nothing was trimmed");
    };
    follower.append_and_apply(records).await.unwrap();
    let counters = |engine: &Engine| -> Vec<_> {
        let catalogue = engine.catalogue();
        let container = &catalogue.container(address("c")).unwrap().1.container;
        let partitions = container.partitions.iter();
        partitions.map(|one| (one.id, one.counters())).collect()
    };
    assert_eq!(counters(&follower), counters(&regions[1].engine));
    follower.promote().await.unwrap();
    let container = {
        let catalogue = follower.catalogue();
        Arc::clone(&catalogue.container(address("c")).unwrap().1.container)
    };
    let text = create(r#"{"id":"after","p":"a"}"#);
    let written = follower.write_item(&container, pk(r#"["a"]"#), text, LEVEL);
    written.await.result.unwrap();
}

#[tokio::test]
async fn a_new_or_restarted_region_has_the_child_partitions() {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut regions = regions("", &[Some(directories[0].path()), None]).await;
    put_both(&regions[0], "0", "").await;
    exchange(&mut regions).await;
    // Written in partition 0, and received long after that partition was superseded.
    put_both(&regions[1], "late", "").await;
    split(&regions[0]).await;
    merge(&regions[0], [1, 2]).await;
    split(&regions[0]).await;
    let all = members(3);
    let hub = regions.remove(0).restart(&all, true).await;
    assert_eq!(ids(&hub), [4, 5]);
    let third = hub.fill(2, &all, Some(directories[1].path()));
    regions.insert(0, hub);
    regions.push(third);
    follow(&mut regions).await;
    let own = StreamId::Region(RegionId(1));
    for to in [0, 2] {
        assert!(give(&mut regions, 1, to, own).await);
        put_both(&regions[to], &format!("after{to}"), "").await;
    }
    exchange(&mut regions).await;
    for region in &regions {
        assert_eq!(ids(region), [4, 5]);
        counted(region, &[4, 4]).await;
        for key in KEYS {
            assert!(has(region, key, "late") && has(region, key, "after2"));
        }
    }
    // A deleted container takes its supersession rows along, so the next container has no child
    // partitions of it.
    let hub = &regions[0].engine;
    hub.set_hub(true);
    hub.delete_container(address("c"), None).await.unwrap();
    hub.set_hub(false);
    follow(&mut regions).await;
    for region in regions {
        region.close().await;
    }
    for directory in &directories {
        let report = orrery_engine::check_directory(directory.path()).unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
    }
}
