//! The server's performance targets, and the verdicts on measured figures.

use std::fmt;

use serde::Serialize;

const READS_TO_BARE_MIN: f64 = 0.6;
const CREATES_TO_ONE_CONNECTION_MIN: f64 = 3.0;
const CREATES_TO_POSTGRES_MIN: f64 = 1.0;
/// The memory beyond the cache.
const LOADED_MEMORY_MB_MAX: f64 = 200.0;
const IDLE_MEMORY_MB_MAX: f64 = 60.0;
const START_EMPTY_MS_MAX: f64 = 300.0;
const START_LOADED_MS_MAX: f64 = 1000.0;

/// The figures that have a target. None means that the suite did not measure this figure.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) connections: u16,
    pub(crate) items: u64,
    /// None if the server does not announce its cache.
    pub(crate) cache_bytes: Option<u64>,
    pub(crate) reads_to_bare: Option<f64>,
    pub(crate) creates_to_one_connection: Option<f64>,
    pub(crate) creates_to_postgres: Option<f64>,
    pub(crate) loaded_resident_bytes: Option<u64>,
    pub(crate) idle_resident_bytes: Option<u64>,
    pub(crate) start_empty_ms: Option<f64>,
    pub(crate) start_loaded_ms: Option<f64>,
}

/// One target with the measured figure.
#[derive(Clone, Debug, Serialize)]
pub struct TargetReport {
    pub name: String,
    pub wanted: String,
    pub measured: String,
    pub verdict: Verdict,
}

/// The comparison of a figure with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Pass,
    Fail,
    NotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::NotMeasured => "not measured",
        })
    }
}

impl Figures {
    /// Compares the figures with their targets.
    pub(crate) fn judge(&self) -> Vec<TargetReport> {
        let Self {
            connections, items, ..
        } = self;
        let megabytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / 1e6);
        // The target counts the cache, so it needs a server that announces its cache.
        let loaded = self.cache_bytes.and(self.loaded_resident_bytes);
        let cache_mb = megabytes(self.cache_bytes).unwrap_or_default();
        vec![
            ratio(
                "point reads / bare server",
                self.reads_to_bare,
                READS_TO_BARE_MIN,
            ),
            ratio(
                &format!("creates, {connections} connections / 1 connection"),
                self.creates_to_one_connection,
                CREATES_TO_ONE_CONNECTION_MIN,
            ),
            ratio(
                &format!("creates / PostgreSQL, {connections} connections"),
                self.creates_to_postgres,
                CREATES_TO_POSTGRES_MIN,
            ),
            limit(
                &format!("resident memory after loading {items} items"),
                megabytes(loaded),
                Limit::AtMost(cache_mb + LOADED_MEMORY_MB_MAX),
                "MB",
            ),
            limit(
                "resident memory, idle, empty directory",
                megabytes(self.idle_resident_bytes),
                Limit::Below(IDLE_MEMORY_MB_MAX),
                "MB",
            ),
            limit(
                "start, empty directory",
                self.start_empty_ms,
                Limit::Below(START_EMPTY_MS_MAX),
                "ms",
            ),
            limit(
                &format!("start, {items} items"),
                self.start_loaded_ms,
                Limit::Below(START_LOADED_MS_MAX),
                "ms",
            ),
        ]
    }
}

/// The upper limit of a figure.
#[derive(Clone, Copy)]
enum Limit {
    AtMost(f64),
    Below(f64),
}

/// A figure that must reach a value.
pub(crate) fn at_least(name: &str, measured: f64, least: f64) -> TargetReport {
    ratio(name, Some(measured), least)
}

/// A figure that must not exceed a value.
pub(crate) fn at_most(name: &str, measured: f64, most: f64) -> TargetReport {
    TargetReport {
        wanted: format!("<= {most:.2}"),
        verdict: verdict(Some(measured), |value| value <= most),
        ..ratio(name, Some(measured), most)
    }
}

/// A figure that must stay below a value.
pub(crate) fn below(name: &str, measured: f64, bound: f64) -> TargetReport {
    TargetReport {
        wanted: format!("< {bound:.2}"),
        verdict: verdict(Some(measured), |value| value < bound),
        ..ratio(name, Some(measured), bound)
    }
}

/// A target without a unit.
fn ratio(name: &str, measured: Option<f64>, least: f64) -> TargetReport {
    TargetReport {
        name: name.to_owned(),
        wanted: format!(">= {least:.2}"),
        measured: measured.map_or_else(String::new, |value| format!("{value:.2}")),
        verdict: verdict(measured, |value| value >= least),
    }
}

/// A target with a unit and an upper limit.
fn limit(name: &str, measured: Option<f64>, limit: Limit, unit: &str) -> TargetReport {
    TargetReport {
        name: name.to_owned(),
        wanted: match limit {
            Limit::AtMost(most) => format!("<= {most:.0} {unit}"),
            Limit::Below(bound) => format!("< {bound:.0} {unit}"),
        },
        measured: measured.map_or_else(String::new, |value| format!("{value:.1} {unit}")),
        verdict: verdict(measured, |value| match limit {
            Limit::AtMost(most) => value <= most,
            Limit::Below(bound) => value < bound,
        }),
    }
}

/// A figure that was not measured has no verdict, so that it does not look like a failure.
fn verdict(measured: Option<f64>, meets: impl Fn(f64) -> bool) -> Verdict {
    match measured {
        None => Verdict::NotMeasured,
        Some(value) if meets(value) => Verdict::Pass,
        Some(_) => Verdict::Fail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(figures: Figures) -> Vec<Verdict> {
        let targets = figures.judge();
        targets.into_iter().map(|target| target.verdict).collect()
    }

    #[test]
    fn bounds() {
        let met = Figures {
            connections: 16,
            items: 1_000_000,
            cache_bytes: Some(100_000_000),
            reads_to_bare: Some(0.6),
            creates_to_one_connection: Some(3.0),
            creates_to_postgres: Some(1.0),
            loaded_resident_bytes: Some(300_000_000),
            idle_resident_bytes: Some(59_999_999),
            start_empty_ms: Some(299.9),
            start_loaded_ms: Some(999.9),
        };
        assert_eq!(verdicts(met), [Verdict::Pass; 7]);
        let missed = Figures {
            reads_to_bare: Some(0.599),
            creates_to_one_connection: Some(2.99),
            creates_to_postgres: Some(0.99),
            loaded_resident_bytes: Some(300_000_001),
            idle_resident_bytes: Some(60_000_000),
            start_empty_ms: Some(300.0),
            start_loaded_ms: Some(1000.0),
            ..met
        };
        assert_eq!(verdicts(missed), [Verdict::Fail; 7]);
        assert_eq!(verdicts(Figures::default()), [Verdict::NotMeasured; 7]);
    }

    #[test]
    fn bounds_from_above_and_below() {
        for (target, wanted, expected) in [
            (at_least("t", 0.5, 0.5), ">= 0.50", Verdict::Pass),
            (at_least("t", 0.49, 0.5), ">= 0.50", Verdict::Fail),
            (at_most("t", 3.0, 3.0), "<= 3.00", Verdict::Pass),
            (at_most("t", 3.1, 3.0), "<= 3.00", Verdict::Fail),
            (below("t", 1.9, 2.0), "< 2.00", Verdict::Pass),
            (below("t", 2.0, 2.0), "< 2.00", Verdict::Fail),
        ] {
            assert_eq!((target.wanted.as_str(), target.verdict), (wanted, expected));
        }
    }
}
