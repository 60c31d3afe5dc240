//! The square of a spatial index, mapped to the globe or to the bounding box of its policy.

use orrery_exec::SpatialRelation;
use orrery_json::Value;
use orrery_model::SpatialIndex;

use super::bounds::{Bounds, ShapeExtent};
use super::cell::{Area, CUTS, Cell, cover};
use super::geojson;
use crate::value::write_cell;

/// Maps geometries to cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    x: Axis,
    y: Axis,
}

/// One dimension of the grid. A coordinate beyond an end is mapped to that end, so that its
/// geometry is still found.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Axis {
    start: f64,
    end: f64,
}

const CELLS_STORED_MAX: usize = 8;
const CELLS_QUERIED_MAX: usize = 16;

impl Grid {
    pub(crate) fn of(index: &SpatialIndex) -> Grid {
        let axis = |start, end| Axis { start, end };
        match index.bounding_box {
            None => Grid {
                x: axis(-180.0, 180.0),
                y: axis(-90.0, 90.0),
            },
            Some(bounds) => Grid {
                x: axis(bounds.x_min.as_f64(), bounds.x_max.as_f64()),
                y: axis(bounds.y_min.as_f64(), bounds.y_max.as_f64()),
            },
        }
    }

    /// The cells of a document's value. Empty when the value is not a geometry.
    pub(crate) fn cells(&self, value: &Value) -> Vec<u64> {
        let Some(shape) = geojson::parse(value) else {
            return Vec::new();
        };
        let cells = match ShapeExtent::of(&shape) {
            ShapeExtent::Everywhere => vec![Cell::WHOLE],
            ShapeExtent::Within(bounds) => cover(&self.area(&bounds), CELLS_STORED_MAX),
        };
        cells.into_iter().map(|cell| cell.0).collect()
    }

    /// The entries of all geometries that may satisfy the relation to `geometry`, as ranges of
    /// value bytes from the first up to but without the second; ascending and disjoint.
    pub fn cover_query(
        &self,
        geometry: &Value,
        relation: SpatialRelation,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let Some(shape) = geojson::parse(geometry) else {
            return Vec::new();
        };
        let metres = match relation {
            SpatialRelation::Within | SpatialRelation::Intersects => 0.0,
            SpatialRelation::Distance { metres_max } => metres_max,
        };
        let cells: Vec<Cell> = match ShapeExtent::of(&shape) {
            ShapeExtent::Within(bounds) if !metres.is_nan() => bounds
                .within_metres(metres)
                .iter()
                .flat_map(|bounds| cover(&self.area(bounds), CELLS_QUERIED_MAX))
                .collect(),
            _ => vec![Cell::WHOLE],
        };
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for cell in cells {
            // The entry of a stored geometry may name this cell, a descendant cell, or an ancestor
            // cell.
            ranges.push(cell.descendants());
            ranges.extend(cell.ancestors().map(|cell| (cell.0, cell.0)));
        }
        merged(ranges)
            .into_iter()
            .map(|(first, last)| (bytes(first), bytes(last + 1)))
            .collect()
    }

    fn area(&self, bounds: &Bounds) -> Area {
        Area {
            west: self.x.step(bounds.west),
            south: self.y.step(bounds.south),
            east: self.x.step(bounds.east),
            north: self.y.step(bounds.north),
        }
    }
}

impl Axis {
    /// The column or row of a coordinate. Monotonic in the coordinate.
    fn step(self, coordinate: f64) -> u32 {
        let fraction = (coordinate - self.start) / (self.end - self.start);
        let steps = f64::from(1_u32 << CUTS);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to what fits"
        )]
        let step = (fraction * steps).clamp(0.0, steps - 1.0) as u32;
        step
    }
}

/// Merges inclusive ranges into sorted, disjoint ranges.
fn merged(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (first, last) in ranges {
        match merged.last_mut() {
            Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
            _ => merged.push((first, last)),
        }
    }
    merged
}

fn bytes(cell: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_cell(cell, &mut bytes);
    bytes
}
