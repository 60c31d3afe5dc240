//! Geometries of documents and queries.

use orrery_json::Value;

/// A longitude and a latitude, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Position {
    pub(super) longitude: f64,
    pub(super) latitude: f64,
}

pub(super) enum Shape {
    Point(Position),
    Line(Vec<Position>),
    /// The rings of a polygon, outer ring first.
    Polygon(Vec<Vec<Position>>),
    /// The rings of all polygons of a collection, which has more than one.
    Polygons(Vec<Vec<Position>>),
}

const POSITIONS_MAX: usize = 4096;
const RING_POSITIONS_MIN: usize = 4;

/// None for what the functions of the language do not take as a geometry either.
pub(super) fn parse(value: &Value) -> Option<Shape> {
    let coordinates = value.get("coordinates");
    match value.get("type").as_str()? {
        "Point" => position(coordinates).map(Shape::Point),
        "LineString" => positions(coordinates)
            .filter(|positions| positions.len() >= 2)
            .map(Shape::Line),
        "Polygon" => bounded(rings(coordinates)?).map(Shape::Polygon),
        "MultiPolygon" => {
            let polygons = elements(coordinates)?;
            let mut all = Vec::new();
            for polygon in polygons {
                all.extend(rings(polygon)?);
            }
            let all = bounded(all)?;
            Some(match polygons.len() {
                1 => Shape::Polygon(all),
                _ => Shape::Polygons(all),
            })
        }
        _ => None,
    }
}

fn bounded(rings: Vec<Vec<Position>>) -> Option<Vec<Vec<Position>>> {
    let count: usize = rings.iter().map(Vec::len).sum();
    (count <= POSITIONS_MAX).then_some(rings)
}

fn elements(value: &Value) -> Option<&[Value]> {
    value.as_array().filter(|elements| !elements.is_empty())
}

fn rings(value: &Value) -> Option<Vec<Vec<Position>>> {
    elements(value)?.iter().map(ring).collect()
}

fn ring(value: &Value) -> Option<Vec<Position>> {
    positions(value).filter(|ring| ring.len() >= RING_POSITIONS_MIN && ring.first() == ring.last())
}

fn positions(value: &Value) -> Option<Vec<Position>> {
    let elements = value.as_array()?;
    if elements.len() > POSITIONS_MAX {
        return None;
    }
    elements.iter().map(position).collect()
}

fn position(value: &Value) -> Option<Position> {
    let longitude = value.at(0).as_number()?.as_f64();
    let latitude = value.at(1).as_number()?.as_f64();
    // Not a number is in neither range.
    let is_valid = longitude.abs() <= 180.0 && latitude.abs() <= 90.0;
    is_valid.then_some(Position {
        longitude,
        latitude,
    })
}
