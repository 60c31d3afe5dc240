//! Predicates implied by a block that has a row.

use super::range::Ranges;
use super::{BoundPath, FrameBindings, ImpliedPredicate, atom, combine, filter};
use crate::predicate::ValueRange;
use crate::projection::RowProjection;
use crate::query_block::QueryBlock;
use crate::row_source::RowSource;
use crate::scalar::Scalar;

/// A combination of sources passes the filter; also returns the frames of that combination.
pub(super) fn frames_exist<'a>(
    block: &QueryBlock,
    outer: &FrameBindings<'a>,
) -> (ImpliedPredicate, FrameBindings<'a>) {
    let mut frames = outer.clone();
    let mut terms = Vec::new();
    for source in &block.sources {
        let bound_path = match source {
            RowSource::Defined(value) => {
                terms.push(match frames.bound_path(value) {
                    Some(bound_path) => {
                        atom::value(bound_path, Ranges::exactly(vec![ValueRange::Defined]))
                    }
                    None => ImpliedPredicate::UNKNOWN,
                });
                continue;
            }
            RowSource::Elements(array) => frames.bound_path(array).map(BoundPath::element),
            RowSource::Rows(block) => {
                let (rows, bound_path) = row_exists(block, &frames);
                terms.push(rows.inexact());
                bound_path
            }
            RowSource::ElementsOfRows(block) => {
                let (rows, bound_path) = row_exists(block, &frames);
                terms.push(rows.inexact());
                bound_path.map(BoundPath::element)
            }
        };
        // A join over a missing array has no rows, so the element must exist.
        terms.push(atom::defined(bound_path.clone()).inexact());
        frames.paths.push(bound_path);
    }
    if let Some(condition) = &block.filter {
        terms.push(filter::implied_by(condition, true, &frames));
    }
    (combine::all(terms), frames)
}

/// The predicate of a block that has a row, together with the document path of the rows.
pub(super) fn row_exists(
    block: &QueryBlock,
    outer: &FrameBindings<'_>,
) -> (ImpliedPredicate, Option<BoundPath>) {
    if let Some(grouping) = &block.grouping {
        // Without keys an aggregate has a row even over an empty set.
        let rows = if grouping.keys.is_empty() {
            ImpliedPredicate::UNKNOWN
        } else {
            frames_exist(block, outer).0
        };
        return (rows, None);
    }
    let (rows, frames) = frames_exist(block, outer);
    let bound_path = match &block.projection {
        RowProjection::Document => frames.bound_path(&Scalar::Path(0, Vec::new())),
        RowProjection::Value(value) => frames.bound_path(value),
        RowProjection::Properties(_) => None,
    };
    let defined = atom::defined(bound_path.clone());
    (combine::all(vec![rows, defined]), bound_path)
}

/// Some row of the block has this truth value.
pub(super) fn row_has_truth(
    block: &QueryBlock,
    wanted: bool,
    outer: &FrameBindings<'_>,
) -> ImpliedPredicate {
    let RowProjection::Value(value) = &block.projection else {
        return ImpliedPredicate::UNKNOWN;
    };
    if block.grouping.is_some() {
        return ImpliedPredicate::UNKNOWN;
    }
    let (rows, frames) = frames_exist(block, outer);
    combine::all(vec![rows, filter::implied_by(value, wanted, &frames)])
}
