//! Request units: the one place where counted work becomes a charge.
//!
//! The formula reproduces the published figures: a point read of 1 KB is 1, a create of 1 KB with
//! ten index terms is 7, the replace of two terms 10.8, the same as a patch of two operations 11.6.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;
use std::time::Duration;

/// Request units, kept in hundredths so that sums are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Charge {
    hundredths: u64,
}

/// What a read did.
#[derive(Debug, Clone, Copy)]
pub struct ReadWork {
    pub bytes: usize,
    /// `ConsistencyLevel::read_factor` of the effective level.
    pub factor: f64,
}

/// What a write did to one item. Sizes are bytes of stored JSON; terms are index terms.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteWork {
    pub bytes_removed: Option<usize>,
    pub bytes_added: Option<usize>,
    pub terms_changed: usize,
    pub unique_keys: usize,
    pub patch_operations: usize,
}

/// (kilobytes, request units) of the published tables; between two rows the cost is a straight line.
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

const TERM: f64 = 0.2;
const UNIQUE_KEY: f64 = 0.3;
const PATCH_OPERATION: f64 = 0.4;
const BATCH_OPERATION: f64 = 0.1;
const BATCH_MIN: f64 = 5.0;
const SCRIPT_OPERATIONS: f64 = 0.8;
const SCRIPT_BASE: f64 = 1.0;
const SCRIPT_MS: f64 = 0.5;
const SCRIPT_FREE_MS: f64 = 2.0;
const QUERY_BASE: f64 = 2.56;
const QUERY_KB_LOADED: f64 = 0.010_386_9;
const QUERY_KB_OUTPUT: f64 = 0.0541;
const QUERY_SEEK: f64 = 0.10;
const QUERY_WALK: f64 = 0.05;
const QUERY_WALK_LOG: f64 = 0.01;
const QUERY_ENTRY: f64 = 0.0005;
const QUERY_SORT: f64 = 0.0002;
const QUERY_FUNCTION_CALL: f64 = 0.001;
/// The service tells nobody what evaluating costs it; this is near to what a script pays for the time.
const QUERY_STEP: f64 = 0.000_2;
/// Steps of each document that cost nothing: ordinary queries need far fewer.
const QUERY_STEPS_FREE: u64 = 1_000;

impl Charge {
    pub const ZERO: Charge = Charge { hundredths: 0 };
    /// What any answered request costs at least: metadata, refusals, empty polls.
    pub const MIN: Charge = Charge { hundredths: 100 };
    /// What a write of the smallest item costs, which is known before it runs.
    pub const WRITE_MIN: Charge = Charge { hundredths: 500 };

    /// Rounds half up to two decimals.
    pub fn from_units(units: f64) -> Charge {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "charges are small and never negative"
        )]
        let hundredths = (units * 100.0 + 0.5 + 1e-9).floor() as u64;
        Charge { hundredths }
    }

    pub const fn from_hundredths(hundredths: u64) -> Charge {
        Charge { hundredths }
    }

    /// For sums that must stay exact.
    pub const fn hundredths(self) -> u64 {
        self.hundredths
    }

    pub fn units(self) -> f64 {
        self.hundredths as f64 / 100.0
    }

    pub fn point_read(work: ReadWork) -> Charge {
        Charge::from_units(work.factor * cost(&READ_COST, work.bytes))
    }

    /// A read that found nothing, or nothing newer.
    pub fn empty_read(factor: f64) -> Charge {
        Charge::from_units(factor)
    }

    /// A page of a feed: the point reads of its items.
    pub fn feed_page(item_bytes: impl Iterator<Item = usize>, factor: f64) -> Charge {
        let sum: f64 = item_bytes.map(|bytes| cost(&READ_COST, bytes)).sum();
        Charge::from_units(factor * sum.max(1.0))
    }

    pub fn write(work: WriteWork) -> Charge {
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

    pub fn batch(operations: impl ExactSizeIterator<Item = Charge>) -> Charge {
        let surcharge = BATCH_OPERATION * operations.len() as f64;
        let sum: Charge = operations.sum();
        Charge::from_units((sum.units() + surcharge).max(BATCH_MIN))
    }

    /// A script: what it asked of the database, a little cheaper than from outside, and its own
    /// time beyond the first two milliseconds.
    pub fn script(operations: Charge, own_time: Duration) -> Charge {
        let milliseconds = own_time.as_secs_f64() * 1000.0 - SCRIPT_FREE_MS;
        Charge::from_units(
            SCRIPT_OPERATIONS * operations.units()
                + SCRIPT_BASE
                + SCRIPT_MS * milliseconds.max(0.0).floor(),
        )
    }

    /// One page of a query; only the first page of a partition pays for the start.
    pub fn query_page(work: QueryWork) -> Charge {
        let base = if work.is_first_page { QUERY_BASE } else { 0.0 };
        let logarithm = |count: u64| (1.0 + count as f64).log2();
        let walk = if work.entries_walked == 0 {
            0.0
        } else {
            QUERY_WALK + QUERY_WALK_LOG * logarithm(work.entries_walked)
        };
        let steps_free = work.documents.max(1).saturating_mul(QUERY_STEPS_FREE);
        let units = base
            + QUERY_KB_LOADED * (work.bytes_loaded as f64 / 1024.0)
            + QUERY_KB_OUTPUT * (work.bytes_output as f64 / 1024.0)
            + QUERY_SEEK * work.seeks.saturating_sub(1) as f64
            + walk
            + QUERY_ENTRY * work.entries_instead as f64
            + QUERY_FUNCTION_CALL * work.function_calls as f64
            + QUERY_STEP * work.steps.saturating_sub(steps_free) as f64
            + QUERY_SORT * work.rows_sorted as f64 * logarithm(work.rows_sorted);
        Charge::from_units(work.factor * units).max(Charge { hundredths: 1 })
    }
}

/// What a page of a query did.
#[derive(Debug, Clone, Copy)]
pub struct QueryWork {
    pub is_first_page: bool,
    pub documents: u64,
    pub bytes_loaded: usize,
    pub bytes_output: usize,
    /// Values that were looked up in an index.
    pub seeks: usize,
    /// Entries of ranges of an index that led to documents.
    pub entries_walked: u64,
    /// Entries that were read instead of documents.
    pub entries_instead: u64,
    /// Rows that no index had in their order.
    pub rows_sorted: u64,
    /// Calls of user-defined functions.
    pub function_calls: u64,
    /// Rows of joins and subqueries, and what takes as long.
    pub steps: u64,
    /// What the consistency level multiplies reads with.
    pub factor: f64,
}

impl QueryWork {
    pub fn none(is_first_page: bool, factor: f64) -> QueryWork {
        QueryWork {
            is_first_page,
            documents: 0,
            bytes_loaded: 0,
            bytes_output: 0,
            seeks: 0,
            entries_walked: 0,
            entries_instead: 0,
            rows_sorted: 0,
            function_calls: 0,
            steps: 0,
            factor,
        }
    }
}

/// Linear between the rows of `table`, flat below the first, extended past the last.
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
            entries_walked: 1023,
            ..page(0, 0)
        };
        assert_eq!(charge(seeks), "2.91");
    }

    #[test]
    fn evaluation_costs_beyond_what_ordinary_queries_need() {
        let steps = |documents, steps| QueryWork {
            documents,
            steps,
            ..QueryWork::none(false, 1.0)
        };
        let charge = |work| Charge::query_page(work).to_string();
        assert_eq!(charge(steps(1, 1_000)), "0.01");
        assert_eq!(charge(steps(100, 100_000)), "0.01");
        assert_eq!(charge(steps(1, 8_001_000)), "1600");
    }

    #[test]
    fn batches_add_up_above_a_floor() {
        let five = Charge::from_units(5.0);
        assert_eq!(Charge::batch([five, five].into_iter()).to_string(), "10.2");
        assert_eq!(Charge::batch([Charge::MIN].into_iter()).to_string(), "5");
    }
}
