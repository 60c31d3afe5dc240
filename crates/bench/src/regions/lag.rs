//! How long another region does not have what was acknowledged, while the write region takes a steady
//! stream of writes.
//!
//! A probe is created like every other item, and read in the other region, again and again on a warm
//! connection, until it is there. Its lag ends with the answer that has it.
//!
//! The same load is given to a server without regions, so that it is seen what of the creates' own time
//! comes from the other region, which does its work on the same processors and disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::Bench;
use super::account::{Account, filled, target};
use super::operator::{Operator, SaidLag};
use super::pace::Pace;
use super::report::LagReport;
use super::spread::SpreadReport;
use super::writer::Writer;
use crate::crew::Crew;
use crate::driver::Drive;
use crate::request::Target;
use crate::server::{RegionsPlan, ServerProcess, data_directory};

const WRITES_PER_SECOND: u32 = 5_000;
const PROBES_PER_SECOND: u32 = 100;
const CONTAINER: &str = "lag";
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// From then on a probe is looked for so often only: looking takes the processor from the region that is
/// to have it.
const PROBE_PAUSE: Duration = Duration::from_millis(1);
/// A probe that is not there by then is lost.
const PROBE_PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn measure(bench: &Bench<'_>) -> Result<LagReport> {
    let alone = alone(bench).await?;
    let mut account = Account::start(bench, 2, RegionsPlan::default()).await?;
    let plan = account.filled(CONTAINER, 0).await?;
    let over = Arc::new(AtomicBool::new(false));
    let writes = write(&plan, Arc::clone(&over));
    let there = account.target(1, &plan.target.container)?;
    let probes = probe(&plan, Some(there), bench);
    let said = listen(&mut account.operator, &over);
    let measured = async {
        let probes = probes.await;
        over.store(true, Ordering::Relaxed);
        probes
    };
    let (writes, probes, said) = tokio::join!(writes, measured, said);
    let (written, seconds) = writes?;
    let said = said?;
    account.operator.settle().await?;
    let millis = |lag: &SaidLag| Duration::from_millis(lag.millis);
    let (creates, lags) = probes?.into_iter().unzip();
    Ok(LagReport {
        wanted_per_second: WRITES_PER_SECOND,
        writes_per_second: written as f64 / seconds,
        connections: plan.connections,
        create: SpreadReport::of(creates)?,
        alone,
        lag: SpreadReport::of(lags)?,
        link: SpreadReport::of(said.link.iter().map(millis).collect())?,
        bound: SpreadReport::of(said.region.iter().map(millis).collect())?,
        link_records_max: said
            .link
            .iter()
            .map(|lag| lag.records)
            .max()
            .unwrap_or_default(),
    })
}

/// How long creates take under the same load in an account of one region.
async fn alone(bench: &Bench<'_>) -> Result<SpreadReport> {
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

/// Writes until it is over; how many, and in how many seconds.
async fn write(plan: &Drive, over: Arc<AtomicBool>) -> Result<(u64, f64)> {
    let (shape, connections) = (plan.shape, plan.connections);
    let crew = Crew {
        target: plan.target.clone(),
        connections,
        threads: 1,
    };
    let begun = Instant::now();
    let written = crew.work(move |member| {
        let over = Arc::clone(&over);
        async move {
            let number = member.number;
            let mut pace = Pace::new(WRITES_PER_SECOND, connections, number);
            let mut writer = Writer::of(member, shape);
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

/// How long each probe took to be created, and then until it was in the other region, if there is one.
async fn probe(
    plan: &Drive,
    there: Option<Target>,
    bench: &Bench<'_>,
) -> Result<Vec<(Duration, Duration)>> {
    let warmup = Duration::from_secs(bench.options.warmup);
    let (shape, whole) = (plan.shape, warmup + bench.duration());
    let crew = Crew {
        target: plan.target.clone(),
        connections: 1,
        threads: 1,
    };
    let lags = crew.work(move |member| {
        let there = there.clone();
        async move {
            let mut here = Writer::of(member, shape);
            let mut there = match there {
                Some(there) => Some(Writer::connect(there, shape).await?),
                None => None,
            };
            let mut pace = Pace::new(PROBES_PER_SECOND, 1, 0);
            let (begun, mut lags) = (Instant::now(), Vec::new());
            for number in 0.. {
                pace.turn().await;
                if begun.elapsed() > whole && !lags.is_empty() {
                    break;
                }
                let id = format!("probe{number}");
                let create = here.create(&id).await?;
                let acknowledged = Instant::now();
                while let Some(there) = &mut there
                    && !there.has(&id).await?
                {
                    if acknowledged.elapsed() > PROBE_PATIENCE {
                        bail!("a write did not come to the other region");
                    }
                    if acknowledged.elapsed() > PROBE_PAUSE {
                        tokio::time::sleep(PROBE_PAUSE).await;
                    }
                }
                if begun.elapsed() > warmup {
                    lags.push((create, acknowledged.elapsed()));
                }
            }
            Ok(lags)
        }
    });
    lags.await?.pop().context("nothing was probed")
}

/// What operators are told of the lag.
#[derive(Default)]
struct Told {
    link: Vec<SaidLag>,
    region: Vec<SaidLag>,
}

async fn listen(operator: &mut Operator, over: &AtomicBool) -> Result<Told> {
    let mut told = Told::default();
    while !over.load(Ordering::Relaxed) {
        let said = operator.ask().await?;
        told.link
            .extend(said.links.iter().filter_map(|link| link.behind));
        told.region
            .extend(said.regions.get(1).and_then(|region| region.lag));
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Ok(told)
}
