//! Several values of one path: their runs are merged by place, with a cursor for each.

use crate::access::candidate::{Candidate, Found, Situation};
use crate::access::filter::ValueTerm;
use crate::access::{Places, PlanNode, cost, wording};

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    let terms = situation.filter.values();
    let found = terms.filter_map(|term| found(situation, term));
    found.map(|found| situation.candidate_of(found)).collect()
}

pub(super) fn found(situation: &Situation<'_>, term: &ValueTerm) -> Option<Found> {
    let index = term.index?;
    let points = term.intervals.list.len();
    if !(2..=cost::MERGED_POINTS_MAX).contains(&points) || !term.intervals.all_points() {
        return None;
    }
    let runs = term.intervals.runs(index).into_iter().map(Places::Run);
    let entries = term.entries;
    let documents = situation.estimator.documents_of(entries);
    Some(Found {
        places: Places::Any(runs.collect()),
        entries,
        documents,
        cost_first: points as f64 * cost::CURSOR,
        cost_walk: entries as f64 * cost::ENTRY,
        node: PlanNode {
            name: "points",
            index: Some(wording::single_spec(&term.path)),
            predicate: Some(term.text.clone()),
            detail: None,
            entries,
            documents,
            children: Vec::new(),
        },
    })
}
