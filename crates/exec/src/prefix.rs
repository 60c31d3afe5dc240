//! The first rows of an order, out of rows that come in any order.
//!
//! It holds at most as many rows, and about as many bytes, as a page can give. A row that is
//! dropped comes after all rows that are kept, and from then on nothing behind it is taken in, so
//! what is kept is at any time an unbroken beginning of all rows seen.

use std::collections::BTreeMap;

use crate::window::Made;

/// Rows that a page may hold only to pass over them.
const PASSED_ROWS_MAX: usize = 50_000;
const PASSED_BYTES_MAX: usize = 64 << 20;

#[derive(Debug)]
pub(crate) struct Prefix<K> {
    rows: BTreeMap<K, Made>,
    bytes: usize,
    rows_max: usize,
    bytes_max: usize,
    /// The first row that was dropped to make room.
    horizon: Option<K>,
    truncated: bool,
}

impl<K: Ord + Clone> Prefix<K> {
    /// `passed` of the `rows` will not be in the page.
    pub(crate) fn new(rows: usize, passed: usize, bytes_max: usize) -> Prefix<K> {
        let given = rows.saturating_sub(passed).max(1);
        Prefix {
            rows: BTreeMap::new(),
            bytes: 0,
            rows_max: rows.min(given.max(PASSED_ROWS_MAX)),
            bytes_max: if passed == 0 {
                bytes_max
            } else {
                bytes_max.max(PASSED_BYTES_MAX)
            },
            horizon: None,
            truncated: false,
        }
    }

    /// Without a bound on rows, for results that must be known completely.
    pub(crate) fn unbounded() -> Prefix<K> {
        Prefix {
            rows: BTreeMap::new(),
            bytes: 0,
            rows_max: usize::MAX,
            bytes_max: usize::MAX,
            horizon: None,
            truncated: false,
        }
    }

    /// Whether a row with this key would be kept; if not, there are rows behind the prefix.
    pub(crate) fn admits(&mut self, key: &K) -> bool {
        let is_behind = self.horizon.as_ref().is_some_and(|horizon| key >= horizon)
            || self.last_of_all().is_some_and(|last| key > last);
        self.truncated |= is_behind;
        !is_behind
    }

    /// A key behind which no row is kept any more.
    pub(crate) fn limit(&self) -> Option<&K> {
        self.last_of_all().or(self.horizon.as_ref())
    }

    /// Notes that there was a row behind the limit.
    pub(crate) fn refuse(&mut self) {
        self.truncated = true;
    }

    pub(crate) fn rows_max(&self) -> usize {
        self.rows_max
    }

    /// The last row that is kept when there are as many as can be.
    fn last_of_all(&self) -> Option<&K> {
        if self.rows.len() < self.rows_max {
            return None;
        }
        self.rows.last_key_value().map(|(last, _)| last)
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.rows.contains_key(key)
    }

    pub(crate) fn insert(&mut self, key: K, made: Made) {
        self.bytes += made.bytes;
        if let Some(replaced) = self.rows.insert(key, made) {
            self.bytes -= replaced.bytes;
        }
        while self.is_too_long() {
            let Some((key, made)) = self.rows.pop_last() else {
                return;
            };
            self.bytes -= made.bytes;
            self.horizon = Some(key);
            self.truncated = true;
        }
    }

    pub(crate) fn remove(&mut self, key: &K) {
        if let Some(made) = self.rows.remove(key) {
            self.bytes -= made.bytes;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated
    }

    pub(crate) fn into_rows(self) -> impl Iterator<Item = (K, Made)> {
        self.rows.into_iter()
    }

    /// Too many rows, or bytes enough without the last row.
    fn is_too_long(&self) -> bool {
        let last = self.rows.last_key_value();
        let last_bytes = last.map_or(0, |(_, made)| made.bytes);
        self.rows.len() > self.rows_max
            || self.rows.len() > 1 && self.bytes - last_bytes > self.bytes_max
    }
}
