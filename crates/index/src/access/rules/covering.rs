//! Queries that read one path and nothing else: entries replace documents.
//!
//! This is valid when each document that passes the filter has exactly one entry in the intervals
//! and no other document has an entry there. The conditions: the path is single-valued, the filter
//! is exact and concerns only this path, and every document has the path unless the filter excludes
//! documents without it.
//!
//! Entries do not preserve long strings and large integers, and the planner does not know which
//! paths have such values. The executor reads the document where a decoded value is not exact.

use crate::IndexHash;
use crate::access::candidate::{Candidate, PlanningContext};
use crate::access::filter::Term;
use crate::access::intervals::Intervals;
use crate::access::{
    AccessKind, AccessPath, AccessTag, EntryOutput, EntryScan, Estimate, PlanNode, QueryShape,
    ScanDirection, cost, non_scalar, wording,
};

/// The entries that replace the documents of a query.
pub(super) struct CoveringEntries {
    pub(super) index: IndexHash,
    pub(super) intervals: Intervals,
    pub(super) entries: u64,
    spec: String,
    predicate: Option<String>,
}

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    if context.request.shape != QueryShape::Grouped {
        return Vec::new();
    }
    covering_entries(context)
        .map(|covered| {
            let entries = covered.entries;
            let walked = context.estimator.walked(entries);
            let first = covered.intervals.list.len() as f64 * cost::CURSOR;
            covered.candidate(&CoveringOutput {
                output: EntryOutput::Values,
                kind: AccessKind::Values,
                direction: ScanDirection::Forward,
                name: "values",
                entries,
                cost: first + walked * cost::ENTRY,
            })
        })
        .into_iter()
        .collect()
}

pub(super) fn covering_entries(context: &PlanningContext<'_>) -> Option<CoveringEntries> {
    let request = context.request;
    let path = request.covering?;
    let estimator = context.estimator;
    if path.is_multiple() || !request.definition.covers(path) || !request.sargable_filter.is_exact {
        return None;
    }
    let index = IndexHash::of_path(path);
    let (intervals, entries, predicate) = match &context.filter.terms[..] {
        [] if estimator.is_everywhere(path) => {
            (Intervals::everything(), estimator.documents(), None)
        }
        [Term::Value(term)] if term.path == *path && term.intervals.is_exact => (
            term.intervals.clone(),
            term.entries,
            Some(term.text.clone()),
        ),
        _ => return None,
    };
    if non_scalar::are_possible(estimator, index, &intervals) {
        return None;
    }
    Some(CoveringEntries {
        index,
        intervals,
        entries,
        spec: wording::single_spec(path),
        predicate,
    })
}

/// The output for covered entries.
pub(super) struct CoveringOutput {
    pub(super) output: EntryOutput,
    pub(super) kind: AccessKind,
    pub(super) direction: ScanDirection,
    pub(super) name: &'static str,
    pub(super) entries: u64,
    pub(super) cost: f64,
}

impl CoveringEntries {
    pub(super) fn candidate(self, taken: &CoveringOutput) -> Candidate {
        Candidate {
            access: AccessPath::Entries(EntryScan {
                ranges: self.intervals.entry_ranges(self.index),
                direction: taken.direction,
                ordered_columns: 0,
                output: taken.output,
            }),
            tag: AccessTag {
                kind: taken.kind,
                index: self.index,
            },
            estimate: Estimate {
                entries: taken.entries,
                documents: 0,
            },
            cost: taken.cost,
            node: PlanNode {
                name: taken.name,
                index: Some(self.spec),
                predicate: self.predicate,
                detail: None,
                entries: taken.entries,
                documents: 0,
                children: Vec::new(),
            },
        }
    }
}
