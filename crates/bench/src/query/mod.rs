//! The query suite: the same documents and the same questions for a server and for `PostgreSQL`.
//!
//! The order of a run: a load into a container that indexes nothing, on a server of its own; the
//! same load into a container with the default policy, whose server then answers the queries; a
//! container with few items beside it; `PostgreSQL`. Each case is asked in rounds in which the
//! sides take turns, so that whatever else the machine does meets both.
//!
//! The default policy is changed in one respect: `/raw/?` is excluded, so that one container can
//! also be asked for something it has no index for.

mod asker;
mod bulk;
mod case;
mod check;
mod compile;
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

pub use case::Case;
pub use ordered::OrderedReport;
pub use postgres::PostgresLoad;
pub use report::{
    BulkReport, CaseReport, CompileReport, MetricsReport, PostgresFigures, QueryReport, RoundReport,
};
pub use slice::SliceFigures;

use self::asker::Refused;
use self::bulk::bulk_load;
use self::case::Facts;
use self::data::Dataset;
use self::disk::settled_bytes;
use self::slice::Slice;
use crate::crew::Crew;
use crate::endpoint::Endpoint;
use crate::load::create_indexed;
use crate::machine::{Machine, command_line};
use crate::options::Options;
use crate::plan::threads;
use crate::postgres::{Cluster, Script};
use crate::progress::show_stage;
use crate::request::Target;
use crate::server::{ServerProcess, ServerProgram, data_directory};
use crate::signature::Signer;
use crate::suite::start_postgres;

const INDEX_ALL: &str = "{\"indexingMode\":\"consistent\",\"automatic\":true,\
    \"includedPaths\":[{\"path\":\"/*\"}],\
    \"excludedPaths\":[{\"path\":\"/raw/?\"},{\"path\":\"/\\\"_etag\\\"/?\"}]}";
const INDEX_NOTHING: &str = "{\"indexingMode\":\"consistent\",\"automatic\":true,\
    \"includedPaths\":[],\"excludedPaths\":[{\"path\":\"/*\"}]}";
const FEW_ITEMS: u64 = 10_000;
const FEW_CONTAINER: &str = "few";
/// Servers stay warm between the rounds; only the connections are new.
const LATER_WARMUP: Duration = Duration::from_millis(200);
/// Of the planned time of a case, after which no further round begins.
const LATE_FACTOR: u32 = 2;
/// Aggregates keep a core busy each.
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
    let machine = Machine::look(&folder);
    let data = Dataset::new(options.items(), options.value_bytes, options.seed)?;
    let few = Dataset::new(few_items(data.items), options.value_bytes, options.seed)?;

    let unindexed = load_unindexed(options, program, data).await?;
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let crew = crew(options, &server, &options.container)?;
    let indexed = load(&crew, INDEX_ALL, data, directory.path(), options).await?;
    let few_crew = self::crew(options, &server, FEW_CONTAINER)?;
    create_indexed(&few_crew.target, INDEX_ALL).await?;
    bulk_load(&few_crew, few).await?;

    let whole = Side::new(crew, data);
    let few = Side::new(few_crew, few);
    let (cluster, postgres_skipped) = match start_postgres(options).await? {
        Ok(cluster) => (Some(cluster), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    show_stage(options.progress, "bulk load into PostgreSQL");
    let postgres = match &cluster {
        None => None,
        Some(cluster) => {
            let (cluster, facts) = (Arc::clone(cluster), whole.facts);
            let task = tokio::task::spawn_blocking(move || postgres::load(&cluster, &data, facts));
            Some(task.await.context("loading PostgreSQL panicked")??)
        }
    };

    show_stage(options.progress, "single queries");
    let (metrics, compiles) = probe::probe(&whole, &few, options, program).await?;
    let turns = Turns {
        options,
        whole: &whole,
        few: &few,
        cluster: cluster.as_ref(),
    };
    let cases = turns.measure().await?;
    show_stage(options.progress, "");
    Ok(QueryReport {
        command_line: command_line(std::env::args()),
        date: options.date.clone(),
        machine,
        settings: program.settings.clone(),
        items: data.items,
        few_items: few.data.items,
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

/// A container with what is in it.
pub(crate) struct Side {
    pub(crate) crew: Crew,
    pub(crate) data: Dataset,
    pub(crate) facts: Facts,
}

impl Side {
    fn new(crew: Crew, data: Dataset) -> Self {
        let facts = Facts {
            score_sum: data.score_sum(),
        };
        Self { crew, data, facts }
    }
}

fn few_items(items: u64) -> u64 {
    if items > FEW_ITEMS {
        FEW_ITEMS
    } else {
        // Still a multiple of what the documents need, for tests.
        (items / 2 / 1000 * 1000).max(1000)
    }
}

fn crew(options: &Options, server: &ServerProcess, container: &str) -> Result<Crew> {
    let endpoint = Endpoint::parse(&server.endpoint)?;
    let signer = Signer::new(&options.key)?;
    Ok(Crew {
        target: Target::new(endpoint, signer, [&options.database, container])?,
        connections: options.connections,
        threads: threads(options),
    })
}

async fn load_unindexed(
    options: &Options,
    program: &ServerProgram,
    data: Dataset,
) -> Result<BulkReport> {
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let crew = crew(options, &server, &options.container)?;
    load(&crew, INDEX_NOTHING, data, directory.path(), options).await
}

async fn load(
    crew: &Crew,
    indexing: &str,
    data: Dataset,
    directory: &Path,
    options: &Options,
) -> Result<BulkReport> {
    show_stage(options.progress, "bulk load");
    create_indexed(&crew.target, indexing).await?;
    let seconds = bulk_load(crew, data).await?.as_secs_f64();
    let quiet = options.slice_ms.map(Duration::from_millis);
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

/// The sides that take turns.
struct Turns<'a> {
    options: &'a Options,
    whole: &'a Side,
    few: &'a Side,
    cluster: Option<&'a Arc<Cluster>>,
}

impl Turns<'_> {
    async fn measure(&self) -> Result<Vec<CaseReport>> {
        let connections = self.options.connections;
        let mut cases = Vec::new();
        for case in [Case::EqualityInPartition, Case::EqualityAcross] {
            cases.push(self.case(case, connections, None).await?);
        }
        for case in [Case::Top, Case::TopAfter] {
            cases.push(self.case(case, connections, Some(self.few)).await?);
        }
        for case in AGGREGATES {
            for connections in AGGREGATE_CONNECTIONS {
                cases.push(self.case(case, connections, None).await?);
            }
        }
        cases.push(self.case(Case::Scan, 1, None).await?);
        Ok(cases)
    }

    async fn case(&self, case: Case, connections: u16, few: Option<&Side>) -> Result<CaseReport> {
        let mut rounds = Vec::new();
        let ended = self.rounds(case, connections, few, &mut rounds).await;
        let refused = match ended {
            Ok(()) => None,
            Err(error) if error.is::<Refused>() => Some(format!("{error:#}")),
            Err(error) => return Err(error),
        };
        let json_bytes = self.whole.data.json_bytes();
        Ok(CaseReport {
            refused,
            ..CaseReport::new(case, connections, json_bytes, rounds)
        })
    }

    /// Fewer rounds than asked for when queries are so much slower than slices are long that all
    /// of them would take far longer than planned.
    async fn rounds(
        &self,
        case: Case,
        connections: u16,
        few: Option<&Side>,
        rounds: &mut Vec<RoundReport>,
    ) -> Result<()> {
        let title = format!("{}, {connections} conn", case.title());
        show_stage(self.options.progress, &title);
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
            let seed = self.options.seed + u64::from(round);
            let slice = |side: &Side| {
                let slice = Slice {
                    case,
                    data: side.data,
                    facts: side.facts,
                    warmup,
                    duration: slice_duration(self.options),
                    seed,
                };
                let crew = Crew {
                    connections,
                    ..side.crew.clone()
                };
                async move { slice.measure(&crew).await }
            };
            let server = slice(self.whole).await?;
            let few = match few {
                Some(few) => Some(slice(few).await?),
                None => None,
            };
            let postgres = self.postgres(case, connections, round, seed).await?;
            rounds.push(RoundReport {
                server,
                few,
                postgres,
            });
        }
        Ok(())
    }

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
        let text = case.script(&self.whole.data);
        // Whole seconds are what the client of PostgreSQL counts in.
        let seconds = slice_duration(self.options).as_secs().max(1);
        let warmup = self.options.warmup;
        let measured = tokio::task::spawn_blocking(move || {
            let script = Script {
                text: &text,
                connections,
                seconds,
                seed,
            };
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
