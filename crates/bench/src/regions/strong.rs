//! Writes at strong consistency, which another region must keep before they are acknowledged, over
//! links that take time.
//!
//! The round trip is twice the delay that is set. Strong reads in the other region are measured beside:
//! they ask the write region and wait for more than one round trip.

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
const TRIES: usize = 30;
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
        let read = read(&mut there).await?;
        let one = write(&plan, 1, delay_ms, bench).await?;
        let many = write(&plan, plan.connections, delay_ms, bench).await?;
        reports.push(StrongReport {
            delay_ms,
            round_trip_ms: 2.0 * delay_ms as f64,
            read,
            one: SpreadReport::of(one.0)?,
            connections: plan.connections,
            many_per_second: many.0.len() as f64 / many.1,
            many: SpreadReport::of(many.0)?,
        });
    }
    Ok(reports)
}

async fn read(there: &mut Writer) -> Result<SpreadReport> {
    let mut times = Vec::new();
    for _ in 0..TRIES {
        times.push(there.read(PROBE).await?);
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
