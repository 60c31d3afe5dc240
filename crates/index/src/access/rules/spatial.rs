//! Geometries: the cells that a region touches are ranges of a spatial index.
//!
//! A document has one entry for each cell of its geometry, so duplicates must be removed as for a
//! multi-valued path.

use crate::access::candidate::{Candidate, PlanningContext, SetCandidate};
use crate::access::filter::{SpatialTerm, Term};
use crate::access::rules::gathered::{self, EntrySet};
use crate::access::rules::once;

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for term in &context.filter.terms {
        if let Term::Spatial(term) = term
            && let Some(set) = entries(term)
        {
            let gathered = gathered::gather(context, &set);
            candidates.extend(gathered.map(|found| context.candidate_of(found)));
            candidates.extend(once::each_once(context, &set));
        }
    }
    candidates
}

pub(super) fn document_set(
    context: &PlanningContext<'_>,
    term: &SpatialTerm,
) -> Option<SetCandidate> {
    gathered::gather(context, &entries(term)?)
}

fn entries(term: &SpatialTerm) -> Option<EntrySet<'_>> {
    Some(EntrySet {
        index: term.index?,
        intervals: &term.cells,
        entries: term.entries,
        path: &term.path,
        text: &term.text,
    })
}
