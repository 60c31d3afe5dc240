//! One `MIN` or `MAX` over one path: the first entry, or the last.

use crate::access::candidate::{Candidate, Situation};
use crate::access::rules::covering::{Taken, covered};
use crate::access::{AccessKind, Direction, Extreme, QueryShape, Take, cost};

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    let Some(extreme) = situation.request.extreme else {
        return Vec::new();
    };
    if situation.request.shape != QueryShape::Grouped {
        return Vec::new();
    }
    covered(situation)
        .map(|covered| {
            let entries = covered.entries.min(1);
            covered.candidate(&Taken {
                take: Take::FirstValue,
                kind: AccessKind::FirstValue,
                direction: match extreme {
                    Extreme::Min => Direction::Forward,
                    Extreme::Max => Direction::Backward,
                },
                name: match extreme {
                    Extreme::Min => "first value",
                    Extreme::Max => "last value",
                },
                entries,
                // Until a value has an entry in the scope.
                cost: cost::CURSOR + situation.estimator.walked(1) * cost::SEEK,
            })
        })
        .into_iter()
        .collect()
}
