//! The proposals of the rules, and the input of the rules.

use super::cost;
use super::estimate::Estimator;
use super::filter::Filter;
use super::{AccessPath, AccessRequest, AccessTag, DocumentSet, Estimate, PlanNode, QueryShape};

/// Assumed selectivity of the part of a filter that the predicate does not express.
const RESIDUAL_SELECTIVITY: f64 = 1.0 / 3.0;

/// An access path with its cost.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) access: AccessPath,
    pub(super) tag: AccessTag,
    pub(super) estimate: Estimate,
    pub(super) cost: f64,
    pub(super) node: PlanNode,
}

/// A set of documents in key order, as a part of an access path or as the whole of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SetCandidate {
    pub(super) set: DocumentSet,
    pub(super) entries: u64,
    pub(super) documents: u64,
    /// Cost of the work before the first document is known.
    pub(super) cost_first: f64,
    /// Cost of finding all documents of the set, without reading them.
    pub(super) cost_walk: f64,
    pub(super) node: PlanNode,
}

/// The query and the estimates for its filter.
pub(super) struct PlanningContext<'a> {
    pub(super) request: &'a AccessRequest<'a>,
    pub(super) filter: &'a Filter,
    pub(super) estimator: &'a Estimator<'a>,
    /// Estimated number of documents that pass the filter.
    pub(super) rows: f64,
}

impl<'a> PlanningContext<'a> {
    pub(super) fn of(
        request: &'a AccessRequest<'a>,
        filter: &'a Filter,
        estimator: &'a Estimator<'a>,
    ) -> PlanningContext<'a> {
        PlanningContext {
            request,
            filter,
            estimator,
            rows: estimator.documents() as f64
                * estimator.selectivity(filter)
                * if request.sargable_filter.is_exact {
                    1.0
                } else {
                    RESIDUAL_SELECTIVITY
                },
        }
    }

    /// Whether a page may end before the query has seen all documents.
    pub(super) fn is_stream(&self) -> bool {
        self.request.shape == QueryShape::Stream
    }

    /// The fraction of an ordered walk that one page needs, for a walk that returns rows in their
    /// final order.
    pub(super) fn page_fraction(&self) -> f64 {
        match self.request.page_rows {
            Some(page_rows) if (page_rows as f64) < self.rows => page_rows as f64 / self.rows,
            _ => 1.0,
        }
    }

    /// The cost of a walk without a useful order, and of the work that the shape of the query adds
    /// to it.
    pub(super) fn cost_unordered(&self, first: f64, walk: f64) -> f64 {
        match self.request.shape {
            QueryShape::Stream => first + walk * self.page_fraction(),
            QueryShape::Sorted => first + walk + cost::sort(self.rows),
            QueryShape::Distinct | QueryShape::Grouped => first + walk,
        }
    }

    pub(super) fn candidate_of(&self, found: SetCandidate) -> Candidate {
        let walk = found.cost_walk + found.documents as f64 * cost::DOCUMENT_FETCHED;
        Candidate {
            access: AccessPath::DocumentSet(found.set),
            tag: AccessTag::KEY_ORDER,
            estimate: Estimate {
                entries: found.entries,
                documents: found.documents,
            },
            cost: self.cost_unordered(found.cost_first, walk),
            node: found.node,
        }
    }
}
