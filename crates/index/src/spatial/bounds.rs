//! Bounding boxes on the earth.

use super::geojson::{GeoPosition, GeoShape};
use super::simple::is_simple;

/// A box that does not cross the date line. Its edges are inside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub(super) west: f64,
    pub(super) south: f64,
    pub(super) east: f64,
    pub(super) north: f64,
}

/// The region that a shape may occupy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ShapeExtent {
    Everywhere,
    Within(Bounds),
}

/// A longer edge deviates too far from the parallels, or crosses the date line.
const EDGE_DEGREES_MAX: f64 = 90.0;

/// A lower bound of the length of one degree along a meridian of the ellipsoid. The factor covers
/// the difference between the ellipsoid and the sphere of the computation below.
const METRES_PER_DEGREE: f64 = 110_574.0 * 0.99;

/// Covers rounding errors, and the two coordinates that name one position on the date line and at
/// the poles.
const MARGIN_DEGREES: f64 = 1e-6;

/// Cosine of the maximum angle between a polygon's centre and its corners. Beyond this angle the
/// polygon may not fit on one hemisphere.
const COSINE_MIN: f64 = 0.06;

/// Minimum share that a polygon must fill of the square around it. Below this share, rounding may hide
/// the orientation of the polygon. The square counts and not the bounding box: the box of a polygon
/// without area along an axis has no area either, and rounding would decide.
const FILL_MIN: f64 = 1e-6;

impl ShapeExtent {
    pub(super) fn of(shape: &GeoShape) -> ShapeExtent {
        match shape {
            GeoShape::Point(position) => ShapeExtent::Within(Bounds::of(*position)),
            GeoShape::Line(positions) => around(std::slice::from_ref(positions)),
            GeoShape::Polygons(rings) => around(rings),
            GeoShape::Polygon(rings) => {
                let is_upright = rings.first().is_some_and(|outer| is_upright(outer));
                if is_upright {
                    around(rings)
                } else {
                    ShapeExtent::Everywhere
                }
            }
        }
    }
}

impl Bounds {
    const EARTH: Bounds = Bounds {
        west: -180.0,
        south: -90.0,
        east: 180.0,
        north: 90.0,
    };

    fn of(position: GeoPosition) -> Bounds {
        Bounds {
            west: position.longitude,
            south: position.latitude,
            east: position.longitude,
            north: position.latitude,
        }
    }

    /// Boxes that together contain every position at most `metres` from a position in this box.
    pub(super) fn within_metres(self, metres: f64) -> Vec<Bounds> {
        let radius = metres.max(0.0) / METRES_PER_DEGREE + MARGIN_DEGREES;
        let band = Bounds {
            south: (self.south - radius).max(-90.0),
            north: (self.north + radius).min(90.0),
            ..Bounds::EARTH
        };
        let highest = self.south.abs().max(self.north.abs());
        // Written so that NaN yields false.
        let is_clear_of_poles = highest + radius < 90.0;
        if !is_clear_of_poles {
            return vec![band];
        }
        let ratio = radius.to_radians().sin() / highest.to_radians().cos();
        let reach = ratio.min(1.0).asin().to_degrees() + MARGIN_DEGREES;
        let (west, east) = (self.west - reach, self.east + reach);
        if east - west >= 360.0 {
            return vec![band];
        }
        let mut boxes = vec![Bounds {
            west: west.max(-180.0),
            east: east.min(180.0),
            ..band
        }];
        if west < -180.0 {
            boxes.push(Bounds {
                west: west + 360.0,
                ..band
            });
        }
        if east > 180.0 {
            boxes.push(Bounds {
                east: east - 360.0,
                ..band
            });
        }
        boxes
    }
}

/// The bounding box of lines and of the area that they enclose.
fn around(lines: &[Vec<GeoPosition>]) -> ShapeExtent {
    let mut longest = 0.0_f64;
    for edge in lines.iter().flat_map(|line| line.windows(2)) {
        longest = longest.max((edge[0].longitude - edge[1].longitude).abs());
    }
    let positions = lines.iter().flatten().copied().map(Bounds::of);
    let bounds = positions.reduce(|a, b| Bounds {
        west: a.west.min(b.west),
        south: a.south.min(b.south),
        east: a.east.max(b.east),
        north: a.north.max(b.north),
    });
    match bounds {
        // A great circle between two positions of one latitude bends towards the pole, so the box
        // grows.
        Some(bounds) if longest <= EDGE_DEGREES_MAX => ShapeExtent::Within(Bounds {
            south: -bulge(-bounds.south, longest),
            north: bulge(bounds.north, longest),
            ..bounds
        }),
        _ => ShapeExtent::Everywhere,
    }
}

/// The northernmost latitude of a great circle arc whose ends are at most at `latitude` and
/// `degrees` of longitude apart.
fn bulge(latitude: f64, degrees: f64) -> f64 {
    if latitude <= 0.0 {
        return latitude;
    }
    let middle = latitude.to_radians().tan() / (degrees / 2.0).to_radians().cos();
    middle.atan().to_degrees().max(latitude).min(90.0)
}

/// Whether a ring is certainly counter-clockwise, both with great circles as edges and with
/// straight lines in longitude and latitude.
fn is_upright(ring: &[GeoPosition]) -> bool {
    let degrees: Vec<[f64; 2]> = ring
        .iter()
        .map(|position| [position.longitude, position.latitude])
        .collect();
    turns_left(&degrees) && flatten(ring).is_some_and(|flat| turns_left(&flat) && is_simple(&flat))
}

fn turns_left(ring: &[[f64; 2]]) -> bool {
    let Some(origin) = ring.first() else {
        return false;
    };
    let (mut area, mut low, mut high) = (0.0, *origin, *origin);
    for edge in ring.windows(2) {
        let [a, b] = [edge[0], edge[1]].map(|point| [point[0] - origin[0], point[1] - origin[1]]);
        area += (a[0] * b[1] - a[1] * b[0]) / 2.0;
        for axis in [0, 1] {
            low[axis] = low[axis].min(edge[1][axis]);
            high[axis] = high[axis].max(edge[1][axis]);
        }
    }
    let side = (high[0] - low[0]).max(high[1] - low[1]);
    area > FILL_MIN * side * side
}

/// Projects the ring from the centre of the earth onto a plane, where great circles are straight
/// lines. `None` when the ring does not fit on one hemisphere.
fn flatten(ring: &[GeoPosition]) -> Option<Vec<[f64; 2]>> {
    let directions: Vec<[f64; 3]> = ring.iter().map(direction).collect();
    let sum = directions.iter().fold([0.0; 3], |sum, direction| {
        [0, 1, 2].map(|axis: usize| sum[axis] + direction[axis])
    });
    let centre = unit(sum)?;
    let east = unit([-centre[1], centre[0], 0.0]).unwrap_or([1.0, 0.0, 0.0]);
    let north = [
        centre[1] * east[2] - centre[2] * east[1],
        centre[2] * east[0] - centre[0] * east[2],
        centre[0] * east[1] - centre[1] * east[0],
    ];
    let project = |direction: &[f64; 3]| {
        let scale = dot(*direction, centre);
        (scale >= COSINE_MIN).then(|| {
            [
                dot(*direction, east) / scale,
                dot(*direction, north) / scale,
            ]
        })
    };
    directions.iter().map(project).collect()
}

fn direction(position: &GeoPosition) -> [f64; 3] {
    let (longitude_sin, longitude_cos) = position.longitude.to_radians().sin_cos();
    let (latitude_sin, latitude_cos) = position.latitude.to_radians().sin_cos();
    [
        latitude_cos * longitude_cos,
        latitude_cos * longitude_sin,
        latitude_sin,
    ]
}

fn unit(vector: [f64; 3]) -> Option<[f64; 3]> {
    let length = dot(vector, vector).sqrt();
    (length > 1e-9).then(|| vector.map(|part| part / length))
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
