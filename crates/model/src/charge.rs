//! Request units: the one module that turns counted work into a charge.
//!
//! The formula reproduces the published figures: a point read of 1 KB costs 1, a create of 1 KB
//! with ten index terms 7, the replace of two terms 10.8, and the same change as a patch of two
//! operations 11.6.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;
use std::time::Duration;

/// Request units, stored in hundredths so that sums are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Charge {
    hundredths: u64,
}

/// The work of a read.
#[derive(Debug, Clone, Copy)]
pub struct ReadWork {
    pub bytes: usize,
    /// `ConsistencyLevel::read_factor` of the effective level.
    pub factor: f64,
}

/// The work of a write on one item. Sizes are bytes of stored JSON; terms are index terms.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteWork {
    pub bytes_removed: Option<usize>,
    pub bytes_added: Option<usize>,
    pub terms_changed: usize,
    pub unique_keys: usize,
    pub patch_operations: usize,
}

/// (kilobytes, request units) of the published tables. Between two rows the cost is a straight
/// line.
const READ_COST: [(f64, f64); 12] = [
    (1.0, 1.00),
    (2.0, 1.04),
    (4.0, 1.14),
    (8.0, 1.33),
    (16.0, 1.67),
    (32.0, 2.19),
    (64.0, 4.76),
    (128.0, 9.95),
    (256.0, 20.28),
    (512.0, 40.95),
    (1024.0, 145.90),
    (2048.0, 291.80),
];
const WRITE_COST: [(f64, f64); 12] = [
    (1.0, 5.00),
    (2.0, 6.29),
    (4.0, 6.67),
    (8.0, 7.04),
    (16.0, 9.52),
    (32.0, 11.23),
    (64.0, 22.67),
    (128.0, 48.19),
    (256.0, 98.29),
    (512.0, 184.57),
    (1024.0, 625.0),
    (2048.0, 1250.0),
];

/// The charge of each index term that a write adds or removes.
const TERM: f64 = 0.2;
/// The charge of each unique key that a write checks.
const UNIQUE_KEY: f64 = 0.3;
/// The charge of each operation of a patch.
const PATCH_OPERATION: f64 = 0.4;
/// The part of the charge of database operations that a script pays.
const SCRIPT_OPERATIONS: f64 = 0.8;
/// The charge of running any script.
const SCRIPT_BASE: f64 = 1.0;
/// The charge of a millisecond of a script's own time.
const SCRIPT_MS: f64 = 0.5;
/// The milliseconds of a script that the base charge covers.
const SCRIPT_FREE_MS: f64 = 2.0;
/// The charge of beginning a query on one partition.
const QUERY_BASE: f64 = 2.56;
/// The charge of a kilobyte of documents that a query loads.
const QUERY_KB_LOADED: f64 = 0.010_386_9;
/// The charge of a kilobyte of rows that a query returns.
const QUERY_KB_OUTPUT: f64 = 0.0541;
/// The charge of each index lookup after the first one.
const QUERY_SEEK: f64 = 0.10;
/// The charge of reading any range of an index.
const QUERY_WALK: f64 = 0.05;
/// The charge of each doubling of the number of entries in a range.
const QUERY_WALK_LOG: f64 = 0.01;
/// The charge of an index entry that replaces a document.
const QUERY_ENTRY: f64 = 0.0005;
/// The charge of one comparison step of a sort.
const QUERY_SORT: f64 = 0.0002;
/// The charge of a call of a user-defined function.
const QUERY_FUNCTION_CALL: f64 = 0.001;
/// The charge of one evaluation step. Cosmos DB publishes no figure; this one is near to the charge
/// of a script for the same time.
const QUERY_STEP: f64 = 0.000_2;
/// The free evaluation steps of each document. Ordinary queries need far fewer.
const QUERY_STEPS_FREE: u64 = 1_000;

impl Charge {
    pub const ZERO: Charge = Charge { hundredths: 0 };
    /// The least charge of an answered request: metadata, refusals, empty polls.
    pub const MIN: Charge = Charge { hundredths: 100 };
    /// The charge of a write of the smallest item, which is known before the write runs.
    pub const WRITE_MIN: Charge = Charge { hundredths: 500 };

    /// Rounds to two decimals, half up.
    pub fn from_units(units: f64) -> Charge {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "charges are small and never negative"
        )]
        // The last term compensates binary fractions: 0.285 must round up as its decimal form does.
        let hundredths = (units * 100.0 + 0.5 + 1e-9).floor() as u64;
        Charge { hundredths }
    }

    pub const fn from_hundredths(hundredths: u64) -> Charge {
        Charge { hundredths }
    }

    /// The charge in hundredths, for sums that must stay exact.
    pub const fn hundredths(self) -> u64 {
        self.hundredths
    }

    pub fn units(self) -> f64 {
        self.hundredths as f64 / 100.0
    }

    /// The charge of a point read that found its item.
    pub fn point_read(work: ReadWork) -> Charge {
        Charge::from_units(work.factor * cost(&READ_COST, work.bytes))
    }

    /// The charge of a read that found no item, or no newer version.
    pub fn empty_read(factor: f64) -> Charge {
        Charge::from_units(factor)
    }

    /// The charge of a feed page: the point reads of its items. Small items share a kilobyte.
    pub fn feed_page(item_bytes: impl Iterator<Item = usize>, factor: f64) -> Charge {
        let of_item = |bytes| cost(&READ_COST, bytes) * (bytes as f64 / 1024.0).min(1.0);
        let sum: f64 = item_bytes.map(of_item).sum();
        Charge::from_units(factor * sum.max(1.0))
    }

    /// The charge of a write. A replace pays for the old version and for the new one.
    pub fn write(work: WriteWork) -> Charge {
        // A create removes nothing and a delete adds nothing, so each pays once.
        let sizes = [work.bytes_removed, work.bytes_added];
        let bytes: f64 = sizes
            .into_iter()
            .flatten()
            .map(|bytes| cost(&WRITE_COST, bytes))
            .sum();
        Charge::from_units(
            bytes
                + TERM * work.terms_changed as f64
                + UNIQUE_KEY * work.unique_keys as f64
                + PATCH_OPERATION * work.patch_operations as f64,
        )
    }

    /// The charge of a script: its database operations, a little cheaper than the same operations
    /// from outside, and its own time beyond the first two milliseconds.
    pub fn script(operations: Charge, own_time: Duration) -> Charge {
        let milliseconds = own_time.as_secs_f64() * 1000.0 - SCRIPT_FREE_MS;
        Charge::from_units(
            SCRIPT_OPERATIONS * operations.units()
                + SCRIPT_BASE
                + SCRIPT_MS * milliseconds.max(0.0).floor(),
        )
    }

    /// The charge of one page of a query. Only the first page of a partition pays the base charge.
    pub fn query_page(work: QueryWork) -> Charge {
        // Later pages continue a program that the first page paid for.
        let base = if work.is_first_page { QUERY_BASE } else { 0.0 };
        let logarithm = |count: u64| (1.0 + count as f64).log2();
        // The logarithm grows slowly, so long ranges are not charged entry by entry.
        let walk = if work.scanned_entries == 0 {
            0.0
        } else {
            QUERY_WALK + QUERY_WALK_LOG * logarithm(work.scanned_entries)
        };
        // Every document brings free steps, so that only unusual amounts of work per document cost
        // more.
        let steps_free = work.documents.max(1).saturating_mul(QUERY_STEPS_FREE);
        // Each term is a count of the executor times its price; the prices fit the published
        // figures.
        let units = base
            + QUERY_KB_LOADED * (work.bytes_loaded as f64 / 1024.0)
            + QUERY_KB_OUTPUT * (work.bytes_output as f64 / 1024.0)
            + QUERY_SEEK * work.seeks.saturating_sub(1) as f64
            + walk
            + QUERY_ENTRY * work.covered_entries as f64
            + QUERY_FUNCTION_CALL * work.function_calls as f64
            + QUERY_STEP * work.steps.saturating_sub(steps_free) as f64
            + QUERY_SORT * work.rows_sorted as f64 * logarithm(work.rows_sorted);
        Charge::from_units(work.factor * units).max(Charge::MIN)
    }
}

/// The work of one page of a query.
#[derive(Debug, Clone, Copy)]
pub struct QueryWork {
    pub is_first_page: bool,
    pub documents: u64,
    pub bytes_loaded: usize,
    pub bytes_output: usize,
    /// Values that the query looked up in an index.
    pub seeks: usize,
    /// Index entries of ranges that led to documents.
    pub scanned_entries: u64,
    /// Index entries that the query read in place of documents.
    pub covered_entries: u64,
    /// Rows that the query sorted, because no index has them in order.
    pub rows_sorted: u64,
    /// Calls of user-defined functions.
    pub function_calls: u64,
    /// Rows of joins and subqueries, and other evaluation steps of similar cost.
    pub steps: u64,
    /// The factor of the consistency level for reads.
    pub factor: f64,
}

impl QueryWork {
    /// No work yet, which the executor increases as it counts.
    pub fn none(is_first_page: bool, factor: f64) -> QueryWork {
        QueryWork {
            is_first_page,
            documents: 0,
            bytes_loaded: 0,
            bytes_output: 0,
            seeks: 0,
            scanned_entries: 0,
            covered_entries: 0,
            rows_sorted: 0,
            function_calls: 0,
            steps: 0,
            factor,
        }
    }

    /// The work with that of a search beside it, in a page that needed several searches.
    #[must_use]
    pub fn with_search(self, other: QueryWork) -> QueryWork {
        QueryWork {
            documents: self.documents + other.documents,
            bytes_loaded: self.bytes_loaded + other.bytes_loaded,
            seeks: self.seeks + other.seeks,
            scanned_entries: self.scanned_entries + other.scanned_entries,
            covered_entries: self.covered_entries + other.covered_entries,
            function_calls: self.function_calls + other.function_calls,
            steps: self.steps + other.steps,
            // A search returns no rows itself: output and sorting belong to the page.
            ..self
        }
    }
}

/// Linear between the rows of `table`, flat below the first row, extended past the last row.
fn cost(table: &[(f64, f64); 12], bytes: usize) -> f64 {
    let kilobytes = bytes as f64 / 1024.0;
    let [first, rest @ ..] = table;
    if kilobytes <= first.0 {
        return first.1;
    }
    let upper = rest
        .iter()
        .position(|row| kilobytes <= row.0)
        .unwrap_or(rest.len() - 1)
        + 1;
    // Beyond the last row the line of the last two rows continues.
    let (low, high) = (table[upper - 1], table[upper]);
    low.1 + (kilobytes - low.0) * (high.1 - low.1) / (high.0 - low.0)
}

impl Add for Charge {
    type Output = Charge;

    fn add(self, other: Charge) -> Charge {
        Charge {
            hundredths: self.hundredths + other.hundredths,
        }
    }
}

impl Sum for Charge {
    fn sum<I: Iterator<Item = Charge>>(charges: I) -> Charge {
        charges.fold(Charge::ZERO, Add::add)
    }
}

impl fmt::Display for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.hundredths / 100, self.hundredths % 100);
        if fraction == 0 {
            write!(f, "{whole}")
        } else if fraction % 10 == 0 {
            write!(f, "{whole}.{}", fraction / 10)
        } else {
            write!(f, "{whole}.{fraction:02}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KB: usize = 1024;

    #[test]
    fn published_point_reads() {
        for (kilobytes, expected) in [
            (1, "1"),
            (2, "1.04"),
            (4, "1.14"),
            (64, "4.76"),
            (512, "40.95"),
            (2048, "291.8"),
        ] {
            let work = ReadWork {
                bytes: kilobytes * KB,
                factor: 1.0,
            };
            assert_eq!(
                Charge::point_read(work).to_string(),
                expected,
                "{kilobytes} KB"
            );
        }
        let strong = ReadWork {
            bytes: KB,
            factor: 2.0,
        };
        assert_eq!(Charge::point_read(strong).to_string(), "2");
        assert_eq!(
            Charge::point_read(ReadWork {
                bytes: 3,
                factor: 1.0
            })
            .to_string(),
            "1"
        );
    }

    #[test]
    fn published_worked_writes() {
        let create = WriteWork {
            bytes_added: Some(KB),
            terms_changed: 10,
            ..WriteWork::default()
        };
        assert_eq!(Charge::write(create).to_string(), "7");
        let replace = WriteWork {
            bytes_removed: Some(KB),
            bytes_added: Some(KB),
            terms_changed: 4,
            ..WriteWork::default()
        };
        assert_eq!(Charge::write(replace).to_string(), "10.8");
        let patch = WriteWork {
            patch_operations: 2,
            ..replace
        };
        assert_eq!(Charge::write(patch).to_string(), "11.6");
        let delete = WriteWork {
            bytes_removed: Some(KB),
            terms_changed: 10,
            ..WriteWork::default()
        };
        assert_eq!(Charge::write(delete).to_string(), "7");
    }

    #[test]
    fn published_queries() {
        let page = |bytes_loaded, bytes_output| QueryWork {
            bytes_loaded,
            bytes_output,
            ..QueryWork::none(true, 1.0)
        };
        let charge = |work| Charge::query_page(work).to_string();
        assert_eq!(charge(page(399_998_938, 510)), "4059.96");
        assert_eq!(charge(page(6_656, 6_656)), "2.98");
        let seeks = QueryWork {
            seeks: 3,
            scanned_entries: 1023,
            ..page(0, 0)
        };
        assert_eq!(charge(seeks), "2.91");
    }

    #[test]
    fn feeds_are_charged_by_bytes() {
        let charge = |sizes: &[usize]| {
            let page = Charge::feed_page(sizes.iter().copied(), 1.0);
            page.to_string()
        };
        // Five items of 1 KB are published; what is smaller is a part of a kilobyte.
        assert_eq!(charge(&[KB; 5]), "5");
        assert_eq!(charge(&[KB / 4; 20]), "5");
        assert_eq!(charge(&[64 * KB, 2 * KB]), "5.8");
        assert_eq!(charge(&[100]), "1");
        assert_eq!(charge(&[]), "1");
    }

    #[test]
    fn evaluation_costs_beyond_what_ordinary_queries_need() {
        let steps = |documents, steps| QueryWork {
            documents,
            steps,
            ..QueryWork::none(false, 1.0)
        };
        let charge = |work| Charge::query_page(work).to_string();
        assert_eq!(charge(steps(1, 1_000)), "1");
        assert_eq!(charge(steps(100, 100_000)), "1");
        assert_eq!(charge(steps(1, 8_001_000)), "1600");
    }
}
