//! Directions from the centre of a sphere. Latitudes are taken as they are, so that what is decided
//! here is off the ellipsoid by a few minutes of arc at most and only far from the vertices.

use super::geojson::Position;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Direction {
    x: f64,
    y: f64,
    z: f64,
}

/// Shorter vectors have no direction worth the name.
const LENGTH_MIN: f64 = 1e-12;

impl From<&Position> for Direction {
    fn from(position: &Position) -> Direction {
        let (longitude_sin, longitude_cos) = position.longitude.to_radians().sin_cos();
        let (latitude_sin, latitude_cos) = position.latitude.to_radians().sin_cos();
        Direction {
            x: latitude_cos * longitude_cos,
            y: latitude_cos * longitude_sin,
            z: latitude_sin,
        }
    }
}

impl Direction {
    pub(super) const NORTH: Direction = Direction {
        x: 0.0,
        y: 0.0,
        z: 1.0,
    };
    pub(super) const EQUATOR: Direction = Direction {
        x: 1.0,
        y: 0.0,
        z: 0.0,
    };

    pub(super) fn position(self) -> Position {
        Position {
            longitude: self.y.atan2(self.x).to_degrees(),
            latitude: self.z.atan2(self.x.hypot(self.y)).to_degrees(),
        }
    }

    pub(super) fn dot(self, other: Direction) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    pub(super) fn cross(self, other: Direction) -> Direction {
        Direction {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    pub(super) fn minus(self, other: Direction) -> Direction {
        self.plus(other.scaled(-1.0))
    }

    pub(super) fn unit(self) -> Option<Direction> {
        let length = self.dot(self).sqrt();
        (length > LENGTH_MIN).then(|| self.scaled(1.0 / length))
    }

    fn plus(self, other: Direction) -> Direction {
        Direction {
            x: self.x + other.x,
            y: self.y + other.y,
            z: self.z + other.z,
        }
    }

    fn scaled(self, factor: f64) -> Direction {
        Direction {
            x: self.x * factor,
            y: self.y * factor,
            z: self.z * factor,
        }
    }
}

/// The middle of many directions, unless they cancel each other.
pub(super) fn centre(directions: impl Iterator<Item = Direction>) -> Option<Direction> {
    directions.reduce(Direction::plus)?.unit()
}

/// The place on the arc from `start` to `end` that is nearest to `from`.
pub(super) fn nearest_on_arc(from: Direction, start: Direction, end: Direction) -> Direction {
    let nearer_end = if from.dot(start) >= from.dot(end) {
        start
    } else {
        end
    };
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

    fn at(longitude: f64, latitude: f64) -> Direction {
        Direction::from(&Position {
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
