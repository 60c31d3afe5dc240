//! Geometries: the cells that a region touches are ranges of a spatial index.
//!
//! A document has an entry for each cell of its geometry, so the entries need the same care as
//! those of a path with several values.

use crate::access::candidate::{Candidate, Found, Situation};
use crate::access::filter::{ShapeTerm, Term};
use crate::access::rules::gathered::{self, EntrySet};
use crate::access::rules::once;

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for term in &situation.filter.terms {
        if let Term::Shape(term) = term
            && let Some(set) = entries(term)
        {
            let gathered = gathered::gather(situation, &set);
            candidates.extend(gathered.map(|found| situation.candidate_of(found)));
            candidates.extend(once::each_once(situation, &set));
        }
    }
    candidates
}

pub(super) fn found(situation: &Situation<'_>, term: &ShapeTerm) -> Option<Found> {
    gathered::gather(situation, &entries(term)?)
}

fn entries(term: &ShapeTerm) -> Option<EntrySet<'_>> {
    Some(EntrySet {
        index: term.index?,
        intervals: &term.cells,
        entries: term.entries,
        path: &term.path,
        text: &term.text,
    })
}
