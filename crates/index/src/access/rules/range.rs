//! Ranges over a single-valued path: entries in index order, each with its document.
//!
//! No document occurs twice, so a page may end after any entry. The continuation is a position in
//! the index.

use crate::access::candidate::{Candidate, PlanningContext};
use crate::access::filter::ValueTerm;
use crate::access::{
    AccessKind, AccessPath, AccessTag, EntryOutput, EntryScan, Estimate, PlanNode, ScanDirection,
    cost, wording,
};

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    let terms = context.filter.values();
    terms.filter_map(|term| candidate(context, term)).collect()
}

fn candidate(context: &PlanningContext<'_>, term: &ValueTerm) -> Option<Candidate> {
    let index = term.index?;
    if term.path.is_multiple() || term.intervals.all_points() {
        return None;
    }
    let entries = term.entries;
    let documents = context.estimator.documents_of(entries);
    let walk =
        context.estimator.walked(entries) * cost::ENTRY + documents as f64 * cost::DOCUMENT_FETCHED;
    let first = term.intervals.list.len() as f64 * cost::CURSOR;
    Some(Candidate {
        access: AccessPath::Entries(EntryScan {
            ranges: term.intervals.entry_ranges(index),
            direction: ScanDirection::Forward,
            ordered_columns: 0,
            output: EntryOutput::Documents { once: false },
        }),
        tag: AccessTag {
            kind: AccessKind::Range,
            index,
        },
        estimate: Estimate { entries, documents },
        cost: context.cost_unordered(first, walk),
        node: PlanNode {
            name: "range",
            index: Some(wording::single_spec(&term.path)),
            predicate: Some(term.text.clone()),
            detail: None,
            entries,
            documents,
            children: Vec::new(),
        },
    })
}
