//! Composite indexes: several equalities at once, a range after equalities, an order of several
//! paths.
//!
//! Every document has an entry in every composite index, with `undefined` for missing paths. So the
//! index is complete for any order over its paths, without knowledge of the documents.

use crate::access::candidate::{Candidate, PlanningContext, SetCandidate};
use crate::access::composite::{Composite, CompositeMatch, composites};
use crate::access::estimate::whole;
use crate::access::{
    AccessKind, AccessPath, AccessTag, DocumentSet, EntryOutput, EntryScan, Estimate, PlanNode,
    QueryShape, ScanDirection, cost,
};

/// With fewer parts, the index of the single path does the same with shorter entries.
const PARTS_USED_MIN: usize = 2;

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for composite in composites(context.request.definition) {
        let narrowed = composite.match_filter(context.filter);
        if narrowed.used >= PARTS_USED_MIN {
            candidates.push(filtered(context, &composite, &narrowed));
        }
        if context.request.shape == QueryShape::Sorted
            && let Some(direction) = composite.direction(context.request.order, narrowed.equal)
        {
            candidates.push(ordered(context, &composite, &narrowed, direction));
        }
    }
    candidates
}

fn filtered(
    context: &PlanningContext<'_>,
    composite: &Composite,
    narrowed: &CompositeMatch,
) -> Candidate {
    let entries = entries(context, composite, narrowed);
    let cursors = narrowed.intervals.list.len();
    let first = cursors as f64 * cost::CURSOR;
    let node = node("composite", composite, narrowed, entries);
    if narrowed.intervals.all_points() && cursors <= cost::MERGED_POINTS_MAX {
        return context.candidate_of(SetCandidate {
            set: points(composite, narrowed),
            entries,
            documents: entries,
            cost_first: first,
            cost_walk: entries as f64 * cost::ENTRY,
            node,
        });
    }
    let walk =
        context.estimator.walked(entries) * cost::ENTRY + entries as f64 * cost::DOCUMENT_FETCHED;
    Candidate {
        access: AccessPath::Entries(EntryScan {
            ranges: narrowed.intervals.entry_ranges(composite.index),
            direction: ScanDirection::Forward,
            ordered_columns: 0,
            output: EntryOutput::Documents { once: false },
        }),
        tag: AccessTag {
            kind: AccessKind::CompositeRange,
            index: composite.index,
        },
        estimate: Estimate {
            entries,
            documents: entries,
        },
        cost: context.cost_unordered(first, walk),
        node,
    }
}

fn points(composite: &Composite, narrowed: &CompositeMatch) -> DocumentSet {
    let runs = narrowed.intervals.entry_ranges(composite.index);
    let mut sets: Vec<DocumentSet> = runs.into_iter().map(DocumentSet::Point).collect();
    if sets.len() == 1 {
        sets.remove(0)
    } else {
        DocumentSet::Union(sets)
    }
}

fn ordered(
    context: &PlanningContext<'_>,
    composite: &Composite,
    narrowed: &CompositeMatch,
    direction: ScanDirection,
) -> Candidate {
    let all = entries(context, composite, narrowed);
    let entries = whole(all as f64 * context.page_fraction());
    let first = narrowed.intervals.list.len() as f64 * cost::CURSOR;
    Candidate {
        access: AccessPath::Entries(EntryScan {
            ranges: narrowed.intervals.entry_ranges(composite.index),
            direction,
            ordered_columns: context.request.order.len(),
            output: EntryOutput::Documents { once: false },
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
            + context.estimator.walked(entries) * cost::ENTRY
            + entries as f64 * cost::DOCUMENT_FETCHED,
        node: PlanNode {
            detail: Some(match direction {
                ScanDirection::Forward => "forward",
                ScanDirection::Backward => "backward",
            }),
            ..node("ordered composite", composite, narrowed, entries)
        },
    }
}

/// Estimates the entries. Encoded composite values mix several types, so byte distances cannot
/// measure a range of them.
fn entries(context: &PlanningContext<'_>, composite: &Composite, narrowed: &CompositeMatch) -> u64 {
    let estimator = context.estimator;
    if narrowed.used > 0
        && let Some(counted) = estimator.counted(composite.index, &narrowed.intervals)
    {
        return counted;
    }
    let used = composite.parts[..narrowed.used].iter();
    let share: f64 = used
        .filter_map(|part| context.filter.value_at(&part.path))
        .map(|term| estimator.selectivity_of_value(term))
        .product();
    whole(estimator.documents() as f64 * share)
}

fn node(
    name: &'static str,
    composite: &Composite,
    narrowed: &CompositeMatch,
    entries: u64,
) -> PlanNode {
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
