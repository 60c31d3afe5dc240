//! Two containers of equal size: one with a logical partition for each item, one with a hundred
//! logical partitions.

use anyhow::{Result, bail, ensure};

use super::PartitionsBench;
use super::report::{KeysReport, PairReport};
use crate::driver::{Measurement, MeasurementPlan};
use crate::median::median;
use crate::workload::Mix;

/// The number of logical partitions of the second container.
pub(super) const PARTITION_KEYS: u64 = 100;

/// Measures both containers with the same mixes.
pub(super) async fn measure(
    bench: &PartitionsBench<'_>,
    many_keys: &MeasurementPlan,
    few_keys: &MeasurementPlan,
) -> Result<KeysReport> {
    let mut figures = Vec::new();
    // Creates come last, because the items that they add would change the reads and the queries.
    for mix in [Mix::ReadUniform, Mix::QueryUniform, Mix::Create] {
        let mut pairs = Vec::new();
        for round in 0..bench.options.rounds {
            let mut pair = [0.0; 2];
            let mut sides: Vec<_> = [many_keys, few_keys].into_iter().zip(&mut pair).collect();
            // The server flushes and compacts after a side has ended and so slows the next side;
            // therefore each side is first in every second round.
            if round % 2 == 1 {
                sides.reverse();
            }
            for (plan, rate) in sides {
                let measured = bench.drive(plan, &mix, round).await?;
                *rate = match mix {
                    Mix::Create => checked(&measured)?,
                    _ => reads_checked(&measured, bench)?,
                };
            }
            pairs.push(pair);
        }
        figures.push(compare(&pairs));
    }
    let [reads, queries, creates] = figures.try_into().expect("there were three mixes");
    Ok(KeysReport {
        items: many_keys.keys.loaded(),
        keys: many_keys.keys.loaded(),
        few_keys: PARTITION_KEYS,
        reads,
        queries,
        creates,
    })
}

/// Compares the first rate of each pair with the second. The ratio is the median of the ratios of
/// the rounds, since both rates of one round meet the same machine.
pub(crate) fn compare(pairs: &[[f64; 2]]) -> PairReport {
    let side = |side: usize| pairs.iter().map(|pair| pair[side]).collect::<Vec<_>>();
    let ratios: Vec<_> = pairs.iter().map(|[one, other]| one / other).collect();
    PairReport {
        per_second: median(&side(0)),
        other_per_second: median(&side(1)),
        ratio: median(&ratios),
        ratios,
    }
}

/// The rate of operations, after a check that all succeeded and that the answers contain whole
/// items.
pub(super) fn reads_checked(measured: &Measurement, bench: &PartitionsBench<'_>) -> Result<f64> {
    let rate = checked(measured)?;
    let kinds = measured.statistics.kinds.values();
    let bytes: u64 = kinds.map(|kind| kind.received_bytes).sum();
    let least = measured.statistics.successes() * bench.options.value_bytes as u64;
    // Answers that are shorter than the items would mean that the server returned something else.
    ensure!(bytes > least, "{bytes} bytes were read, which are too few");
    Ok(rate)
}

/// The rate of a measurement. Any failed operation fails the run, because a rate with failures
/// cannot be compared.
pub(crate) fn checked(measured: &Measurement) -> Result<f64> {
    if let Some(failure) = &measured.statistics.first_failure {
        bail!(
            "an operation was answered {}: {}",
            failure.status,
            failure.body
        );
    }
    ensure!(measured.statistics.successes() > 0, "nothing was answered");
    Ok(measured.per_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_the_rounds() {
        let pair = compare(&[[1.0, 2.0], [30.0, 10.0], [8.0, 8.0]]);
        let json = serde_json::to_value(&pair).unwrap();
        let expected = serde_json::json!({
            "per_second": 8.0, "other_per_second": 8.0, "ratio": 1.0, "ratios": [0.5, 3.0, 1.0],
        });
        assert_eq!(json, expected);
    }
}
