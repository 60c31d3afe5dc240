//! How long another region lacks an acknowledged write, while the write region takes a steady
//! stream of writes.
//!
//! A probe is created like every other item, and read in the other region repeatedly on a warm
//! connection until the region has it. The lag of a probe ends with the first successful read.
//!
//! A server without regions takes the same load, so that the report shows how much of the time of
//! creates the other region causes, which works on the same processors and disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::RegionsBench;
use super::account::{RegionsServer, filled, target};
use super::operator::{LagStatus, RegionsOperator};
use super::report::LagReport;
use super::schedule::SendSchedule;
use super::spread::SpreadReport;
use super::writer::Writer;
use crate::client_pool::ClientPool;
use crate::driver::MeasurementPlan;
use crate::request::Target;
use crate::server::{RegionsPlan, ServerProcess, data_directory};

const WRITES_PER_SECOND: u32 = 5_000;
const PROBES_PER_SECOND: u32 = 100;
const CONTAINER: &str = "lag";
const POLL_PERIOD: Duration = Duration::from_millis(20);
/// The pause between two reads of a probe after the first millisecond. Faster reads would take the
/// processor from the region that has to apply the probe.
const PROBE_PAUSE: Duration = Duration::from_millis(1);
/// A probe that does not arrive within this time is lost.
const PROBE_PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn measure(bench: &RegionsBench<'_>) -> Result<LagReport> {
    let alone = alone(bench).await?;
    let mut account = RegionsServer::start(bench, 2, RegionsPlan::default()).await?;
    let plan = account.filled(CONTAINER, 0).await?;
    let over = Arc::new(AtomicBool::new(false));
    let writes = write(&plan, Arc::clone(&over));
    let remote = account.target(1, &plan.target.container)?;
    let probes = probe(&plan, Some(remote), bench);
    let report = listen(&mut account.operator, &over);
    let measured = async {
        let probes = probes.await;
        over.store(true, Ordering::Relaxed);
        probes
    };
    // All three run at the same time; the end of the probes ends the others.
    let (writes, probes, report) = tokio::join!(writes, measured, report);
    let (written, seconds) = writes?;
    let report = report?;
    account.operator.settle().await?;
    let millis = |lag: &LagStatus| Duration::from_millis(lag.millis);
    let (creates, lags) = probes?.into_iter().unzip();
    Ok(LagReport {
        wanted_per_second: WRITES_PER_SECOND,
        writes_per_second: written as f64 / seconds,
        connections: plan.connections,
        create: SpreadReport::of(creates)?,
        alone,
        lag: SpreadReport::of(lags)?,
        link: SpreadReport::of(report.link.iter().map(millis).collect())?,
        bound: SpreadReport::of(report.region.iter().map(millis).collect())?,
        link_records_max: report
            .link
            .iter()
            .map(|lag| lag.records)
            .max()
            .unwrap_or_default(),
    })
}

/// The time of creates under the same load in an account of one region.
async fn alone(bench: &RegionsBench<'_>) -> Result<SpreadReport> {
    let directory = data_directory(bench.options)?;
    let server = ServerProcess::start(bench.program, directory.path()).await?;
    let plan = target(bench.options, &server.endpoint, CONTAINER)?;
    let plan = filled(bench.options, plan, 0).await?;
    let over = Arc::new(AtomicBool::new(false));
    let writes = write(&plan, Arc::clone(&over));
    let measured = async {
        let probes = probe(&plan, None, bench).await;
        over.store(true, Ordering::Relaxed);
        probes
    };
    let (writes, probes) = tokio::join!(writes, measured);
    writes?;
    SpreadReport::of(probes?.into_iter().map(|(create, _)| create).collect())
}

/// Writes at a fixed rate until `over` is set. Returns the number of writes, and the seconds.
async fn write(plan: &MeasurementPlan, over: Arc<AtomicBool>) -> Result<(u64, f64)> {
    let (shape, connections) = (plan.shape, plan.connections);
    let pool = ClientPool {
        target: plan.target.clone(),
        connections,
        threads: 1,
    };
    let begun = Instant::now();
    let written = pool.work(move |client| {
        let over = Arc::clone(&over);
        async move {
            let number = client.number;
            let mut pace = SendSchedule::new(WRITES_PER_SECOND, connections, number);
            let mut writer = Writer::of(client, shape);
            let mut written = 0;
            while !over.load(Ordering::Relaxed) {
                pace.turn().await;
                writer.create(&format!("w{number}-{written}")).await?;
                written += 1;
            }
            Ok(written)
        }
    });
    let written: Vec<u64> = written.await?;
    Ok((written.iter().sum(), begun.elapsed().as_secs_f64()))
}

/// Returns for each probe the duration of its create, and the lag until the other region returns
/// the probe.
async fn probe(
    plan: &MeasurementPlan,
    remote: Option<Target>,
    bench: &RegionsBench<'_>,
) -> Result<Vec<(Duration, Duration)>> {
    let warmup = Duration::from_secs(bench.options.warmup);
    let (shape, whole) = (plan.shape, warmup + bench.duration());
    let pool = ClientPool {
        target: plan.target.clone(),
        connections: 1,
        threads: 1,
    };
    let lags = pool.work(move |client| {
        let remote = remote.clone();
        async move {
            let mut local = Writer::of(client, shape);
            let mut remote = match remote {
                Some(remote) => Some(Writer::connect(remote, shape).await?),
                None => None,
            };
            let mut pace = SendSchedule::new(PROBES_PER_SECOND, 1, 0);
            let (begun, mut lags) = (Instant::now(), Vec::new());
            for number in 0.. {
                // Probes have a schedule of their own, so that a slow probe does not delay the
                // writers.
                pace.turn().await;
                if begun.elapsed() > whole && !lags.is_empty() {
                    break;
                }
                let id = format!("probe{number}");
                let create = local.create(&id).await?;
                let acknowledged = Instant::now();
                // The first reads follow each other without a pause, to measure lags below a
                // millisecond.
                while let Some(remote) = &mut remote
                    && !remote.has(&id).await?
                {
                    if acknowledged.elapsed() > PROBE_PATIENCE {
                        bail!("a write did not come to the other region");
                    }
                    if acknowledged.elapsed() > PROBE_PAUSE {
                        tokio::time::sleep(PROBE_PAUSE).await;
                    }
                }
                // Probes of the warm-up are sent and not counted.
                if begun.elapsed() > warmup {
                    lags.push((create, acknowledged.elapsed()));
                }
            }
            Ok(lags)
        }
    });
    lags.await?.pop().context("nothing was probed")
}

/// The lags that the server reports to operators.
#[derive(Default)]
struct ReportedLags {
    link: Vec<LagStatus>,
    region: Vec<LagStatus>,
}

/// Reads the operators' report repeatedly, for the lags that it contains.
async fn listen(operator: &mut RegionsOperator, over: &AtomicBool) -> Result<ReportedLags> {
    let mut lags = ReportedLags::default();
    while !over.load(Ordering::Relaxed) {
        let report = operator.report().await?;
        lags.link
            .extend(report.links.iter().filter_map(|link| link.behind));
        lags.region
            .extend(report.regions.get(1).and_then(|region| region.lag));
        tokio::time::sleep(POLL_PERIOD).await;
    }
    Ok(lags)
}
