//! `ORDER BY` one path: the index has this order, so a page reads only the entries of its rows.
//!
//! A document without the path has no entry, but its row would sort first or last. So the index
//! provides the order only when every document has the path, or when the filter excludes documents
//! without it.

use crate::IndexHash;
use crate::access::candidate::{Candidate, PlanningContext};
use crate::access::estimate::whole;
use crate::access::intervals::Intervals;
use crate::access::{
    AccessKind, AccessPath, AccessTag, EntryOutput, EntryScan, Estimate, PlanNode, QueryShape,
    ScanDirection, cost, non_scalar, wording,
};

pub(super) fn propose(context: &PlanningContext<'_>) -> Vec<Candidate> {
    candidate(context).into_iter().collect()
}

fn candidate(context: &PlanningContext<'_>) -> Option<Candidate> {
    let [term] = context.request.order else {
        return None;
    };
    let estimator = context.estimator;
    if context.request.shape != QueryShape::Sorted
        || term.path.is_multiple()
        || !context.request.definition.covers(&term.path)
    {
        return None;
    }
    let index = IndexHash::of_path(&term.path);
    let said = context.filter.value_at(&term.path);
    let (intervals, all) = match said {
        Some(said) => (said.intervals.clone(), said.entries),
        None if estimator.is_everywhere(&term.path) => {
            (Intervals::everything(), estimator.documents())
        }
        None => return None,
    };
    if non_scalar::are_possible(estimator, index, &intervals) {
        return None;
    }
    let entries = whole(all as f64 * context.page_fraction());
    let first = intervals.list.len() as f64 * cost::CURSOR;
    Some(Candidate {
        access: AccessPath::Entries(EntryScan {
            ranges: intervals.entry_ranges(index),
            direction: if term.descending {
                ScanDirection::Backward
            } else {
                ScanDirection::Forward
            },
            ordered_columns: 1,
            output: EntryOutput::Documents { once: false },
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
