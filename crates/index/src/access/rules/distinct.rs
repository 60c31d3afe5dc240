//! `DISTINCT` over one path: the cursor seeks from each value to the next distinct value.

use crate::access::candidate::{Candidate, PlanningContext};
use crate::access::rules::covering::{CoveringOutput, covering_entries};
use crate::access::{AccessKind, EntryOutput, QueryShape, ScanDirection, cost};

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    if context.request.shape != QueryShape::Distinct {
        return Vec::new();
    }
    covering_entries(context)
        .map(|covered| {
            let distinct = context.estimator.distinct(covered.index);
            let entries = distinct.map_or(covered.entries, |all| all.min(covered.entries));
            let first = covered.intervals.list.len() as f64 * cost::CURSOR;
            covered.candidate(&CoveringOutput {
                output: EntryOutput::DistinctValues,
                kind: AccessKind::DistinctValues,
                direction: ScanDirection::Forward,
                name: "distinct values",
                entries,
                cost: first + entries as f64 * cost::SEEK,
            })
        })
        .into_iter()
        .collect()
}
