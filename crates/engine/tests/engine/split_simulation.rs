//! Splits and merges partitions during writes, feeds and paged queries. One seed determines every
//! action, and a map predicts the visible items.

mod readers;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use orrery_engine::{Container, CounterStatus, Durability, SplitMethod, check_directory};
use orrery_keys::Epk;
use orrery_model::{Failure, RangeId};

use crate::random::Random;
use crate::split_simulation::readers::{FeedReader, PagedReader, Reach};
use crate::support::{World, address, delete, eventually, upsert};

const KEYS: u64 = 24;
const IDS: u64 = 4;

/// How a container may be partitioned.
const PARTITION_KEYS: [&str; 3] = [
    r#"{"paths":["/p"],"version":2}"#,
    r#"{"paths":["/p"]}"#,
    r#"{"paths":["/p","/q"],"kind":"MultiHash","version":2}"#,
];

/// The written versions of each item; a removal is `None`.
#[derive(Debug, Default)]
struct Written {
    versions: BTreeMap<(String, String), Vec<Option<u64>>>,
    count: u64,
}

struct SplitSimulation {
    world: World,
    written: Written,
    latest: Vec<FeedReader>,
    all: Vec<FeedReader>,
    pages: Vec<PagedReader>,
}

impl SplitSimulation {
    async fn open(directory: Option<&Path>, keys: &str) -> SplitSimulation {
        let world = World::open(directory, Durability::None).await.unwrap();
        let definition = format!(
            r#"{{"id":"c","partitionKey":{keys},"changeFeedPolicy":{{"retentionDuration":60}}}}"#
        );
        world.create(&definition, 400).await;
        SplitSimulation {
            world,
            written: Written::default(),
            latest: Vec::new(),
            all: Vec::new(),
            pages: Vec::new(),
        }
    }

    fn container(&self) -> Arc<Container> {
        self.world.find("c")
    }

    async fn step(&mut self, random: &mut Random, stale: &Arc<Container>) {
        match random.below(100) {
            0..50 => self.write(random, stale).await,
            50..54 => self.split(random).await,
            54..57 => self.merge(random).await,
            57..60 => self.begin_reader(random).await,
            60..80 => {
                let readers = if random.chance(50) {
                    &mut self.latest
                } else {
                    &mut self.all
                };
                if !readers.is_empty() {
                    let number = random.below(readers.len() as u64);
                    let reader = &mut readers[usize::try_from(number).unwrap()];
                    reader.read(&self.world, random).await;
                }
            }
            _ => {
                if self.pages.is_empty() || random.chance(10) {
                    let reader = PagedReader::begin(&self.world, random, &self.written.alive());
                    self.pages.push(reader);
                }
                let number = usize::try_from(random.below(self.pages.len() as u64)).unwrap();
                if self.pages[number].read(&self.world, random).await {
                    self.pages.swap_remove(number).check();
                }
            }
        }
    }

    /// Writes through an old container value whose holder may not know of a split.
    async fn write(&mut self, random: &mut Random, stale: &Arc<Container>) {
        let (key, id) = (
            format!("k{}", random.below(KEYS)),
            format!("i{}", random.below(IDS)),
        );
        let versions = self.written.versions.entry((key.clone(), id.clone()));
        let versions = versions.or_default();
        let is_there = versions.last().is_some_and(Option::is_some);
        if is_there && random.chance(25) {
            self.world
                .ok(stale, &header(stale, &key), delete(&id))
                .await;
            versions.push(None);
        } else {
            self.written.count += 1;
            let number = self.written.count;
            let text = format!(r#"{{"id":"{id}","p":"{key}","q":"{key}","n":{number}}}"#);
            let header = header(stale, &key);
            self.world.ok(stale, &header, upsert(&text)).await;
            versions.push(Some(number));
        }
        for reader in &mut self.pages {
            reader.changed(&key, &id);
        }
    }

    async fn split(&mut self, random: &mut Random) {
        let container = self.container();
        if container.partitions.len() > 8 {
            return;
        }
        let range = random.pick(&container.partitions).id;
        let cut = match random.below(3) {
            0 => SplitMethod::MiddleOfData,
            1 => SplitMethod::MiddleOfRange,
            _ => {
                let point = u128::from(random.below(u64::MAX)) << 62;
                SplitMethod::At(Epk::from_bytes(point.to_be_bytes().to_vec()))
            }
        };
        let split = self.world.engine.split_partition(address("c"), range, cut);
        match split.await {
            Ok(_) | Err(Failure::BadRequest(_)) => {}
            Err(failure) => panic!("{failure:?}"),
        }
    }

    async fn merge(&mut self, random: &mut Random) {
        let container = self.container();
        let pairs: Vec<[RangeId; 2]> = container
            .partitions
            .windows(2)
            .map(|pair| [pair[0].id, pair[1].id])
            .collect();
        if !pairs.is_empty() {
            let pair = *random.pick(&pairs);
            let merge = self.world.engine.merge_partitions(address("c"), pair);
            merge.await.unwrap();
        }
    }

    async fn begin_reader(&mut self, random: &mut Random) {
        let reach = if random.chance(40) {
            Reach::Container
        } else {
            Reach::Ranges
        };
        let key = random
            .chance(20)
            .then(|| format!("k{}", random.below(KEYS)));
        if self.latest.len() < 4 {
            self.latest
                .push(FeedReader::latest(&self.world, reach, key.clone()));
        }
        if self.all.len() < 4 {
            let before = self.written.versions.clone();
            let reader = FeedReader::all(&self.world, reach, key, before).await;
            self.all.push(reader);
        }
    }

    /// All readers read to the end and compare their results.
    async fn settle(&mut self, random: &mut Random) {
        for reader in self.latest.iter_mut().chain(&mut self.all) {
            reader.drain(&self.world, random).await;
            reader.check(&self.written.versions);
        }
        while let Some(mut reader) = self.pages.pop() {
            while !reader.read(&self.world, random).await {}
            reader.check();
        }
        for ((key, id), versions) in &self.written.versions {
            let container = self.container();
            let read = self.world.read(&container, &header(&container, key), id);
            match versions.last().unwrap() {
                Some(number) => {
                    let text = read.unwrap().body.unwrap();
                    let text = String::from_utf8(text.to_vec()).unwrap();
                    assert!(text.contains(&format!(r#""n":{number},"#)), "{text}");
                }
                None => assert_eq!(read.unwrap_err(), Failure::NOT_FOUND),
            }
        }
        self.counted().await;
    }

    /// The counters of the partitions equal their contents, at the latest after the background
    /// count.
    async fn counted(&self) {
        let container = self.container();
        eventually("all are counted", || {
            let mut counters = container.partitions.iter().map(|one| one.counters());
            counters.all(|counters| counters.status == CounterStatus::Exact)
        })
        .await;
        let mut items = 0;
        for partition in &container.partitions {
            let counters = partition.counters();
            assert_eq!(counters.status, CounterStatus::Exact, "{partition:?}");
            let scope = orrery_engine::FeedScope::Range(partition.id, None);
            let found = self.world.all(&container, scope, 50).await.len() as u64;
            assert_eq!(counters.items, found, "{partition:?}");
            items += found;
        }
        assert_eq!(items, self.written.alive().len() as u64);
    }
}

/// The partition key header of a key; a hierarchical key repeats its value.
fn header(container: &Container, key: &str) -> String {
    let levels = container.definition.key().paths().len();
    let levels = vec![format!("\"{key}\""); levels];
    format!("[{}]", levels.join(","))
}

impl Written {
    fn alive(&self) -> Vec<(String, String)> {
        let alive = self.versions.iter();
        let alive = alive.filter(|(_, versions)| versions.last().is_some_and(Option::is_some));
        alive.map(|(item, _)| item.clone()).collect()
    }
}

async fn run(seed: u64, directory: Option<&Path>, steps: usize) {
    let _named = crate::support::Seed(seed);
    let mut random = Random::new(seed);
    let keys = PARTITION_KEYS[usize::try_from(seed % 3).unwrap()];
    let mut scene = SplitSimulation::open(directory, keys).await;
    for phase in 0..4 {
        let mut stale = scene.container();
        for _ in 0..steps / 4 {
            if random.chance(10) {
                stale = scene.container();
            }
            scene.step(&mut random, &stale).await;
        }
        drop(stale);
        scene.settle(&mut random).await;
        if directory.is_some() {
            let SplitSimulation { world, .. } = scene;
            let world = if phase % 2 == 0 {
                world.reopen().await
            } else {
                world.abandon().await
            };
            scene = SplitSimulation { world, ..scene };
            scene.settle(&mut random).await;
        }
    }
    let SplitSimulation { world, .. } = scene;
    world.close().await;
    if let Some(directory) = directory {
        let report = check_directory(directory).unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
    }
}

#[tokio::test]
async fn in_memory() {
    for seed in 0..60 {
        run(seed, None, 400).await;
    }
}

#[tokio::test]
async fn on_disk() {
    for seed in 100..108 {
        let directory = tempfile::tempdir().unwrap();
        run(seed, Some(directory.path()), 300).await;
    }
}

/// Uncoordinated writers during splits and merges.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn splits_and_merges_do_not_disturb_writers() {
    let scene = SplitSimulation::open(None, PARTITION_KEYS[0]).await;
    let world = Arc::new(scene.world);
    let mut writers = Vec::new();
    for writer in 0..4_u64 {
        let world = Arc::clone(&world);
        writers.push(tokio::spawn(async move {
            let mut container = world.find("c");
            for number in 0..400_u64 {
                if number % 50 == 0 {
                    container = world.find("c");
                }
                let key = format!("k{}", number % KEYS);
                let id = format!("w{writer}-{number}");
                let text = format!(r#"{{"id":"{id}","p":"{key}","q":"{key}","n":{number}}}"#);
                let header = header(&container, &key);
                world.ok(&container, &header, upsert(&text)).await;
            }
        }));
    }
    let mut random = Random::new(7);
    while writers.iter().any(|writer| !writer.is_finished()) {
        let container = world.find("c");
        if random.chance(60) && container.partitions.len() < 6 {
            let range = random.pick(&container.partitions).id;
            let cut = SplitMethod::MiddleOfRange;
            let _ = world
                .engine
                .split_partition(address("c"), range, cut)
                .await
                .unwrap();
        } else if let [one, other, ..] = &container.partitions[..] {
            let pair = [one.id, other.id];
            world
                .engine
                .merge_partitions(address("c"), pair)
                .await
                .unwrap();
        }
        tokio::task::yield_now().await;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let mut reader = FeedReader::latest(&world, Reach::Ranges, None);
    reader.drain(&world, &mut random).await;
    assert_eq!(reader.items_seen(), 1_600);
    let scene = SplitSimulation {
        world: Arc::into_inner(world).unwrap(),
        written: Written::default(),
        latest: Vec::new(),
        all: Vec::new(),
        pages: Vec::new(),
    };
    let container = scene.container();
    let everything = orrery_engine::FeedScope::Container;
    assert_eq!(
        scene.world.all(&container, everything, 100).await.len(),
        1_600
    );
}
