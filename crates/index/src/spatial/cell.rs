//! Cells of a quadtree over a square.
//!
//! A cell is a number: the bits of its column and its row interleaved, from the first subdivision
//! on, then a one, then zeros. The descendants of a cell are the numbers around the cell's number,
//! at a distance below the value of its lowest set bit.

/// Depth of the quadtree. A cell of the last level is about two metres wide on the globe.
pub(super) const CUTS: u32 = 24;

/// The number of a cell: 49 bits, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cell(pub(super) u64);

/// A rectangle of columns and rows of the last level, edges included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) west: u32,
    pub(super) south: u32,
    pub(super) east: u32,
    pub(super) north: u32,
}

impl Cell {
    pub(super) const WHOLE: Cell = Cell(1 << (2 * CUTS));

    /// The least and the greatest number among the descendants of this cell, the cell included.
    pub(super) fn descendants(self) -> (u64, u64) {
        let reach = self.lowest_one() - 1;
        (self.0 - reach, self.0 + reach)
    }

    /// The cells that contain this one, from its parent to the root.
    pub(super) fn ancestors(self) -> impl Iterator<Item = Cell> {
        std::iter::successors(Some(self), |cell| cell.parent()).skip(1)
    }

    fn parent(self) -> Option<Cell> {
        let one = self.lowest_one() << 2;
        (self != Cell::WHOLE).then(|| Cell(self.0 & !(one - 1) & !(self.lowest_one()) | one))
    }

    fn lowest_one(self) -> u64 {
        self.0 & self.0.wrapping_neg()
    }
}

/// A cell in the form of level, column and row, which can be subdivided.
#[derive(Debug, Clone, Copy)]
struct Square {
    cuts: u32,
    column: u32,
    row: u32,
}

impl Square {
    fn area(self) -> Area {
        let shift = CUTS - self.cuts;
        let last = (1 << shift) - 1;
        let (west, south) = (self.column << shift, self.row << shift);
        Area {
            west,
            south,
            east: west + last,
            north: south + last,
        }
    }

    fn quarters(self) -> [Square; 4] {
        [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(column, row)| Square {
            cuts: self.cuts + 1,
            column: 2 * self.column + column,
            row: 2 * self.row + row,
        })
    }

    fn cell(self) -> Cell {
        let code = spread(self.column) | spread(self.row) << 1;
        Cell((code << 1 | 1) << (2 * (CUTS - self.cuts)))
    }
}

impl Area {
    fn meets(&self, other: &Area) -> bool {
        self.west <= other.east
            && other.west <= self.east
            && self.south <= other.north
            && other.south <= self.north
    }

    fn has(&self, other: &Area) -> bool {
        self.west <= other.west
            && other.east <= self.east
            && self.south <= other.south
            && other.north <= self.north
    }
}

/// At most `cells_max` cells that together cover the area.
pub(super) fn cover(area: &Area, cells_max: usize) -> Vec<Cell> {
    let mut done = Vec::new();
    let mut open = std::collections::VecDeque::from([Square {
        cuts: 0,
        column: 0,
        row: 0,
    }]);
    while let Some(square) = open.pop_front() {
        if square.cuts == CUTS || area.has(&square.area()) {
            done.push(square.cell());
            continue;
        }
        let is_needed = |quarter: &Square| quarter.area().meets(area);
        let quarters: Vec<Square> = square.quarters().into_iter().filter(is_needed).collect();
        // Subdividing this square would exceed the limit, so the square is kept as a coarser cell.
        if done.len() + open.len() + quarters.len() > cells_max {
            done.push(square.cell());
        } else {
            open.extend(quarters);
        }
    }
    done
}

/// Inserts a zero before each bit of the number.
fn spread(number: u32) -> u64 {
    let mut bits = u64::from(number);
    for (shift, mask) in [
        (16, 0x0000_FFFF_0000_FFFF),
        (8, 0x00FF_00FF_00FF_00FF),
        (4, 0x0F0F_0F0F_0F0F_0F0F),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_within_and_around() {
        let mut square = Square {
            cuts: 0,
            column: 0,
            row: 0,
        };
        assert_eq!(square.cell(), Cell::WHOLE);
        let mut path = vec![square.cell()];
        for step in 0..CUTS as usize {
            square = square.quarters()[step % 4];
            path.push(square.cell());
        }
        for pair in path.windows(2) {
            let ((first, last), cell) = (pair[0].descendants(), pair[1]);
            assert!(first <= cell.descendants().0 && cell.descendants().1 <= last);
            assert_eq!(cell.parent(), Some(pair[0]));
        }
        path.reverse();
        assert_eq!(path[0].ancestors().collect::<Vec<_>>(), path[1..]);
        assert_eq!(path[0].descendants(), (path[0].0, path[0].0));
    }

    #[test]
    fn one_place_is_one_cell() {
        let area = Area {
            west: 77,
            south: 5,
            east: 77,
            north: 5,
        };
        assert_eq!(cover(&area, 8).len(), 1);
        assert_eq!(cover(&area, 8)[0].descendants().0, cover(&area, 8)[0].0);
    }
}
