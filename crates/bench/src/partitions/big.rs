//! One big partition: its feed, its split, the count of its parts, and the feed of both.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::Bench;
use super::feed::stream;
use super::operators::{Operator, Part};
use super::report::BigReport;
use crate::driver::Drive;
use crate::median::median;

const COUNT_POLL: Duration = Duration::from_millis(5);
const COUNT_TIMEOUT: Duration = Duration::from_mins(5);

/// Ends with one partition, as it began.
pub(super) async fn measure(bench: &Bench<'_>, many: &Drive) -> Result<BigReport> {
    let items = many.keys.loaded();
    let mut operator = Operator::connect(many.target.clone()).await?;
    let mut whole = operator.list().await?;
    let (mut one, mut two) = (Vec::new(), Vec::new());
    let (mut splits, mut counts, mut merges) = (Vec::new(), Vec::new(), Vec::new());
    let bytes = whole.iter().map(|part| part.bytes).sum();
    for _ in 0..bench.options.rounds {
        ensure!(whole.len() == 1, "the container has {whole:?}");
        one.push(stream(&many.target, ids(&whole), items).await?);
        let (took, _) = operator.split(&whole[0].id, "data").await?;
        splits.push(milliseconds(took));
        let begun = Instant::now();
        let parts = counted(&mut operator, items).await?;
        counts.push(milliseconds(begun.elapsed()));
        two.push(stream(&many.target, ids(&parts), items).await?);
        let [left, right] = &parts[..] else {
            bail!("a split made {parts:?}");
        };
        let (took, merged) = operator.merge([&left.id, &right.id]).await?;
        merges.push(milliseconds(took));
        whole = merged;
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

/// The parts once they are counted, which must add up.
async fn counted(operator: &mut Operator, items: u64) -> Result<Vec<Part>> {
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

fn ids(parts: &[Part]) -> Vec<String> {
    parts.iter().map(|part| part.id.clone()).collect()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
