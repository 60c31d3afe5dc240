//! All that has a target, measured in one run on one machine.
//!
//! Servers run with default settings. Each part begins with a new server on a new directory, so
//! that none pays for what the one before it left behind; the YCSB mixes share the items that the
//! point reads loaded. Creates and `PostgreSQL` take turns, so that whatever else the machine does
//! meets both.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};

use crate::machine::{Machine, command_line};
use crate::options::{ITEMS_DEFAULT, Options, Workload};
use crate::postgres::Cluster;
use crate::report::Report;
use crate::run::run_server;
use crate::server::{ServerProcess, ServerProgram, data_directory};
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
    let machine = Machine::look(&folder);
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

/// The inner error is why there is no `PostgreSQL` here: a reason to go on without it.
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

async fn creates(
    options: &Options,
    program: &ServerProgram,
    cluster: Option<Arc<Cluster>>,
) -> Result<Vec<CreateRound>> {
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let options = Options {
        workload: Workload::Create,
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
