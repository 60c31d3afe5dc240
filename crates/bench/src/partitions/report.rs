//! The figures of the partitions workload, and their targets.

use serde::Serialize;

use crate::machine::Machine;
use crate::server::ServerSettings;
use crate::targets::{TargetReport, at_least, at_most, below};

const FEED_PER_SECOND_MIN: f64 = 100_000.0;
const MOVING_TO_QUIET_P99_MAX: f64 = 3.0;
const SPLIT_MS_MAX: f64 = 1000.0;
const CHARGED_TO_FREE_MIN: f64 = 0.97;
const MANY_TO_FEW_READS_MIN: f64 = 0.9;
const BUDGET_ERROR_MAX: f64 = 0.05;

#[derive(Clone, Debug, Serialize)]
pub struct PartitionsReport {
    pub command_line: String,
    pub date: Option<String>,
    pub machine: Machine,
    pub settings: ServerSettings,
    pub value_bytes: usize,
    pub rounds: u16,
    pub targets: Vec<TargetReport>,
    pub big: BigReport,
    #[serde(rename = "living")]
    pub repartitioning: RepartitioningReport,
    pub budgets: BudgetReport,
    pub keys: KeysReport,
    pub throttle: ThrottleReport,
}

/// One partition, split and merged again in every round. Figures are medians unless their name says
/// otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct BigReport {
    pub items: u64,
    /// The length of the JSON text of all items.
    pub bytes: u64,
    /// Items a second of the whole change feed, read as one range.
    pub feed_one_per_second: f64,
    /// Items a second of the whole change feed, read as two ranges on two connections.
    pub feed_two_per_second: f64,
    pub split_ms: f64,
    pub split_ms_max: f64,
    /// Milliseconds from the answer to a split until the child partitions were counted.
    pub count_ms: f64,
    pub merge_ms: f64,
    pub merge_ms_max: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct RepartitioningReport {
    pub connections: u16,
    pub splits: u64,
    pub merges: u64,
    /// The slowest split or merge.
    pub slowest_ms: f64,
    /// Operations of both sides that did not succeed.
    pub failures: u64,
    pub quiet: LatencyReport,
    pub moving: LatencyReport,
    pub p99_ratio: f64,
    pub p99_ratios: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct LatencyReport {
    pub per_second: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct BudgetReport {
    pub connections: u16,
    /// Charged reads, and reads of a server without budgets.
    pub reads: PairReport,
}

/// The rates of two sides that took turns.
#[derive(Clone, Debug, Serialize)]
pub struct PairReport {
    pub per_second: f64,
    pub other_per_second: f64,
    /// The median of the ratios of the rounds.
    pub ratio: f64,
    pub ratios: Vec<f64>,
}

/// A container with many logical partitions, and a container with few.
#[derive(Clone, Debug, Serialize)]
pub struct KeysReport {
    pub items: u64,
    pub keys: u64,
    pub few_keys: u64,
    pub reads: PairReport,
    /// Queries of one item by its id within its logical partition.
    pub queries: PairReport,
    pub creates: PairReport,
}

#[derive(Clone, Debug, Serialize)]
pub struct ThrottleReport {
    pub connections: u16,
    /// The budget in request units a second.
    pub budget: u32,
    pub seconds: f64,
    pub admitted: u64,
    pub refused: u64,
    /// The request units of the admitted requests.
    pub charge: f64,
    /// The charge as a fraction of the request units that the budget allows in the time.
    pub used: f64,
}

pub(super) fn judge(
    big: &BigReport,
    repartitioning: &RepartitioningReport,
    budgets: &BudgetReport,
    keys: &KeysReport,
    throttle: &ThrottleReport,
) -> Vec<TargetReport> {
    vec![
        at_least(
            "change feed, one range, items a second",
            big.feed_one_per_second,
            FEED_PER_SECOND_MIN,
        ),
        at_least(
            "change feed, two ranges, items a second",
            big.feed_two_per_second,
            FEED_PER_SECOND_MIN,
        ),
        below(
            "slowest split, milliseconds",
            big.split_ms_max,
            SPLIT_MS_MAX,
        ),
        at_most(
            "p99 while partitions are split and merged / p99 without",
            repartitioning.p99_ratio,
            MOVING_TO_QUIET_P99_MAX,
        ),
        at_most(
            "operations that failed meanwhile",
            repartitioning.failures as f64,
            0.0,
        ),
        at_least(
            "point reads, charged / nothing counted",
            budgets.reads.ratio,
            CHARGED_TO_FREE_MIN,
        ),
        at_least(
            &format!("point reads, {} keys / {}", keys.keys, keys.few_keys),
            keys.reads.ratio,
            MANY_TO_FEW_READS_MIN,
        ),
        at_most(
            "admitted beyond or below the budget, as a part of it",
            (throttle.used - 1.0).abs(),
            BUDGET_ERROR_MAX,
        ),
    ]
}
