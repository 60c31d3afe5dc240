//! A run from options to report.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::bare::{BareServer, Recorded};
use crate::date::unix_seconds;
use crate::driver::{Drive, Span, drive};
use crate::endpoint::Endpoint;
use crate::item::ItemShape;
use crate::keyspace::{ID_BYTES_MAX, KeySpace};
use crate::load::{Created, create_container, delete, load};
use crate::options::{Options, Workload};
use crate::postgres;
use crate::report::{RatioReport, Report};
use crate::request::Target;
use crate::signature::Signer;
use crate::workload::Mix;

/// Both servers stay warm between the rounds of a comparison; only the connections are new.
const LATER_WARMUP: Duration = Duration::from_millis(200);

/// Prepares the data, drives the workload, cleans up and reports. Nothing is printed but the
/// progress line.
pub async fn run(options: Options) -> Result<Report> {
    if options.workload == Workload::Postgres {
        let task = tokio::task::spawn_blocking(move || {
            let measured = postgres::run(&options)?;
            let mut report = empty_report(&options);
            report.postgres = Some(measured);
            Ok(report)
        });
        return task.await.context("the comparison panicked")?;
    }
    let plan = plan(&options)?;
    let created = if options.skip_load {
        Created::Nothing
    } else {
        create_container(&plan.target, options.throughput).await?
    };
    let result = load_and_measure(&options, &plan).await;
    if !options.keep {
        let deleted = delete(&plan.target, &created).await;
        // The error of the measurement is the one worth reading.
        return result.and_then(|report| deleted.map(|()| report));
    }
    result
}

fn plan(options: &Options) -> Result<Drive> {
    let url = options
        .endpoint
        .as_deref()
        .context("no endpoint: pass --endpoint URL")?;
    let endpoint = Endpoint::parse(url)?;
    let signer = Signer::new(&options.key)?;
    let target = Target::new(endpoint, signer, [&options.database, &options.container])?;
    Ok(Drive {
        title: options.workload.name(),
        target,
        mix: mix(options.workload),
        keys: Arc::new(KeySpace::new(loaded_items(options), unix_seconds())),
        shape: ItemShape::new(options.value_bytes, ID_BYTES_MAX)?,
        connections: options.connections,
        threads: threads(options),
        seed: options.seed,
        span: Span::Timed {
            warmup: Duration::from_secs(options.warmup),
            duration: Duration::from_secs(options.duration),
        },
        progress: options.progress,
    })
}

fn mix(workload: Workload) -> Mix {
    match workload {
        Workload::Read | Workload::Bare | Workload::ReadVsBare => Mix::ReadUniform,
        Workload::Create | Workload::GroupCommit | Workload::Postgres => Mix::Create,
        Workload::Upsert => Mix::UpsertUniform,
        Workload::YcsbA => Mix::ReadReplace(50),
        Workload::YcsbB => Mix::ReadReplace(95),
        Workload::YcsbC => Mix::ReadReplace(100),
        Workload::YcsbD => Mix::ReadLatestCreate(95),
        Workload::YcsbE => Mix::ScanCreate(95),
        Workload::YcsbF => Mix::ReadModifyWrite(50),
    }
}

/// Pure inserts begin with an empty container; the bare server needs one item to repeat.
fn loaded_items(options: &Options) -> u64 {
    match options.workload {
        Workload::Create | Workload::GroupCommit | Workload::Postgres => 0,
        Workload::Bare => 1,
        _ => options.items,
    }
}

fn threads(options: &Options) -> u16 {
    options.threads.unwrap_or_else(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        u16::try_from(cores / 2).unwrap_or(u16::MAX).max(1)
    })
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
        first_failure: None,
    }
}

async fn load_and_measure(options: &Options, plan: &Drive) -> Result<Report> {
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
        Workload::GroupCommit => group_commit(plan, &mut report).await?,
        _ => report.push(plan.title.clone(), &drive(plan).await?),
    }
    Ok(report)
}

/// Slices alternate so that whatever else the machine does meets both sides, and the ratio is the
/// median of the rounds so that one disturbed round does not decide.
async fn read_vs_bare(options: &Options, plan: &Drive, report: &mut Report) -> Result<()> {
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
            let measured = drive(&Drive {
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

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

async fn group_commit(plan: &Drive, report: &mut Report) -> Result<()> {
    let mut rates = Vec::new();
    for connections in [1, plan.connections] {
        let plan = Drive {
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

async fn start_bare(options: &Options, plan: &Drive) -> Result<BareServer> {
    let mut id = String::new();
    plan.keys.write_id(&mut id, 0);
    let recorded = Recorded::point_read(&plan.target, &id).await?;
    let program = options.bare_program.clone();
    tokio::task::spawn_blocking(move || BareServer::start(program.as_deref(), &recorded))
        .await
        .context("starting the bare server panicked")?
}

fn against(bare: &BareServer, plan: &Drive) -> Drive {
    let target = Target {
        endpoint: bare.endpoint.clone(),
        ..plan.target.clone()
    };
    Drive {
        target,
        ..plan.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_rounds() {
        for (values, expected) in [
            (vec![3.0], 3.0),
            (vec![9.0, 1.0, 2.0], 2.0),
            (vec![4.0, 1.0], 2.5),
        ] {
            assert!((median(&values) - expected).abs() < 1e-9, "{values:?}");
        }
    }
}
