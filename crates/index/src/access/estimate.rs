//! How many entries and documents a step meets.
//!
//! A short run is counted. A long one is estimated: a value is as frequent as values are on
//! average, and a range has the share of entries that it has of the way from the first value to
//! the last.

use orrery_exec::DocumentPath;
use orrery_json::Value;

use super::cost::DIVE_POINTS_MAX;
use super::filter::{Filter, Term, ValueTerm};
use super::intervals::{Interval, Intervals};
use super::{Run, Statistics};
use crate::IndexHash;
use crate::value::decode;

/// Of values about which nothing is known.
const SHARE_EQUAL: f64 = 0.1;
const SHARE_RANGE: f64 = 1.0 / 3.0;

/// How many bytes of a value are compared when the share of a range is measured.
const BYTES_COMPARED: usize = 8;

pub(super) struct Estimator<'a> {
    statistics: &'a dyn Statistics,
    scope_documents: u64,
    /// Which part of the container the query sees.
    scope_share: f64,
}

impl<'a> Estimator<'a> {
    pub(super) fn of(statistics: &'a dyn Statistics) -> Estimator<'a> {
        let documents = statistics.documents();
        let scope_documents = statistics.documents_in_scope();
        Estimator {
            statistics,
            scope_documents,
            scope_share: ratio(scope_documents.max(1) as f64, documents as f64).min(1.0),
        }
    }

    pub(super) fn documents(&self) -> u64 {
        self.scope_documents
    }

    /// Entries in all of some intervals of an index.
    pub(super) fn entries(&self, index: IndexHash, intervals: &Intervals) -> u64 {
        let runs = &intervals.list;
        let entries_of = |run| self.entries_of_run(index, run);
        if runs.len() <= DIVE_POINTS_MAX || !intervals.all_points() {
            return runs.iter().map(entries_of).sum();
        }
        let some = runs.iter().step_by(runs.len().div_ceil(DIVE_POINTS_MAX));
        let count = some.len();
        let sum: u64 = some.map(entries_of).sum();
        whole(sum as f64 * runs.len() as f64 / count as f64)
    }

    /// Entries of some intervals when they are few enough to be counted.
    pub(super) fn counted(&self, index: IndexHash, intervals: &Intervals) -> Option<u64> {
        if intervals.list.len() > DIVE_POINTS_MAX {
            return None;
        }
        let runs = intervals.list.iter();
        runs.map(|interval| self.count(&interval.run(index)))
            .map(|count| (count < self.statistics.dive_entries_max()).then_some(count))
            .sum()
    }

    /// Entries that are passed to meet so many in the scope. Those of one value stand in the order
    /// of places, so that the scope is a part of them; those of a range are mixed.
    pub(super) fn walked(&self, entries: u64) -> f64 {
        entries as f64 / self.scope_share
    }

    /// Documents that some entries lead to: all different ones, unless there are fewer documents.
    pub(super) fn documents_of(&self, entries: u64) -> u64 {
        entries.min(self.scope_documents)
    }

    /// Which part of the documents a filter lets through, as if its terms had nothing to do with
    /// one another.
    pub(super) fn share(&self, filter: &Filter) -> f64 {
        filter
            .terms
            .iter()
            .map(|term| self.share_of_term(term))
            .product()
    }

    pub(super) fn share_of_term(&self, term: &Term) -> f64 {
        match term {
            Term::Value(term) => self.share_of_value(term),
            Term::Shape(term) => match term.index {
                Some(_) => self.share_of_entries(term.entries),
                None => SHARE_EQUAL,
            },
            Term::Either(filters) => {
                let sum: f64 = filters.iter().map(|filter| self.share(filter)).sum();
                sum.min(1.0)
            }
        }
    }

    pub(super) fn share_of_value(&self, term: &ValueTerm) -> f64 {
        match term.index {
            Some(_) => self.share_of_entries(term.entries),
            None if term.intervals.all_points() => {
                (SHARE_EQUAL * term.intervals.list.len() as f64).min(1.0)
            }
            None => SHARE_RANGE,
        }
    }

    /// Whether every document that is indexed has an entry there.
    pub(super) fn is_everywhere(&self, path: &DocumentPath) -> bool {
        self.statistics
            .path(IndexHash::of_path(path))
            .is_some_and(|of_path| of_path.entries == self.statistics.indexed_documents())
    }

    /// How many different values an index has in the scope, at most.
    pub(super) fn distinct(&self, index: IndexHash) -> Option<u64> {
        self.statistics.path(index).map(|of_path| of_path.distinct)
    }

    /// Whether arrays or objects are among the entries of an index.
    pub(super) fn has_composed(&self, index: IndexHash) -> bool {
        let of_path = self.statistics.path(index);
        of_path.is_none_or(|of_path| of_path.composed > 0)
    }

    fn share_of_entries(&self, entries: u64) -> f64 {
        ratio(entries as f64, self.scope_documents as f64).min(1.0)
    }

    /// About how many entries some intervals have by the statistics alone, where that is good
    /// enough for a first plan.
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

    fn entries_of_run(&self, index: IndexHash, interval: &Interval) -> u64 {
        let counted = self.count(&interval.run(index));
        if counted < self.statistics.dive_entries_max() {
            return counted;
        }
        counted.max(self.estimated(index, interval))
    }

    /// What the statistics say of a run, without a look at its entries.
    fn estimated(&self, index: IndexHash, interval: &Interval) -> u64 {
        let Some(of_path) = self.statistics.path(index) else {
            return whole(self.scope_documents as f64 * SHARE_RANGE);
        };
        let entries = of_path.entries as f64 * self.scope_share;
        whole(if interval.is_point {
            entries / of_path.distinct.max(1) as f64
        } else {
            entries * self.share_of_range(index, interval)
        })
    }

    fn count(&self, run: &Run) -> u64 {
        let limit = self.statistics.dive_entries_max();
        self.statistics.count(run, limit)
    }

    fn share_of_range(&self, index: IndexHash, interval: &Interval) -> f64 {
        let Some((first, last)) = self.statistics.extent(index) else {
            return SHARE_RANGE;
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
            _ => share_of_bytes(&first, &last, &low, &high),
        };
        if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            SHARE_RANGE
        }
    }
}

fn number(bytes: &[u8]) -> Option<f64> {
    match decode(bytes)?.0.value {
        Value::Number(number) => Some(number.as_f64()),
        _ => None,
    }
}

/// How far apart two values are next to the first and the last one, by the bytes after those that
/// the first and the last one share.
fn share_of_bytes(first: &[u8], last: &[u8], low: &[u8], high: &[u8]) -> f64 {
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

/// The nearest count.
pub(super) fn whole(estimate: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are far below, and the cast saturates"
    )]
    let whole = estimate.round() as u64;
    whole
}
