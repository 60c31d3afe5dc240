//! Queries that read one path and nothing else: entries stand for their documents.
//!
//! That holds when each document that passes the filter has exactly one entry in the intervals and
//! no other document has one: one value at the path, a filter that is about this path alone and
//! is told by entries, and no document without the path unless the filter leaves it out.
//!
//! Long strings and large integers do not survive in entries. Which paths have them is not known
//! here: who takes the values goes to the documents where a decoded one is not exact.

use crate::IndexHash;
use crate::access::candidate::{Candidate, Situation};
use crate::access::filter::Term;
use crate::access::intervals::Intervals;
use crate::access::{
    Access, AccessKind, AccessTag, Direction, EntryScan, Estimate, PlanNode, QueryShape, Take,
    composed, cost, wording,
};

/// The entries that stand for the documents of a query.
pub(super) struct Covered {
    pub(super) index: IndexHash,
    pub(super) intervals: Intervals,
    pub(super) entries: u64,
    spec: String,
    predicate: Option<String>,
}

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    if situation.request.shape != QueryShape::Grouped {
        return Vec::new();
    }
    covered(situation)
        .map(|covered| {
            let entries = covered.entries;
            let walked = situation.estimator.walked(entries);
            let first = covered.intervals.list.len() as f64 * cost::CURSOR;
            covered.candidate(&Taken {
                take: Take::Values,
                kind: AccessKind::Values,
                direction: Direction::Forward,
                name: "values",
                entries,
                cost: first + walked * cost::ENTRY,
            })
        })
        .into_iter()
        .collect()
}

pub(super) fn covered(situation: &Situation<'_>) -> Option<Covered> {
    let request = situation.request;
    let path = request.covering?;
    let estimator = situation.estimator;
    if path.is_multiple() || !request.definition.covers(path) || !request.narrowing.is_exact {
        return None;
    }
    let index = IndexHash::of_path(path);
    let (intervals, entries, predicate) = match &situation.filter.terms[..] {
        [] if estimator.is_everywhere(path) => {
            (Intervals::everything(), estimator.documents(), None)
        }
        [Term::Value(term)] if term.path == *path && term.intervals.is_exact => (
            term.intervals.clone(),
            term.entries,
            Some(term.text.clone()),
        ),
        _ => return None,
    };
    if composed::are_possible(estimator, index, &intervals) {
        return None;
    }
    Some(Covered {
        index,
        intervals,
        entries,
        spec: wording::single_spec(path),
        predicate,
    })
}

/// What is made of covered entries.
pub(super) struct Taken {
    pub(super) take: Take,
    pub(super) kind: AccessKind,
    pub(super) direction: Direction,
    pub(super) name: &'static str,
    pub(super) entries: u64,
    pub(super) cost: f64,
}

impl Covered {
    pub(super) fn candidate(self, taken: &Taken) -> Candidate {
        Candidate {
            access: Access::Entries(EntryScan {
                runs: self.intervals.runs(self.index),
                direction: taken.direction,
                ordered_columns: 0,
                take: taken.take,
            }),
            tag: AccessTag {
                kind: taken.kind,
                index: self.index,
            },
            estimate: Estimate {
                entries: taken.entries,
                documents: 0,
            },
            cost: taken.cost,
            node: PlanNode {
                name: taken.name,
                index: Some(self.spec),
                predicate: self.predicate,
                detail: None,
                entries: taken.entries,
                documents: 0,
                children: Vec::new(),
            },
        }
    }
}
