//! Whether a ring keeps clear of itself.
//!
//! The direction of one that does is the same from wherever it is seen. A figure of eight has two,
//! and which one counts depends on who looks.

type Place = [f64; 2];

/// Beyond so many comparisons a ring counts as one that does not.
const COMPARISONS_MAX: usize = 200_000;

struct Edge {
    start: Place,
    end: Place,
    west: f64,
    east: f64,
    number: usize,
}

/// Whether the edges of a closed ring meet only where one follows the other.
pub(super) fn is_simple(ring: &[Place]) -> bool {
    let mut corners = ring.to_vec();
    corners.dedup();
    let mut edges: Vec<Edge> = corners
        .windows(2)
        .enumerate()
        .map(|(number, ends)| Edge {
            start: ends[0],
            end: ends[1],
            west: ends[0][0].min(ends[1][0]),
            east: ends[0][0].max(ends[1][0]),
            number,
        })
        .collect();
    let count = edges.len();
    edges.sort_by(|a, b| a.west.total_cmp(&b.west));
    let mut comparisons = 0;
    for (index, edge) in edges.iter().enumerate() {
        let overlapping = edges[index + 1..]
            .iter()
            .take_while(|other| other.west <= edge.east);
        for other in overlapping {
            comparisons += 1;
            let apart = edge.number.abs_diff(other.number);
            let is_next = apart == 1 || apart == count - 1;
            if comparisons > COMPARISONS_MAX || (!is_next && edge.meets(other)) {
                return false;
            }
        }
    }
    true
}

impl Edge {
    /// Whether the two have a place in common, or nearly so along one line.
    fn meets(&self, other: &Edge) -> bool {
        let is_between = |a: f64, b: f64| a == 0.0 || b == 0.0 || (a < 0.0) != (b < 0.0);
        let y_overlaps = self.start[1].min(self.end[1]) <= other.start[1].max(other.end[1])
            && other.start[1].min(other.end[1]) <= self.start[1].max(self.end[1]);
        y_overlaps
            && is_between(self.side(other.start), self.side(other.end))
            && is_between(other.side(self.start), other.side(self.end))
    }

    fn side(&self, place: Place) -> f64 {
        (self.end[0] - self.start[0]) * (place[1] - self.start[1])
            - (self.end[1] - self.start[1]) * (place[0] - self.start[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings() {
        let square = [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0], [0.0, 0.0]];
        let eight = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [0.0, 0.0]];
        let pinched = [
            [0.0, 0.0],
            [2.0, 0.0],
            [1.0, 1.0],
            [2.0, 2.0],
            [0.0, 2.0],
            [1.0, 1.0],
            [0.0, 0.0],
        ];
        let repeated = [[0.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 0.0]];
        for (ring, expected) in [
            (&square[..], true),
            (&eight, false),
            (&pinched, false),
            (&repeated, true),
        ] {
            assert_eq!(is_simple(ring), expected, "{ring:?}");
        }
    }
}
