//! Runs a workload: from options to a report.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::bare::{BareServer, RecordedResponse};
use crate::driver::{MeasurementPlan, Span, drive};
use crate::load::{CreatedResource, create_container, delete, load};
use crate::median::median;
use crate::options::{Options, Workload};
use crate::plan::{loaded_items, plan, threads};
use crate::program::ServerProgram;
use crate::report::{RatioReport, Report};
use crate::request::Target;
use crate::server::{ServerProcess, data_directory};
use crate::{overload, partitions, postgres, query, regions, scripts, start, suite};

/// The warm-up of later rounds. Both servers stay warm between the rounds; only the connections are
/// new.
const LATER_WARMUP: Duration = Duration::from_millis(200);

/// Prepares the data, drives the workload, deletes the data and returns the report. Only the
/// progress line is printed. Without an endpoint the function starts the program on a temporary
/// directory.
pub async fn run(options: Options, program: Option<&ServerProgram>) -> Result<Report> {
    let mut report = empty_report(&options);
    match options.workload {
        Workload::Postgres => {
            // The comparison blocks, so it runs on the blocking pool.
            let task = tokio::task::spawn_blocking(move || postgres::run(&options));
            report.postgres = Some(task.await.context("the comparison panicked")??);
        }
        Workload::Start => {
            let program = own_server(&options, program)?;
            report.start = Some(start::measure(&options, program).await?);
        }
        Workload::Suite => {
            let program = own_server(&options, program)?;
            report.suite = Some(Box::new(suite::run(&options, program).await?));
        }
        Workload::QuerySuite => {
            let program = own_server(&options, program)?;
            report.queries = Some(Box::new(query::run(&options, program).await?));
        }
        Workload::Ordered => {
            let program = own_server(&options, program)?;
            report.ordered = Some(Box::new(query::ordered::run(&options, program).await?));
        }
        Workload::Scripts => {
            let program = own_server(&options, program)?;
            report.scripts = Some(Box::new(scripts::run(&options, program).await?));
        }
        Workload::Partitions => {
            let program = own_server(&options, program)?;
            report.partitions = Some(Box::new(partitions::run(&options, program).await?));
        }
        Workload::Regions => {
            let program = own_server(&options, program)?;
            report.regions = Some(Box::new(regions::run(&options, program).await?));
        }
        _ => {
            let Some(program) = program.filter(|_| options.endpoint.is_none()) else {
                return run_endpoint(&options, None).await;
            };
            let directory = data_directory(&options)?;
            let server = ServerProcess::start(program, directory.path()).await?;
            return run_server(&options, &server).await;
        }
    }
    Ok(report)
}

/// The program of the server, for workloads that start servers themselves.
fn own_server<'a>(
    options: &Options,
    program: Option<&'a ServerProgram>,
) -> Result<&'a ServerProgram> {
    let name = options.workload.name();
    if options.endpoint.is_some() {
        bail!("workload {name} starts servers of its own: leave --endpoint out");
    }
    program.with_context(|| format!("workload {name} needs a server to start"))
}

/// Runs a workload that needs an endpoint, against a server that the driver started.
pub(crate) async fn run_server(options: &Options, server: &ServerProcess) -> Result<Report> {
    let options = Options {
        endpoint: Some(server.endpoint.clone()),
        ..options.clone()
    };
    run_endpoint(&options, Some(server)).await
}

/// Prepares the data on an endpoint, measures, and deletes the data.
async fn run_endpoint(options: &Options, server: Option<&ServerProcess>) -> Result<Report> {
    let plan = plan(options)?;
    let created = if options.skip_load {
        CreatedResource::Nothing
    } else {
        create_container(&plan.target, options.throughput).await?
    };
    let mut result = load_and_measure(options, &plan).await;
    // The memory of the server is read before the data is deleted.
    if let Ok(report) = &mut result {
        report.server = server.map(ServerProcess::report);
    }
    if !options.keep {
        let deleted = delete(&plan.target, &created).await;
        // The error of the measurement explains more than a deletion error that follows it.
        return result.and_then(|report| deleted.map(|()| report));
    }
    result
}

fn empty_report(options: &Options) -> Report {
    Report {
        workload: options.workload,
        endpoint: options.endpoint.clone(),
        items: loaded_items(options),
        value_bytes: options.value_bytes,
        threads: threads(options),
        seed: options.seed,
        load: None,
        slices: Vec::new(),
        ratio: None,
        postgres: None,
        start: None,
        suite: None,
        queries: None,
        ordered: None,
        scripts: None,
        partitions: None,
        regions: None,
        server: None,
        first_failure: None,
    }
}

/// Loads the items and runs the workload.
async fn load_and_measure(options: &Options, plan: &MeasurementPlan) -> Result<Report> {
    let mut report = empty_report(options);
    if !options.skip_load && plan.keys.loaded() > 0 {
        report.load = Some(load(plan).await?);
    }
    match options.workload {
        Workload::Bare => {
            let bare = start_bare(options, plan).await?;
            let plan = against(&bare, plan);
            report.push("bare", &drive(&plan).await?);
        }
        Workload::ReadVsBare => read_vs_bare(options, plan, &mut report).await?,
        Workload::Overload => overload::measure(options, plan, &mut report).await?,
        Workload::GroupCommit => group_commit(plan, &mut report).await?,
        _ => report.push(plan.title.clone(), &drive(plan).await?),
    }
    Ok(report)
}

/// Measures the endpoint and the bare server in turns, so that a disturbance of the machine meets
/// both. The result is the median of the ratios of the rounds, so that one disturbed round does not
/// decide.
async fn read_vs_bare(
    options: &Options,
    plan: &MeasurementPlan,
    report: &mut Report,
) -> Result<()> {
    let server = start_bare(options, plan).await?;
    let sides = [("endpoint", plan.clone()), ("bare", against(&server, plan))];
    let duration = Duration::from_secs(options.duration) / u32::from(options.rounds);
    let mut rounds = Vec::new();
    for round in 1..=options.rounds {
        let warmup = match round {
            1 => Duration::from_secs(options.warmup),
            _ => LATER_WARMUP.min(Duration::from_secs(options.warmup)),
        };
        let mut rates = Vec::new();
        for (side, plan) in &sides {
            let title = format!("{side} {round}");
            let span = Span::Timed { warmup, duration };
            let measured = drive(&MeasurementPlan {
                title: title.clone(),
                span,
                ..plan.clone()
            })
            .await?;
            rates.push(measured.per_second());
            report.push(title, &measured);
        }
        rounds.push(rates[0] / rates[1]);
    }
    report.ratio = Some(RatioReport {
        of: "endpoint".to_owned(),
        to: "bare".to_owned(),
        value: median(&rounds),
        rounds,
    });
    Ok(())
}

async fn group_commit(plan: &MeasurementPlan, report: &mut Report) -> Result<()> {
    let mut rates = Vec::new();
    // One connection pays for a sync of its own with every create; many connections share syncs.
    for connections in [1, plan.connections] {
        let plan = MeasurementPlan {
            connections,
            ..plan.clone()
        };
        let measured = drive(&plan).await?;
        rates.push(measured.per_second());
        report.push(format!("{connections} conn"), &measured);
    }
    let value = rates[1] / rates[0];
    report.ratio = Some(RatioReport {
        of: format!("{} connections", plan.connections),
        to: "1 connection".to_owned(),
        value,
        rounds: vec![value],
    });
    Ok(())
}

/// Starts a bare server that repeats a point read of the measured server.
async fn start_bare(options: &Options, plan: &MeasurementPlan) -> Result<BareServer> {
    let mut id = String::new();
    plan.keys.write_id(&mut id, 0);
    let recorded = RecordedResponse::point_read(&plan.target, &id).await?;
    let program = options.bare_program.clone();
    tokio::task::spawn_blocking(move || BareServer::start(program.as_deref(), &recorded))
        .await
        .context("starting the bare server panicked")?
}

/// The same plan with the bare server as its target.
fn against(bare: &BareServer, plan: &MeasurementPlan) -> MeasurementPlan {
    let target = Target {
        endpoint: bare.endpoint.clone(),
        ..plan.target.clone()
    };
    MeasurementPlan {
        target,
        ..plan.clone()
    }
}
