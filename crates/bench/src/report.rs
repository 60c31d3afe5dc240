//! The results of a run, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::driver::Measurement;
use crate::operation::OperationKind;
use crate::options::Workload;
use crate::partitions::PartitionsReport;
use crate::postgres::PostgresReport;
use crate::query::{OrderedReport, QueryReport};
use crate::regions::RegionsReport;
use crate::scripts::ScriptReport;
use crate::server::ServerReport;
use crate::start::StartReport;
use crate::statistics::KindStatistics;
use crate::suite_report::SuiteReport;

/// The result of a run. `Display` writes a table, `Serialize` a JSON document.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub workload: Workload,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    pub items: u64,
    pub value_bytes: usize,
    pub threads: u16,
    pub seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadReport>,
    pub slices: Vec<SliceReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<RatioReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres: Option<PostgresReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<StartReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<Box<SuiteReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<Box<QueryReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordered: Option<Box<OrderedReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scripts: Option<Box<ScriptReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<Box<PartitionsReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regions: Option<Box<RegionsReport>>,
    /// The figures of the server process, if the driver started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<FailureReport>,
}

/// The time of loading the items.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    pub created: u64,
    pub existing: u64,
    pub seconds: f64,
    pub per_second: f64,
}

/// One measurement without interruption.
#[derive(Clone, Debug, Serialize)]
pub struct SliceReport {
    pub name: String,
    pub connections: u16,
    pub seconds: f64,
    /// Successful operations of all kinds, per second.
    pub per_second: f64,
    pub operations: Vec<OperationReport>,
}

/// One kind of operation within a slice.
#[derive(Clone, Debug, Serialize)]
pub struct OperationReport {
    pub operation: &'static str,
    /// The number of successful operations.
    pub count: u64,
    pub per_second: f64,
    pub mean_us: f64,
    pub p50_us: f64,
    pub p90_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
    /// The other answers, by status. Status 0 counts lost connections.
    pub errors: BTreeMap<u16, u64>,
    /// The answers with 429. A pause and another attempt follow each of them, except in a flood.
    pub throttled: u64,
    pub sent_bytes_per_second: f64,
    pub received_bytes_per_second: f64,
    pub request_charge: f64,
}

/// The rate of one side of a comparison divided by the rate of the other.
#[derive(Clone, Debug, Serialize)]
pub struct RatioReport {
    pub of: String,
    pub to: String,
    /// The median of the rounds.
    pub value: f64,
    pub rounds: Vec<f64>,
}

/// The first operation that failed, as an example for the others.
#[derive(Clone, Debug, Serialize)]
pub struct FailureReport {
    pub operation: &'static str,
    pub status: u16,
    pub body: String,
}

impl LoadReport {
    /// The items of the container after the load.
    pub(crate) fn items(&self) -> u64 {
        self.created + self.existing
    }
}

impl Report {
    /// Whether every operation succeeded, apart from throttled ones.
    pub fn is_clean(&self) -> bool {
        self.slices
            .iter()
            .flat_map(|slice| &slice.operations)
            // Throttled operations are not among the errors.
            .all(|o| o.errors.is_empty())
    }

    /// Adds a slice to the report.
    pub(crate) fn push(&mut self, name: impl Into<String>, measured: &Measurement) {
        self.slices.push(SliceReport::new(name.into(), measured));
        // Only the first failure is reported; later ones usually have the same cause.
        if let (None, Some(failure)) = (&self.first_failure, &measured.statistics.first_failure) {
            let (operation, status) = (failure.kind.name(), failure.status);
            self.first_failure = Some(FailureReport {
                operation,
                status,
                body: failure.body.clone(),
            });
        }
    }
}

impl SliceReport {
    fn new(name: String, measured: &Measurement) -> Self {
        let seconds = measured.elapsed.as_secs_f64();
        let operations = OperationKind::ALL
            .into_iter()
            .filter_map(|kind| {
                // A kind that the mix does not contain has no row.
                let counts = measured.statistics.kinds.get(&kind)?;
                Some(OperationReport::new(kind, counts, seconds))
            })
            .collect();
        let (connections, per_second) = (measured.connections, measured.per_second());
        Self {
            name,
            connections,
            seconds,
            per_second,
            operations,
        }
    }
}

impl OperationReport {
    fn new(kind: OperationKind, counts: &KindStatistics, seconds: f64) -> Self {
        let latency = &counts.latency_ns;
        let quantile_us = |quantile| latency.value_at_quantile(quantile) as f64 / 1000.0;
        Self {
            operation: kind.name(),
            count: latency.len(),
            per_second: latency.len() as f64 / seconds,
            mean_us: latency.mean() / 1000.0,
            p50_us: quantile_us(0.5),
            p90_us: quantile_us(0.9),
            p99_us: quantile_us(0.99),
            p999_us: quantile_us(0.999),
            max_us: latency.max() as f64 / 1000.0,
            errors: counts.errors.clone(),
            throttled: counts.throttled,
            sent_bytes_per_second: counts.sent_bytes as f64 / seconds,
            received_bytes_per_second: counts.received_bytes as f64 / seconds,
            request_charge: counts.charge,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(load) = &self.load {
            writeln!(
                f,
                "loaded {} items of {} bytes in {:.1} s ({:.0}/s), {} were there",
                load.created, self.value_bytes, load.seconds, load.per_second, load.existing
            )?;
        }
        if !self.slices.is_empty() {
            writeln!(
                f,
                "{:<14} {:<17} {:>4} {:>10} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>7} {:>7} {:>9} {:>11}",
                "slice",
                "operation",
                "conn",
                "count",
                "ops/s",
                "mean us",
                "p50",
                "p90",
                "p99",
                "p99.9",
                "max",
                "errors",
                "429",
                "MB/s in",
                "charge"
            )?;
        }
        for slice in &self.slices {
            for row in &slice.operations {
                writeln!(
                    f,
                    "{:<14} {:<17} {:>4} {:>10} {:>9.0} {:>8.0} {:>8.0} {:>8.0} {:>8.0} {:>8.0} {:>9.0} {:>7} {:>7} {:>9.1} {:>11.0}",
                    slice.name,
                    row.operation,
                    slice.connections,
                    row.count,
                    row.per_second,
                    row.mean_us,
                    row.p50_us,
                    row.p90_us,
                    row.p99_us,
                    row.p999_us,
                    row.max_us,
                    row.errors.values().sum::<u64>(),
                    row.throttled,
                    row.received_bytes_per_second / 1e6,
                    row.request_charge
                )?;
                // A separate line lists the error count per status.
                if !row.errors.is_empty() {
                    writeln!(f, "{:<14} {:<17} by status: {:?}", "", "", row.errors)?;
                }
            }
        }
        if let Some(ratio) = &self.ratio {
            let rounds: Vec<_> = ratio
                .rounds
                .iter()
                .map(|round| format!("{round:.2}"))
                .collect();
            writeln!(
                f,
                "{} / {} = {:.2} (rounds: {})",
                ratio.of,
                ratio.to,
                ratio.value,
                rounds.join(", ")
            )?;
        }
        if let Some(postgres) = &self.postgres {
            writeln!(f, "{postgres}")?;
        }
        if let Some(start) = &self.start {
            write!(f, "{start}")?;
        }
        if let Some(suite) = &self.suite {
            write!(f, "{suite}")?;
        }
        if let Some(queries) = &self.queries {
            write!(f, "{queries}")?;
        }
        if let Some(ordered) = &self.ordered {
            write!(f, "{ordered}")?;
        }
        if let Some(scripts) = &self.scripts {
            write!(f, "{scripts}")?;
        }
        if let Some(partitions) = &self.partitions {
            write!(f, "{partitions}")?;
        }
        if let Some(regions) = &self.regions {
            write!(f, "{regions}")?;
        }
        if let Some(server) = &self.server {
            writeln!(f, "{server}")?;
        }
        if let Some(failure) = &self.first_failure {
            let FailureReport {
                operation,
                status,
                body,
            } = failure;
            writeln!(f, "first failure: {operation} answered {status}: {body}")?;
        }
        // In the overload workload throttling is the purpose.
        if self
            .slices
            .iter()
            .flat_map(|slice| &slice.operations)
            .any(|row| row.throttled > 0)
            && self.workload != Workload::Overload
        {
            writeln!(
                f,
                "the container was throttled: raise --throughput to measure the server"
            )?;
        }
        Ok(())
    }
}
