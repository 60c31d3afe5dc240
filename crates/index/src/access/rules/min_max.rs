//! A single `MIN` or `MAX` over one path: reads the first or the last entry.

use crate::access::candidate::{Candidate, PlanningContext};
use crate::access::rules::covering::{CoveringOutput, covering_entries};
use crate::access::{AccessKind, EntryOutput, MinMax, QueryShape, ScanDirection, cost};

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    let Some(min_max) = context.request.min_max else {
        return Vec::new();
    };
    if context.request.shape != QueryShape::Grouped {
        return Vec::new();
    }
    covering_entries(context)
        .map(|covered| {
            let entries = covered.entries.min(1);
            covered.candidate(&CoveringOutput {
                output: EntryOutput::FirstValue,
                kind: AccessKind::FirstValue,
                direction: match min_max {
                    MinMax::Min => ScanDirection::Forward,
                    MinMax::Max => ScanDirection::Backward,
                },
                name: match min_max {
                    MinMax::Min => "first value",
                    MinMax::Max => "last value",
                },
                entries,
                // The cursor skips values without an entry in the scope.
                cost: cost::CURSOR + context.estimator.walked(1) * cost::SEEK,
            })
        })
        .into_iter()
        .collect()
}
