//! Ranges over a path with one value: entries in their own order, each with its document.
//!
//! No document comes twice, so a page may end anywhere; its continuation is a position among the
//! entries.

use crate::access::candidate::{Candidate, Situation};
use crate::access::filter::ValueTerm;
use crate::access::{
    Access, AccessKind, AccessTag, Direction, EntryScan, Estimate, PlanNode, Take, cost, wording,
};

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    let terms = situation.filter.values();
    terms
        .filter_map(|term| candidate(situation, term))
        .collect()
}

fn candidate(situation: &Situation<'_>, term: &ValueTerm) -> Option<Candidate> {
    let index = term.index?;
    if term.path.is_multiple() || term.intervals.all_points() {
        return None;
    }
    let entries = term.entries;
    let documents = situation.estimator.documents_of(entries);
    let walk = situation.estimator.walked(entries) * cost::ENTRY
        + documents as f64 * cost::DOCUMENT_FETCHED;
    let first = term.intervals.list.len() as f64 * cost::CURSOR;
    Some(Candidate {
        access: Access::Entries(EntryScan {
            runs: term.intervals.runs(index),
            direction: Direction::Forward,
            ordered_columns: 0,
            take: Take::Documents { once: false },
        }),
        tag: AccessTag {
            kind: AccessKind::Range,
            index,
        },
        estimate: Estimate { entries, documents },
        cost: situation.cost_unordered(first, walk),
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
