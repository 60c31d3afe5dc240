//! Several values of one path: their entry ranges are merged by document key, with one cursor each.

use crate::access::candidate::{Candidate, PlanningContext, SetCandidate};
use crate::access::filter::ValueTerm;
use crate::access::{DocumentSet, PlanNode, cost, wording};

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    let terms = context.filter.values();
    let found = terms.filter_map(|term| document_set(context, term));
    found.map(|found| context.candidate_of(found)).collect()
}

pub(super) fn document_set(
    context: &PlanningContext<'_>,
    term: &ValueTerm,
) -> Option<SetCandidate> {
    let index = term.index?;
    let points = term.intervals.list.len();
    if !(2..=cost::MERGED_POINTS_MAX).contains(&points) || !term.intervals.all_points() {
        return None;
    }
    let runs = term
        .intervals
        .entry_ranges(index)
        .into_iter()
        .map(DocumentSet::Point);
    let entries = term.entries;
    let documents = context.estimator.documents_of(entries);
    Some(SetCandidate {
        set: DocumentSet::Union(runs.collect()),
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
