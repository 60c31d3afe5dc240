//! Counts of what the server answered, for `GET /metrics`.
//!
//! Every count is an atomic number in a table of fixed size: one request costs a few additions, and
//! no client can make the answer grow. Figures of partitions are read from the partitions
//! themselves when somebody asks.

mod operation;
mod page;
mod regions;
mod text;
mod use_of_process;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use orrery_model::Charge;

pub(crate) use operation::Operation;
pub(crate) use regions::text as regions_text;
pub(crate) use text::text;

/// Statuses that are counted apart; the last place is for any other.
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
    operations: [OperationMetrics; Operation::ALL.len()],
}

#[derive(Default)]
struct OperationMetrics {
    statuses: [AtomicU64; STATUSES.len() + 1],
    /// Hundredths of a request unit.
    charge: AtomicU64,
    /// Not cumulative; the last place is for what took longest.
    latencies: [AtomicU64; LATENCIES_US.len() + 1],
    latency_us: AtomicU64,
}

impl Metrics {
    pub(crate) fn count(
        &self,
        operation: Operation,
        status: u16,
        charge: Charge,
        elapsed: Duration,
    ) {
        let metrics = self.of(operation);
        let place = STATUSES.iter().position(|known| *known == status);
        add(&metrics.statuses[place.unwrap_or(STATUSES.len())], 1);
        add(&metrics.charge, charge.hundredths());
        let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let place = LATENCIES_US.partition_point(|bound| *bound < elapsed_us);
        add(&metrics.latencies[place], 1);
        add(&metrics.latency_us, elapsed_us);
    }

    fn of(&self, operation: Operation) -> &OperationMetrics {
        &self.operations[operation as usize]
    }
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
