//! Collects the first rows of an order from rows in any order.
//!
//! The collection is limited to the rows, and approximately to the bytes, of one page. A dropped
//! row lies behind all kept rows, and the collection refuses every later row behind it. So the kept
//! rows are always an unbroken prefix of all rows seen.

use std::collections::BTreeMap;

use crate::skip_take::BufferedRow;

/// Limit of rows that a page may hold only to skip them.
pub(crate) const SKIPPED_ROWS_MAX: usize = 50_000;
const PASSED_BYTES_MAX: usize = 64 << 20;

/// The kept rows in their order.
#[derive(Debug)]
pub(crate) struct TopRows<K> {
    rows: BTreeMap<K, BufferedRow>,
    bytes: usize,
    rows_max: usize,
    bytes_max: usize,
    /// The first key that was dropped for lack of room.
    horizon: Option<K>,
    truncated: bool,
}

impl<K: Ord + Clone> TopRows<K> {
    /// Creates a collection of `rows`, of which `skipped` will not be in the page.
    pub(crate) fn new(rows: usize, skipped: usize, bytes_max: usize) -> TopRows<K> {
        let given = rows.saturating_sub(skipped).max(1);
        TopRows {
            rows: BTreeMap::new(),
            bytes: 0,
            rows_max: rows.min(given.max(SKIPPED_ROWS_MAX)),
            bytes_max: if skipped == 0 {
                bytes_max
            } else {
                bytes_max.max(PASSED_BYTES_MAX)
            },
            horizon: None,
            truncated: false,
        }
    }

    /// Creates a collection without limits, for results that must be known completely.
    pub(crate) fn unbounded() -> TopRows<K> {
        TopRows {
            rows: BTreeMap::new(),
            bytes: 0,
            rows_max: usize::MAX,
            bytes_max: usize::MAX,
            horizon: None,
            truncated: false,
        }
    }

    /// Whether a row with this key belongs to the prefix. A refused key records that rows exist
    /// behind the prefix.
    pub(crate) fn admits(&mut self, key: &K) -> bool {
        let is_behind = self.horizon.as_ref().is_some_and(|horizon| key >= horizon)
            || self.last_of_all().is_some_and(|last| key > last);
        self.truncated |= is_behind;
        !is_behind
    }

    /// A key behind which no row is kept.
    pub(crate) fn limit(&self) -> Option<&K> {
        self.last_of_all().or(self.horizon.as_ref())
    }

    /// Records that a row exists behind the limit.
    pub(crate) fn refuse(&mut self) {
        self.truncated = true;
    }

    pub(crate) fn rows_max(&self) -> usize {
        self.rows_max
    }

    /// The last kept row of a full collection.
    fn last_of_all(&self) -> Option<&K> {
        if self.rows.len() < self.rows_max {
            return None;
        }
        self.rows.last_key_value().map(|(last, _)| last)
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.rows.contains_key(key)
    }

    /// Inserts a row, and drops rows from the end until the limits hold.
    pub(crate) fn insert(&mut self, key: K, made: BufferedRow) {
        self.bytes += made.bytes;
        if let Some(replaced) = self.rows.insert(key, made) {
            self.bytes -= replaced.bytes;
        }
        while self.is_too_long() {
            let Some((key, made)) = self.rows.pop_last() else {
                return;
            };
            self.bytes -= made.bytes;
            // Later rows behind the dropped one are refused, or the prefix would have a gap.
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

    pub(crate) fn into_rows(self) -> impl Iterator<Item = (K, BufferedRow)> {
        self.rows.into_iter()
    }

    /// Whether the collection has too many rows, or enough bytes without its last row.
    fn is_too_long(&self) -> bool {
        let last = self.rows.last_key_value();
        let last_bytes = last.map_or(0, |(_, made)| made.bytes);
        self.rows.len() > self.rows_max
            || self.rows.len() > 1 && self.bytes - last_bytes > self.bytes_max
    }
}
