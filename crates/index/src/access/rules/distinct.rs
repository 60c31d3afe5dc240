//! `DISTINCT` over one path: from each value the walk leaps to the next.

use crate::access::candidate::{Candidate, Situation};
use crate::access::rules::covering::{Taken, covered};
use crate::access::{AccessKind, Direction, QueryShape, Take, cost};

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    if situation.request.shape != QueryShape::Distinct {
        return Vec::new();
    }
    covered(situation)
        .map(|covered| {
            let distinct = situation.estimator.distinct(covered.index);
            let entries = distinct.map_or(covered.entries, |all| all.min(covered.entries));
            let first = covered.intervals.list.len() as f64 * cost::CURSOR;
            covered.candidate(&Taken {
                take: Take::DistinctValues,
                kind: AccessKind::DistinctValues,
                direction: Direction::Forward,
                name: "distinct values",
                entries,
                cost: first + entries as f64 * cost::SEEK,
            })
        })
        .into_iter()
        .collect()
}
