//! The rules, one for each kind of access path. Each rule proposes candidates; the cheapest wins.

mod composite;
mod covering;
mod distinct;
mod equality;
mod gathered;
mod id_lookup;
mod in_list;
mod intersection;
mod min_max;
mod once;
mod ordered;
mod range;
mod scan;
mod spatial;
mod stored_count;
mod union;

use super::candidate::{Candidate, PlanningContext, SetCandidate};
use super::filter::Term;

pub(super) use id_lookup::propose as propose_id_lookup;

pub(super) type AccessRule = fn(&PlanningContext<'_>) -> Vec<Candidate>;

/// Rules that are valid without any index.
pub(super) const ALWAYS: [AccessRule; 2] = [stored_count::propose, scan::propose];

/// Rules that are valid when every document has its entries. Of two proposals with equal cost the
/// earlier one wins.
pub(super) const INDEXED: [AccessRule; 11] = [
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

/// Rules in which entries replace documents.
fn values(context: &PlanningContext<'_>) -> Vec<Candidate> {
    [covering::propose, distinct::propose, min_max::propose]
        .into_iter()
        .flat_map(|rule| rule(context))
        .collect()
}

/// The documents of one term in document key order, by the cheapest method with that order.
fn document_set(context: &PlanningContext<'_>, term: &Term) -> Option<SetCandidate> {
    match term {
        Term::Value(term) => equality::document_set(context, term)
            .or_else(|| in_list::document_set(context, term))
            .or_else(|| gathered::document_set(context, term)),
        Term::Spatial(term) => spatial::document_set(context, term),
        Term::Either(filters) => union::document_set(context, filters),
    }
}
