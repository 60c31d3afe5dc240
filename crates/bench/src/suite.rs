//! All figures with a target, measured in one run on one machine.
//!
//! Servers run with default settings. Each part begins with a new server on a new directory, so
//! that the files of an earlier part do not slow it; only the YCSB mixes share the items that the
//! point reads loaded. Creates and `PostgreSQL` take turns, so that a disturbance of the machine
//! meets both.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};

use crate::machine::{Machine, command_line};
use crate::options::{ITEMS_DEFAULT, Options, Workload};
use crate::postgres::Cluster;
use crate::program::ServerProgram;
use crate::report::Report;
use crate::run::run_server;
use crate::server::{ServerProcess, data_directory};
use crate::start;
use crate::suite_report::{CreateRound, Parts, SuiteReport};

const MIXES: [Workload; 4] = [
    Workload::YcsbA,
    Workload::YcsbB,
    Workload::YcsbC,
    Workload::YcsbF,
];
const CREATE_ROUNDS: usize = 3;

pub(crate) async fn run(options: &Options, program: &ServerProgram) -> Result<SuiteReport> {
    let folder = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let machine = Machine::detect(&folder);
    let parts = measure(options, program).await?;
    Ok(SuiteReport {
        command_line: command_line(std::env::args()),
        date: options.date.clone(),
        machine,
        value_bytes: options.value_bytes,
        connections: options.connections,
        targets: parts.figures(options.connections).judge(),
        parts,
    })
}

async fn measure(options: &Options, program: &ServerProgram) -> Result<Parts> {
    let (reads, mixes) = reads_and_mixes(options, program).await?;
    let group_commit = group_commit(options, program).await?;
    let (cluster, postgres_skipped) = match start_postgres(options).await? {
        Ok(cluster) => (Some(cluster), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let creates = creates(options, program, cluster).await?;
    let start = Options {
        workload: Workload::Start,
        ..options.clone()
    };
    Ok(Parts {
        reads,
        mixes,
        group_commit,
        creates,
        postgres_skipped,
        start: start::measure(&start, program).await?,
    })
}

/// Point reads against the bare server, and then the YCSB mixes over the same items.
async fn reads_and_mixes(
    options: &Options,
    program: &ServerProgram,
) -> Result<(Report, Vec<Report>)> {
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let with = |workload, skip_load| Options {
        workload,
        skip_load,
        items: Some(options.items().min(ITEMS_DEFAULT)),
        // The mixes read the items that the point reads loaded.
        keep: true,
        ..options.clone()
    };
    let reads = run_server(&with(Workload::ReadVsBare, false), &server).await?;
    let mut mixes = Vec::new();
    for workload in MIXES {
        mixes.push(run_server(&with(workload, true), &server).await?);
    }
    Ok((reads, mixes))
}

async fn group_commit(options: &Options, program: &ServerProgram) -> Result<Report> {
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let options = Options {
        workload: Workload::GroupCommit,
        ..options.clone()
    };
    run_server(&options, &server).await
}

/// Starts `PostgreSQL`. The inner error says why `PostgreSQL` is not available; the suite then runs
/// without it.
pub(crate) async fn start_postgres(options: &Options) -> Result<Result<Arc<Cluster>>> {
    if options.without_postgres {
        return Ok(Err(anyhow!("left out by --without-postgres")));
    }
    let options = options.clone();
    let started = tokio::task::spawn_blocking(move || Cluster::start(&options)).await;
    Ok(started
        .context("starting PostgreSQL panicked")?
        .map(Arc::new))
}

/// Rounds of creates on the server and on `PostgreSQL`.
async fn creates(
    options: &Options,
    program: &ServerProgram,
    cluster: Option<Arc<Cluster>>,
) -> Result<Vec<CreateRound>> {
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let options = Options {
        workload: Workload::Create,
        // Later rounds add to the same container, as they add to the same table of PostgreSQL.
        keep: true,
        ..options.clone()
    };
    let mut rounds = Vec::new();
    for _ in 0..CREATE_ROUNDS {
        let server = run_server(&options, &server).await?;
        let postgres = match &cluster {
            None => None,
            Some(cluster) => {
                let (cluster, options) = (Arc::clone(cluster), options.clone());
                let task = tokio::task::spawn_blocking(move || cluster.measure(&options));
                Some(task.await.context("the comparison panicked")??)
            }
        };
        rounds.push(CreateRound { server, postgres });
    }
    Ok(rounds)
}
