//! The counters of one client thread.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::driver::THROTTLED;
use crate::operation::OperationKind;

/// The largest latency of the histogram. A slower operation counts as this slow.
const LATENCY_NS_MAX: u64 = 120_000_000_000;

/// The counters of one kind of operation. Latencies are those of successful operations, from the
/// first byte sent to the last byte received, with the waits after 429.
#[derive(Clone)]
pub(crate) struct KindStatistics {
    pub(crate) latency_ns: Histogram<u64>,
    pub(crate) errors: BTreeMap<u16, u64>,
    pub(crate) throttled: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) charge: f64,
}

/// The first answer without success.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: OperationKind,
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// The counters of all kinds, and the first failure.
#[derive(Clone, Default)]
pub(crate) struct Statistics {
    pub(crate) kinds: BTreeMap<OperationKind, KindStatistics>,
    pub(crate) first_failure: Option<Failure>,
}

/// The outcome of one operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// The status, or 0 if the connection failed before an answer.
    pub(crate) status: u16,
    pub(crate) throttled: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) charge: f64,
}

impl Outcome {
    /// Returns whether the status is one of success.
    pub(crate) fn is_success(self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl KindStatistics {
    fn new() -> Self {
        Self {
            latency_ns: Histogram::new_with_max(LATENCY_NS_MAX, 3).expect("the bounds are valid"),
            errors: BTreeMap::new(),
            throttled: 0,
            sent_bytes: 0,
            received_bytes: 0,
            charge: 0.0,
        }
    }

    fn add(&mut self, other: &Self) {
        self.latency_ns
            .add(&other.latency_ns)
            // Threads have histograms of their own, so that recording needs no lock.
            .expect("all histograms have the same bounds");
        for (status, count) in &other.errors {
            *self.errors.entry(*status).or_default() += count;
        }
        self.throttled += other.throttled;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.charge += other.charge;
    }
}

impl Statistics {
    /// Counts an operation.
    pub(crate) fn record(&mut self, kind: OperationKind, outcome: Outcome, latency: Duration) {
        let counts = self.kinds.entry(kind).or_insert_with(KindStatistics::new);
        if outcome.is_success() {
            let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
            // Failed operations have no latency, since a quick failure would look like speed.
            counts.latency_ns.saturating_record(nanoseconds);
        // A throttled operation is not an error of the server; it is counted apart.
        } else if outcome.status != THROTTLED {
            *counts.errors.entry(outcome.status).or_default() += 1;
        }
        counts.throttled += outcome.throttled;
        counts.sent_bytes += outcome.sent_bytes;
        counts.received_bytes += outcome.received_bytes;
        counts.charge += outcome.charge;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (kind, counts) in &other.kinds {
            self.kinds
                .entry(*kind)
                .or_insert_with(KindStatistics::new)
                .add(counts);
        }
        if self.first_failure.is_none() {
            // One failure is enough to find the cause.
            self.first_failure.clone_from(&other.first_failure);
        }
    }

    /// The number of successful operations of all kinds.
    pub(crate) fn successes(&self) -> u64 {
        self.kinds
            .values()
            .map(|counts| counts.latency_ns.len())
            .sum()
    }

    /// The number of errors with this status.
    pub(crate) fn errors_with(&self, status: u16) -> u64 {
        self.kinds
            .values()
            .filter_map(|counts| counts.errors.get(&status))
            .sum()
    }

    /// The number of errors of all kinds and statuses.
    pub(crate) fn errors(&self) -> u64 {
        self.kinds
            .values()
            .flat_map(|counts| counts.errors.values())
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up() {
        let mut one = Statistics::default();
        let success = Outcome {
            status: 200,
            charge: 1.5,
            received_bytes: 10,
            ..Outcome::default()
        };
        one.record(OperationKind::Read, success, Duration::from_micros(100));
        let mut two = one.clone();
        let missing = Outcome {
            status: 404,
            throttled: 2,
            ..Outcome::default()
        };
        two.record(OperationKind::Read, missing, Duration::from_micros(1));
        one.add(&two);

        let read = &one.kinds[&OperationKind::Read];
        assert_eq!(
            (one.successes(), one.errors(), one.errors_with(404)),
            (2, 1, 1)
        );
        assert_eq!((read.throttled, read.received_bytes), (2, 20));
        assert!((read.charge - 3.0).abs() < 1e-9);
        assert_eq!(read.latency_ns.max() / 1000, 100);
    }
}
