//! Decides whether shapes contain or touch each other.
//!
//! A line or ring is cut where it meets the other shape. Each piece is then wholly inside, on the
//! edge or outside, and its midpoint tells which.

use geo::coordinate_position::{CoordPos, CoordinatePosition};
use geo::line_intersection::{LineIntersection, line_intersection};
use geo::{Coord, CoordsIter, Geometry, Intersects, Line, LinesIter};

use super::geojson::GeoShape;
use super::plane::{PlanarShape, flatten};

pub(super) fn intersects(a: &GeoShape, b: &GeoShape) -> bool {
    let (a, b) = flatten(a, b);
    touch(&a, &b)
}

/// Whether `a` lies within `b`. A point on the edge of a polygon counts as outside.
pub(super) fn within(a: &GeoShape, b: &GeoShape) -> bool {
    let (a, b) = flatten(a, b);
    match (a.inverted, b.inverted) {
        (false, false) => is_within(&a.geometry, &b.geometry),
        (false, true) => !a.geometry.intersects(&b.geometry),
        // An inverted shape is the rest of the earth, which lies in no ordinary polygon.
        (true, false) => false,
        (true, true) => is_within(&b.geometry, &a.geometry),
    }
}

fn touch(a: &PlanarShape, b: &PlanarShape) -> bool {
    match (a.inverted, b.inverted) {
        (false, false) => a.geometry.intersects(&b.geometry),
        (false, true) => !is_within(&a.geometry, &b.geometry),
        (true, false) => !is_within(&b.geometry, &a.geometry),
        // The complements of two polygons always share points.
        (true, true) => true,
    }
}

fn is_within(a: &Geometry<f64>, b: &Geometry<f64>) -> bool {
    if let Geometry::Point(point) = a {
        return b.coordinate_position(&point.0) == CoordPos::Inside;
    }
    let edges: Vec<Line<f64>> = lines(b);
    let mut inside = false;
    for line in lines(a) {
        for piece in pieces(line, &edges) {
            match piece.position(b) {
                CoordPos::Outside => return false,
                CoordPos::Inside => inside = true,
                CoordPos::OnBoundary => {}
            }
        }
    }
    if !is_area(a) {
        return inside;
    }
    // The rings of `a` lie in `b`, so `a` can leave `b` only through a hole or a gap of `b`.
    let gap = |coord: Coord<f64>| a.coordinate_position(&coord) == CoordPos::Inside;
    is_area(b) && !b.coords_iter().any(gap)
}

fn is_area(geometry: &Geometry<f64>) -> bool {
    matches!(geometry, Geometry::Polygon(_) | Geometry::MultiPolygon(_))
}

fn lines(geometry: &Geometry<f64>) -> Vec<Line<f64>> {
    match geometry {
        Geometry::LineString(line) => line.lines_iter().collect(),
        Geometry::Polygon(polygon) => polygon.lines_iter().collect(),
        Geometry::MultiPolygon(polygons) => polygons.lines_iter().collect(),
        _ => Vec::new(),
    }
}

/// A part of a line that no edge of the other shape cuts.
struct Piece {
    middle: Coord<f64>,
    /// The piece runs along an edge; its midpoint is on that edge only up to rounding.
    on_edge: bool,
}

impl Piece {
    fn position(&self, of: &Geometry<f64>) -> CoordPos {
        match (self.on_edge, is_area(of)) {
            (true, true) => CoordPos::OnBoundary,
            (true, false) => CoordPos::Inside,
            (false, _) => of.coordinate_position(&self.middle),
        }
    }
}

fn pieces(line: Line<f64>, edges: &[Line<f64>]) -> Vec<Piece> {
    let mut cuts = vec![0.0, 1.0];
    let mut shared = Vec::new();
    for edge in edges.iter().filter(|edge| may_meet(line, **edge)) {
        match line_intersection(line, *edge) {
            Some(LineIntersection::SinglePoint { intersection, .. }) => {
                cuts.push(fraction(line, intersection));
            }
            Some(LineIntersection::Collinear { intersection }) => {
                let start = fraction(line, intersection.start);
                let end = fraction(line, intersection.end);
                cuts.extend([start, end]);
                shared.push((start.min(end), start.max(end)));
            }
            None => {}
        }
    }
    cuts.sort_by(f64::total_cmp);
    cuts.dedup_by(|a, b| (*a - *b).abs() < f64::EPSILON);
    let piece = |ends: &[f64]| {
        let middle = f64::midpoint(ends[0], ends[1]);
        Piece {
            middle: line.start + line.delta() * middle,
            on_edge: shared
                .iter()
                .any(|(start, end)| (*start..=*end).contains(&middle)),
        }
    };
    cuts.windows(2).map(piece).collect()
}

/// Compares bounding boxes, which is much cheaper than an intersection.
fn may_meet(a: Line<f64>, b: Line<f64>) -> bool {
    a.start.x.min(a.end.x) <= b.start.x.max(b.end.x)
        && b.start.x.min(b.end.x) <= a.start.x.max(a.end.x)
        && a.start.y.min(a.end.y) <= b.start.y.max(b.end.y)
        && b.start.y.min(b.end.y) <= a.start.y.max(a.end.y)
}

/// The position of a point along a line, from 0 to 1.
fn fraction(line: Line<f64>, place: Coord<f64>) -> f64 {
    let (delta, offset) = (line.delta(), place - line.start);
    let length = delta.x * delta.x + delta.y * delta.y;
    if length == 0.0 {
        return 0.0;
    }
    ((offset.x * delta.x + offset.y * delta.y) / length).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::spatial::geojson::GeoPosition;

    fn positions(coordinates: &[(f64, f64)]) -> Vec<GeoPosition> {
        let position = |(longitude, latitude): &(f64, f64)| GeoPosition {
            longitude: *longitude,
            latitude: *latitude,
        };
        coordinates.iter().map(position).collect()
    }

    fn point(longitude: f64, latitude: f64) -> GeoShape {
        GeoShape::Point(positions(&[(longitude, latitude)])[0])
    }

    fn polygon(rings: &[&[(f64, f64)]]) -> GeoShape {
        GeoShape::Polygons(vec![rings.iter().map(|ring| positions(ring)).collect()])
    }

    fn square(west: f64, south: f64, east: f64, north: f64) -> GeoShape {
        polygon(&[&[
            (west, south),
            (east, south),
            (east, north),
            (west, north),
            (west, south),
        ]])
    }

    fn clockwise(west: f64, south: f64, east: f64, north: f64) -> GeoShape {
        polygon(&[&[
            (west, south),
            (west, north),
            (east, north),
            (east, south),
            (west, south),
        ]])
    }

    #[test]
    fn shapes_within_shapes() {
        let line = |coordinates: &[(f64, f64)]| GeoShape::Line(positions(coordinates));
        let outer = || square(0.0, 0.0, 10.0, 10.0);
        let holed = polygon(&[
            &[
                (0.0, 0.0),
                (10.0, 0.0),
                (10.0, 10.0),
                (0.0, 10.0),
                (0.0, 0.0),
            ],
            &[(4.0, 4.0), (4.0, 6.0), (6.0, 6.0), (6.0, 4.0), (4.0, 4.0)],
        ]);
        let notched = polygon(&[&[
            (0.0, 0.0),
            (10.0, 0.0),
            (10.0, 10.0),
            (5.0, 1.0),
            (0.0, 10.0),
            (0.0, 0.0),
        ]]);
        for (name, a, b, is_within, intersects) in [
            ("point in", point(5.0, 5.0), outer(), true, true),
            ("point out", point(15.0, 5.0), outer(), false, false),
            ("point far", point(-170.0, -5.0), outer(), false, false),
            ("corner", point(0.0, 0.0), outer(), false, true),
            (
                "point in hole",
                point(5.0, 5.0),
                holed.clone(),
                false,
                false,
            ),
            ("same point", point(1.0, 2.0), point(1.0, 2.0), true, true),
            ("square in", square(2.0, 2.0, 3.0, 3.0), outer(), true, true),
            ("itself", outer(), outer(), true, true),
            (
                "around hole",
                square(3.0, 3.0, 7.0, 7.0),
                holed.clone(),
                false,
                true,
            ),
            ("in hole", square(4.5, 4.5, 5.5, 5.5), holed, false, false),
            (
                "overlap",
                square(5.0, 5.0, 15.0, 15.0),
                outer(),
                false,
                true,
            ),
            ("larger", outer(), square(2.0, 2.0, 3.0, 3.0), false, true),
            (
                "line in",
                line(&[(1.0, 1.0), (9.0, 9.0)]),
                outer(),
                true,
                true,
            ),
            (
                "line out of notch",
                line(&[(0.5, 8.0), (9.5, 8.0)]),
                notched,
                false,
                true,
            ),
            (
                "part of a line",
                line(&[(2.0, 0.0), (3.0, 0.0)]),
                line(&[(0.0, 0.0), (9.0, 0.0)]),
                true,
                true,
            ),
            (
                "polygon in line",
                outer(),
                line(&[(1.0, 1.0), (9.0, 9.0)]),
                false,
                true,
            ),
            (
                "date line",
                point(180.0, 0.5),
                square(179.0, 0.0, -179.0, 1.0),
                true,
                true,
            ),
            (
                "north of the parallel",
                point(5.0, 10.02),
                outer(),
                true,
                true,
            ),
            (
                "out of clockwise",
                point(50.0, 5.0),
                clockwise(0.0, 0.0, 10.0, 10.0),
                true,
                true,
            ),
            (
                "in clockwise",
                point(5.0, 5.0),
                clockwise(0.0, 0.0, 10.0, 10.0),
                false,
                false,
            ),
        ] {
            assert_eq!(within(&a, &b), is_within, "{name}");
            assert_eq!(super::intersects(&a, &b), intersects, "{name}");
            assert_eq!(super::intersects(&b, &a), intersects, "{name}");
        }
    }

    #[test]
    fn the_pole_is_in_a_polygon_around_it() {
        let cap = polygon(&[&[
            (0.0, 80.0),
            (90.0, 80.0),
            (180.0, 80.0),
            (-90.0, 80.0),
            (0.0, 80.0),
        ]]);
        assert!(within(&point(12.0, 90.0), &cap));
        assert!(within(&point(-123.0, 85.0), &cap));
        assert!(!within(&point(-123.0, 75.0), &cap));
    }

    #[test]
    fn the_two_largest_shapes_take_no_longer_than_a_moment() {
        let circle = |radius: f64| {
            let at = |step: u32| {
                let angle = f64::from(step % 4000) / 4000.0 * std::f64::consts::TAU;
                (radius * angle.cos(), radius * angle.sin())
            };
            polygon(&[&(0..=4000).map(at).collect::<Vec<_>>()])
        };
        assert!(within(&circle(5.0), &circle(6.0)));
        assert!(!within(&circle(6.0), &circle(5.0)));
    }
}
