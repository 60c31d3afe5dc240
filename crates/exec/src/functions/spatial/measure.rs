//! Distances and areas on the ellipsoid.

use geo::{Distance, Geodesic, GeodesicArea, LineString, Point, Polygon};

use super::geojson::{GeoPosition, GeoShape, Rings};
use super::plane::is_inverted;
use super::relation::intersects;
use super::sphere::{Vector3, nearest_on_arc};

/// Area of the whole ellipsoid in square metres.
const EARTH_AREA: f64 = 510_065_621_724_088.4;

/// The distance in metres between the nearest points of two shapes.
pub(super) fn distance(a: &GeoShape, b: &GeoShape) -> f64 {
    if let (GeoShape::Point(a), GeoShape::Point(b)) = (a, b) {
        return Geodesic.distance(point(*a), point(*b));
    }
    // Without a common point the minimum lies at a vertex of one of the shapes.
    if intersects(a, b) {
        return 0.0;
    }
    let nearest = [nearest(a, b), nearest(b, a)].into_iter().flatten();
    let nearest = nearest.max_by(|(a, b), (c, d)| a.dot(*b).total_cmp(&c.dot(*d)));
    nearest.map_or(0.0, |(from, to)| {
        Geodesic.distance(point(from.position()), point(to.position()))
    })
}

/// The area in square metres; only polygons have one. A clockwise polygon is the rest of the
/// earth's surface.
pub(super) fn area(shape: &GeoShape) -> f64 {
    let GeoShape::Polygons(polygons) = shape else {
        return 0.0;
    };
    let area: f64 = polygons.iter().map(polygon_area).sum();
    if is_inverted(shape) {
        EARTH_AREA - area
    } else {
        area
    }
}

/// Measures each ring by itself, because holes occur in either direction.
fn polygon_area(rings: &Rings) -> f64 {
    let mut areas = rings.iter().map(|ring| ring_area(ring));
    let outer = areas.next().unwrap_or_default();
    outer - areas.sum::<f64>()
}

/// The unsigned area of a ring.
fn ring_area(ring: &[GeoPosition]) -> f64 {
    let ring: LineString<f64> = ring.iter().map(|position| point(*position)).collect();
    Polygon::new(ring, Vec::new()).geodesic_area_signed().abs()
}

fn point(position: GeoPosition) -> Point<f64> {
    Point::new(position.longitude, position.latitude)
}

/// The vertex of `a` that is nearest to `b`, and the nearest point on `b`.
fn nearest(a: &GeoShape, b: &GeoShape) -> Option<(Vector3, Vector3)> {
    let mut targets: Vec<(Vector3, Vector3)> = Vec::new();
    for line in b.lines() {
        let arcs = line.windows(2);
        targets.extend(arcs.map(|arc| (Vector3::from(&arc[0]), Vector3::from(&arc[1]))));
    }
    if let GeoShape::Point(position) = b {
        targets.push((Vector3::from(position), Vector3::from(position)));
    }
    a.positions()
        .map(Vector3::from)
        .flat_map(|from| {
            let place =
                move |(start, end): &(Vector3, Vector3)| (from, nearest_on_arc(from, *start, *end));
            targets.iter().map(place)
        })
        .max_by(|(a, b), (c, d)| a.dot(*b).total_cmp(&c.dot(*d)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> GeoShape {
        let value = orrery_json::parse(text.as_bytes()).unwrap();
        super::super::geojson::parse(value.as_object().unwrap()).unwrap()
    }

    #[test]
    fn distances() {
        let point = shape(r#"{"type":"Point","coordinates":[5,1]}"#);
        let line = shape(r#"{"type":"LineString","coordinates":[[0,0],[10,0]]}"#);
        let square = shape(r#"{"type":"Polygon","coordinates":[[[4,0],[6,0],[6,2],[4,2],[4,0]]]}"#);
        let far = shape(r#"{"type":"Polygon","coordinates":[[[4,3],[6,3],[6,4],[4,4],[4,3]]]}"#);
        for (name, a, b, expected) in [
            ("one degree of latitude", &point, &line, 110_574.4),
            ("inside", &point, &square, 0.0),
            ("touching", &line, &square, 0.0),
            ("areas", &square, &far, 110_524.0),
        ] {
            for (a, b) in [(a, b), (b, a)] {
                let metres = distance(a, b);
                assert!((metres - expected).abs() < 60.0, "{name}: {metres}");
            }
        }
    }

    #[test]
    fn areas() {
        let square = "[[0,0],[1,0],[1,1],[0,1],[0,0]]";
        let hole = "[[0.25,0.25],[0.75,0.25],[0.75,0.75],[0.25,0.75],[0.25,0.25]]";
        let polygon =
            |rings: &str| shape(&format!(r#"{{"type":"Polygon","coordinates":[{rings}]}}"#));
        let whole = area(&polygon(square));
        assert!((whole / 1.2309e10 - 1.0).abs() < 1e-3, "{whole}");
        let holed = area(&polygon(&format!("{square},{hole}")));
        assert!((holed / (whole * 0.75) - 1.0).abs() < 1e-3, "{holed}");
        let inverted = area(&polygon("[[0,0],[0,1],[1,1],[1,0],[0,0]]"));
        assert!((inverted + whole - EARTH_AREA).abs() < 1.0, "{inverted}");
        let two = shape(&format!(
            r#"{{"type":"MultiPolygon","coordinates":[[{square}],[{square}]]}}"#
        ));
        assert!((area(&two) - 2.0 * whole).abs() < 1.0);
        assert!(area(&shape(r#"{"type":"Point","coordinates":[5,1]}"#)).abs() < 1.0);
    }
}
