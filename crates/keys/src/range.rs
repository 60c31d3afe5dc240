//! Intervals of effective partition keys.

use std::fmt;

use crate::Epk;

/// The points from `min` up to but without `max`. The range is empty when `max` is not above `min`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EpkRange {
    pub min: Epk,
    pub max: Epk,
}

impl EpkRange {
    pub fn new(min: Epk, max: Epk) -> EpkRange {
        EpkRange { min, max }
    }

    /// The range of every key.
    pub fn full() -> EpkRange {
        EpkRange::new(Epk::min(), Epk::max())
    }

    pub fn is_empty(&self) -> bool {
        self.min >= self.max
    }

    pub fn contains(&self, point: &Epk) -> bool {
        self.min <= *point && *point < self.max
    }

    /// Whether the two ranges share a point.
    pub fn overlaps(&self, other: &EpkRange) -> bool {
        self.intersect(other).is_some()
    }

    /// The intersection of the two ranges; `None` if it is empty.
    pub fn intersect(&self, other: &EpkRange) -> Option<EpkRange> {
        let min = (&self.min).max(&other.min);
        let max = (&self.max).min(&other.max);
        (min < max).then(|| EpkRange::new(min.clone(), max.clone()))
    }

    /// Whether every point of this range is in `other`.
    pub fn is_subset(&self, other: &EpkRange) -> bool {
        self.is_empty() || (other.min <= self.min && self.max <= other.max)
    }
}

impl fmt::Display for EpkRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{},{})", self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: &str, max: &str) -> EpkRange {
        EpkRange::new(Epk::from_hex(min).unwrap(), Epk::from_hex(max).unwrap())
    }

    #[test]
    fn a_range_excludes_its_max() {
        let range = range("10", "20");
        for (point, inside) in [
            ("0F", false),
            ("10", true),
            ("1000", true),
            ("1FFF", true),
            ("20", false),
            ("2000", false),
        ] {
            assert_eq!(
                range.contains(&Epk::from_hex(point).unwrap()),
                inside,
                "{point}"
            );
        }
        assert!(EpkRange::full().contains(&Epk::min()));
        assert!(!EpkRange::full().contains(&Epk::max()));
    }

    #[test]
    fn intersections() {
        let left = range("10", "20");
        for (min, max, expected) in [
            ("", "FF", "[10,20)"),
            ("18", "FF", "[18,20)"),
            ("", "18", "[10,18)"),
            ("20", "30", ""),
            ("", "10", ""),
            ("18", "18", ""),
        ] {
            let right = range(min, max);
            let both = left.intersect(&right);
            assert_eq!(both, right.intersect(&left));
            assert_eq!(left.overlaps(&right), both.is_some());
            let text = both.map_or(String::new(), |range| range.to_string());
            assert_eq!(text, expected, "{right}");
        }
    }

    #[test]
    fn subsets() {
        let whole = range("10", "20");
        assert!(whole.is_subset(&whole));
        assert!(whole.is_subset(&EpkRange::full()));
        assert!(range("30", "30").is_subset(&whole));
        assert!(!EpkRange::full().is_subset(&whole));
        assert!(!range("18", "21").is_subset(&whole));
    }
}
