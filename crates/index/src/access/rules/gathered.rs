//! Few entries that are not in the order of places: ranges, long lists, paths with several values.
//!
//! All of them are read and their places sorted before the first document. Each page does it
//! again, which keeps the order of places at the price of a limit.

use orrery_exec::DocumentPath;

use crate::IndexHash;
use crate::access::candidate::{Candidate, Found, Situation};
use crate::access::filter::{Term, ValueTerm};
use crate::access::intervals::Intervals;
use crate::access::{Places, PlanNode, cost, wording};

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    let terms = situation.filter.terms.iter();
    let found = terms.filter_map(|term| match term {
        Term::Value(term) => found(situation, term),
        Term::Shape(_) | Term::Either(_) => None,
    });
    found.map(|found| situation.candidate_of(found)).collect()
}

pub(super) fn found(situation: &Situation<'_>, term: &ValueTerm) -> Option<Found> {
    let intervals = &term.intervals;
    if intervals.all_points() && intervals.list.len() <= cost::MERGED_POINTS_MAX {
        return None;
    }
    gather(
        situation,
        &EntrySet {
            index: term.index?,
            intervals,
            entries: term.entries,
            path: &term.path,
            text: &term.text,
        },
    )
}

/// Entries of one index.
pub(super) struct EntrySet<'a> {
    pub(super) index: IndexHash,
    pub(super) intervals: &'a Intervals,
    pub(super) entries: u64,
    pub(super) path: &'a DocumentPath,
    pub(super) text: &'a str,
}

/// The places of some entries, when they are few.
pub(super) fn gather(situation: &Situation<'_>, set: &EntrySet<'_>) -> Option<Found> {
    let entries = set.entries;
    let walked = situation.estimator.walked(entries);
    if walked >= cost::GATHERED_ENTRIES_MAX {
        return None;
    }
    let documents = situation.estimator.documents_of(entries);
    let cursors = set.intervals.list.len() as f64 * cost::CURSOR;
    Some(Found {
        places: Places::Gathered(set.intervals.runs(set.index)),
        entries,
        documents,
        cost_first: cursors + walked * cost::ENTRY + entries as f64 * cost::PLACE_GATHERED,
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
