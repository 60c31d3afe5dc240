//! The results of one run of the query suite.

use std::collections::BTreeMap;

use serde::Serialize;

use super::case::Case;
use super::postgres::PostgresLoad;
use super::slice::SliceFigures;
use crate::machine::Machine;
use crate::median::median;
use crate::server::ServerSettings;

/// The report. `Display` writes a Markdown document (`markdown`), `Serialize` all figures.
#[derive(Clone, Debug, Serialize)]
pub struct QueryReport {
    pub command_line: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    pub machine: Machine,
    pub settings: ServerSettings,
    pub items: u64,
    /// The number of items of the small container.
    pub few_items: u64,
    pub value_bytes: usize,
    pub threads: u16,
    pub slice_seconds: f64,
    pub indexed: BulkReport,
    pub unindexed: BulkReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres: Option<PostgresLoad>,
    /// Why `PostgreSQL` was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres_skipped: Option<String>,
    pub cases: Vec<CaseReport>,
    pub metrics: Vec<MetricsReport>,
    pub compiles: Vec<CompileReport>,
    pub resident_bytes: Option<u64>,
    pub seconds: f64,
}

/// A durable load of all documents.
#[derive(Clone, Debug, Serialize)]
pub struct BulkReport {
    pub seconds: f64,
    pub items_per_second: f64,
    /// The size of the server's folder after its background work has ended.
    pub disk_bytes: u64,
    pub disk_bytes_per_json_byte: f64,
}

/// One query on a number of connections.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    pub case: Case,
    pub query: &'static str,
    pub connections: u16,
    /// The refusal that ended the rounds early, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    pub rounds: Vec<RoundReport>,
    /// The median of the rounds, or zero without a round.
    pub per_second: f64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub pages_per_query: f64,
    /// The size of all documents of the container times the rate of queries: the rate of a scan.
    pub document_megabytes_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub few_per_second: Option<f64>,
    /// The rate over all items divided by the rate over few items; the median of the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_few: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres_document_megabytes_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres_mean_ms: Option<f64>,
    /// The rate of the server divided by the rate of `PostgreSQL`; the median of the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_postgres: Option<f64>,
}

/// One round, with one slice of each side.
#[derive(Clone, Debug, Serialize)]
pub struct RoundReport {
    pub server: SliceFigures,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub few: Option<SliceFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres: Option<PostgresFigures>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct PostgresFigures {
    pub per_second: f64,
    pub mean_ms: f64,
}

/// The cost of one query by the server's own metrics.
#[derive(Clone, Debug, Serialize)]
pub struct MetricsReport {
    pub case: Case,
    pub items: u64,
    pub rows: u64,
    pub pages: u64,
    pub charge: f64,
    /// The metrics by name. Empty if the server sends none.
    pub metrics: BTreeMap<String, f64>,
}

/// The time of a query before it reads data.
#[derive(Clone, Debug, Serialize)]
pub struct CompileReport {
    pub case: Case,
    /// The median of the server's metrics, for query texts that the server has not cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_new_us: Option<f64>,
    /// The median of the server's metrics, for one text with new parameters each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_us: Option<f64>,
}

impl QueryReport {
    /// The loading time with the index divided by the loading time without it.
    pub(crate) fn index_time_ratio(&self) -> f64 {
        self.indexed.seconds / self.unindexed.seconds
    }
}

impl CaseReport {
    pub(crate) fn new(
        case: Case,
        connections: u16,
        json_bytes: u64,
        rounds: Vec<RoundReport>,
    ) -> Self {
        // The median of a figure of the server, which every round has.
        let of = |figure: fn(&SliceFigures) -> f64| {
            let values: Vec<_> = rounds.iter().map(|round| figure(&round.server)).collect();
            if values.is_empty() {
                0.0
            } else {
                median(&values)
            }
        };
        // The median of a figure that some rounds may lack.
        let all = |figure: &dyn Fn(&RoundReport) -> Option<f64>| {
            let values: Option<Vec<_>> = rounds.iter().map(figure).collect();
            // A figure without a value in one round has no median.
            values
                .filter(|values| !values.is_empty())
                .map(|values| median(&values))
        };
        let per_second = of(|figures| figures.per_second);
        let postgres_per_second = all(&|round| Some(round.postgres?.per_second));
        let megabytes = |per_second: f64| per_second * json_bytes as f64 / 1e6;
        Self {
            case,
            query: case.text(),
            connections,
            refused: None,
            per_second,
            mean_ms: of(|figures| figures.mean_ms),
            p50_ms: of(|figures| figures.p50_ms),
            p99_ms: of(|figures| figures.p99_ms),
            pages_per_query: of(|figures| figures.pages_per_query),
            document_megabytes_per_second: megabytes(per_second),
            few_per_second: all(&|round| Some(round.few?.per_second)),
            to_few: all(&|round| Some(round.server.per_second / round.few?.per_second)),
            postgres_per_second,
            postgres_document_megabytes_per_second: postgres_per_second.map(megabytes),
            postgres_mean_ms: all(&|round| Some(round.postgres?.mean_ms)),
            to_postgres: all(&|round| Some(round.server.per_second / round.postgres?.per_second)),
            rounds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_rounds() {
        let figures = |per_second| SliceFigures {
            queries: 1,
            per_second,
            mean_ms: 1.0,
            p50_ms: 1.0,
            p99_ms: 1.0,
            pages_per_query: 1.0,
            received_bytes_per_second: 1.0,
        };
        let round = |server, postgres: Option<f64>| RoundReport {
            server: figures(server),
            few: None,
            postgres: postgres.map(|per_second| PostgresFigures {
                per_second,
                mean_ms: 1.0,
            }),
        };
        let rounds = vec![
            round(10.0, Some(20.0)),
            round(30.0, Some(10.0)),
            round(20.0, Some(20.0)),
        ];
        let report = CaseReport::new(Case::Scan, 1, 2_000_000, rounds);
        let text = format!(
            "{:?} {:?} {:?} {:?}",
            report.per_second,
            report.document_megabytes_per_second,
            report.to_postgres,
            report.to_few
        );
        assert_eq!(text, "20.0 40.0 Some(1.0) None");
    }
}
