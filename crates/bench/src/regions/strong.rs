//! Writes at strong consistency, which another region must store before they are acknowledged, over
//! links with delays.
//!
//! The round trip is twice the delay of the links. The part also measures strong reads in the other
//! region, which ask the write region and so take more than one round trip.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::RegionsBench;
use super::account::RegionsServer;
use super::report::StrongReport;
use super::spread::SpreadReport;
use super::writer::Writer;
use crate::client_pool::ClientPool;
use crate::driver::MeasurementPlan;
use crate::server::RegionsPlan;

const DELAYS_MS: [u64; 4] = [0, 10, 25, 50];
const TRIES: usize = 30;
const PROBE: &str = "probe";

pub(super) async fn measure(bench: &RegionsBench<'_>) -> Result<Vec<StrongReport>> {
    let strong = RegionsPlan {
        is_strong: true,
        ..RegionsPlan::default()
    };
    let mut account = RegionsServer::start(bench, 2, strong).await?;
    let plan = account.filled("strong", 0).await?;
    let mut local = Writer::connect(plan.target.clone(), plan.shape).await?;
    local.create(PROBE).await?;
    let remote = account.target(1, "strong")?;
    let mut remote = Writer::connect(remote, plan.shape).await?;
    let mut reports = Vec::new();
    for delay_ms in DELAYS_MS {
        account.operator.delay(delay_ms).await?;
        // Read first, while no writer uses the links.
        let read = read(&mut remote).await?;
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

async fn read(remote: &mut Writer) -> Result<SpreadReport> {
    let mut times = Vec::new();
    for _ in 0..TRIES {
        times.push(remote.read(PROBE).await?);
    }
    SpreadReport::of(times)
}

/// Creates items on `connections` connections. Returns the times and the seconds of the slowest
/// connection.
async fn write(
    plan: &MeasurementPlan,
    connections: u16,
    delay_ms: u64,
    bench: &RegionsBench<'_>,
) -> Result<(Vec<Duration>, f64)> {
    let (shape, duration) = (plan.shape, bench.slice());
    let pool = ClientPool {
        target: plan.target.clone(),
        connections,
        threads: 1,
    };
    let times = pool.work(move |client| async move {
        let name = format!("d{delay_ms}-c{connections}-{}", client.number);
        let mut writer = Writer::of(client, shape);
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
    // The slowest connection defines the period of all.
    let longest = seconds.into_iter().reduce(f64::max);
    Ok((times.concat(), longest.context("nothing was written")?))
}
