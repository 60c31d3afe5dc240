//! Tests whether a ring intersects itself.
//!
//! A simple ring has the same orientation in every projection. A figure of eight has two
//! orientations, and the projection decides which of them dominates.

type Point = [f64; 2];

/// Maximum number of edge comparisons. A ring that needs more counts as self-intersecting.
const COMPARISONS_MAX: usize = 200_000;

struct Edge {
    start: Point,
    end: Point,
    west: f64,
    east: f64,
    number: usize,
}

/// Whether the edges of a closed ring touch only at the corners of consecutive edges.
pub(super) fn is_simple(ring: &[Point]) -> bool {
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
        // Edges are sorted by their western end, so the first edge that starts further east ends
        // the search.
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
    /// Whether two edges share a point. Nearly collinear edges count as touching.
    fn meets(&self, other: &Edge) -> bool {
        let is_between = |a: f64, b: f64| a == 0.0 || b == 0.0 || (a < 0.0) != (b < 0.0);
        let y_overlaps = self.start[1].min(self.end[1]) <= other.start[1].max(other.end[1])
            && other.start[1].min(other.end[1]) <= self.start[1].max(self.end[1]);
        y_overlaps
            && is_between(self.side(other.start), self.side(other.end))
            && is_between(other.side(self.start), other.side(self.end))
    }

    fn side(&self, point: Point) -> f64 {
        (self.end[0] - self.start[0]) * (point[1] - self.start[1])
            - (self.end[1] - self.start[1]) * (point[0] - self.start[0])
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
