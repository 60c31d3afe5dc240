//! `GeoJSON` objects to shapes.

use orrery_json::{Object, Value};

/// A longitude and a latitude, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Position {
    pub(super) longitude: f64,
    pub(super) latitude: f64,
}

/// The outer ring and then the holes; each ends where it begins.
pub(super) type Rings = Vec<Vec<Position>>;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Point(Position),
    Line(Vec<Position>),
    Polygons(Vec<Rings>),
}

/// Why an object is not a valid shape. The first is the service's sentence.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Invalid {
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

/// As documented for polygons; it bounds the work that one row can ask for.
const POINTS_MAX: usize = 4096;
const RING_POINTS_MIN: usize = 4;

pub(super) fn parse(object: &Object) -> Result<Shape, Invalid> {
    let (Some(kind), Some(coordinates)) = (object.get("type"), object.get("coordinates")) else {
        return Err(Invalid::Structure);
    };
    match kind.as_str() {
        Some("Point") => position(coordinates).map(Shape::Point),
        Some("LineString") => line(coordinates).map(Shape::Line),
        Some("Polygon") => Ok(Shape::Polygons(bounded(vec![rings(coordinates)?])?)),
        Some("MultiPolygon") => {
            let polygons = elements(coordinates)?
                .iter()
                .map(rings)
                .collect::<Result<_, _>>()?;
            Ok(Shape::Polygons(bounded(polygons)?))
        }
        _ => Err(Invalid::Type),
    }
}

impl Shape {
    pub(super) fn positions(&self) -> impl Iterator<Item = &Position> + Clone {
        let (alone, polygons): (&[Position], &[Rings]) = match self {
            Shape::Point(position) => (std::slice::from_ref(position), &[]),
            Shape::Line(positions) => (positions, &[]),
            Shape::Polygons(polygons) => (&[], polygons),
        };
        alone.iter().chain(polygons.iter().flatten().flatten())
    }

    /// The line, or all the rings.
    pub(super) fn lines(&self) -> Vec<&[Position]> {
        match self {
            Shape::Point(_) => Vec::new(),
            Shape::Line(positions) => vec![positions],
            Shape::Polygons(polygons) => polygons.iter().flatten().map(Vec::as_slice).collect(),
        }
    }
}

fn elements(value: &Value) -> Result<&[Value], Invalid> {
    value
        .as_array()
        .filter(|elements| !elements.is_empty() && elements.len() <= POINTS_MAX)
        .ok_or(Invalid::Structure)
}

/// What follows longitude and latitude, an altitude, is not looked at.
fn position(value: &Value) -> Result<Position, Invalid> {
    let coordinates = value.as_array().ok_or(Invalid::Structure)?;
    let number = |index: usize| {
        let number = coordinates.get(index).and_then(Value::as_number);
        number
            .filter(|number| number.is_finite())
            .ok_or(Invalid::Structure)
    };
    let (longitude, latitude) = (number(0)?.as_f64(), number(1)?.as_f64());
    if latitude.abs() > 90.0 {
        return Err(Invalid::Latitude);
    }
    if longitude.abs() > 180.0 {
        return Err(Invalid::Longitude);
    }
    Ok(Position {
        longitude,
        latitude,
    })
}

fn positions(value: &Value) -> Result<Vec<Position>, Invalid> {
    let elements = value.as_array().ok_or(Invalid::Structure)?;
    if elements.len() > POINTS_MAX {
        return Err(Invalid::Points);
    }
    elements.iter().map(position).collect()
}

fn line(value: &Value) -> Result<Vec<Position>, Invalid> {
    let positions = positions(value)?;
    if positions.len() < 2 {
        return Err(Invalid::LineLength);
    }
    Ok(positions)
}

fn rings(value: &Value) -> Result<Rings, Invalid> {
    elements(value)?.iter().map(ring).collect()
}

fn ring(value: &Value) -> Result<Vec<Position>, Invalid> {
    let positions = positions(value)?;
    if positions.first() != positions.last() {
        return Err(Invalid::RingOpen);
    }
    if positions.len() < RING_POINTS_MIN {
        return Err(Invalid::RingLength);
    }
    Ok(positions)
}

fn bounded(polygons: Vec<Rings>) -> Result<Vec<Rings>, Invalid> {
    let points: usize = polygons.iter().flatten().map(Vec::len).sum();
    if points > POINTS_MAX {
        return Err(Invalid::Points);
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
                Some(Invalid::Structure),
            ),
            (
                r#"{"type":"Point","coordinates":["1",2]}"#,
                Some(Invalid::Structure),
            ),
            (r#"{"type":"Point"}"#, Some(Invalid::Structure)),
            (
                r#"{"type":"point","coordinates":[1,2]}"#,
                Some(Invalid::Type),
            ),
            (
                r#"{"type":"Point","coordinates":[1,-91]}"#,
                Some(Invalid::Latitude),
            ),
            (
                r#"{"type":"Point","coordinates":[181,0]}"#,
                Some(Invalid::Longitude),
            ),
            (r#"{"type":"LineString","coordinates":[[0,0],[1,1]]}"#, None),
            (
                r#"{"type":"LineString","coordinates":[[0,0]]}"#,
                Some(Invalid::LineLength),
            ),
            (
                r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}"#,
                None,
            ),
            (
                r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}"#,
                Some(Invalid::RingOpen),
            ),
            (
                r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,0]]]}"#,
                Some(Invalid::RingLength),
            ),
            (
                r#"{"type":"Polygon","coordinates":[]}"#,
                Some(Invalid::Structure),
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
