//! Point reads while every thread for scripts is kept busy by one that does not end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::Bench;
use super::client::Client;
use super::report::{InterferenceReport, ReadsReport};
use crate::driver::{Drive, Measurement, Span, drive};
use crate::load::{create_container, load};
use crate::median::median;
use crate::operation::OperationKind;
use crate::options::{Options, Workload};
use crate::plan::plan;
use crate::request::{ScriptKind, Target};

const ITEMS_MAX: u64 = 20_000;
/// More than there are threads for scripts, so that none of them is ever idle.
const HOSTILE: usize = 4;
const ENDLESS: &str = "function () { for (;;) {} }";

const TIMED_OUT: u16 = 408;
const BLOCKED: u16 = 403;
const BUSY: u16 = 429;

pub(super) async fn measure(bench: &Bench<'_>) -> Result<InterferenceReport> {
    let options = Options {
        endpoint: Some(bench.server.endpoint.clone()),
        workload: Workload::Read,
        items: Some(bench.options.items().min(ITEMS_MAX)),
        ..bench.options.clone()
    };
    let reads = plan(&options)?;
    create_container(&reads.target, None).await?;
    load(&reads).await?;
    let mut sides = [Vec::new(), Vec::new()];
    let mut endless = 0;
    for round in 0..bench.options.rounds {
        let first = if round == 0 { bench.options.warmup } else { 0 };
        let warmup = Duration::from_secs(first).max(bench.slice() / 10);
        let span = Span::Timed {
            warmup,
            duration: bench.slice(),
        };
        let reads = Drive {
            title: "reads".to_owned(),
            span,
            ..reads.clone()
        };
        sides[0].push(figures(&drive(&reads).await?)?);
        let (measured, stopped) = beside_scripts(&reads, bench.target("hostile")?).await?;
        sides[1].push(figures(&measured)?);
        endless += stopped;
    }
    let [quiet, beside] = sides.map(|rounds| middle(&rounds));
    Ok(InterferenceReport {
        connections: reads.connections,
        scripts: HOSTILE,
        scripts_stopped: endless,
        quiet,
        beside,
    })
}

/// Reads while scripts run, and how many of them were stopped meanwhile.
async fn beside_scripts(reads: &Drive, target: Target) -> Result<(Measurement, u64)> {
    let over = Arc::new(AtomicBool::new(false));
    let mut running = Vec::new();
    for number in 0..HOSTILE {
        let mut client = Client::open(target.clone()).await?;
        let over = Arc::clone(&over);
        let id = format!("endless{number}");
        client.register(ScriptKind::Procedure, &id, ENDLESS).await?;
        running.push(tokio::spawn(async move {
            let mut stopped = 0;
            while !over.load(Ordering::Relaxed) {
                match client.try_execute(&id, &id).await? {
                    TIMED_OUT => stopped += 1,
                    BUSY => tokio::time::sleep(Duration::from_millis(100)).await,
                    // It has been stopped too often; one that was replaced may run again.
                    BLOCKED => client.register(ScriptKind::Procedure, &id, ENDLESS).await?,
                    status => bail!("an endless script was answered {status}"),
                }
            }
            Ok(stopped)
        }));
    }
    let measured = drive(reads).await;
    over.store(true, Ordering::Relaxed);
    let mut stopped = 0;
    for script in running {
        stopped += script.await.context("a client task panicked")??;
    }
    Ok((measured?, stopped))
}

fn figures(measured: &Measurement) -> Result<ReadsReport> {
    if measured.statistics.errors() > 0 {
        bail!("{} reads failed", measured.statistics.errors());
    }
    let reads = measured.statistics.kinds.get(&OperationKind::Read);
    let latency = &reads.context("nothing was read")?.latency_ns;
    let us = |quantile| latency.value_at_quantile(quantile) as f64 / 1e3;
    Ok(ReadsReport {
        per_second: measured.per_second(),
        p50_us: us(0.5),
        p99_us: us(0.99),
        p999_us: us(0.999),
    })
}

/// The median of each figure.
fn middle(rounds: &[ReadsReport]) -> ReadsReport {
    let of =
        |figure: fn(&ReadsReport) -> f64| median(&rounds.iter().map(figure).collect::<Vec<_>>());
    ReadsReport {
        per_second: of(|round| round.per_second),
        p50_us: of(|round| round.p50_us),
        p99_us: of(|round| round.p99_us),
        p999_us: of(|round| round.p999_us),
    }
}
