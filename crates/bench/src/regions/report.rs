//! What the regions workload found, and what was wanted.

use serde::Serialize;

use super::spread::SpreadReport;
use crate::machine::Machine;
use crate::partitions::PairReport;
use crate::server::ServerSettings;
use crate::targets::{TargetReport, at_least, at_most, below};

const LAG_MS_MAX: f64 = 10.0;
const CATCH_UP_PER_SECOND_MIN: f64 = 20_000.0;
const STRONG_OVERHEAD_MS_MAX: f64 = 2.0;
const REGIONAL_TO_ALONE_MIN: f64 = 0.9;

/// Parts that were not asked for are missing.
#[derive(Clone, Debug, Serialize)]
pub struct RegionsReport {
    pub command_line: String,
    pub date: Option<String>,
    pub machine: Machine,
    pub settings: ServerSettings,
    pub value_bytes: usize,
    pub rounds: u16,
    pub targets: Vec<TargetReport>,
    pub lag: Option<LagReport>,
    pub catch_up: Option<CatchUpReport>,
    pub strong: Vec<StrongReport>,
    pub local: Vec<LocalReport>,
    pub failover: Option<FailoverReport>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LagReport {
    pub wanted_per_second: u32,
    /// What the writers came to.
    pub writes_per_second: f64,
    pub connections: u16,
    /// Of the items that are then looked for.
    pub create: SpreadReport,
    /// The same under the same load in an account of one region.
    pub alone: SpreadReport,
    /// From the acknowledgement until the item was read in the other region.
    pub lag: SpreadReport,
    /// What operators are told that the other region lacks.
    pub link: SpreadReport,
    /// The most that the other region can be behind, as it tells operators.
    pub bound: SpreadReport,
    pub link_records_max: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct CatchUpReport {
    pub records: u64,
    pub seconds: f64,
    pub per_second: f64,
    /// What the region was asked for beside.
    pub reads_per_second: u32,
    pub readers: u16,
    /// Reads before the region caught up.
    pub quiet: SpreadReport,
    pub meanwhile: SpreadReport,
}

/// At one delay of the links.
#[derive(Clone, Debug, Serialize)]
pub struct StrongReport {
    pub delay_ms: u64,
    /// The delay there and back.
    pub round_trip_ms: f64,
    /// Strong reads in the other region.
    pub read: SpreadReport,
    /// On one connection.
    pub one: SpreadReport,
    pub connections: u16,
    pub many_per_second: f64,
    pub many: SpreadReport,
}

/// Where all regions write, beside an account of one region.
#[derive(Clone, Debug, Serialize)]
pub struct LocalReport {
    pub operation: &'static str,
    pub connections: u16,
    /// Whether each region has what it needs, so that the account of one region is its measure.
    pub is_judged: bool,
    pub rates: PairReport,
}

#[derive(Clone, Debug, Serialize)]
pub struct FailoverReport {
    pub regions: usize,
    /// By an order that loses nothing.
    pub planned: PauseReport,
    /// By an order after the write region went away.
    pub forced: PauseReport,
    /// By the regions that are left.
    pub voted: PauseReport,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct PauseReport {
    /// Between the last write of one region and the first of another.
    pub pause: SpreadReport,
    /// Until the last order was answered.
    pub order: SpreadReport,
}

impl StrongReport {
    /// Beyond the round trip, at the median and for the slowest hundredth.
    pub(super) fn overhead_ms(&self) -> [f64; 2] {
        [self.one.p50_ms, self.one.p99_ms].map(|time| time - self.round_trip_ms)
    }
}

impl RegionsReport {
    pub(super) fn judge(&self) -> Vec<TargetReport> {
        let mut targets = Vec::new();
        if let Some(LagReport { lag, .. }) = &self.lag {
            for (name, figure) in [("median", lag.p50_ms), ("p95", lag.p95_ms)] {
                let name = format!("lag of another region, {name}, milliseconds");
                targets.push(below(&name, figure, LAG_MS_MAX));
            }
        }
        if let Some(catch_up) = &self.catch_up {
            targets.push(at_least(
                "catching up, records a second",
                catch_up.per_second,
                CATCH_UP_PER_SECOND_MIN,
            ));
        }
        for strong in self.strong.iter().filter(|strong| strong.delay_ms > 0) {
            let [p50, _] = strong.overhead_ms();
            let name = format!(
                "strong write beyond twice the delay, {} ms, median, milliseconds",
                strong.delay_ms
            );
            targets.push(at_most(&name, p50, STRONG_OVERHEAD_MS_MAX));
        }
        for local in self.local.iter().filter(|local| local.is_judged) {
            let connections = match local.connections {
                1 => "1 connection".to_owned(),
                many => format!("{many} connections"),
            };
            let name = format!(
                "{}, {connections}, all regions write / one region",
                local.operation
            );
            targets.push(at_least(&name, local.rates.ratio, REGIONAL_TO_ALONE_MIN));
        }
        targets
    }
}
