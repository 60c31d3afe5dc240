//! `ORDER BY` one path: its entries are in that order already, so a page reads what it gives.
//!
//! Documents without the path have no entry. They would come first or last, so the index gives the
//! order only when there are none, or when the filter leaves none of them.

use crate::IndexHash;
use crate::access::candidate::{Candidate, Situation};
use crate::access::estimate::whole;
use crate::access::intervals::Intervals;
use crate::access::{
    Access, AccessKind, AccessTag, Direction, EntryScan, Estimate, PlanNode, QueryShape, Take,
    composed, cost, wording,
};

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    candidate(situation).into_iter().collect()
}

fn candidate(situation: &Situation<'_>) -> Option<Candidate> {
    let [term] = situation.request.order else {
        return None;
    };
    let estimator = situation.estimator;
    if situation.request.shape != QueryShape::Sorted
        || term.path.is_multiple()
        || !situation.request.definition.covers(&term.path)
    {
        return None;
    }
    let index = IndexHash::of_path(&term.path);
    let said = situation.filter.value_at(&term.path);
    let (intervals, all) = match said {
        Some(said) => (said.intervals.clone(), said.entries),
        None if estimator.is_everywhere(&term.path) => {
            (Intervals::everything(), estimator.documents())
        }
        None => return None,
    };
    if composed::are_possible(estimator, index, &intervals) {
        return None;
    }
    let entries = whole(all as f64 * situation.page_share());
    let first = intervals.list.len() as f64 * cost::CURSOR;
    Some(Candidate {
        access: Access::Entries(EntryScan {
            runs: intervals.runs(index),
            direction: if term.descending {
                Direction::Backward
            } else {
                Direction::Forward
            },
            ordered_columns: 1,
            take: Take::Documents { once: false },
        }),
        tag: AccessTag {
            kind: AccessKind::Ordered,
            index,
        },
        estimate: Estimate {
            entries,
            documents: entries,
        },
        cost: first
            + estimator.walked(entries) * cost::ENTRY
            + entries as f64 * cost::DOCUMENT_FETCHED,
        node: PlanNode {
            name: "ordered",
            index: Some(wording::single_spec(&term.path)),
            predicate: said.map(|said| said.text.clone()),
            detail: Some(if term.descending {
                "backward"
            } else {
                "forward"
            }),
            entries,
            documents: entries,
            children: Vec::new(),
        },
    })
}
