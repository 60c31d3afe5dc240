//! Parses `GeoJSON` objects into shapes.

use orrery_json::{Object, Value};

/// Longitude and latitude in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GeoPosition {
    pub(super) longitude: f64,
    pub(super) latitude: f64,
}

/// The outer ring and then the holes; each ring ends at its first point.
pub(super) type Rings = Vec<Vec<GeoPosition>>;

/// A parsed shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum GeoShape {
    Point(GeoPosition),
    Line(Vec<GeoPosition>),
    Polygons(Vec<Rings>),
}

/// The reason for which an object is not a valid shape. The first text is the service's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum GeoJsonError {
    #[error("Latitude values must be between -90 and 90 degrees.")]
    Latitude,
    #[error("Longitude values must be between -180 and 180 degrees.")]
    Longitude,
    #[error("The type must be Point, LineString, Polygon or MultiPolygon.")]
    Type,
    #[error("The coordinates do not have the structure that the type asks for.")]
    Structure,
    #[error("A LineString must have at least two points.")]
    LineLength,
    #[error("Each ring of a Polygon must have at least four points.")]
    RingLength,
    #[error("Each ring of a Polygon must have the same start and end points.")]
    RingOpen,
    #[error("A shape must have at most 4096 points.")]
    Points,
}

/// The documented limit for polygons; it bounds the work of one row.
const POINTS_MAX: usize = 4096;
const RING_POINTS_MIN: usize = 4;

/// Parses a shape; the first violation is the error.
pub(super) fn parse(object: &Object) -> Result<GeoShape, GeoJsonError> {
    let (Some(kind), Some(coordinates)) = (object.get("type"), object.get("coordinates")) else {
        return Err(GeoJsonError::Structure);
    };
    match kind.as_str() {
        Some("Point") => position(coordinates).map(GeoShape::Point),
        Some("LineString") => line(coordinates).map(GeoShape::Line),
        Some("Polygon") => Ok(GeoShape::Polygons(bounded(vec![rings(coordinates)?])?)),
        Some("MultiPolygon") => {
            let polygons = elements(coordinates)?
                .iter()
                .map(rings)
                .collect::<Result<_, _>>()?;
            Ok(GeoShape::Polygons(bounded(polygons)?))
        }
        _ => Err(GeoJsonError::Type),
    }
}

impl GeoShape {
    pub(super) fn positions(&self) -> impl Iterator<Item = &GeoPosition> + Clone {
        let (alone, polygons): (&[GeoPosition], &[Rings]) = match self {
            GeoShape::Point(position) => (std::slice::from_ref(position), &[]),
            GeoShape::Line(positions) => (positions, &[]),
            GeoShape::Polygons(polygons) => (&[], polygons),
        };
        alone.iter().chain(polygons.iter().flatten().flatten())
    }

    /// The line, or all rings.
    pub(super) fn lines(&self) -> Vec<&[GeoPosition]> {
        match self {
            GeoShape::Point(_) => Vec::new(),
            GeoShape::Line(positions) => vec![positions],
            GeoShape::Polygons(polygons) => polygons.iter().flatten().map(Vec::as_slice).collect(),
        }
    }
}

/// The parts of a collection. Their number is limited before they are parsed.
fn elements(value: &Value) -> Result<&[Value], GeoJsonError> {
    value
        .as_array()
        .filter(|elements| !elements.is_empty() && elements.len() <= POINTS_MAX)
        .ok_or(GeoJsonError::Structure)
}

/// Parses a position. An altitude behind longitude and latitude is ignored.
fn position(value: &Value) -> Result<GeoPosition, GeoJsonError> {
    let coordinates = value.as_array().ok_or(GeoJsonError::Structure)?;
    let number = |index: usize| {
        let number = coordinates.get(index).and_then(Value::as_number);
        number
            .filter(|number| number.is_finite())
            .ok_or(GeoJsonError::Structure)
    };
    let (longitude, latitude) = (number(0)?.as_f64(), number(1)?.as_f64());
    if latitude.abs() > 90.0 {
        return Err(GeoJsonError::Latitude);
    }
    if longitude.abs() > 180.0 {
        return Err(GeoJsonError::Longitude);
    }
    Ok(GeoPosition {
        longitude,
        latitude,
    })
}

fn positions(value: &Value) -> Result<Vec<GeoPosition>, GeoJsonError> {
    let elements = value.as_array().ok_or(GeoJsonError::Structure)?;
    if elements.len() > POINTS_MAX {
        return Err(GeoJsonError::Points);
    }
    elements.iter().map(position).collect()
}

fn line(value: &Value) -> Result<Vec<GeoPosition>, GeoJsonError> {
    let positions = positions(value)?;
    if positions.len() < 2 {
        return Err(GeoJsonError::LineLength);
    }
    Ok(positions)
}

fn rings(value: &Value) -> Result<Rings, GeoJsonError> {
    elements(value)?.iter().map(ring).collect()
}

fn ring(value: &Value) -> Result<Vec<GeoPosition>, GeoJsonError> {
    let positions = positions(value)?;
    if positions.first() != positions.last() {
        return Err(GeoJsonError::RingOpen);
    }
    if positions.len() < RING_POINTS_MIN {
        return Err(GeoJsonError::RingLength);
    }
    Ok(positions)
}

/// Limits the points of all rings together: each ring alone may be within the limit.
fn bounded(polygons: Vec<Rings>) -> Result<Vec<Rings>, GeoJsonError> {
    let points: usize = polygons.iter().flatten().map(Vec::len).sum();
    if points > POINTS_MAX {
        return Err(GeoJsonError::Points);
    }
    Ok(polygons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_why_others_are_none() {
        for (text, expected) in [
            (r#"{"type":"Point","coordinates":[1,2]}"#, None),
            (r#"{"type":"Point","coordinates":[1,2,3]}"#, None),
            (
                r#"{"type":"Point","coordinates":[1]}"#,
                Some(GeoJsonError::Structure),
            ),
            (
                r#"{"type":"Point","coordinates":["1",2]}"#,
                Some(GeoJsonError::Structure),
            ),
            (r#"{"type":"Point"}"#, Some(GeoJsonError::Structure)),
            (
                r#"{"type":"point","coordinates":[1,2]}"#,
                Some(GeoJsonError::Type),
            ),
            (
                r#"{"type":"Point","coordinates":[1,-91]}"#,
                Some(GeoJsonError::Latitude),
            ),
            (
                r#"{"type":"Point","coordinates":[181,0]}"#,
                Some(GeoJsonError::Longitude),
            ),
            (r#"{"type":"LineString","coordinates":[[0,0],[1,1]]}"#, None),
            (
                r#"{"type":"LineString","coordinates":[[0,0]]}"#,
                Some(GeoJsonError::LineLength),
            ),
            (
                r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}"#,
                None,
            ),
            (
                r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}"#,
                Some(GeoJsonError::RingOpen),
            ),
            (
                r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,0]]]}"#,
                Some(GeoJsonError::RingLength),
            ),
            (
                r#"{"type":"Polygon","coordinates":[]}"#,
                Some(GeoJsonError::Structure),
            ),
            (
                r#"{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]}"#,
                None,
            ),
        ] {
            let value = orrery_json::parse(text.as_bytes()).unwrap();
            assert_eq!(parse(value.as_object().unwrap()).err(), expected, "{text}");
        }
    }
}
