//! Sets of encoded values: the part of an index that a predicate selects.
//!
//! An interval contains the byte strings from `from` up to but without `to`. Encodings are
//! self-delimiting, so an interval whose bounds lie between values contains either all entries of a
//! value or none.

use std::cmp::Ordering;

use orrery_exec::ValueRange;

use super::EntryRange;
use crate::IndexHash;
use crate::value::{ByteRange, byte_range, successor};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) from: Vec<u8>,
    /// `None` for an interval without an upper bound.
    pub(super) to: Option<Vec<u8>>,
    /// Whether the interval is exactly one encoded value, `from`.
    pub(super) is_point: bool,
}

/// Ascending, disjoint intervals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Intervals {
    pub(super) list: Vec<Interval>,
    /// Whether the intervals contain only values of the predicate.
    pub(super) is_exact: bool,
}

impl Intervals {
    pub(super) fn everything() -> Intervals {
        Intervals {
            list: vec![Interval {
                from: Vec::new(),
                to: None,
                is_point: false,
            }],
            is_exact: true,
        }
    }

    pub(super) fn of_ranges(ranges: &[ValueRange]) -> Intervals {
        let mut is_exact = true;
        let mut list = Vec::with_capacity(ranges.len());
        for range in ranges {
            let bytes = byte_range(range);
            is_exact &= bytes.is_exact;
            list.push(Interval::of(bytes));
        }
        Intervals {
            list: disjoint(list),
            is_exact,
        }
    }

    /// The intervals of a spatial index, each from the first bytes up to but without the second.
    pub(super) fn of_cells(cells: Vec<(Vec<u8>, Vec<u8>)>) -> Intervals {
        let list = cells.into_iter().map(|(from, to)| Interval {
            from,
            to: Some(to),
            is_point: false,
        });
        Intervals {
            list: disjoint(list.collect()),
            is_exact: false,
        }
    }

    /// The intersection of two sets.
    pub(super) fn and(&self, other: &Intervals) -> Intervals {
        let (mut left, mut right) = (self.list.iter().peekable(), other.list.iter().peekable());
        let mut list = Vec::new();
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            list.extend(common(a, b));
            if ends_before(a, b) {
                left.next();
            } else {
                right.next();
            }
        }
        Intervals {
            list,
            is_exact: self.is_exact && other.is_exact,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn all_points(&self) -> bool {
        self.list.iter().all(|interval| interval.is_point)
    }

    /// The interval of a set that consists of a single point.
    pub(super) fn point(&self) -> Option<&Interval> {
        match &self.list[..] {
            [only] if only.is_point => Some(only),
            _ => None,
        }
    }

    pub(super) fn entry_ranges(&self, index: IndexHash) -> Vec<EntryRange> {
        let runs = self.list.iter().map(|interval| interval.entry_range(index));
        runs.collect()
    }
}

impl Interval {
    fn of(bytes: ByteRange) -> Interval {
        Interval {
            from: bytes.from,
            to: Some(bytes.to),
            is_point: bytes.is_point,
        }
    }

    pub(super) fn entry_range(&self, index: IndexHash) -> EntryRange {
        EntryRange {
            index,
            from: self.from.clone(),
            to: self.to.clone(),
            is_point: self.is_point,
        }
    }

    /// The interval of the same values in a descending part of a composite index.
    pub(super) fn reversed(&self) -> Interval {
        let invert = |bytes: &[u8]| bytes.iter().map(|byte| !byte).collect::<Vec<u8>>();
        let from = match &self.to {
            _ if self.is_point => invert(&self.from),
            Some(to) => successor(&invert(to)),
            None => Vec::new(),
        };
        Interval {
            from,
            to: (!self.from.is_empty()).then(|| successor(&invert(&self.from))),
            is_point: self.is_point,
        }
    }

    fn is_empty(&self) -> bool {
        self.to.as_ref().is_some_and(|to| *to <= self.from)
    }
}

fn disjoint(mut list: Vec<Interval>) -> Vec<Interval> {
    list.retain(|interval| !interval.is_empty());
    list.sort_by(|a, b| {
        a.from
            .cmp(&b.from)
            .then_with(|| compare_ends(a.to.as_ref(), b.to.as_ref()))
    });
    let mut merged: Vec<Interval> = Vec::with_capacity(list.len());
    for next in list {
        match merged.last_mut() {
            Some(last) if last.to.as_ref().is_none_or(|to| next.from < *to) => {
                if last.from == next.from && last.to == next.to {
                    last.is_point |= next.is_point;
                    continue;
                }
                // The union of two different overlapping intervals is not a point.
                last.is_point = false;
                if compare_ends(last.to.as_ref(), next.to.as_ref()).is_lt() {
                    last.to = next.to;
                }
            }
            _ => merged.push(next),
        }
    }
    merged
}

fn common(a: &Interval, b: &Interval) -> Option<Interval> {
    let both = Interval {
        from: a.from.clone().max(b.from.clone()),
        to: if ends_before(a, b) { &a.to } else { &b.to }.clone(),
        is_point: false,
    };
    let is_point = [a, b]
        .into_iter()
        .any(|side| side.is_point && side.from == both.from && side.to == both.to);
    (!both.is_empty()).then_some(Interval { is_point, ..both })
}

fn ends_before(a: &Interval, b: &Interval) -> bool {
    compare_ends(a.to.as_ref(), b.to.as_ref()).is_lt()
}

/// Compares upper bounds. A missing bound is above all bounds.
fn compare_ends(a: Option<&Vec<u8>>, b: Option<&Vec<u8>>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.cmp(b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `5` is a point, `3-7` goes from 3 up to but without 7, `3-` has no end.
    fn set(text: &str) -> Intervals {
        let list = text.split_whitespace().map(|part| {
            let byte = |text: &str| vec![text.parse::<u8>().unwrap()];
            match part.split_once('-') {
                None => Interval {
                    from: byte(part),
                    to: Some(successor(&byte(part))),
                    is_point: true,
                },
                Some((from, to)) => Interval {
                    from: byte(from),
                    to: (!to.is_empty()).then(|| byte(to)),
                    is_point: false,
                },
            }
        });
        Intervals {
            list: disjoint(list.collect()),
            is_exact: true,
        }
    }

    fn text(intervals: &Intervals) -> String {
        let parts = intervals.list.iter().map(|interval| {
            let end = interval
                .to
                .as_ref()
                .map_or(String::new(), |to| to[0].to_string());
            if interval.is_point {
                interval.from[0].to_string()
            } else {
                format!("{}-{end}", interval.from[0])
            }
        });
        parts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn sets_are_ascending_and_disjoint() {
        for (given, expected) in [
            ("5 3 5", "3 5"),
            ("3 4", "3 4"),
            ("1-5 3", "1-5"),
            ("3 1-5 4-9", "1-9"),
            ("5- 3-7 9", "3-"),
            ("7-7", ""),
            ("1-3 3-5", "1-3 3-5"),
        ] {
            assert_eq!(text(&set(given)), expected, "{given}");
        }
    }

    #[test]
    fn common_values() {
        for (a, b, expected) in [
            ("5", "5", "5"),
            ("5", "6", ""),
            ("1-5", "3-9", "3-5"),
            ("1-5 7-9", "3-8", "3-5 7-8"),
            ("1 3 5 7", "2-6", "3 5"),
            ("1-", "4", "4"),
            ("1-", "4-", "4-"),
            ("1-5", "5-9", ""),
            ("1-3 4-6 7-9", "2-8", "2-3 4-6 7-8"),
        ] {
            assert_eq!(text(&set(a).and(&set(b))), expected, "{a} and {b}");
            assert_eq!(text(&set(b).and(&set(a))), expected, "{b} and {a}");
        }
    }
}
