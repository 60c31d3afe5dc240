//! An engine together with the expected contents of its containers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_engine::{Container, Durability, FeedScope};
use orrery_model::RangeId;

use crate::model::expected::{Expected, Item};
use crate::model::operations::{self, Step};
use crate::random::Random;
use crate::support::{PATIENCE, World, pk};

pub(crate) struct Account {
    world: World,
    containers: Vec<Expected>,
    /// LSN of each partition of containers without background work.
    lsns: BTreeMap<(&'static str, RangeId), u64>,
}

/// The creation of a partition uses this LSN.
const FIRST_LSN: u64 = 1;

const SINGLE: &str = r#""partitionKey":{"paths":["/p"]}"#;
const SINGLE_UNIQUE: &str = r#""partitionKey":{"paths":["/p"],"version":2},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}"#;
const PAIR_TTL: &str =
    r#""partitionKey":{"paths":["/p","/q"],"kind":"MultiHash","version":2},"defaultTtl":-1"#;
const UNIQUE_TTL: &str = r#""partitionKey":{"paths":["/p"],"version":2},"defaultTtl":10,
    "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]},{"paths":["/v","/w"]}]}"#;

impl Account {
    pub(crate) async fn open(directory: Option<&Path>, durability: Durability) -> Account {
        let containers = vec![
            Expected::new("plain", SINGLE, 400, &["p"], &[], None),
            Expected::new("unique", SINGLE_UNIQUE, 18_000, &["p"], &[&["u"]], None),
            Expected::new("pair", PAIR_TTL, 12_000, &["p", "q"], &[], Some(-1)),
            Expected::new(
                "short",
                UNIQUE_TTL,
                400,
                &["p"],
                &[&["u"], &["v", "w"]],
                Some(10),
            ),
        ];
        let world = World::open(directory, durability).await.unwrap();
        let account = Account {
            world,
            containers,
            lsns: BTreeMap::new(),
        };
        for expected in &account.containers {
            account.create(expected).await;
        }
        account
    }

    async fn create(&self, expected: &Expected) -> Arc<Container> {
        let definition = format!(r#"{{"id":"{}",{}}}"#, expected.id, expected.settings);
        self.world.create(&definition, expected.throughput).await
    }

    /// One request, or a little time.
    pub(crate) async fn step(&mut self, random: &mut Random) {
        if random.chance(5) {
            self.world.advance(1 + random.below(8));
        }
        let index = usize::try_from(random.below(self.containers.len() as u64)).unwrap();
        let expected = &self.containers[index];
        let key = operations::key(random, expected);
        if random.chance(2) {
            return self.delete_key(index, key).await;
        }
        let count = if random.chance(20) {
            2 + random.below(5)
        } else {
            1
        };
        let steps: Vec<Step> = (0..count)
            .map(|_| operations::step(random, expected, key))
            .collect();
        let container = self.world.find(expected.id);
        let operations = steps.iter().map(Step::operation).collect();
        let answer = self.world.batch(&container, key, operations).await;
        let (results, stamp) = (answer.result.unwrap(), answer.partition_lsn.unwrap());
        let now = self.world.now();
        let wrote = self.containers[index].transact(key, &steps, &results, now, stamp.range);
        for outcome in results.iter().flatten() {
            assert!(outcome.item_lsn <= stamp.lsn);
        }
        if !self.containers[index].had_ttl {
            let lsn = self
                .lsns
                .entry((container_id(&self.containers[index]), stamp.range))
                .or_insert(FIRST_LSN);
            *lsn += u64::from(wrote);
            assert_eq!(stamp.lsn.0, *lsn, "{steps:?}");
        }
    }

    async fn delete_key(&mut self, index: usize, key: &'static str) {
        let container = self.world.find(self.containers[index].id);
        self.world
            .engine
            .delete_partition_key(&container, pk(key), orrery_model::ConsistencyLevel::Session)
            .await
            .result
            .unwrap();
        let expected = &mut self.containers[index];
        expected.items.retain(|(item_key, _), _| item_key != key);
        self.learn_lsns(index, &container);
    }

    fn learn_lsns(&mut self, index: usize, container: &Container) {
        let id = container_id(&self.containers[index]);
        for partition in &container.partitions {
            self.lsns
                .insert((id, partition.id), partition.counters().lsn.0);
        }
    }

    /// Deletes and recreates a container, or changes its default TTL.
    pub(crate) async fn upheaval(&mut self, random: &mut Random) {
        let index = usize::try_from(random.below(self.containers.len() as u64)).unwrap();
        let id = container_id(&self.containers[index]);
        if random.chance(30) {
            self.world.delete_container(id).await;
            let container = self.create(&self.containers[index]).await;
            self.containers[index].items.clear();
            let default_ttl = container.definition.default_ttl.map(i64::from);
            self.containers[index].default_ttl = default_ttl;
            self.containers[index].had_ttl = default_ttl.is_some();
            self.learn_lsns(index, &container);
        } else {
            // An item that expired under the old default TTL would reappear under the new one, so
            // expired items are removed first.
            self.settle().await;
            let ttl = *random.pick(&[None, Some(-1), Some(3), Some(10), Some(30)]);
            let container = self.world.set_default_ttl(id, ttl).await;
            self.containers[index].default_ttl = ttl.map(i64::from);
            self.containers[index].had_ttl |= ttl.is_some();
            self.settle().await;
            self.learn_lsns(index, &container);
        }
    }

    /// Waits until nothing expired is left.
    async fn settle(&mut self) {
        let now = self.world.now();
        for expected in &mut self.containers {
            expected.forget_expired(now);
        }
        for expected in &self.containers {
            let container = self.world.find(expected.id);
            let begun = Instant::now();
            while held(&container) != counted(expected.items.values()) {
                self.world.engine.remove_expired().await.unwrap();
                assert!(
                    begun.elapsed() < PATIENCE,
                    "{}: {:?} is not {:?}",
                    expected.id,
                    held(&container),
                    counted(expected.items.values())
                );
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// Compares all readable data with the expected contents.
    pub(crate) async fn compare(&mut self) {
        self.settle().await;
        for expected in &self.containers {
            let container = self.world.find(expected.id);
            self.compare_items(expected, &container).await;
            for partition in &container.partitions {
                let items = expected
                    .items
                    .values()
                    .filter(|item| item.range == partition.id);
                let counters = partition.counters();
                assert_eq!(
                    (counters.items, counters.bytes),
                    counted(items),
                    "{}",
                    expected.id
                );
                if !expected.had_ttl {
                    let lsn = self
                        .lsns
                        .get(&(expected.id, partition.id))
                        .copied()
                        .unwrap_or(FIRST_LSN);
                    assert_eq!(counters.lsn.0, lsn, "{}", expected.id);
                }
            }
        }
    }

    async fn compare_items(&self, expected: &Expected, container: &Arc<Container>) {
        let all = self.world.all(container, FeedScope::Container, 1000).await;
        let found: BTreeSet<&str> = all.iter().map(String::as_str).collect();
        let wanted: BTreeSet<&str> = expected
            .visible(self.world.now())
            .map(|(_, item)| item.text.as_str())
            .collect();
        assert_eq!(found, wanted, "{}", expected.id);
        assert_eq!(all.len(), wanted.len(), "{}", expected.id);
        for size in [1, 3] {
            assert_eq!(
                self.world.all(container, FeedScope::Container, size).await,
                all
            );
        }
        let keys: BTreeSet<&str> = expected.items.keys().map(|(key, _)| key.as_str()).collect();
        for key in keys {
            let items = self.world.all(container, FeedScope::Key(pk(key)), 2).await;
            let wanted = expected
                .items
                .iter()
                .filter(|((item_key, _), _)| item_key == key);
            // Ids are in byte order within a key, as in the map.
            let wanted: Vec<&str> = wanted.map(|(_, item)| item.text.as_str()).collect();
            assert_eq!(items, wanted, "{} {key}", expected.id);
        }
        for ((key, id), item) in &expected.items {
            let outcome = self.world.read(container, key, id).unwrap();
            assert_eq!(outcome.body.unwrap(), item.text.as_bytes());
        }
    }

    pub(crate) async fn reopen(self) -> Account {
        Account {
            world: self.world.reopen().await,
            ..self
        }
    }

    pub(crate) async fn abandon(self) -> Account {
        Account {
            world: self.world.abandon().await,
            ..self
        }
    }

    pub(crate) async fn close(self) {
        self.world.close().await;
    }
}

fn container_id(expected: &Expected) -> &'static str {
    expected.id
}

/// Items and bytes in all partitions.
fn held(container: &Container) -> (u64, u64) {
    let counters = container
        .partitions
        .iter()
        .map(|partition| partition.counters());
    counters.fold((0, 0), |sum, counters| {
        (sum.0 + counters.items, sum.1 + counters.bytes)
    })
}

fn counted<'a>(items: impl Iterator<Item = &'a Item>) -> (u64, u64) {
    items.fold((0, 0), |sum, item| {
        (sum.0 + 1, sum.1 + item.text.len() as u64)
    })
}
