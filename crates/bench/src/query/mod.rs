//! The query suite: the same documents and the same queries for a server and for `PostgreSQL`.
//!
//! The order of a run: a load into a container that indexes nothing, on a server of its own; the
//! same load into a container with the default policy, whose server then answers the queries; a
//! container with few items on the same server; `PostgreSQL`. The sides of each case take turns in
//! rounds, so that a disturbance of the machine meets all sides.
//!
//! The default policy has one change: `/raw/?` is excluded, so that one container also serves
//! queries without an index.

mod bulk;
mod case;
mod check;
mod client;
mod data;
mod disk;
mod markdown;
pub(crate) mod ordered;
mod permutation;
mod postgres;
mod probe;
mod report;
mod slice;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use orrery_client::Signer;

pub use case::Case;
pub use ordered::OrderedReport;
pub use postgres::PostgresLoad;
pub use report::{
    BulkReport, CaseReport, CompileReport, MetricsReport, PostgresFigures, QueryReport, RoundReport,
};
pub use slice::SliceFigures;

use self::bulk::bulk_load;
use self::case::Facts;
use self::client::QueryRefusal;
use self::data::Dataset;
use self::disk::settled_bytes;
use self::slice::Slice;
use crate::client_pool::ClientPool;
use crate::endpoint::Endpoint;
use crate::load::create_indexed;
use crate::machine::{Machine, command_line};
use crate::options::Options;
use crate::plan::threads;
use crate::postgres::{Cluster, Script};
use crate::program::ServerProgram;
use crate::progress::show_stage;
use crate::request::Target;
use crate::server::{ServerProcess, data_directory};
use crate::suite::start_postgres;

const INDEX_ALL: &str = "{\"indexingMode\":\"consistent\",\"automatic\":true,\
    \"includedPaths\":[{\"path\":\"/*\"}],\
    \"excludedPaths\":[{\"path\":\"/raw/?\"},{\"path\":\"/\\\"_etag\\\"/?\"}]}";
const INDEX_NOTHING: &str = "{\"indexingMode\":\"consistent\",\"automatic\":true,\
    \"includedPaths\":[],\"excludedPaths\":[{\"path\":\"/*\"}]}";
const FEW_ITEMS: u64 = 10_000;
const SMALL_CONTAINER: &str = "small";
/// The warm-up of later rounds. Servers stay warm between the rounds; only the connections are new.
const LATER_WARMUP: Duration = Duration::from_millis(200);
/// No further round begins after this multiple of the planned time of a case.
const LATE_FACTOR: u32 = 2;
/// The numbers of connections for aggregates, each of which keeps one core busy.
const AGGREGATE_CONNECTIONS: [u16; 2] = [1, 2];

const AGGREGATES: [Case; 5] = [
    Case::Count,
    Case::Sum,
    Case::Average,
    Case::CountRange,
    Case::GroupBy,
];

pub(crate) async fn run(options: &Options, program: &ServerProgram) -> Result<QueryReport> {
    let began = Instant::now();
    let folder = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let machine = Machine::detect(&folder);
    let data = Dataset::new(options.items(), options.value_bytes, options.seed)?;
    let small = Dataset::new(few_items(data.items), options.value_bytes, options.seed)?;

    // A separate server, so that its files and caches do not disturb the measured server.
    let unindexed = load_unindexed(options, program, data).await?;
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let pool = pool(options, &server, &options.container)?;
    let indexed = load(&pool, INDEX_ALL, data, directory.path(), options).await?;
    let small_pool = self::pool(options, &server, SMALL_CONTAINER)?;
    create_indexed(&small_pool.target, INDEX_ALL).await?;
    bulk_load(&small_pool, small).await?;

    let large = LoadedContainer::new(pool, data);
    let small = LoadedContainer::new(small_pool, small);
    // Started after the loads, so that PostgreSQL does not slow them.
    let (cluster, postgres_skipped) = match start_postgres(options).await? {
        Ok(cluster) => (Some(cluster), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    show_stage(options.progress, "bulk load into PostgreSQL");
    let postgres = match &cluster {
        None => None,
        Some(cluster) => {
            let (cluster, facts) = (Arc::clone(cluster), large.facts);
            let task = tokio::task::spawn_blocking(move || postgres::load(&cluster, &data, facts));
            Some(task.await.context("loading PostgreSQL panicked")??)
        }
    };

    show_stage(options.progress, "single queries");
    // Single queries come before the measurements: a wrong answer must stop the run early.
    let (metrics, compiles) = probe::probe(&large, &small, options).await?;
    let comparison = Comparison {
        options,
        large: &large,
        small: &small,
        cluster: cluster.as_ref(),
    };
    let cases = comparison.measure().await?;
    show_stage(options.progress, "");
    Ok(QueryReport {
        command_line: command_line(std::env::args()),
        date: options.date.clone(),
        machine,
        settings: program.settings(),
        items: data.items,
        few_items: small.data.items,
        value_bytes: options.value_bytes,
        threads: threads(options),
        slice_seconds: slice_duration(options).as_secs_f64(),
        indexed,
        unindexed,
        postgres,
        postgres_skipped,
        cases,
        metrics,
        compiles,
        resident_bytes: server.resident_bytes(),
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// A loaded container, with its documents and the facts about them.
pub(crate) struct LoadedContainer {
    pub(crate) pool: ClientPool,
    pub(crate) data: Dataset,
    pub(crate) facts: Facts,
}

impl LoadedContainer {
    fn new(pool: ClientPool, data: Dataset) -> Self {
        let facts = Facts {
            score_sum: data.score_sum(),
        };
        Self { pool, data, facts }
    }
}

/// The size of the small container, which must differ from the large one.
fn few_items(items: u64) -> u64 {
    if items > FEW_ITEMS {
        FEW_ITEMS
    } else {
        // Still a multiple of the number that the documents need, for tests with few items.
        (items / 2 / 1000 * 1000).max(1000)
    }
}

fn pool(options: &Options, server: &ServerProcess, container: &str) -> Result<ClientPool> {
    let endpoint = Endpoint::parse(&server.endpoint)?;
    let signer = Signer::new(&options.key);
    Ok(ClientPool {
        target: Target::new(endpoint, signer, [&options.database, container])?,
        connections: options.connections,
        threads: threads(options),
    })
}

/// Loads the data set without an index, on a server that ends afterwards.
async fn load_unindexed(
    options: &Options,
    program: &ServerProgram,
    data: Dataset,
) -> Result<BulkReport> {
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let pool = pool(options, &server, &options.container)?;
    load(&pool, INDEX_NOTHING, data, directory.path(), options).await
}

/// Creates a container with this indexing policy, loads it, and measures its disk space.
async fn load(
    pool: &ClientPool,
    indexing: &str,
    data: Dataset,
    directory: &Path,
    options: &Options,
) -> Result<BulkReport> {
    show_stage(options.progress, "bulk load");
    create_indexed(&pool.target, indexing).await?;
    let seconds = bulk_load(pool, data).await?.as_secs_f64();
    let quiet = options.slice_ms.map(Duration::from_millis);
    // Compaction after the load would otherwise count as disk space.
    let disk_bytes = settled_bytes(directory, quiet).await?;
    Ok(BulkReport {
        seconds,
        items_per_second: data.items as f64 / seconds,
        disk_bytes,
        disk_bytes_per_json_byte: disk_bytes as f64 / data.json_bytes() as f64,
    })
}

fn slice_duration(options: &Options) -> Duration {
    let all = Duration::from_secs(options.duration);
    let slice = options.slice_ms.map(Duration::from_millis);
    slice.unwrap_or(all / u32::from(options.rounds))
}

/// The sides of the comparison, which take turns.
struct Comparison<'a> {
    options: &'a Options,
    large: &'a LoadedContainer,
    small: &'a LoadedContainer,
    cluster: Option<&'a Arc<Cluster>>,
}

impl Comparison<'_> {
    /// Measures all cases in the order of the report, and the long scan last.
    async fn measure(&self) -> Result<Vec<CaseReport>> {
        let connections = self.options.connections;
        let mut cases = Vec::new();
        for case in [Case::EqualityInPartition, Case::EqualityAcross] {
            cases.push(self.case(case, connections, None).await?);
        }
        for case in [Case::Top, Case::TopAfter] {
            cases.push(self.case(case, connections, Some(self.small)).await?);
        }
        for case in AGGREGATES {
            for connections in AGGREGATE_CONNECTIONS {
                cases.push(self.case(case, connections, None).await?);
            }
        }
        cases.push(self.case(Case::Scan, 1, None).await?);
        Ok(cases)
    }

    /// Measures one case. A refusal ends its rounds and becomes part of its report.
    async fn case(
        &self,
        case: Case,
        connections: u16,
        small: Option<&LoadedContainer>,
    ) -> Result<CaseReport> {
        let mut rounds = Vec::new();
        let ended = self.rounds(case, connections, small, &mut rounds).await;
        let refused = match ended {
            Ok(()) => None,
            // A refused query is a result of the suite; any other error ends the run.
            Err(error) if error.is::<QueryRefusal>() => Some(format!("{error:#}")),
            Err(error) => return Err(error),
        };
        let json_bytes = self.large.data.json_bytes();
        Ok(CaseReport {
            refused,
            ..CaseReport::new(case, connections, json_bytes, rounds)
        })
    }

    /// Runs the rounds. Fewer rounds than requested run if queries are so much slower than a slice
    /// that all rounds would take far longer than planned.
    async fn rounds(
        &self,
        case: Case,
        connections: u16,
        small: Option<&LoadedContainer>,
        rounds: &mut Vec<RoundReport>,
    ) -> Result<()> {
        let title = format!("{}, {connections} conn", case.title());
        show_stage(self.options.progress, &title);
        // Each round has a slice of the server and a slice of PostgreSQL.
        let planned = 2 * slice_duration(self.options) * u32::from(self.options.rounds);
        let began = Instant::now();
        for round in 0..self.options.rounds {
            if round > 0 && began.elapsed() > LATE_FACTOR * planned {
                break;
            }
            let warmup = Duration::from_secs(self.options.warmup);
            let warmup = match round {
                0 => warmup,
                _ => LATER_WARMUP.min(warmup),
            };
            // Each round uses other parameters; both sides of one round share the seed.
            let seed = self.options.seed + u64::from(round);
            let slice = |side: &LoadedContainer| {
                let slice = Slice {
                    case,
                    data: side.data,
                    facts: side.facts,
                    warmup,
                    duration: slice_duration(self.options),
                    seed,
                };
                let pool = ClientPool {
                    connections,
                    ..side.pool.clone()
                };
                async move { slice.measure(&pool).await }
            };
            let server = slice(self.large).await?;
            let small = match small {
                Some(small) => Some(slice(small).await?),
                None => None,
            };
            let postgres = self.postgres(case, connections, round, seed).await?;
            rounds.push(RoundReport {
                server,
                few: small,
                postgres,
            });
        }
        Ok(())
    }

    /// Runs the same query on `PostgreSQL` for the same time.
    async fn postgres(
        &self,
        case: Case,
        connections: u16,
        round: u16,
        seed: u64,
    ) -> Result<Option<PostgresFigures>> {
        let Some(cluster) = self.cluster.map(Arc::clone) else {
            return Ok(None);
        };
        let text = case.script(&self.large.data);
        // The client of PostgreSQL counts its time in whole seconds.
        let seconds = slice_duration(self.options).as_secs().max(1);
        let warmup = self.options.warmup;
        let measured = tokio::task::spawn_blocking(move || {
            let script = Script {
                text: &text,
                connections,
                seconds,
                seed,
            };
            // Later rounds find the pages of the table in memory.
            if round == 0 && warmup > 0 {
                let seconds = warmup;
                cluster.repeat(&Script { seconds, ..script })?;
            }
            cluster.repeat(&script)
        });
        let report = measured.await.context("the comparison panicked")??;
        Ok(Some(PostgresFigures {
            per_second: report.per_second,
            mean_ms: report.mean_ms,
        }))
    }
}
