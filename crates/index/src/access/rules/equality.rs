//! One value of one path: its entries are one run and stand in the order of places.

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
    let run = term.intervals.point()?.run(index);
    let entries = term.entries;
    let documents = situation.estimator.documents_of(entries);
    Some(Found {
        places: Places::Run(run),
        entries,
        documents,
        cost_first: cost::CURSOR,
        cost_walk: entries as f64 * cost::ENTRY,
        node: PlanNode {
            name: "point",
            index: Some(wording::single_spec(&term.path)),
            predicate: Some(term.text.clone()),
            detail: None,
            entries,
            documents,
            children: Vec::new(),
        },
    })
}
