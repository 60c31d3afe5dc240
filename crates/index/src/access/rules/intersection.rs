//! `AND`: documents that are in several sets, by leaping from set to set.
//!
//! A leap costs more than the next entry, but saves documents. Sets are added from the smallest on
//! for as long as that makes the whole cheaper.

use crate::access::candidate::{Candidate, Found, Situation};
use crate::access::estimate::whole;
use crate::access::filter::Filter;
use crate::access::rules::found;
use crate::access::{Places, PlanNode, cost};

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    best(situation, situation.filter)
        .filter(|found| matches!(found.places, Places::All(_)))
        .map(|found| situation.candidate_of(found))
        .into_iter()
        .collect()
}

/// The cheapest way to find the documents of a filter in the order of places.
pub(super) fn best(situation: &Situation<'_>, filter: &Filter) -> Option<Found> {
    let terms = filter.terms.iter();
    let mut sets: Vec<Found> = terms.filter_map(|term| found(situation, term)).collect();
    sets.sort_by(|a, b| price(a).total_cmp(&price(b)));
    let mut sets = sets.into_iter();
    let mut all = vec![sets.next()?];
    let mut best = all[0].clone();
    for set in sets {
        all.push(set);
        let both = together(situation, &all);
        if price(&both) < price(&best) {
            best = both;
        } else {
            all.pop();
        }
    }
    Some(best)
}

fn price(found: &Found) -> f64 {
    found.cost_first + found.cost_walk + found.documents as f64 * cost::DOCUMENT_FETCHED
}

fn together(situation: &Situation<'_>, sets: &[Found]) -> Found {
    let scope = situation.estimator.documents().max(1) as f64;
    let smallest = sets.iter().map(|set| set.entries).min().unwrap_or(0);
    let share: f64 = sets
        .iter()
        .map(|set| set.documents as f64 / scope)
        .product();
    let documents = whole(scope * share);
    // Each set stops at most as often as the smallest one has entries.
    let leaps = smallest as f64 * sets.len() as f64;
    let entries = smallest.saturating_mul(sets.len() as u64);
    Found {
        places: Places::All(sets.iter().map(|set| set.places.clone()).collect()),
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
