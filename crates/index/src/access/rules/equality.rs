//! One value of one path: its entries are one contiguous range in document key order.

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
    let run = term.intervals.point()?.entry_range(index);
    let entries = term.entries;
    let documents = context.estimator.documents_of(entries);
    Some(SetCandidate {
        set: DocumentSet::Point(run),
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
