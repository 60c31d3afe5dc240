//! Ranges over a multi-valued path, for queries that read all documents before they answer.
//!
//! A document may have several entries in the ranges, so the executor remembers the documents it
//! has returned. A stream query cannot carry this memory from one page to the next, so this rule
//! does not apply to streams.

use crate::access::candidate::{Candidate, PlanningContext};
use crate::access::filter::ValueTerm;
use crate::access::rules::gathered::EntrySet;
use crate::access::{
    AccessKind, AccessPath, AccessTag, EntryOutput, EntryScan, Estimate, PlanNode, ScanDirection,
    cost, wording,
};

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    let terms = context.filter.values();
    terms.filter_map(|term| candidate(context, term)).collect()
}

fn candidate(context: &PlanningContext<'_>, term: &ValueTerm) -> Option<Candidate> {
    if !term.path.is_multiple() || term.intervals.all_points() {
        return None;
    }
    each_once(
        context,
        &EntrySet {
            index: term.index?,
            intervals: &term.intervals,
            entries: term.entries,
            path: &term.path,
            text: &term.text,
        },
    )
}

/// The documents of the selected entries, each returned at its first entry.
pub(super) fn each_once(context: &PlanningContext<'_>, set: &EntrySet<'_>) -> Option<Candidate> {
    let entries = set.entries;
    let walked = context.estimator.walked(entries);
    if context.is_stream() || walked >= cost::ONCE_ENTRIES_MAX {
        return None;
    }
    let documents = context.estimator.documents_of(entries);
    let walk = walked * cost::ENTRY
        + entries as f64 * cost::KEY_GATHERED
        + documents as f64 * cost::DOCUMENT_FETCHED;
    let first = set.intervals.list.len() as f64 * cost::CURSOR;
    Some(Candidate {
        access: AccessPath::Entries(EntryScan {
            ranges: set.intervals.entry_ranges(set.index),
            direction: ScanDirection::Forward,
            ordered_columns: 0,
            output: EntryOutput::Documents { once: true },
        }),
        tag: AccessTag {
            kind: AccessKind::Once,
            index: set.index,
        },
        estimate: Estimate { entries, documents },
        cost: context.cost_unordered(first, walk),
        node: PlanNode {
            name: "range",
            index: Some(wording::single_spec(set.path)),
            predicate: Some(set.text.to_owned()),
            detail: Some("each document once"),
            entries,
            documents,
            children: Vec::new(),
        },
    })
}
