//! Direction vectors from the centre of a sphere. Latitudes are used as they are, so decisions
//! differ from those on the ellipsoid by a few minutes of arc at most, and only far from the
//! vertices.

use super::geojson::GeoPosition;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Vector3 {
    x: f64,
    y: f64,
    z: f64,
}

/// Vectors below this length have no reliable direction.
const LENGTH_MIN: f64 = 1e-12;

impl From<&GeoPosition> for Vector3 {
    fn from(position: &GeoPosition) -> Vector3 {
        let (longitude_sin, longitude_cos) = position.longitude.to_radians().sin_cos();
        let (latitude_sin, latitude_cos) = position.latitude.to_radians().sin_cos();
        Vector3 {
            x: latitude_cos * longitude_cos,
            y: latitude_cos * longitude_sin,
            z: latitude_sin,
        }
    }
}

impl Vector3 {
    pub(super) const NORTH: Vector3 = Vector3 {
        x: 0.0,
        y: 0.0,
        z: 1.0,
    };
    pub(super) const EQUATOR: Vector3 = Vector3 {
        x: 1.0,
        y: 0.0,
        z: 0.0,
    };

    pub(super) fn position(self) -> GeoPosition {
        GeoPosition {
            longitude: self.y.atan2(self.x).to_degrees(),
            latitude: self.z.atan2(self.x.hypot(self.y)).to_degrees(),
        }
    }

    pub(super) fn dot(self, other: Vector3) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    pub(super) fn cross(self, other: Vector3) -> Vector3 {
        Vector3 {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    pub(super) fn minus(self, other: Vector3) -> Vector3 {
        self.plus(other.scaled(-1.0))
    }

    pub(super) fn unit(self) -> Option<Vector3> {
        let length = self.dot(self).sqrt();
        (length > LENGTH_MIN).then(|| self.scaled(1.0 / length))
    }

    fn plus(self, other: Vector3) -> Vector3 {
        Vector3 {
            x: self.x + other.x,
            y: self.y + other.y,
            z: self.z + other.z,
        }
    }

    fn scaled(self, factor: f64) -> Vector3 {
        Vector3 {
            x: self.x * factor,
            y: self.y * factor,
            z: self.z * factor,
        }
    }
}

/// The mean of directions, unless they cancel out.
pub(super) fn centre(directions: impl Iterator<Item = Vector3>) -> Option<Vector3> {
    directions.reduce(Vector3::plus)?.unit()
}

/// The point on the arc from `start` to `end` that is nearest to `from`.
pub(super) fn nearest_on_arc(from: Vector3, start: Vector3, end: Vector3) -> Vector3 {
    let nearer_end = if from.dot(start) >= from.dot(end) {
        start
    } else {
        end
    };
    // An arc without length has no plane, so the nearer end is the answer.
    let Some(pole) = start.cross(end).unit() else {
        return nearer_end;
    };
    let Some(foot) = from.minus(pole.scaled(from.dot(pole))).unit() else {
        return nearer_end;
    };
    let between = start.cross(foot).dot(pole) >= 0.0 && foot.cross(end).dot(pole) >= 0.0;
    if between { foot } else { nearer_end }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(longitude: f64, latitude: f64) -> Vector3 {
        Vector3::from(&GeoPosition {
            longitude,
            latitude,
        })
    }

    #[test]
    fn the_nearest_place_of_an_arc() {
        let (start, end) = (at(0.0, 0.0), at(10.0, 0.0));
        for (from, expected) in [
            (at(5.0, 3.0), at(5.0, 0.0)),
            (at(-5.0, 3.0), start),
            (at(20.0, -3.0), end),
            (at(3.0, 0.0), at(3.0, 0.0)),
        ] {
            let nearest = nearest_on_arc(from, start, end);
            assert!(
                nearest.minus(expected).dot(nearest.minus(expected)) < 1e-20,
                "{from:?}"
            );
        }
        assert_eq!(nearest_on_arc(at(5.0, 3.0), start, start), start);
    }
}
