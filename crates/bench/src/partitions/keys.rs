//! A container whose items have a key each, and one with as many items over a hundred keys.

use anyhow::{Result, bail, ensure};

use super::Bench;
use super::report::{KeysReport, PairReport};
use crate::driver::{Drive, Measurement};
use crate::median::median;
use crate::workload::Mix;

/// Logical partitions of the other container.
pub(super) const FEW: u64 = 100;

pub(super) async fn measure(bench: &Bench<'_>, many: &Drive, few: &Drive) -> Result<KeysReport> {
    let mut figures = Vec::new();
    // Creates come last: what they add is in nobody's way.
    for mix in [Mix::ReadUniform, Mix::QueryUniform, Mix::Create] {
        let mut pairs = Vec::new();
        for round in 0..bench.options.rounds {
            let mut pair = [0.0; 2];
            let mut sides: Vec<_> = [many, few].into_iter().zip(&mut pair).collect();
            // What one side leaves to be written out, the other meets: so each is first by turns.
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
        items: many.keys.loaded(),
        keys: many.keys.loaded(),
        few_keys: FEW,
        reads,
        queries,
        creates,
    })
}

/// The first of each pair beside the second.
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

/// Operations a second, all of which succeeded and brought an item.
pub(super) fn reads_checked(measured: &Measurement, bench: &Bench<'_>) -> Result<f64> {
    let rate = checked(measured)?;
    let kinds = measured.statistics.kinds.values();
    let bytes: u64 = kinds.map(|kind| kind.received_bytes).sum();
    let least = measured.statistics.successes() * bench.options.value_bytes as u64;
    ensure!(bytes > least, "{bytes} bytes were read, which are too few");
    Ok(rate)
}

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
