//! Writes at strong consistency, which another region must keep before they are acknowledged, over
//! links that take time.
//!
//! A link is not as fast as it is told to be: a delay ends with the next tick of a timer. So the round
//! trip is measured as well. A strong read in the other region waits for one question to the write
//! region and its answer, and for nothing else; what it takes longer than an eventual read is the
//! round trip.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Bench;
use super::account::Account;
use super::report::StrongReport;
use super::spread::SpreadReport;
use super::writer::Writer;
use crate::crew::Crew;
use crate::driver::Drive;
use crate::server::RegionsPlan;

const DELAYS_MS: [u64; 4] = [0, 10, 25, 50];
const ROUND_TRIPS: usize = 30;
const PROBE: &str = "probe";

pub(super) async fn measure(bench: &Bench<'_>) -> Result<Vec<StrongReport>> {
    let strong = RegionsPlan {
        is_strong: true,
        ..RegionsPlan::default()
    };
    let mut account = Account::start(bench, 2, strong).await?;
    let plan = account.filled("strong", 0).await?;
    let mut here = Writer::connect(plan.target.clone(), plan.shape).await?;
    here.create(PROBE).await?;
    let there = account.target(1, "strong")?;
    let mut there = Writer::connect(there, plan.shape).await?;
    let mut reports = Vec::new();
    for delay_ms in DELAYS_MS {
        account.operator.delay(delay_ms).await?;
        let round_trip = round_trip(&mut there).await?;
        let one = write(&plan, 1, delay_ms, bench).await?;
        let many = write(&plan, plan.connections, delay_ms, bench).await?;
        reports.push(StrongReport {
            delay_ms,
            round_trip_ms: round_trip.p50_ms,
            one: SpreadReport::of(one.0)?,
            connections: plan.connections,
            many_per_second: many.0.len() as f64 / many.1,
            many: SpreadReport::of(many.0)?,
        });
    }
    Ok(reports)
}

/// What asking the write region adds to a read.
async fn round_trip(there: &mut Writer) -> Result<SpreadReport> {
    let mut times = Vec::new();
    for _ in 0..ROUND_TRIPS {
        let begun = Instant::now();
        there.has(PROBE).await?;
        let local = begun.elapsed();
        times.push(there.read(PROBE).await?.saturating_sub(local));
    }
    SpreadReport::of(times)
}

/// Creates on so many connections, and in how many seconds.
async fn write(
    plan: &Drive,
    connections: u16,
    delay_ms: u64,
    bench: &Bench<'_>,
) -> Result<(Vec<Duration>, f64)> {
    let (shape, duration) = (plan.shape, bench.slice());
    let crew = Crew {
        target: plan.target.clone(),
        connections,
        threads: 1,
    };
    let times = crew.work(move |member| async move {
        let name = format!("d{delay_ms}-c{connections}-{}", member.number);
        let mut writer = Writer::of(member, shape);
        let (begun, mut times) = (Instant::now(), Vec::new());
        for number in 0.. {
            times.push(writer.create(&format!("{name}-{number}")).await?);
            if begun.elapsed() > duration {
                break;
            }
        }
        Ok((times, begun.elapsed().as_secs_f64()))
    });
    let (times, seconds): (Vec<_>, Vec<_>) = times.await?.into_iter().unzip();
    let longest = seconds.into_iter().reduce(f64::max);
    Ok((times.concat(), longest.context("nothing was written")?))
}
