//! The square of a spatial index, laid over the earth or over the box of its policy.

use orrery_exec::SpatialRelation;
use orrery_json::Value;
use orrery_model::SpatialIndex;

use super::bounds::{Bounds, Region};
use super::cell::{Area, CUTS, Cell, cover};
use super::geojson;
use crate::value::write_cell;

/// Which cells geometries are in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    x: Axis,
    y: Axis,
}

/// What is beyond an end is taken to be at the end, so that it is still found.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Axis {
    start: f64,
    end: f64,
}

const CELLS_STORED_MAX: usize = 8;
const CELLS_ASKED_MAX: usize = 16;

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

    /// The cells of a value of a document; none when it is no geometry.
    pub(crate) fn cells(&self, value: &Value) -> Vec<u64> {
        let Some(shape) = geojson::parse(value) else {
            return Vec::new();
        };
        let cells = match Region::of(&shape) {
            Region::Everywhere => vec![Cell::WHOLE],
            Region::Within(bounds) => cover(&self.area(&bounds), CELLS_STORED_MAX),
        };
        cells.into_iter().map(|cell| cell.0).collect()
    }

    /// The entries of all geometries that may have the relation to this one, as the bytes of their
    /// values from the first up to but without the second; ascending and disjoint.
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
        let cells: Vec<Cell> = match Region::of(&shape) {
            Region::Within(bounds) if !metres.is_nan() => bounds
                .within_metres(metres)
                .iter()
                .flat_map(|bounds| cover(&self.area(bounds), CELLS_ASKED_MAX))
                .collect(),
            _ => vec![Cell::WHOLE],
        };
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for cell in cells {
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
    /// Never falls as the coordinate grows.
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

/// Ranges with both ends, sorted, each number in one of them only.
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
