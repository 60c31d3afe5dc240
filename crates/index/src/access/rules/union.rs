//! `OR`: the documents of any of several filters, each found in its own way.
//!
//! Branches over one path were made one list before. Here the branches are about different paths,
//! so all of them must have the order of places to be merged.

use crate::access::candidate::{Candidate, Found, Situation};
use crate::access::filter::{Filter, Term};
use crate::access::rules::intersection;
use crate::access::{Places, PlanNode};

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    let terms = situation.filter.terms.iter();
    let found = terms.filter_map(|term| match term {
        Term::Either(filters) => found(situation, filters),
        Term::Value(_) | Term::Shape(_) => None,
    });
    found.map(|found| situation.candidate_of(found)).collect()
}

pub(super) fn found(situation: &Situation<'_>, filters: &[Filter]) -> Option<Found> {
    let branches: Vec<Found> = filters
        .iter()
        .map(|filter| intersection::best(situation, filter))
        .collect::<Option<_>>()?;
    let entries = branches.iter().map(|branch| branch.entries).sum();
    let documents = branches.iter().map(|branch| branch.documents).sum();
    let documents = situation.estimator.documents_of(documents);
    let (mut places, mut children) = (Vec::new(), Vec::new());
    let (mut cost_first, mut cost_walk) = (0.0, 0.0);
    for branch in branches {
        cost_first += branch.cost_first;
        cost_walk += branch.cost_walk;
        children.push(branch.node);
        match branch.places {
            Places::Any(inner) => places.extend(inner),
            other @ (Places::Run(_) | Places::All(_) | Places::Gathered(_)) => places.push(other),
        }
    }
    Some(Found {
        places: Places::Any(places),
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
