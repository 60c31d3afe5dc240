//! A region that receives no records for some time, and then all records that it missed, while it
//! serves reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::RegionsBench;
use super::account::{RegionsServer, filled};
use super::report::CatchUpReport;
use super::schedule::SendSchedule;
use super::spread::SpreadReport;
use super::writer::Writer;
use crate::client_pool::ClientPool;
use crate::driver::MeasurementPlan;
use crate::random::Random;
use crate::server::RegionsPlan;

const SERVED_ITEMS: u64 = 10_000;
const READS_PER_SECOND: u32 = 1_000;
const READERS: u16 = 4;
/// The time of the reads before the region catches up, which the report compares with.
const QUIET: Duration = Duration::from_secs(1);

pub(super) async fn measure(bench: &RegionsBench<'_>) -> Result<CatchUpReport> {
    let mut account = RegionsServer::start(bench, 2, RegionsPlan::default()).await?;
    let items = bench.options.items();
    let served = account.filled("served", SERVED_ITEMS.min(items)).await?;
    let served = MeasurementPlan {
        target: account.target(1, &served.target.container)?,
        ..served
    };
    // The other region receives the container before the pause, and its items only after the pause.
    account.filled("missed", 0).await?;
    account.operator.pause().await?;
    let missed = filled(bench.options, account.target(0, "missed")?, items).await?;
    // Read after the load: the paused region must reach this position.
    let wanted = account.operator.report().await?.regions[0].applied;
    let before = account.operator.report().await?.regions[1].applied;
    ensure!(
        wanted - before >= items,
        "the paused region lacks {} records of {items}",
        wanted - before
    );

    // Measured while the links are paused, so that the region has nothing to apply.
    let quiet = read(&served, Arc::new(AtomicBool::new(false)), Some(QUIET)).await?;
    let over = Arc::new(AtomicBool::new(false));
    let reads = read(&served, Arc::clone(&over), None);
    let operator = &mut account.operator;
    let catching_up = async {
        let begun = Instant::now();
        operator.resume().await?;
        // The target is the position before the resume; no writes arrive meanwhile.
        let caught_up = operator.wait_for("a region to catch up", |report| {
            report.regions[1].applied >= wanted
        });
        let caught_up = caught_up.await;
        let duration = begun.elapsed();
        // The readers stop when the region has caught up, so that only this period is measured.
        over.store(true, Ordering::Relaxed);
        caught_up.map(|()| duration)
    };
    let (reads, duration) = tokio::join!(reads, catching_up);
    let seconds = duration?.as_secs_f64();

    let mut remote = Writer::connect(account.target(1, "missed")?, missed.shape).await?;
    let mut id = String::new();
    missed.keys.write_id(&mut id, items - 1);
    // The applied position alone does not prove that reads find the item.
    ensure!(remote.has(&id).await?, "a record is there, its item is not");
    Ok(CatchUpReport {
        records: wanted - before,
        seconds,
        per_second: (wanted - before) as f64 / seconds,
        reads_per_second: READS_PER_SECOND,
        readers: READERS,
        quiet: SpreadReport::of(quiet)?,
        meanwhile: SpreadReport::of(reads?)?,
    })
}

/// Sends reads at a fixed rate, for the given time or until `over` is set.
async fn read(
    served: &MeasurementPlan,
    over: Arc<AtomicBool>,
    until: Option<Duration>,
) -> Result<Vec<Duration>> {
    let (shape, keys) = (served.shape, Arc::clone(&served.keys));
    let pool = ClientPool {
        target: served.target.clone(),
        connections: READERS,
        threads: 1,
    };
    let reads = pool.work(move |client| {
        let (over, keys) = (Arc::clone(&over), Arc::clone(&keys));
        async move {
            let mut pace = SendSchedule::new(READS_PER_SECOND, READERS, client.number);
            let mut random = Random::new(2, u64::from(client.number));
            let mut reader = Writer::of(client, shape);
            let (begun, mut times, mut id) = (Instant::now(), Vec::new(), String::new());
            let is_over = |begun: Instant| until.is_some_and(|until| begun.elapsed() > until);
            // The client measures at least one read, even if the catch-up period is very short.
            while times.is_empty() || !over.load(Ordering::Relaxed) && !is_over(begun) {
                pace.turn().await;
                keys.write_id(&mut id, random.below(keys.loaded()));
                times.push(reader.read(&id).await?);
            }
            Ok(times)
        }
    });
    Ok(reads.await?.concat())
}
