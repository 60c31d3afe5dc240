//! The rules, one for each way to find documents. Each proposes what it can; the cheapest wins.

mod composite;
mod counted;
mod covering;
mod distinct;
mod equality;
mod extreme;
mod gathered;
mod in_list;
mod intersection;
mod named;
mod once;
mod ordered;
mod range;
mod scan;
mod spatial;
mod union;

use super::candidate::{Candidate, Found, Situation};
use super::filter::Term;

pub(super) use named::propose as propose_named;

pub(super) type Rule = fn(&Situation<'_>) -> Vec<Candidate>;

/// What is right with no index at all.
pub(super) const ALWAYS: [Rule; 2] = [counted::propose, scan::propose];

/// What is right when every document has its entries. Of two proposals with one price the earlier
/// wins.
pub(super) const INDEXED: [Rule; 11] = [
    equality::propose,
    in_list::propose,
    union::propose,
    intersection::propose,
    range::propose,
    once::propose,
    gathered::propose,
    composite::propose,
    ordered::propose,
    spatial::propose,
    values,
];

/// Entries that stand for their documents.
fn values(situation: &Situation<'_>) -> Vec<Candidate> {
    [covering::propose, distinct::propose, extreme::propose]
        .into_iter()
        .flat_map(|rule| rule(situation))
        .collect()
}

/// The documents of one term in the order of places, in the cheapest way that has that order.
fn found(situation: &Situation<'_>, term: &Term) -> Option<Found> {
    match term {
        Term::Value(term) => equality::found(situation, term)
            .or_else(|| in_list::found(situation, term))
            .or_else(|| gathered::found(situation, term)),
        Term::Shape(term) => spatial::found(situation, term),
        Term::Either(filters) => union::found(situation, filters),
    }
}
