//! Measures the cost of a multi-write region without peers, and of a region that has moved some
//! partitions away: creates and point reads, alternating with an ordinary store.
//!
//! `cargo bench -p orrery-engine --bench multi_write`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement ends where it is surprised, and says what it found"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_engine::{
    AccessTable, ApplyAfter, Container, Durability, Engine, EngineOptions, KeyAccess, KeyRange,
    NewContainer, PartitionLimits, ScriptOptions, SystemClock, ThroughputMode, ThroughputOptions,
};
use orrery_json::parse;
use orrery_keys::PartitionKey;
use orrery_model::{
    ConsistencyLevel, ContainerDefinition, DatabaseAddress, Document, Operation, OperationKind,
};
use orrery_regions::RegionId;

const LEVEL: ConsistencyLevel = ConsistencyLevel::Session;
const ROUNDS: u64 = 16;
const WRITERS: u64 = 64;
const CREATES: u64 = 16_000;
const READS: u64 = 50_000;
/// Partitions whose writes another region takes.
const MOVED: u32 = 8;

struct Measured {
    name: &'static str,
    engine: Arc<Engine>,
    container: Arc<Container>,
    creates: Vec<f64>,
    reads: Vec<f64>,
}

impl Measured {
    async fn open(name: &'static str, directory: &Path, region: Option<RegionId>) -> Measured {
        let engine = Engine::open(EngineOptions {
            apply_after: ApplyAfter::Durable,
            multi_write: region,
            sweeps: true,
            maintenance: orrery_engine::MaintenanceOptions::default(),
            directory: Some(directory.to_owned()),
            durability: Durability::None,
            cache_bytes: 64 << 20,
            consistency: LEVEL,
            clock: Arc::new(SystemClock),
            scripts: ScriptOptions::default(),
            partitions: PartitionLimits::default(),
            throughput: ThroughputOptions {
                mode: ThroughputMode::default(),
                burst_capacity: false,
                bulk_patience: Duration::ZERO,
            },
        })
        .unwrap();
        engine.set_hub(true);
        engine.create_database("d", None).await.unwrap();
        let definition = br#"{"id":"c","partitionKey":{"paths":["/p"]}}"#;
        let definition = ContainerDefinition::parse(&parse(definition).unwrap()).unwrap();
        let new = NewContainer {
            definition,
            throughput: None,
        };
        let created = engine.create_container(DatabaseAddress::Name("d"), new);
        let container = Arc::clone(&created.await.unwrap().container);
        Measured {
            name,
            engine,
            container,
            creates: Vec::new(),
            reads: Vec::new(),
        }
    }

    async fn round(&mut self, round: u64) {
        let begun = Instant::now();
        let writers = (0..WRITERS).map(|writer| {
            let (engine, container) = (Arc::clone(&self.engine), Arc::clone(&self.container));
            tokio::spawn(async move {
                for number in 0..CREATES / WRITERS {
                    let id = format!("{round}-{writer}-{number}");
                    let text = format!(
                        r#"{{"id":"{id}","p":"{writer}","n":{number},"name":"somebody {id}","tags":["a","b","c"],"address":{{"city":"Weimar","street":"Ilm {number}"}},"text":"a text that has about a hundred bytes, so that the item has some size to be kept and read"}}"#
                    );
                    let document = Document::parse(text.as_bytes()).unwrap();
                    let operation = Operation::new(OperationKind::Create(document));
                    let written = engine.write_item(&container, key(writer), operation, LEVEL);
                    written.await.result.unwrap();
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        self.creates
            .push(CREATES as f64 / begun.elapsed().as_secs_f64());
        let begun = Instant::now();
        for number in 0..READS {
            let writer = number % WRITERS;
            let id = format!("{round}-{writer}-{}", number % (CREATES / WRITERS));
            let read = self
                .engine
                .read_item(&self.container, &key(writer), &id, None, LEVEL);
            assert!(read.result.is_ok());
        }
        self.reads
            .push(READS as f64 / begun.elapsed().as_secs_f64());
    }

    fn report(&self) {
        let (creates, reads) = (median(&self.creates), median(&self.reads));
        println!(
            "{:12} {creates:>9.0} creates/s {reads:>10.0} reads/s",
            self.name
        );
    }
}

/// This region takes all writes except those of some partitions of other containers.
fn divided() -> AccessTable {
    let away = (0..MOVED).map(|number| {
        let keys = KeyRange {
            container: 1_000 + number,
            min: Vec::new().into(),
            max: vec![0xFF].into(),
        };
        (keys, KeyAccess::Closed)
    });
    AccessTable {
        default: KeyAccess::Open,
        ranges: away.collect(),
    }
}

fn key(writer: u64) -> PartitionKey {
    PartitionKey::parse_header(&format!(r#"["{writer}"]"#)).unwrap()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let directories = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let mut ordinary = Measured::open("ordinary", directories[0].path(), None).await;
    let mut region = Measured::open("multi-write", directories[1].path(), Some(RegionId(0))).await;
    let mut moved = Measured::open("divided", directories[2].path(), Some(RegionId(0))).await;
    moved.engine.set_access(divided()).await;
    for round in 0..ROUNDS {
        // The stores alternate in order, so that the background work of one burdens each of the
        // others in turn.
        let mut turns = [&mut ordinary, &mut region, &mut moved];
        if round % 2 == 1 {
            turns.reverse();
        }
        for one in turns {
            one.round(round).await;
        }
    }
    ordinary.report();
    region.report();
    moved.report();
    // Both stores read by the same code, so a difference between their reads is noise.
    for (one, than) in [(&region, &ordinary), (&moved, &region)] {
        let ratio = |of: fn(&Measured) -> &Vec<f64>| 100.0 * median(of(one)) / median(of(than));
        let (creates, reads) = (ratio(|one| &one.creates), ratio(|one| &one.reads));
        println!(
            "{} over {}: {creates:.1} % of the creates, {reads:.1} % of the reads",
            one.name, than.name
        );
    }
}
