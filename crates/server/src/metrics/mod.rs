//! Counts of the server's answers, for `GET /metrics`.
//!
//! Every count is an atomic number in a table of fixed size, so one request costs a few additions,
//! and no client can make the answer grow. Figures of partitions are read from the partitions
//! themselves when a client asks for the metrics.

mod page;
mod process_usage;
mod regions;
mod request_kind;
mod store;
mod text;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use orrery_model::Charge;

pub(crate) use regions::text as regions_text;
pub(crate) use request_kind::RequestKind;
pub(crate) use text::text;

/// Statuses with a counter of their own; one more counter covers every other status.
const STATUSES: [u16; 20] = [
    200, 201, 204, 207, 304, 400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 424, 429, 449, 500,
    503,
];
/// Upper bounds of latencies, in microseconds.
const LATENCIES_US: [u64; 14] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 5_000_000,
];

#[derive(Default)]
pub(crate) struct Metrics {
    operations: [OperationMetrics; RequestKind::ALL.len()],
}

#[derive(Default)]
struct OperationMetrics {
    statuses: [AtomicU64; STATUSES.len() + 1],
    /// The sum of charges, in hundredths of a request unit.
    charge: AtomicU64,
    /// Counts by latency, not cumulative. The last count covers latencies above the largest bound.
    latencies: [AtomicU64; LATENCIES_US.len() + 1],
    latency_us: AtomicU64,
}

impl Metrics {
    /// Counts one answered request.
    pub(crate) fn count(
        &self,
        operation: RequestKind,
        status: u16,
        charge: Charge,
        elapsed: Duration,
    ) {
        let metrics = self.of(operation);
        let index = STATUSES.iter().position(|known| *known == status);
        add(&metrics.statuses[index.unwrap_or(STATUSES.len())], 1);
        add(&metrics.charge, charge.hundredths());
        let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        // The counts are not cumulative, so one request increments one count; the page adds them
        // up.
        let index = LATENCIES_US.partition_point(|bound| *bound < elapsed_us);
        add(&metrics.latencies[index], 1);
        add(&metrics.latency_us, elapsed_us);
    }

    fn of(&self, operation: RequestKind) -> &OperationMetrics {
        &self.operations[operation as usize]
    }
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
