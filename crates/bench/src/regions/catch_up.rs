//! A region that gets no records for a while, and then all that it missed, while it serves reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::Bench;
use super::account::{Account, filled};
use super::pace::Pace;
use super::report::CatchUpReport;
use super::spread::SpreadReport;
use super::writer::Writer;
use crate::crew::Crew;
use crate::driver::Drive;
use crate::random::Random;
use crate::server::RegionsPlan;

const SERVED_ITEMS: u64 = 10_000;
const READS_PER_SECOND: u32 = 1_000;
const READERS: u16 = 4;
/// Reads alone, before the region catches up, to compare with.
const QUIET: Duration = Duration::from_secs(1);

pub(super) async fn measure(bench: &Bench<'_>) -> Result<CatchUpReport> {
    let mut account = Account::start(bench, 2, RegionsPlan::default()).await?;
    let items = bench.options.items();
    let served = account.filled("served", SERVED_ITEMS.min(items)).await?;
    let served = Drive {
        target: account.target(1, &served.target.container)?,
        ..served
    };
    // The other region is to have the container, not what is in it.
    account.filled("missed", 0).await?;
    account.operator.pause().await?;
    let missed = filled(bench.options, account.target(0, "missed")?, items).await?;
    let wanted = account.operator.ask().await?.regions[0].applied;
    let before = account.operator.ask().await?.regions[1].applied;
    ensure!(
        wanted - before >= items,
        "the paused region lacks {} records of {items}",
        wanted - before
    );

    let quiet = read(&served, Arc::new(AtomicBool::new(false)), Some(QUIET)).await?;
    let over = Arc::new(AtomicBool::new(false));
    let reads = read(&served, Arc::clone(&over), None);
    let operator = &mut account.operator;
    let catching_up = async {
        let begun = Instant::now();
        operator.resume().await?;
        let caught_up = operator.wait_for("a region to catch up", |said| {
            said.regions[1].applied >= wanted
        });
        let caught_up = caught_up.await;
        let took = begun.elapsed();
        over.store(true, Ordering::Relaxed);
        caught_up.map(|()| took)
    };
    let (reads, took) = tokio::join!(reads, catching_up);
    let seconds = took?.as_secs_f64();

    let mut there = Writer::connect(account.target(1, "missed")?, missed.shape).await?;
    let mut id = String::new();
    missed.keys.write_id(&mut id, items - 1);
    ensure!(there.has(&id).await?, "a record is there, its item is not");
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

/// Reads at a rate, for so long or until it is over.
async fn read(
    served: &Drive,
    over: Arc<AtomicBool>,
    until: Option<Duration>,
) -> Result<Vec<Duration>> {
    let (shape, keys) = (served.shape, Arc::clone(&served.keys));
    let crew = Crew {
        target: served.target.clone(),
        connections: READERS,
        threads: 1,
    };
    let reads = crew.work(move |member| {
        let (over, keys) = (Arc::clone(&over), Arc::clone(&keys));
        async move {
            let mut pace = Pace::new(READS_PER_SECOND, READERS, member.number);
            let mut random = Random::new(2, u64::from(member.number));
            let mut reader = Writer::of(member, shape);
            let (begun, mut times, mut id) = (Instant::now(), Vec::new(), String::new());
            let is_over = |begun: Instant| until.is_some_and(|until| begun.elapsed() > until);
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
