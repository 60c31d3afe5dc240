//! The counts in the text format of Prometheus.

use orrery_account::AccountReport;
use orrery_engine::Engine;

use super::page::Page;
use super::{LATENCIES_US, Metrics, RequestKind, STATUSES, get, process_usage, regions, store};
use crate::Governor;
use crate::direct::DirectCounts;

/// The number of physical partitions with lines of their own. A separate figure counts all
/// partitions.
const PARTITIONS_MAX: usize = 1_000;

/// Writes all metrics. `report` is None for an account without regions.
pub(crate) fn text(
    metrics: &Metrics,
    direct: &DirectCounts,
    governor: &Governor,
    engine: &Engine,
    report: Option<&AccountReport>,
) -> String {
    let mut page = Page::default();
    requests(&mut page, metrics);
    latencies(&mut page, metrics);
    for (name, help, count) in direct.figures() {
        page.family(name, "counter", help);
        page.line(&[], count);
    }
    process_usage::write(&mut page, governor);
    queries(&mut page, engine);
    scripts(&mut page, engine);
    partitions(&mut page, engine);
    store::write(&mut page, engine);
    if let Some(report) = report {
        regions::write(&mut page, report);
    }
    page.text
}

/// The script threads whose script overran its time limit.
fn scripts(page: &mut Page, engine: &Engine) {
    let abandoned = engine.abandoned_script_threads();
    page.family(
        "orrery_script_threads_lost",
        "gauge",
        "Threads whose script was given up and that are not back yet.",
    );
    page.line(&[], abandoned.now as f64);
    page.family(
        "orrery_script_threads_lost_total",
        "counter",
        "Threads whose script was given up since the start.",
    );
    page.line(&[], abandoned.ever as f64);
}

/// The requests and their charge by kind.
fn requests(page: &mut Page, metrics: &Metrics) {
    page.family(
        "orrery_requests_total",
        "counter",
        "Requests answered, by kind and status.",
    );
    for operation in RequestKind::ALL {
        // A combination that never occurred has no line, which keeps the page short.
        let statuses = metrics.of(operation).statuses.iter().enumerate();
        for (index, counter) in statuses.filter(|(_, counter)| get(counter) > 0) {
            let known = STATUSES.get(index);
            let status = known.map_or_else(|| "other".to_owned(), ToString::to_string);
            page.line(
                &[("operation", operation.name()), ("status", &status)],
                get(counter),
            );
        }
    }
    page.family(
        "orrery_request_charge_total",
        "counter",
        "Request units that answers named, by kind.",
    );
    for operation in RequestKind::ALL {
        let charge = get(&metrics.of(operation).charge);
        if charge > 0 {
            page.line(&[("operation", operation.name())], charge as f64 / 100.0);
        }
    }
}

/// The histogram of latencies of each kind that has occurred.
fn latencies(page: &mut Page, metrics: &Metrics) {
    let name = "orrery_request_duration_seconds";
    page.family(
        name,
        "histogram",
        "Time from a request's headers to its answer.",
    );
    for operation in RequestKind::ALL {
        let metrics = metrics.of(operation);
        let counts = metrics.latencies.each_ref().map(get);
        let all: u64 = counts.iter().sum();
        if all == 0 {
            continue;
        }
        // Buckets of Prometheus are cumulative.
        let mut sum = 0;
        for (bound, count) in LATENCIES_US.iter().zip(counts) {
            sum += count;
            let bound = (*bound as f64 / 1e6).to_string();
            page.part(
                "_bucket",
                &[("operation", operation.name()), ("le", &bound)],
                sum,
            );
        }
        page.part(
            "_bucket",
            &[("operation", operation.name()), ("le", "+Inf")],
            all,
        );
        let seconds = get(&metrics.latency_us) as f64 / 1e6;
        page.part("_sum", &[("operation", operation.name())], seconds);
        page.part("_count", &[("operation", operation.name())], all);
    }
}

/// The state of the query queue.
fn queries(page: &mut Page, engine: &Engine) {
    let lanes = engine.query_lanes();
    page.family(
        "orrery_queries_waiting",
        "gauge",
        "Pages of queries and feeds that wait for their turn: to begin, or to go on after long work.",
    );
    page.line(&[("lane", "short")], lanes.waiting_short);
    page.line(&[("lane", "long")], lanes.waiting_long);
    page.family(
        "orrery_queries_refused_total",
        "counter",
        "Pages of queries and feeds that were refused because too many wait.",
    );
    page.line(&[], lanes.refused);
}

/// The figures of the physical partitions.
fn partitions(page: &mut Page, engine: &Engine) {
    let catalogue = engine.catalogue();
    let mut rows = Vec::new();
    let (mut containers, mut count) = (0_usize, 0_usize);
    for database in catalogue.databases.values() {
        for entry in database.containers.values() {
            containers += 1;
            for partition in &entry.container.partitions {
                count += 1;
                // The page must stay small in an account with very many partitions.
                if rows.len() < PARTITIONS_MAX {
                    rows.push(Row {
                        database: &database.database.id,
                        container: &entry.container.definition.id,
                        partition: partition.id.to_string(),
                        counters: partition.counters(),
                        meter: engine.partition_use(partition),
                    });
                }
            }
        }
    }
    for (name, help, number) in [
        ("orrery_databases", "Databases.", catalogue.databases.len()),
        ("orrery_containers", "Containers.", containers),
        ("orrery_partitions", "Physical partitions.", count),
    ] {
        page.family(name, "gauge", help);
        page.line(&[], number);
    }
    for (name, kind, help, number) in FIGURES {
        page.family(name, kind, help);
        for row in &rows {
            let labels = [
                ("database", row.database),
                ("container", row.container),
                ("partition", &row.partition),
            ];
            page.line(&labels, number(row));
        }
    }
}

/// The figures of one partition, read once for all families.
struct Row<'r> {
    database: &'r str,
    container: &'r str,
    partition: String,
    counters: orrery_engine::Counters,
    meter: orrery_engine::MeterReport,
}

/// The name, the type, the help text, and the figure of one partition.
type PartitionMetric = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Row<'_>) -> f64,
);

const FIGURES: [PartitionMetric; 7] = [
    (
        "orrery_partition_items",
        "gauge",
        "Items of a physical partition.",
        |row| row.counters.items as f64,
    ),
    (
        "orrery_partition_bytes",
        "gauge",
        "JSON text of a physical partition, in bytes.",
        |row| row.counters.bytes as f64,
    ),
    (
        "orrery_partition_provisioned_request_units",
        "gauge",
        "Request units a second that a physical partition may use; 0 if that is not limited.",
        |row| f64::from(row.meter.units.unwrap_or(0)),
    ),
    (
        "orrery_partition_used_request_units",
        "gauge",
        "Request units that a physical partition used in its last full second.",
        |row| row.meter.used.units(),
    ),
    (
        "orrery_partition_request_units_total",
        "counter",
        "Request units charged to a physical partition.",
        |row| row.meter.charged.units(),
    ),
    (
        "orrery_partition_requests_total",
        "counter",
        "Requests charged to a physical partition.",
        |row| row.meter.requests as f64,
    ),
    (
        "orrery_partition_throttled_total",
        "counter",
        "Requests that a physical partition refused for their rate.",
        |row| row.meter.throttled as f64,
    ),
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use orrery_model::Charge;

    use super::*;

    #[test]
    fn counts_and_histograms() {
        let metrics = Metrics::default();
        let count = |status, milliseconds| {
            let elapsed = Duration::from_millis(milliseconds);
            metrics.count(RequestKind::Query, status, Charge::from_units(2.5), elapsed);
        };
        count(200, 1);
        count(200, 30);
        count(418, 9_000);
        let mut page = Page::default();
        requests(&mut page, &metrics);
        latencies(&mut page, &metrics);
        for line in [
            "# TYPE orrery_requests_total counter",
            r#"orrery_requests_total{operation="query",status="200"} 2"#,
            r#"orrery_requests_total{operation="query",status="other"} 1"#,
            r#"orrery_request_charge_total{operation="query"} 7.5"#,
            r#"orrery_request_duration_seconds_bucket{operation="query",le="0.0005"} 0"#,
            r#"orrery_request_duration_seconds_bucket{operation="query",le="0.001"} 1"#,
            r#"orrery_request_duration_seconds_bucket{operation="query",le="0.05"} 2"#,
            r#"orrery_request_duration_seconds_bucket{operation="query",le="+Inf"} 3"#,
            r#"orrery_request_duration_seconds_sum{operation="query"} 9.031"#,
            r#"orrery_request_duration_seconds_count{operation="query"} 3"#,
        ] {
            assert!(
                page.text.lines().any(|other| other == line),
                "{line}\n{}",
                page.text
            );
        }
        assert!(!page.text.contains("read_item"));
    }
}
