//! Parses the `GeoJSON` geometries of documents and queries.

use orrery_json::Value;

/// A longitude and a latitude, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GeoPosition {
    pub(super) longitude: f64,
    pub(super) latitude: f64,
}

pub(super) enum GeoShape {
    Point(GeoPosition),
    Line(Vec<GeoPosition>),
    /// The rings of one polygon, outer ring first.
    Polygon(Vec<Vec<GeoPosition>>),
    /// The rings of several polygons.
    Polygons(Vec<Vec<GeoPosition>>),
}

const POSITIONS_MAX: usize = 4096;
const RING_POSITIONS_MIN: usize = 4;

/// Parses a geometry. `None` for values that the spatial functions of the query language reject as
/// well.
pub(super) fn parse(value: &Value) -> Option<GeoShape> {
    let coordinates = value.get("coordinates");
    match value.get("type").as_str()? {
        "Point" => position(coordinates).map(GeoShape::Point),
        "LineString" => positions(coordinates)
            .filter(|positions| positions.len() >= 2)
            .map(GeoShape::Line),
        "Polygon" => bounded(rings(coordinates)?).map(GeoShape::Polygon),
        "MultiPolygon" => {
            let polygons = elements(coordinates)?;
            let mut all = Vec::new();
            for polygon in polygons {
                all.extend(rings(polygon)?);
            }
            let all = bounded(all)?;
            Some(match polygons.len() {
                1 => GeoShape::Polygon(all),
                _ => GeoShape::Polygons(all),
            })
        }
        _ => None,
    }
}

fn bounded(rings: Vec<Vec<GeoPosition>>) -> Option<Vec<Vec<GeoPosition>>> {
    let count: usize = rings.iter().map(Vec::len).sum();
    (count <= POSITIONS_MAX).then_some(rings)
}

fn elements(value: &Value) -> Option<&[Value]> {
    value.as_array().filter(|elements| !elements.is_empty())
}

fn rings(value: &Value) -> Option<Vec<Vec<GeoPosition>>> {
    elements(value)?.iter().map(ring).collect()
}

fn ring(value: &Value) -> Option<Vec<GeoPosition>> {
    positions(value).filter(|ring| ring.len() >= RING_POSITIONS_MIN && ring.first() == ring.last())
}

fn positions(value: &Value) -> Option<Vec<GeoPosition>> {
    let elements = value.as_array()?;
    if elements.len() > POSITIONS_MAX {
        return None;
    }
    elements.iter().map(position).collect()
}

fn position(value: &Value) -> Option<GeoPosition> {
    let longitude = value.at(0).as_number()?.as_f64();
    let latitude = value.at(1).as_number()?.as_f64();
    // NaN fails both comparisons.
    let is_valid = longitude.abs() <= 180.0 && latitude.abs() <= 90.0;
    is_valid.then_some(GeoPosition {
        longitude,
        latitude,
    })
}
