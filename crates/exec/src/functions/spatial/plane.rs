//! Two shapes laid on one plane by the gnomonic projection, which makes every great circle a
//! straight line, across the date line and the poles too.
//!
//! It shows less than half of the sphere. Shapes that do not fit, wherever it is centred, are laid
//! on the plane of longitude and latitude instead: far from each other they still come out apart.

use geo::{Area, Coord, Geometry, LineString, MultiPolygon, Point, Polygon};

use super::geojson::{Position, Rings, Shape};
use super::sphere::{Direction, centre};

/// The cosine of the angle from the centre beyond which the plane is too stretched, 87 degrees.
const COSINE_MIN: f64 = 0.05;

/// A shape on the plane, with every outer ring counter-clockwise.
pub(super) struct Flat {
    pub(super) geometry: Geometry<f64>,
    /// The shape is all that is outside of the geometry: a polygon that was written clockwise.
    pub(super) inverted: bool,
}

pub(super) fn flatten(a: &Shape, b: &Shape) -> (Flat, Flat) {
    let projection = Projection::of(a.positions().chain(b.positions()));
    (projection.flat(a), projection.flat(b))
}

/// Whether the one polygon of a shape was written clockwise.
pub(super) fn is_inverted(shape: &Shape) -> bool {
    Projection::of(shape.positions()).flat(shape).inverted
}

enum Projection {
    Gnomonic {
        centre: Direction,
        east: Direction,
        north: Direction,
    },
    Degrees,
}

impl Projection {
    fn of<'a>(positions: impl Iterator<Item = &'a Position> + Clone) -> Projection {
        Projection::gnomonic(positions.map(Direction::from)).unwrap_or(Projection::Degrees)
    }

    fn gnomonic(directions: impl Iterator<Item = Direction> + Clone) -> Option<Projection> {
        let centre = centre(directions.clone())?;
        if directions
            .map(|direction| direction.dot(centre))
            .any(|cosine| cosine < COSINE_MIN)
        {
            return None;
        }
        let east = Direction::NORTH.cross(centre).unit();
        let east = east.unwrap_or(Direction::EQUATOR);
        Some(Projection::Gnomonic {
            centre,
            east,
            north: centre.cross(east),
        })
    }

    fn coord(&self, position: &Position) -> Coord<f64> {
        match self {
            Projection::Gnomonic {
                centre,
                east,
                north,
            } => {
                let direction = Direction::from(position);
                let scale = direction.dot(*centre);
                Coord {
                    x: direction.dot(*east) / scale,
                    y: direction.dot(*north) / scale,
                }
            }
            Projection::Degrees => Coord {
                x: position.longitude,
                y: position.latitude,
            },
        }
    }

    fn line(&self, positions: &[Position]) -> LineString<f64> {
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

    /// Only a polygon alone can be inverted: in a collection the direction is not looked at.
    fn flat(&self, shape: &Shape) -> Flat {
        let upright = |geometry| Flat {
            geometry,
            inverted: false,
        };
        match shape {
            Shape::Point(position) => upright(Geometry::Point(Point(self.coord(position)))),
            Shape::Line(positions) => upright(Geometry::LineString(self.line(positions))),
            Shape::Polygons(polygons) => match polygons.as_slice() {
                [rings] => {
                    let polygon = self.polygon(rings);
                    Flat {
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
