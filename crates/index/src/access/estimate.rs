//! Estimates the numbers of entries and documents that a step reads.
//!
//! Short entry ranges are counted. Long ranges are estimated: a value has the average frequency of
//! all values, and a range has its share of the distance between the first and the last value.

use orrery_exec::DocumentPath;
use orrery_json::Value;

use super::cost::DIVE_POINTS_MAX;
use super::filter::{Filter, Term, ValueTerm};
use super::intervals::{Interval, Intervals};
use super::{EntryRange, Statistics};
use crate::IndexHash;
use crate::value::decode;

/// Default selectivities for values without statistics.
const SELECTIVITY_EQUAL: f64 = 0.1;
const SELECTIVITY_RANGE: f64 = 1.0 / 3.0;

/// Number of value bytes that the share of a range is computed from.
const BYTES_COMPARED: usize = 8;

pub(super) struct Estimator<'a> {
    statistics: &'a dyn Statistics,
    scope_documents: u64,
    /// The fraction of the container's documents that are in the scope of the query.
    scope_fraction: f64,
}

impl<'a> Estimator<'a> {
    pub(super) fn of(statistics: &'a dyn Statistics) -> Estimator<'a> {
        let documents = statistics.documents();
        let scope_documents = statistics.documents_in_scope();
        Estimator {
            statistics,
            scope_documents,
            scope_fraction: ratio(scope_documents.max(1) as f64, documents as f64).min(1.0),
        }
    }

    pub(super) fn documents(&self) -> u64 {
        self.scope_documents
    }

    /// Number of entries in all given intervals of an index.
    pub(super) fn entries(&self, index: IndexHash, intervals: &Intervals) -> u64 {
        let runs = &intervals.list;
        let entries_of = |run| self.entries_of_interval(index, run);
        if runs.len() <= DIVE_POINTS_MAX || !intervals.all_points() {
            return runs.iter().map(entries_of).sum();
        }
        let some = runs.iter().step_by(runs.len().div_ceil(DIVE_POINTS_MAX));
        let count = some.len();
        let sum: u64 = some.map(entries_of).sum();
        whole(sum as f64 * runs.len() as f64 / count as f64)
    }

    /// Exact number of entries in the given intervals, if it is small enough to count.
    pub(super) fn counted(&self, index: IndexHash, intervals: &Intervals) -> Option<u64> {
        if intervals.list.len() > DIVE_POINTS_MAX {
            return None;
        }
        let runs = intervals.list.iter();
        runs.map(|interval| self.count(&interval.entry_range(index)))
            .map(|count| (count < self.statistics.dive_entries_max()).then_some(count))
            .sum()
    }

    /// The number of entries that a cursor passes to find `entries` entries within the scope.
    /// Entries of one value are sorted by document key, so the scope is one part of them; entries
    /// of a range are mixed.
    pub(super) fn walked(&self, entries: u64) -> f64 {
        entries as f64 / self.scope_fraction
    }

    /// Number of documents that the entries refer to: one for each entry, up to the documents in
    /// scope.
    pub(super) fn documents_of(&self, entries: u64) -> u64 {
        entries.min(self.scope_documents)
    }

    /// The fraction of documents that pass a filter, under the assumption that its terms are
    /// independent.
    pub(super) fn selectivity(&self, filter: &Filter) -> f64 {
        filter
            .terms
            .iter()
            .map(|term| self.selectivity_of_term(term))
            .product()
    }

    pub(super) fn selectivity_of_term(&self, term: &Term) -> f64 {
        match term {
            Term::Value(term) => self.selectivity_of_value(term),
            Term::Spatial(term) => match term.index {
                Some(_) => self.selectivity_of_entries(term.entries),
                None => SELECTIVITY_EQUAL,
            },
            Term::Either(filters) => {
                let sum: f64 = filters.iter().map(|filter| self.selectivity(filter)).sum();
                sum.min(1.0)
            }
        }
    }

    pub(super) fn selectivity_of_value(&self, term: &ValueTerm) -> f64 {
        match term.index {
            Some(_) => self.selectivity_of_entries(term.entries),
            None if term.intervals.all_points() => {
                (SELECTIVITY_EQUAL * term.intervals.list.len() as f64).min(1.0)
            }
            None => SELECTIVITY_RANGE,
        }
    }

    /// Whether every indexed document has an entry in the index of this path.
    pub(super) fn is_everywhere(&self, path: &DocumentPath) -> bool {
        self.statistics
            .path(IndexHash::of_path(path))
            .is_some_and(|of_path| of_path.entries == self.statistics.indexed_documents())
    }

    /// Upper bound of the number of distinct values of an index in the scope.
    pub(super) fn distinct(&self, index: IndexHash) -> Option<u64> {
        self.statistics.path(index).map(|of_path| of_path.distinct)
    }

    /// Whether an index may have entries for arrays or objects.
    pub(super) fn has_non_scalar(&self, index: IndexHash) -> bool {
        let of_path = self.statistics.path(index);
        of_path.is_none_or(|of_path| of_path.non_scalar > 0)
    }

    fn selectivity_of_entries(&self, entries: u64) -> f64 {
        ratio(entries as f64, self.scope_documents as f64).min(1.0)
    }

    /// Estimated number of entries in the intervals from statistics alone. `None` where this
    /// estimate is not good enough for a first plan.
    pub(super) fn guess(&self, index: IndexHash, intervals: &Intervals) -> Option<u64> {
        let is_small = self.scope_documents < self.statistics.guess_documents_min();
        if is_small || intervals.list.len() > DIVE_POINTS_MAX {
            return None;
        }
        self.statistics.path(index)?;
        let runs = intervals.list.iter();
        let guess: u64 = runs.map(|run| self.estimated(index, run)).sum();
        Some(guess.max(1))
    }

    fn entries_of_interval(&self, index: IndexHash, interval: &Interval) -> u64 {
        let counted = self.count(&interval.entry_range(index));
        if counted < self.statistics.dive_entries_max() {
            return counted;
        }
        counted.max(self.estimated(index, interval))
    }

    /// The estimate of the statistics for an interval, without reading its entries.
    fn estimated(&self, index: IndexHash, interval: &Interval) -> u64 {
        let Some(of_path) = self.statistics.path(index) else {
            return whole(self.scope_documents as f64 * SELECTIVITY_RANGE);
        };
        let entries = of_path.entries as f64 * self.scope_fraction;
        whole(if interval.is_point {
            entries / of_path.distinct.max(1) as f64
        } else {
            entries * self.selectivity_of_range(index, interval)
        })
    }

    fn count(&self, run: &EntryRange) -> u64 {
        let limit = self.statistics.dive_entries_max();
        self.statistics.count(run, limit)
    }

    fn selectivity_of_range(&self, index: IndexHash, interval: &Interval) -> f64 {
        let Some((first, last)) = self.statistics.extent(index) else {
            return SELECTIVITY_RANGE;
        };
        let to = interval.to.as_ref();
        if interval.from <= first && to.is_none_or(|to| *to > last) {
            return 1.0;
        }
        let low = first.clone().max(interval.from.clone());
        let high = to.map_or_else(|| last.clone(), |to| last.clone().min(to.clone()));
        let share = match (number(&first), number(&last)) {
            (Some(first), Some(last)) => {
                let low = number(&low).unwrap_or(first);
                let high = number(&high).unwrap_or(last);
                ratio(high - low, last - first)
            }
            _ => fraction_of_bytes(&first, &last, &low, &high),
        };
        if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            SELECTIVITY_RANGE
        }
    }
}

fn number(bytes: &[u8]) -> Option<f64> {
    match decode(bytes)?.0.value {
        Value::Number(number) => Some(number.as_f64()),
        _ => None,
    }
}

/// The distance between `low` and `high` relative to the distance between `first` and `last`. Only
/// the bytes after the common prefix of `first` and `last` count.
fn fraction_of_bytes(first: &[u8], last: &[u8], low: &[u8], high: &[u8]) -> f64 {
    let same = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let position = |bytes: &[u8]| {
        let digits = (0..BYTES_COMPARED).map(|at| bytes.get(same + at).copied().unwrap_or(0));
        digits.fold(0.0, |sum, digit| sum * 256.0 + f64::from(digit))
    };
    ratio(
        position(high) - position(low),
        position(last) - position(first),
    )
}

fn ratio(part: f64, of: f64) -> f64 {
    if of > 0.0 { part / of } else { 1.0 }
}

/// Rounds to the nearest count.
pub(super) fn whole(estimate: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are far below, and the cast saturates"
    )]
    let whole = estimate.round() as u64;
    whole
}
