//! Composite indexes: several equalities at once, a range behind them, an order of several paths.
//!
//! Every document has an entry in every composite index, with `undefined` for what it does not
//! have, so nothing has to be known about the paths to walk it in its order.

use crate::access::candidate::{Candidate, Found, Situation};
use crate::access::composite::{Composite, Narrowed, composites};
use crate::access::estimate::whole;
use crate::access::{
    Access, AccessKind, AccessTag, Direction, EntryScan, Estimate, Places, PlanNode, QueryShape,
    Take, cost,
};

/// With fewer parts the index of the one path does the same with shorter entries.
const PARTS_USED_MIN: usize = 2;

pub(super) fn propose(situation: &Situation<'_>) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for composite in composites(situation.request.definition) {
        let narrowed = composite.narrow(situation.filter);
        if narrowed.used >= PARTS_USED_MIN {
            candidates.push(filtered(situation, &composite, &narrowed));
        }
        if situation.request.shape == QueryShape::Sorted
            && let Some(direction) = composite.direction(situation.request.order, narrowed.equal)
        {
            candidates.push(ordered(situation, &composite, &narrowed, direction));
        }
    }
    candidates
}

fn filtered(situation: &Situation<'_>, composite: &Composite, narrowed: &Narrowed) -> Candidate {
    let entries = entries(situation, composite, narrowed);
    let cursors = narrowed.intervals.list.len();
    let first = cursors as f64 * cost::CURSOR;
    let node = node("composite", composite, narrowed, entries);
    if narrowed.intervals.all_points() && cursors <= cost::MERGED_POINTS_MAX {
        return situation.candidate_of(Found {
            places: points(composite, narrowed),
            entries,
            documents: entries,
            cost_first: first,
            cost_walk: entries as f64 * cost::ENTRY,
            node,
        });
    }
    let walk =
        situation.estimator.walked(entries) * cost::ENTRY + entries as f64 * cost::DOCUMENT_FETCHED;
    Candidate {
        access: Access::Entries(EntryScan {
            runs: narrowed.intervals.runs(composite.index),
            direction: Direction::Forward,
            ordered_columns: 0,
            take: Take::Documents { once: false },
        }),
        tag: AccessTag {
            kind: AccessKind::CompositeRange,
            index: composite.index,
        },
        estimate: Estimate {
            entries,
            documents: entries,
        },
        cost: situation.cost_unordered(first, walk),
        node,
    }
}

fn points(composite: &Composite, narrowed: &Narrowed) -> Places {
    let runs = narrowed.intervals.runs(composite.index);
    let mut places: Vec<Places> = runs.into_iter().map(Places::Run).collect();
    if places.len() == 1 {
        places.remove(0)
    } else {
        Places::Any(places)
    }
}

fn ordered(
    situation: &Situation<'_>,
    composite: &Composite,
    narrowed: &Narrowed,
    direction: Direction,
) -> Candidate {
    let all = entries(situation, composite, narrowed);
    let entries = whole(all as f64 * situation.page_share());
    let first = narrowed.intervals.list.len() as f64 * cost::CURSOR;
    Candidate {
        access: Access::Entries(EntryScan {
            runs: narrowed.intervals.runs(composite.index),
            direction,
            ordered_columns: situation.request.order.len(),
            take: Take::Documents { once: false },
        }),
        tag: AccessTag {
            kind: AccessKind::CompositeOrdered,
            index: composite.index,
        },
        estimate: Estimate {
            entries,
            documents: entries,
        },
        cost: first
            + situation.estimator.walked(entries) * cost::ENTRY
            + entries as f64 * cost::DOCUMENT_FETCHED,
        node: PlanNode {
            detail: Some(match direction {
                Direction::Forward => "forward",
                Direction::Backward => "backward",
            }),
            ..node("ordered composite", composite, narrowed, entries)
        },
    }
}

/// Values of composite indexes are too mixed to measure ranges by their bytes.
fn entries(situation: &Situation<'_>, composite: &Composite, narrowed: &Narrowed) -> u64 {
    let estimator = situation.estimator;
    if narrowed.used > 0
        && let Some(counted) = estimator.counted(composite.index, &narrowed.intervals)
    {
        return counted;
    }
    let used = composite.parts[..narrowed.used].iter();
    let share: f64 = used
        .filter_map(|part| situation.filter.value_at(&part.path))
        .map(|term| estimator.share_of_value(term))
        .product();
    whole(estimator.documents() as f64 * share)
}

fn node(name: &'static str, composite: &Composite, narrowed: &Narrowed, entries: u64) -> PlanNode {
    PlanNode {
        name,
        index: Some(composite.name()),
        predicate: (narrowed.used > 0).then(|| narrowed.text.clone()),
        detail: None,
        entries,
        documents: entries,
        children: Vec::new(),
    }
}
