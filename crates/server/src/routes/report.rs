//! The headers with the report of a query page, for clients that request the report.

use std::time::Duration;

use orrery_engine::{IndexUsage, QueryReport};
use orrery_wire::{
    IndexMetrics, PlanCounts, PlanEstimate, PlanTimes, QueryFlags, QueryMetrics, QueryPlanReport,
    names,
};

/// Whether the engine must measure the query.
pub(super) fn is_wanted(flags: QueryFlags<'_>) -> bool {
    flags.populate_metrics || flags.index_metrics.is_some() || flags.explain
}

/// The report headers that the client requested.
pub(super) fn headers(
    flags: QueryFlags<'_>,
    report: Option<QueryReport>,
) -> Vec<(&'static str, String)> {
    let Some(report) = report else {
        return Vec::new();
    };
    let mut headers = Vec::new();
    if flags.populate_metrics {
        headers.push((names::QUERY_METRICS, metrics(&report).to_string()));
    }
    if let Some(form) = flags.index_metrics {
        let value = index_metrics(&report.usage).header_value(form);
        headers.push((names::INDEX_UTILIZATION, value));
    }
    if flags.explain {
        headers.push((names::QUERY_PLAN, plan(report).header_value()));
    }
    headers
}

/// The figures for the header with query metrics.
fn metrics(report: &QueryReport) -> QueryMetrics {
    QueryMetrics {
        total: report.total_time,
        compile: report.compile_time,
        physical_plan: report.plan_time,
        index_lookup: report.index_time,
        document_load: report.load_time,
        documents_read: report.documents,
        document_bytes_read: report.document_bytes,
        rows: report.rows,
        row_bytes: report.row_bytes,
    }
}

/// The figures for the header with index metrics.
fn index_metrics(usage: &IndexUsage) -> IndexMetrics<'_> {
    IndexMetrics {
        utilized_single: &usage.utilized_single,
        utilized_composite: &usage.utilized_composite,
        potential_single: &usage.potential_single,
        potential_composite: &usage.potential_composite,
    }
}

/// The plan with estimated and measured figures.
fn plan(report: QueryReport) -> QueryPlanReport {
    QueryPlanReport {
        plan: report.plan,
        estimated: PlanEstimate {
            entries: report.estimated_entries,
            documents: report.estimated_documents,
        },
        actual: PlanCounts {
            entries: report.entries,
            documents: report.documents,
            rows: report.rows,
        },
        microseconds: PlanTimes {
            compile: microseconds(report.compile_time),
            plan: microseconds(report.plan_time),
            index: microseconds(report.index_time),
            load: microseconds(report.load_time),
            total: microseconds(report.total_time),
        },
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
