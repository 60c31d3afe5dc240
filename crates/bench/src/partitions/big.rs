//! One big partition: its change feed, its split, the counting of its child partitions, and the
//! change feed of both.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::PartitionsBench;
use super::feed::stream;
use super::operators::{PartitionStatus, PartitionsOperator};
use super::report::BigReport;
use crate::driver::MeasurementPlan;
use crate::median::median;

const COUNT_POLL: Duration = Duration::from_millis(5);
const COUNT_TIMEOUT: Duration = Duration::from_mins(5);

/// Splits and merges the partition in every round, so that the next round begins with one partition
/// again.
pub(super) async fn measure(
    bench: &PartitionsBench<'_>,
    plan: &MeasurementPlan,
) -> Result<BigReport> {
    let items = plan.keys.loaded();
    let mut operator = PartitionsOperator::connect(plan.target.clone()).await?;
    let mut parts_before = operator.list().await?;
    let (mut one, mut two) = (Vec::new(), Vec::new());
    let (mut splits, mut counts, mut merges) = (Vec::new(), Vec::new(), Vec::new());
    // Read before the first split, while the count is exact.
    let bytes = parts_before.iter().map(|part| part.bytes).sum();
    for _ in 0..bench.options.rounds {
        // A failed merge of the last round would change what this round measures.
        ensure!(
            parts_before.len() == 1,
            "the container has {parts_before:?}"
        );
        one.push(stream(&plan.target, ids(&parts_before), items).await?);
        let (duration, _) = operator.split(&parts_before[0].id, "data").await?;
        splits.push(milliseconds(duration));
        // A split answers before the child partitions are counted; the counting is measured apart.
        let begun = Instant::now();
        let parts = counted(&mut operator, items).await?;
        counts.push(milliseconds(begun.elapsed()));
        two.push(stream(&plan.target, ids(&parts), items).await?);
        let [left, right] = &parts[..] else {
            bail!("a split made {parts:?}");
        };
        let (duration, merged) = operator.merge([&left.id, &right.id]).await?;
        merges.push(milliseconds(duration));
        parts_before = merged;
    }
    let max = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    Ok(BigReport {
        items,
        bytes,
        feed_one_per_second: median(&one),
        feed_two_per_second: median(&two),
        split_ms: median(&splits),
        split_ms_max: max(&splits),
        count_ms: median(&counts),
        merge_ms: median(&merges),
        merge_ms_max: max(&merges),
    })
}

/// Waits until both child partitions are counted, and checks that their counts add up.
async fn counted(operator: &mut PartitionsOperator, items: u64) -> Result<Vec<PartitionStatus>> {
    let begun = Instant::now();
    loop {
        let parts = operator.list().await?;
        if parts.iter().all(|part| part.counted) {
            let sum: u64 = parts.iter().map(|part| part.items).sum();
            ensure!(sum == items, "the parts have {sum} of {items} items");
            return Ok(parts);
        }
        ensure!(
            begun.elapsed() < COUNT_TIMEOUT,
            "the parts were not counted"
        );
        tokio::time::sleep(COUNT_POLL).await;
    }
}

fn ids(parts: &[PartitionStatus]) -> Vec<String> {
    parts.iter().map(|part| part.id.clone()).collect()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
