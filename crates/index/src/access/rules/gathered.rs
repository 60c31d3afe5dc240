//! Small numbers of entries in another order than document keys: ranges, long lists, paths with
//! several values.
//!
//! Before the first document, the executor reads all entries and sorts their document keys. Every
//! page repeats this work, so the number of entries is limited; in return the result is in document
//! key order.

use orrery_exec::DocumentPath;

use crate::IndexHash;
use crate::access::candidate::{Candidate, PlanningContext, SetCandidate};
use crate::access::filter::{Term, ValueTerm};
use crate::access::intervals::Intervals;
use crate::access::{DocumentSet, PlanNode, cost, wording};

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    let terms = context.filter.terms.iter();
    let found = terms.filter_map(|term| match term {
        Term::Value(term) => document_set(context, term),
        Term::Spatial(_) | Term::Either(_) => None,
    });
    found.map(|found| context.candidate_of(found)).collect()
}

pub(super) fn document_set(
    context: &PlanningContext<'_>,
    term: &ValueTerm,
) -> Option<SetCandidate> {
    let intervals = &term.intervals;
    if intervals.all_points() && intervals.list.len() <= cost::MERGED_POINTS_MAX {
        return None;
    }
    gather(
        context,
        &EntrySet {
            index: term.index?,
            intervals,
            entries: term.entries,
            path: &term.path,
            text: &term.text,
        },
    )
}

/// The entries of one index that a term selects.
pub(super) struct EntrySet<'a> {
    pub(super) index: IndexHash,
    pub(super) intervals: &'a Intervals,
    pub(super) entries: u64,
    pub(super) path: &'a DocumentPath,
    pub(super) text: &'a str,
}

/// The documents of the selected entries, if the entries are few.
pub(super) fn gather(context: &PlanningContext<'_>, set: &EntrySet<'_>) -> Option<SetCandidate> {
    let entries = set.entries;
    let walked = context.estimator.walked(entries);
    if walked >= cost::GATHERED_ENTRIES_MAX {
        return None;
    }
    let documents = context.estimator.documents_of(entries);
    let cursors = set.intervals.list.len() as f64 * cost::CURSOR;
    Some(SetCandidate {
        set: DocumentSet::Gathered(set.intervals.entry_ranges(set.index)),
        entries,
        documents,
        cost_first: cursors + walked * cost::ENTRY + entries as f64 * cost::KEY_GATHERED,
        cost_walk: 0.0,
        node: PlanNode {
            name: "gathered",
            index: Some(wording::single_spec(set.path)),
            predicate: Some(set.text.to_owned()),
            detail: None,
            entries,
            documents,
            children: Vec::new(),
        },
    })
}
