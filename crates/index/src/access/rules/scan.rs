//! All documents of the scope. Always right, and cheap when most of them match anyway.

use crate::access::candidate::{Candidate, Situation};
use crate::access::{Access, AccessTag, Estimate, PlanNode, cost};

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    let documents = situation.estimator.documents();
    let walk = documents as f64 * cost::DOCUMENT_SCANNED;
    vec![Candidate {
        access: Access::Documents,
        tag: AccessTag::PLACE_ORDER,
        estimate: Estimate {
            entries: 0,
            documents,
        },
        cost: situation.cost_unordered(cost::CURSOR, walk),
        node: PlanNode {
            name: "scan of documents",
            index: None,
            predicate: None,
            detail: None,
            entries: 0,
            documents,
            children: Vec::new(),
        },
    }]
}
