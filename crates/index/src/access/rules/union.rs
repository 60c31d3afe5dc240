//! `OR`: the union of several filters, each with its own access path.
//!
//! `Filter::of` has already merged branches over one path into one list. The branches here concern
//! different paths, so all of them must be in document key order to be merged.

use crate::access::candidate::{Candidate, PlanningContext, SetCandidate};
use crate::access::filter::{Filter, Term};
use crate::access::rules::intersection;
use crate::access::{DocumentSet, PlanNode};

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    let terms = context.filter.terms.iter();
    let found = terms.filter_map(|term| match term {
        Term::Either(filters) => document_set(context, filters),
        Term::Value(_) | Term::Spatial(_) => None,
    });
    found.map(|found| context.candidate_of(found)).collect()
}

pub(super) fn document_set(
    context: &PlanningContext<'_>,
    filters: &[Filter],
) -> Option<SetCandidate> {
    let branches: Vec<SetCandidate> = filters
        .iter()
        .map(|filter| intersection::best(context, filter))
        .collect::<Option<_>>()?;
    let entries = branches.iter().map(|branch| branch.entries).sum();
    let documents = branches.iter().map(|branch| branch.documents).sum();
    let documents = context.estimator.documents_of(documents);
    let (mut sets, mut children) = (Vec::new(), Vec::new());
    let (mut cost_first, mut cost_walk) = (0.0, 0.0);
    for branch in branches {
        cost_first += branch.cost_first;
        cost_walk += branch.cost_walk;
        children.push(branch.node);
        match branch.set {
            DocumentSet::Union(inner) => sets.extend(inner),
            other @ (DocumentSet::Point(_)
            | DocumentSet::Intersection(_)
            | DocumentSet::Gathered(_)) => sets.push(other),
        }
    }
    Some(SetCandidate {
        set: DocumentSet::Union(sets),
        entries,
        documents,
        cost_first,
        cost_walk,
        node: PlanNode {
            name: "union",
            index: None,
            predicate: None,
            detail: None,
            entries,
            documents,
            children,
        },
    })
}
