//! Percentiles of repeated times.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Serialize;

/// Percentiles in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpreadReport {
    pub count: usize,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

impl SpreadReport {
    /// Computes percentiles from one or more times.
    pub(super) fn of(mut times: Vec<Duration>) -> Result<SpreadReport> {
        ensure!(!times.is_empty(), "nothing was measured");
        times.sort();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        // The nearest rank, without interpolation.
        let at = |part: usize| ms(times[(times.len() * part / 100).min(times.len() - 1)]);
        Ok(SpreadReport {
            count: times.len(),
            p50_ms: at(50),
            p95_ms: at(95),
            p99_ms: at(99),
            max_ms: ms(times[times.len() - 1]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_sorted_times() {
        let spread = |count: u64| {
            let times = (0..count).rev().map(Duration::from_millis);
            SpreadReport::of(times.collect())
        };
        let figures = |count| {
            let spread = spread(count).unwrap();
            [spread.p50_ms, spread.p95_ms, spread.p99_ms, spread.max_ms]
                .map(|ms| format!("{ms:.0}"))
        };
        assert_eq!(figures(1), ["0", "0", "0", "0"]);
        assert_eq!(figures(10), ["5", "9", "9", "9"]);
        assert_eq!(figures(1000), ["500", "950", "990", "999"]);
        assert!(spread(0).is_err());
    }
}
