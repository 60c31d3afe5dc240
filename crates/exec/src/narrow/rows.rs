//! What it takes for a block to have a row.

use super::range::Ranges;
use super::{Frames, Narrow, Place, atom, combine, filter};
use crate::block::Block;
use crate::predicate::ValueRange;
use crate::projection::Selection;
use crate::scalar::Scalar;
use crate::source::Source;

/// A combination of sources passes the filter; and what the frames are there.
pub(super) fn of_frames<'a>(block: &Block, outer: &Frames<'a>) -> (Narrow, Frames<'a>) {
    let mut frames = outer.clone();
    let mut terms = Vec::new();
    for source in &block.sources {
        let place = match source {
            Source::Defined(value) => {
                terms.push(match frames.place(value) {
                    Some(place) => atom::value(place, Ranges::exactly(vec![ValueRange::Defined])),
                    None => Narrow::UNKNOWN,
                });
                continue;
            }
            Source::Elements(array) => frames.place(array).map(Place::element),
            Source::Rows(block) => {
                let (rows, place) = of_rows(block, &frames);
                terms.push(rows.vague());
                place
            }
            Source::ElementsOfRows(block) => {
                let (rows, place) = of_rows(block, &frames);
                terms.push(rows.vague());
                place.map(Place::element)
            }
        };
        terms.push(atom::defined(place.clone()).vague());
        frames.places.push(place);
    }
    if let Some(condition) = &block.filter {
        terms.push(filter::holds(condition, true, &frames));
    }
    (combine::all(terms), frames)
}

/// The block has a row; and where the rows are.
pub(super) fn of_rows(block: &Block, outer: &Frames<'_>) -> (Narrow, Option<Place>) {
    if let Some(grouping) = &block.grouping {
        let rows = if grouping.keys.is_empty() {
            Narrow::UNKNOWN
        } else {
            of_frames(block, outer).0
        };
        return (rows, None);
    }
    let (rows, frames) = of_frames(block, outer);
    let place = match &block.selection {
        Selection::Document => frames.place(&Scalar::Path(0, Vec::new())),
        Selection::Value(value) => frames.place(value),
        Selection::Properties(_) => None,
    };
    let defined = atom::defined(place.clone());
    (combine::all(vec![rows, defined]), place)
}

/// A row of the block has this truth.
pub(super) fn of_truth(block: &Block, wanted: bool, outer: &Frames<'_>) -> Narrow {
    let Selection::Value(value) = &block.selection else {
        return Narrow::UNKNOWN;
    };
    if block.grouping.is_some() {
        return Narrow::UNKNOWN;
    }
    let (rows, frames) = of_frames(block, outer);
    combine::all(vec![rows, filter::holds(value, wanted, &frames)])
}
