//! What rules propose, and what they may look at.

use super::cost;
use super::estimate::Estimator;
use super::filter::Filter;
use super::{Access, AccessRequest, AccessTag, Estimate, Places, PlanNode, QueryShape};

/// Which part of the documents passes what the predicate does not tell of a filter.
const SHARE_UNTOLD: f64 = 1.0 / 3.0;

/// A way to find the documents, with its price.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) access: Access,
    pub(super) tag: AccessTag,
    pub(super) estimate: Estimate,
    pub(super) cost: f64,
    pub(super) node: PlanNode,
}

/// A set of documents in the order of places, before it is known whether it is the whole access.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) places: Places,
    pub(super) entries: u64,
    pub(super) documents: u64,
    /// Of work that is done before the first document is known.
    pub(super) cost_first: f64,
    /// Of meeting all of its documents, without reading them.
    pub(super) cost_walk: f64,
    pub(super) node: PlanNode,
}

/// The query and what is known about its filter.
pub(super) struct Situation<'a> {
    pub(super) request: &'a AccessRequest<'a>,
    pub(super) filter: &'a Filter,
    pub(super) estimator: &'a Estimator<'a>,
    /// Documents that pass the filter.
    pub(super) rows: f64,
}

impl<'a> Situation<'a> {
    pub(super) fn of(
        request: &'a AccessRequest<'a>,
        filter: &'a Filter,
        estimator: &'a Estimator<'a>,
    ) -> Situation<'a> {
        Situation {
            request,
            filter,
            estimator,
            rows: estimator.documents() as f64
                * estimator.share(filter)
                * if request.narrowing.is_exact {
                    1.0
                } else {
                    SHARE_UNTOLD
                },
        }
    }

    /// Whether a page may end before all documents were met.
    pub(super) fn is_stream(&self) -> bool {
        self.request.shape == QueryShape::Stream
    }

    /// Which part of a walk that gives rows in their final order is needed for a page.
    pub(super) fn page_share(&self) -> f64 {
        match self.request.page_rows {
            Some(page_rows) if (page_rows as f64) < self.rows => page_rows as f64 / self.rows,
            _ => 1.0,
        }
    }

    /// The price of a walk that meets the rows in no order that matters, and of what the shape of
    /// the query makes of them.
    pub(super) fn cost_unordered(&self, first: f64, walk: f64) -> f64 {
        match self.request.shape {
            QueryShape::Stream => first + walk * self.page_share(),
            QueryShape::Sorted => first + walk + cost::sort(self.rows),
            QueryShape::Distinct | QueryShape::Grouped => first + walk,
        }
    }

    pub(super) fn candidate_of(&self, found: Found) -> Candidate {
        let walk = found.cost_walk + found.documents as f64 * cost::DOCUMENT_FETCHED;
        Candidate {
            access: Access::Places(found.places),
            tag: AccessTag::PLACE_ORDER,
            estimate: Estimate {
                entries: found.entries,
                documents: found.documents,
            },
            cost: self.cost_unordered(found.cost_first, walk),
            node: found.node,
        }
    }
}
