//! The results of the regions workload, and their targets.

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

/// The report. Parts that the options leave out are missing.
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
    /// The rate that the writers reached.
    pub writes_per_second: f64,
    pub connections: u16,
    /// The time to create the probes.
    pub create: SpreadReport,
    /// The time to create probes under the same load in an account of one region.
    pub alone: SpreadReport,
    /// The time from the acknowledgement of a probe to its first read in the other region.
    pub lag: SpreadReport,
    /// The lag of the link, as the server reports it to operators.
    pub link: SpreadReport,
    /// The upper limit on the lag of the other region, as that region reports it to operators.
    pub bound: SpreadReport,
    pub link_records_max: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct CatchUpReport {
    pub records: u64,
    pub seconds: f64,
    pub per_second: f64,
    /// The rate of reads that the region serves during the measurement.
    pub reads_per_second: u32,
    pub readers: u16,
    /// The reads before the region caught up.
    pub quiet: SpreadReport,
    pub meanwhile: SpreadReport,
}

/// Writes at one delay of the links.
#[derive(Clone, Debug, Serialize)]
pub struct StrongReport {
    pub delay_ms: u64,
    /// Twice the delay.
    pub round_trip_ms: f64,
    /// Strong reads in the other region.
    pub read: SpreadReport,
    /// Writes on one connection.
    pub one: SpreadReport,
    pub connections: u16,
    pub many_per_second: f64,
    pub many: SpreadReport,
}

/// An account where all regions write, compared with an account of one region.
#[derive(Clone, Debug, Serialize)]
pub struct LocalReport {
    pub operation: &'static str,
    pub connections: u16,
    /// Whether the ratio has a target: only where each region has enough of the machine.
    pub is_judged: bool,
    pub rates: PairReport,
}

#[derive(Clone, Debug, Serialize)]
pub struct FailoverReport {
    pub regions: usize,
    /// Failovers by an order that loses nothing.
    pub planned: PauseReport,
    /// Failovers by an order after the write region went down.
    pub forced: PauseReport,
    /// Failovers by a vote of the remaining regions.
    pub voted: PauseReport,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct PauseReport {
    /// The time between the last write of the old write region and the first of the new one.
    pub pause: SpreadReport,
    /// The time until the answer to the last order.
    pub order: SpreadReport,
}

impl StrongReport {
    /// The time beyond the round trip: the median, and the 99th percentile.
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
        // Without a delay the figure is the speed of one machine and has no target.
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
