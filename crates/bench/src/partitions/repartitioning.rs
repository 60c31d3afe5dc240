//! Reads and upserts while partitions are split to eight and merged back to one, and without
//! splits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use hdrhistogram::Histogram;

use super::operators::{PartitionStatus, PartitionsOperator};
use super::report::{LatencyReport, RepartitioningReport};
use super::{PartitionsBench, SMALL_ITEMS_MAX};
use crate::driver::{Measurement, MeasurementPlan};
use crate::median::median;
use crate::workload::Mix;

const PARTS_MAX: usize = 8;
const PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn measure(bench: &PartitionsBench<'_>) -> Result<RepartitioningReport> {
    let items = bench.options.items().min(SMALL_ITEMS_MAX);
    let plan = bench.filled("repartitioning", items, None, None).await?;
    let mut sides = [Vec::new(), Vec::new()];
    let (mut failures, mut repartitionings) = (0, RepartitioningCounts::default());
    for round in 0..bench.options.rounds {
        let quiet = bench.drive(&plan, &Mix::ReadUpsert, round).await?;
        let (moving, counts) = while_repartitioning(bench, &plan, round).await?;
        // Failures of both sides count: a split must not fail a request.
        for (side, measured) in sides.iter_mut().zip([quiet, moving]) {
            failures += measured.statistics.errors();
            side.push(latency(&measured)?);
        }
        repartitionings.splits += counts.splits;
        repartitionings.merges += counts.merges;
        repartitionings.slowest = repartitionings.slowest.max(counts.slowest);
    }
    let p99 = |side: &Vec<LatencyReport>| side.iter().map(|one| one.p99_us).collect::<Vec<_>>();
    let ratios: Vec<_> = p99(&sides[0])
        .into_iter()
        .zip(p99(&sides[1]))
        .map(|(quiet, moving)| moving / quiet)
        .collect();
    let [quiet, moving] = sides.map(|rounds| middle(&rounds));
    Ok(RepartitioningReport {
        connections: plan.connections,
        splits: repartitionings.splits,
        merges: repartitionings.merges,
        slowest_ms: repartitionings.slowest.as_secs_f64() * 1e3,
        failures,
        quiet,
        moving,
        p99_ratio: median(&ratios),
        p99_ratios: ratios,
    })
}

#[derive(Default)]
struct RepartitioningCounts {
    splits: u64,
    merges: u64,
    slowest: Duration,
}

/// Measures while an operator splits and merges the partitions of the container.
async fn while_repartitioning(
    bench: &PartitionsBench<'_>,
    plan: &MeasurementPlan,
    round: u16,
) -> Result<(Measurement, RepartitioningCounts)> {
    let over = Arc::new(AtomicBool::new(false));
    let operator = PartitionsOperator::connect(plan.target.clone()).await?;
    // A short slice of a test must contain several splits and merges too.
    let pause = PAUSE.min(bench.slice() / 8);
    let moving = tokio::spawn(keep_repartitioning(operator, pause, Arc::clone(&over)));
    let measured = bench.drive(plan, &Mix::ReadUpsert, round).await;
    // The measured clients are done, so the operator stops after its present split or merge.
    over.store(true, Ordering::Relaxed);
    // Awaited before the result of the clients: an operator that keeps running would disturb the
    // next slice.
    let repartitionings = moving.await.context("moving partitions panicked")??;
    Ok((measured?, repartitionings))
}

/// Repeatedly splits one partition into eight and merges the eight into one.
async fn keep_repartitioning(
    mut operator: PartitionsOperator,
    pause: Duration,
    over: Arc<AtomicBool>,
) -> Result<RepartitioningCounts> {
    let mut repartitionings = RepartitioningCounts::default();
    let mut parts = operator.list().await?;
    let mut is_growing = true;
    // The loop performs one split even if the measurement ends first.
    while repartitionings.splits == 0 || !over.load(Ordering::Relaxed) {
        // The direction changes only at eight partitions and at one.
        is_growing = parts.len() < if is_growing { PARTS_MAX } else { 2 };
        let duration;
        if is_growing {
            (duration, parts) = operator.split(oldest(&parts), "keys").await?;
            repartitionings.splits += 1;
        } else {
            // Only neighbours can be merged, and the list is sorted by key range.
            let [left, right] = [&parts[0].id, &parts[1].id];
            (duration, parts) = operator.merge([left, right]).await?;
            repartitionings.merges += 1;
        }
        repartitionings.slowest = repartitionings.slowest.max(duration);
        tokio::time::sleep(pause).await;
    }
    Ok(repartitionings)
}

/// The id of the oldest partition. Ids grow with every split and merge, so the oldest partition is
/// among the widest.
fn oldest(parts: &[PartitionStatus]) -> &str {
    let number = |part: &&PartitionStatus| part.id.parse::<u64>().unwrap_or(u64::MAX);
    let oldest = parts.iter().min_by_key(number);
    oldest.map_or("0", |part| &part.id)
}

/// The latencies of reads and upserts together.
fn latency(measured: &Measurement) -> Result<LatencyReport> {
    let mut kinds = measured.statistics.kinds.values();
    let first = kinds.next().context("nothing was answered")?;
    let mut all: Histogram<u64> = first.latency_ns.clone();
    for kind in kinds {
        all.add(&kind.latency_ns).context("adding latencies")?;
    }
    let us = |quantile| all.value_at_quantile(quantile) as f64 / 1e3;
    Ok(LatencyReport {
        per_second: measured.per_second(),
        p50_us: us(0.5),
        p99_us: us(0.99),
        p999_us: us(0.999),
        max_us: all.max() as f64 / 1e3,
    })
}

/// The median of each figure over the rounds, but the maximum of the maxima.
fn middle(rounds: &[LatencyReport]) -> LatencyReport {
    let of = |figure: fn(&LatencyReport) -> f64| rounds.iter().map(figure).collect::<Vec<_>>();
    LatencyReport {
        per_second: median(&of(|round| round.per_second)),
        p50_us: median(&of(|round| round.p50_us)),
        p99_us: median(&of(|round| round.p99_us)),
        p999_us: median(&of(|round| round.p999_us)),
        // A maximum hides nothing; the median of maxima would.
        max_us: of(|round| round.max_us).into_iter().fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_found_by_number() {
        let part = |id: &str| PartitionStatus {
            id: id.to_owned(),
            items: 0,
            bytes: 0,
            counted: true,
        };
        assert_eq!(oldest(&["11", "9", "10"].map(part)), "9");
    }
}
