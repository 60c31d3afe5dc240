//! Point reads while endless scripts occupy every script thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::ScriptsBench;
use super::client::ScriptClient;
use super::report::{InterferenceReport, ReadsReport};
use crate::driver::{Measurement, MeasurementPlan, Span, drive};
use crate::load::{create_container, load};
use crate::median::median;
use crate::operation::OperationKind;
use crate::options::{Options, Workload};
use crate::plan::plan;
use crate::request::{ScriptKind, Target};

const ITEMS_MAX: u64 = 20_000;
/// More endless scripts than script threads, so that no script thread is ever idle.
const HOSTILE: usize = 4;
const ENDLESS: &str = "function () { for (;;) {} }";

const TIMED_OUT: u16 = 408;
const BLOCKED: u16 = 403;
const BUSY: u16 = 429;

pub(super) async fn measure(bench: &ScriptsBench<'_>) -> Result<InterferenceReport> {
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
        let reads = MeasurementPlan {
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

/// Measures reads while scripts run. Returns also how many scripts the server stopped meanwhile.
async fn beside_scripts(reads: &MeasurementPlan, target: Target) -> Result<(Measurement, u64)> {
    let over = Arc::new(AtomicBool::new(false));
    let mut running = Vec::new();
    for number in 0..HOSTILE {
        let mut client = ScriptClient::open(target.clone()).await?;
        let over = Arc::clone(&over);
        // A procedure for each client: the server blocks procedures one by one.
        let id = format!("endless{number}");
        client.register(ScriptKind::Procedure, &id, ENDLESS).await?;
        running.push(tokio::spawn(async move {
            let mut stopped = 0;
            while !over.load(Ordering::Relaxed) {
                match client.try_execute(&id, &id).await? {
                    TIMED_OUT => stopped += 1,
                    // No script thread was free; the client tries again.
                    BUSY => tokio::time::sleep(Duration::from_millis(100)).await,
                    // The server blocks a procedure that it has stopped too often; replacing the
                    // procedure unblocks it.
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
    // The result of the reads is examined last, so that no script keeps running after an error.
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

/// The median of each figure over the rounds.
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
