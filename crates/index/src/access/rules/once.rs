//! Ranges over a path with several values, for queries that see all documents before they answer.
//!
//! A document may have several entries in the ranges; who walks them remembers which came. A page
//! of a stream could not remember that for the next one, so streams have no part in this.

use crate::access::candidate::{Candidate, Situation};
use crate::access::filter::ValueTerm;
use crate::access::rules::gathered::EntrySet;
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
    if !term.path.is_multiple() || term.intervals.all_points() {
        return None;
    }
    each_once(
        situation,
        &EntrySet {
            index: term.index?,
            intervals: &term.intervals,
            entries: term.entries,
            path: &term.path,
            text: &term.text,
        },
    )
}

/// The documents of some entries, each at its first one.
pub(super) fn each_once(situation: &Situation<'_>, set: &EntrySet<'_>) -> Option<Candidate> {
    let entries = set.entries;
    let walked = situation.estimator.walked(entries);
    if situation.is_stream() || walked >= cost::ONCE_ENTRIES_MAX {
        return None;
    }
    let documents = situation.estimator.documents_of(entries);
    let walk = walked * cost::ENTRY
        + entries as f64 * cost::PLACE_GATHERED
        + documents as f64 * cost::DOCUMENT_FETCHED;
    let first = set.intervals.list.len() as f64 * cost::CURSOR;
    Some(Candidate {
        access: Access::Entries(EntryScan {
            runs: set.intervals.runs(set.index),
            direction: Direction::Forward,
            ordered_columns: 0,
            take: Take::Documents { once: true },
        }),
        tag: AccessTag {
            kind: AccessKind::Once,
            index: set.index,
        },
        estimate: Estimate { entries, documents },
        cost: situation.cost_unordered(first, walk),
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
