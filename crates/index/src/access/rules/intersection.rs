//! `AND`: documents in the intersection of several sets, by seeking from set to set.
//!
//! A seek costs more than reading the next entry, but saves reading documents. Sets are added in
//! the order of their cost, as long as each addition lowers the total cost.

use crate::access::candidate::{Candidate, PlanningContext, SetCandidate};
use crate::access::estimate::whole;
use crate::access::filter::Filter;
use crate::access::rules::document_set;
use crate::access::{DocumentSet, PlanNode, cost};

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    best(context, context.filter)
        .filter(|found| matches!(found.set, DocumentSet::Intersection(_)))
        .map(|found| context.candidate_of(found))
        .into_iter()
        .collect()
}

/// The cheapest way to find the documents of a filter in document key order.
pub(super) fn best(context: &PlanningContext<'_>, filter: &Filter) -> Option<SetCandidate> {
    let terms = filter.terms.iter();
    let mut sets: Vec<SetCandidate> = terms
        .filter_map(|term| document_set(context, term))
        .collect();
    sets.sort_by(|a, b| price(a).total_cmp(&price(b)));
    let mut sets = sets.into_iter();
    let mut all = vec![sets.next()?];
    let mut best = all[0].clone();
    for set in sets {
        all.push(set);
        let both = together(context, &all);
        if price(&both) < price(&best) {
            best = both;
        } else {
            all.pop();
        }
    }
    Some(best)
}

fn price(found: &SetCandidate) -> f64 {
    found.cost_first + found.cost_walk + found.documents as f64 * cost::DOCUMENT_FETCHED
}

fn together(context: &PlanningContext<'_>, sets: &[SetCandidate]) -> SetCandidate {
    let scope = context.estimator.documents().max(1) as f64;
    let smallest = sets.iter().map(|set| set.entries).min().unwrap_or(0);
    let share: f64 = sets
        .iter()
        .map(|set| set.documents as f64 / scope)
        .product();
    let documents = whole(scope * share);
    // Each set is positioned at most once for every entry of the smallest set.
    let leaps = smallest as f64 * sets.len() as f64;
    let entries = smallest.saturating_mul(sets.len() as u64);
    SetCandidate {
        set: DocumentSet::Intersection(sets.iter().map(|set| set.set.clone()).collect()),
        entries,
        documents,
        cost_first: sets.iter().map(|set| set.cost_first).sum(),
        cost_walk: leaps * cost::SEEK,
        node: PlanNode {
            name: "intersection",
            index: None,
            predicate: None,
            detail: None,
            entries,
            documents,
            children: sets.iter().map(|set| set.node.clone()).collect(),
        },
    }
}
