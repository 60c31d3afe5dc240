//! Reads and upserts while partitions are split up to eight and merged back to one, and without.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use hdrhistogram::Histogram;

use super::operators::{Operator, Part};
use super::report::{LatencyReport, LivingReport};
use super::{Bench, SMALL_ITEMS_MAX};
use crate::driver::{Drive, Measurement};
use crate::median::median;
use crate::workload::Mix;

const PARTS_MAX: usize = 8;
const PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn measure(bench: &Bench<'_>) -> Result<LivingReport> {
    let items = bench.options.items().min(SMALL_ITEMS_MAX);
    let plan = bench.filled("living", items, None, None).await?;
    let mut sides = [Vec::new(), Vec::new()];
    let (mut failures, mut moves) = (0, Moves::default());
    for round in 0..bench.options.rounds {
        let quiet = bench.drive(&plan, &Mix::ReadUpsert, round).await?;
        let (moving, made) = beside_moves(bench, &plan, round).await?;
        for (side, measured) in sides.iter_mut().zip([quiet, moving]) {
            failures += measured.statistics.errors();
            side.push(latency(&measured)?);
        }
        moves.splits += made.splits;
        moves.merges += made.merges;
        moves.slowest = moves.slowest.max(made.slowest);
    }
    let p99 = |side: &Vec<LatencyReport>| side.iter().map(|one| one.p99_us).collect::<Vec<_>>();
    let ratios: Vec<_> = p99(&sides[0])
        .into_iter()
        .zip(p99(&sides[1]))
        .map(|(quiet, moving)| moving / quiet)
        .collect();
    let [quiet, moving] = sides.map(|rounds| middle(&rounds));
    Ok(LivingReport {
        connections: plan.connections,
        splits: moves.splits,
        merges: moves.merges,
        slowest_ms: moves.slowest.as_secs_f64() * 1e3,
        failures,
        quiet,
        moving,
        p99_ratio: median(&ratios),
        p99_ratios: ratios,
    })
}

#[derive(Default)]
struct Moves {
    splits: u64,
    merges: u64,
    slowest: Duration,
}

async fn beside_moves(bench: &Bench<'_>, plan: &Drive, round: u16) -> Result<(Measurement, Moves)> {
    let over = Arc::new(AtomicBool::new(false));
    let operator = Operator::connect(plan.target.clone()).await?;
    // A short slice of a test is to have some, too.
    let pause = PAUSE.min(bench.slice() / 8);
    let moving = tokio::spawn(keep_moving(operator, pause, Arc::clone(&over)));
    let measured = bench.drive(plan, &Mix::ReadUpsert, round).await;
    over.store(true, Ordering::Relaxed);
    let moves = moving.await.context("moving partitions panicked")??;
    Ok((measured?, moves))
}

/// Up to eight partitions, back to one, and again.
async fn keep_moving(
    mut operator: Operator,
    pause: Duration,
    over: Arc<AtomicBool>,
) -> Result<Moves> {
    let mut moves = Moves::default();
    let mut parts = operator.list().await?;
    let mut is_growing = true;
    while moves.splits == 0 || !over.load(Ordering::Relaxed) {
        is_growing = parts.len() < if is_growing { PARTS_MAX } else { 2 };
        let took;
        if is_growing {
            (took, parts) = operator.split(oldest(&parts), "keys").await?;
            moves.splits += 1;
        } else {
            let [left, right] = [&parts[0].id, &parts[1].id];
            (took, parts) = operator.merge([left, right]).await?;
            moves.merges += 1;
        }
        moves.slowest = moves.slowest.max(took);
        tokio::time::sleep(pause).await;
    }
    Ok(moves)
}

/// Ids grow, so the oldest partition is among the widest.
fn oldest(parts: &[Part]) -> &str {
    let number = |part: &&Part| part.id.parse::<u64>().unwrap_or(u64::MAX);
    let oldest = parts.iter().min_by_key(number);
    oldest.map_or("0", |part| &part.id)
}

/// Of reads and upserts together.
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

/// The median of each figure, but the highest of the highest.
fn middle(rounds: &[LatencyReport]) -> LatencyReport {
    let of = |figure: fn(&LatencyReport) -> f64| rounds.iter().map(figure).collect::<Vec<_>>();
    LatencyReport {
        per_second: median(&of(|round| round.per_second)),
        p50_us: median(&of(|round| round.p50_us)),
        p99_us: median(&of(|round| round.p99_us)),
        p999_us: median(&of(|round| round.p999_us)),
        max_us: of(|round| round.max_us).into_iter().fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_found_by_number() {
        let part = |id: &str| Part {
            id: id.to_owned(),
            items: 0,
            bytes: 0,
            counted: true,
        };
        assert_eq!(oldest(&["11", "9", "10"].map(part)), "9");
    }
}
