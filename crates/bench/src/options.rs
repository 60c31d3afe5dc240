//! The command line of the load driver.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

/// The well-known key of the emulator, which a development server accepts.
const EMULATOR_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

pub(crate) const ITEMS_DEFAULT: u64 = 200_000;
const START_ITEMS_DEFAULT: u64 = 1_000_000;
const SCRIPT_ITEMS_DEFAULT: u64 = 100_000;
const REGIONS_ITEMS_DEFAULT: u64 = 100_000;
const ORDERED_ITEMS_DEFAULT: u64 = 10_000_000;

/// Measure an endpoint that speaks the Cosmos DB REST protocol.
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Address of the account, such as <http://127.0.0.1:8081>; plain HTTP only
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,

    /// Master key of the account
    #[arg(long, default_value = EMULATOR_KEY, hide_default_value = true)]
    pub key: orrery_client::Key,

    /// What to run
    #[arg(long, value_enum, default_value_t = Workload::Read)]
    pub workload: Workload,

    /// Items loaded before the measurement; pure inserts load none [default: 200000, 1000000 for
    /// start, suite, query-suite and partitions, 10000000 for ordered, and 100000 for scripts
    /// and regions]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub items: Option<u64>,

    /// Length of the JSON text of one item
    #[arg(long, value_name = "BYTES", default_value_t = 1024)]
    pub value_bytes: usize,

    /// Connections, each with one request in flight
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub connections: u16,

    /// Client threads the connections are spread over [default: half of the cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Seconds measured; a comparison measures each side this long
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub duration: u64,

    /// Seconds driven before the measurement begins; later rounds of a comparison warm up shortly
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub warmup: u64,

    /// Rounds of a comparison: the sides alternate this often
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,

    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,

    /// Whether to show a line on standard error every second
    #[arg(long, value_enum, default_value_t = Progress::Auto)]
    pub progress: Progress,

    /// Database to use, created when missing
    #[arg(long, value_name = "NAME", default_value = "bench")]
    pub database: String,

    /// Container to use, created when missing, with the partition key /pk
    #[arg(long, value_name = "NAME", default_value = "items")]
    pub container: String,

    /// Throughput to create the container with, in request units per second
    #[arg(long, value_name = "RU")]
    pub throughput: Option<u32>,

    /// Leave the database and the container behind
    #[arg(long)]
    pub keep: bool,

    /// Take the data as it is: create and load nothing, and delete nothing afterwards
    #[arg(long)]
    pub skip_load: bool,

    /// Number from which every choice of keys and values follows
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Server program to start when no endpoint is given [default: `orrery` beside this program]
    #[arg(long, value_name = "PATH")]
    pub server: Option<PathBuf>,

    /// Folder whose file system the data of server and `PostgreSQL` is on [default: the temporary
    /// folder]
    #[arg(long, value_name = "PATH")]
    pub data_dir: Option<PathBuf>,

    /// Date to head the document of a suite with
    #[arg(long, value_name = "TEXT")]
    pub date: Option<String>,

    /// Leave `PostgreSQL` out of a suite
    #[arg(long)]
    pub without_postgres: bool,

    /// What the workload regions measures, once for each [default: everything]
    #[arg(long = "part", value_enum, value_name = "PART")]
    pub parts: Vec<RegionsPart>,

    /// Milliseconds of each slice of the query suite, for tests
    #[arg(long, value_name = "MILLISECONDS", hide = true)]
    pub slice_ms: Option<u64>,

    /// Program to re-execute as the bare server [default: this one]
    #[arg(long, value_name = "PATH", hide = true)]
    pub bare_program: Option<PathBuf>,
}

/// What a run does. The YCSB letters follow the core workloads of that suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Point reads of keys chosen uniformly
    Read,
    /// Creates of new items
    Create,
    /// Upserts over the loaded keys, chosen uniformly
    Upsert,
    /// Half reads, half replacements; zipfian keys
    YcsbA,
    /// 95% reads, 5% replacements; zipfian keys
    YcsbB,
    /// Reads only; zipfian keys
    YcsbC,
    /// 95% reads of the latest items, 5% creates
    YcsbD,
    /// 95% short scans, 5% creates; a scan is one page of the item feed
    YcsbE,
    /// Half reads, half reads followed by a replacement; zipfian keys
    YcsbF,
    /// Point reads against a bare HTTP server that repeats one recorded answer
    Bare,
    /// Alternate slices of `read` and `bare`, and their ratio
    ReadVsBare,
    /// Creates on one connection, then on all connections, and the ratio of the rates
    GroupCommit,
    /// Point reads alone and beside a flood of another container that has 400 RU/s
    Overload,
    /// Inserts into a temporary `PostgreSQL` cluster with default settings
    Postgres,
    /// Time to the first answer and memory of a server that is started, loaded and started again
    Start,
    /// Every figure of docs/performance.md with its target, as a Markdown document
    Suite,
    /// Queries with and without an index, in turns with `PostgreSQL`, as a Markdown document
    QuerySuite,
    /// Ordered pages of very many items beside those of few, as a Markdown document
    Ordered,
    /// Procedures and functions beside the same work without them, as a Markdown document
    Scripts,
    /// Change feeds, splits under load, budgets and many keys, as a Markdown document
    Partitions,
    /// Lag, catching up, strong writes, local operations and failovers of regions, as a Markdown document
    Regions,
}

/// A part of the workload regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RegionsPart {
    /// The time from the acknowledgement of a write until another region has the record
    Lag,
    /// A region whose links are cut and that receives the missed records afterwards
    CatchUp,
    /// Writes at strong consistency over links with delays
    Strong,
    /// Where all regions write, beside an account of one region
    Local,
    /// Local with a processor for each region; only when it is named, and on Linux
    #[value(name = "apart")]
    DedicatedProcessors,
    /// Changes of the write region, planned, forced and by votes
    Failover,
}

impl Options {
    pub(crate) fn items(&self) -> u64 {
        self.items.unwrap_or(match self.workload {
            Workload::Start | Workload::Suite | Workload::QuerySuite | Workload::Partitions => {
                START_ITEMS_DEFAULT
            }
            Workload::Regions => REGIONS_ITEMS_DEFAULT,
            Workload::Scripts => SCRIPT_ITEMS_DEFAULT,
            Workload::Ordered => ORDERED_ITEMS_DEFAULT,
            _ => ITEMS_DEFAULT,
        })
    }

    /// Whether the run measures this part of the workload `regions`.
    pub(crate) fn wants(&self, part: RegionsPart) -> bool {
        // Pinning needs Linux and two processors, so this part runs only by name.
        let by_default = self.parts.is_empty() && part != RegionsPart::DedicatedProcessors;
        by_default || self.parts.contains(&part)
    }
}

impl Workload {
    /// The name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Progress {
    /// When standard error is a terminal
    Auto,
    Off,
}
