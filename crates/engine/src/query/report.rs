//! The report of a page for clients that ask for metrics, index usage or the plan.

use std::time::Duration;

use orrery_index::{AccessPlan, IndexUsage};

use super::AccessWork;

/// The measurements of one page of a query.
#[derive(Debug, Clone)]
pub struct QueryReport {
    pub total_time: Duration,
    pub compile_time: Duration,
    pub plan_time: Duration,
    pub index_time: Duration,
    pub load_time: Duration,
    /// Number of documents that the page read, and their bytes.
    pub documents: u64,
    pub document_bytes: u64,
    pub rows: u64,
    pub row_bytes: u64,
    /// Number of index entries that the page read.
    pub entries: u64,
    pub usage: IndexUsage,
    /// The plan in readable form: one step per line, with estimates and rejected alternatives.
    pub plan: Vec<String>,
    pub estimated_entries: u64,
    pub estimated_documents: u64,
}

impl QueryReport {
    pub(crate) fn new(
        plan: &AccessPlan,
        work: &AccessWork,
        finished: &orrery_exec::PageWork,
    ) -> QueryReport {
        QueryReport {
            total_time: Duration::ZERO,
            compile_time: Duration::ZERO,
            plan_time: Duration::ZERO,
            index_time: work.index_time,
            load_time: work.load_time,
            documents: work.documents,
            document_bytes: finished.document_bytes,
            rows: finished.rows,
            row_bytes: finished.row_bytes,
            entries: work.entries + work.covered_entries,
            usage: IndexUsage::default(),
            plan: plan.explain(),
            estimated_entries: plan.estimate.entries,
            estimated_documents: plan.estimate.documents,
        }
    }
}
