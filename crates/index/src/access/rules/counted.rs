//! Queries for which only the number of documents matters, where that number is kept.

use crate::access::candidate::{Candidate, Situation};
use crate::access::{Access, AccessTag, Estimate, PlanNode, QueryShape};

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    candidate(situation).into_iter().collect()
}

fn candidate(situation: &Situation<'_>) -> Option<Candidate> {
    let request = situation.request;
    let has_filter = !situation.filter.terms.is_empty() || !request.narrowing.is_exact;
    if !request.reads_nothing || has_filter || request.shape != QueryShape::Grouped {
        return None;
    }
    Some(Candidate {
        access: Access::Counted(request.statistics.scope_count()?),
        tag: AccessTag::PLACE_ORDER,
        estimate: Estimate::default(),
        cost: 0.0,
        node: PlanNode {
            name: "count of documents",
            index: None,
            predicate: None,
            detail: Some("kept"),
            entries: 0,
            documents: 0,
            children: Vec::new(),
        },
    })
}
