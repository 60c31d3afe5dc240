//! The scan of all documents in scope: always valid, and cheap when most documents match.

use crate::access::candidate::{Candidate, PlanningContext};
use crate::access::{AccessPath, AccessTag, Estimate, PlanNode, cost};

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    let documents = context.estimator.documents();
    let walk = documents as f64 * cost::DOCUMENT_SCANNED;
    vec![Candidate {
        access: AccessPath::DocumentScan,
        tag: AccessTag::KEY_ORDER,
        estimate: Estimate {
            entries: 0,
            documents,
        },
        cost: context.cost_unordered(cost::CURSOR, walk),
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
