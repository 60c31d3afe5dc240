//! Projects two shapes to one plane by the gnomonic projection, which maps great circles to
//! straight lines, also across the date line and the poles.
//!
//! The projection covers less than half of the sphere. Shapes that do not fit are placed on the
//! plane of longitude and latitude instead; shapes far from each other still do not touch there.

use geo::{Area, Coord, Geometry, LineString, MultiPolygon, Point, Polygon};

use super::geojson::{GeoPosition, GeoShape, Rings};
use super::sphere::{Vector3, centre};

/// Cosine of the angle from the centre beyond which the projection is too stretched: 87 degrees.
const COSINE_MIN: f64 = 0.05;

/// A projected shape; every outer ring is counter-clockwise.
pub(super) struct PlanarShape {
    pub(super) geometry: Geometry<f64>,
    /// The shape is everything outside of the geometry: a polygon that was written clockwise.
    pub(super) inverted: bool,
}

/// Projects two shapes to a common plane.
pub(super) fn flatten(a: &GeoShape, b: &GeoShape) -> (PlanarShape, PlanarShape) {
    let projection = MapProjection::of(a.positions().chain(b.positions()));
    (projection.flat(a), projection.flat(b))
}

/// Whether the single polygon of a shape is clockwise.
pub(super) fn is_inverted(shape: &GeoShape) -> bool {
    MapProjection::of(shape.positions()).flat(shape).inverted
}

enum MapProjection {
    Gnomonic {
        centre: Vector3,
        east: Vector3,
        north: Vector3,
    },
    Degrees,
}

impl MapProjection {
    fn of<'a>(positions: impl Iterator<Item = &'a GeoPosition> + Clone) -> MapProjection {
        MapProjection::gnomonic(positions.map(Vector3::from)).unwrap_or(MapProjection::Degrees)
    }

    fn gnomonic(directions: impl Iterator<Item = Vector3> + Clone) -> Option<MapProjection> {
        let centre = centre(directions.clone())?;
        if directions
            .map(|direction| direction.dot(centre))
            .any(|cosine| cosine < COSINE_MIN)
        {
            return None;
        }
        // At a pole the cross product vanishes, and any direction can serve as east.
        let east = Vector3::NORTH.cross(centre).unit();
        let east = east.unwrap_or(Vector3::EQUATOR);
        Some(MapProjection::Gnomonic {
            centre,
            east,
            north: centre.cross(east),
        })
    }

    fn coord(&self, position: &GeoPosition) -> Coord<f64> {
        match self {
            MapProjection::Gnomonic {
                centre,
                east,
                north,
            } => {
                let direction = Vector3::from(position);
                let scale = direction.dot(*centre);
                Coord {
                    x: direction.dot(*east) / scale,
                    y: direction.dot(*north) / scale,
                }
            }
            MapProjection::Degrees => Coord {
                x: position.longitude,
                y: position.latitude,
            },
        }
    }

    fn line(&self, positions: &[GeoPosition]) -> LineString<f64> {
        positions
            .iter()
            .map(|position| self.coord(position))
            .collect()
    }

    fn polygon(&self, rings: &Rings) -> Polygon<f64> {
        let mut rings = rings.iter().map(|ring| self.line(ring));
        let outer = rings.next().unwrap_or_else(|| LineString::new(Vec::new()));
        Polygon::new(outer, rings.collect())
    }

    /// Projects a shape. Only a single polygon can be inverted; collections ignore the ring
    /// direction.
    fn flat(&self, shape: &GeoShape) -> PlanarShape {
        let upright = |geometry| PlanarShape {
            geometry,
            inverted: false,
        };
        match shape {
            GeoShape::Point(position) => upright(Geometry::Point(Point(self.coord(position)))),
            GeoShape::Line(positions) => upright(Geometry::LineString(self.line(positions))),
            GeoShape::Polygons(polygons) => match polygons.as_slice() {
                [rings] => {
                    let polygon = self.polygon(rings);
                    PlanarShape {
                        inverted: is_clockwise(&polygon),
                        geometry: Geometry::Polygon(polygon),
                    }
                }
                polygons => upright(Geometry::MultiPolygon(MultiPolygon::new(
                    polygons.iter().map(|rings| self.polygon(rings)).collect(),
                ))),
            },
        }
    }
}

fn is_clockwise(polygon: &Polygon<f64>) -> bool {
    Polygon::new(polygon.exterior().clone(), Vec::new()).signed_area() < 0.0
}
