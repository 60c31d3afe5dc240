//! Queries that need only the number of documents, where that number is stored.

use crate::access::candidate::{Candidate, PlanningContext};
use crate::access::{AccessPath, AccessTag, Estimate, PlanNode, QueryShape};

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    candidate(context).into_iter().collect()
}

fn candidate(context: &PlanningContext<'_>) -> Option<Candidate> {
    let request = context.request;
    let has_filter = !context.filter.terms.is_empty() || !request.sargable_filter.is_exact;
    if !request.reads_nothing || has_filter || request.shape != QueryShape::Grouped {
        return None;
    }
    Some(Candidate {
        access: AccessPath::StoredCount(request.statistics.scope_count()?),
        tag: AccessTag::KEY_ORDER,
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
