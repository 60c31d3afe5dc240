//! The end position of an ordered page, in a bounded number of bytes.
//!
//! A position is the sort key of the last row of a page. Some clients limit a token to one
//! kilobyte, so a long string is cut, and columns behind the cut are left out. The remainder
//! decides for most rows whether they come before or behind the position; it decides nothing about
//! rows with the same beginning. The hash of the whole key settles those: the next page meets the
//! last row again, or a row with the same key, and takes the whole key from it. A count of rows
//! cannot replace the hash, because the next page may see fewer rows: a client may add a resume
//! filter or another filter text, and after a split each child partition has only part of the rows.
//! A child without the last row gets the whole key from its caller, who finds the row in another
//! child with a page of the same query.
//!
//! If no row with that key is left, the rows with the same beginning are indistinguishable. The
//! next page then returns all of them: no row is lost, and some rows repeat.

use std::borrow::Cow;
use std::cmp::Ordering;

use orrery_json::Value;
use orrery_sql::ast::SortDirection;

use crate::distinct_hash::DistinctHash;
use crate::sort_key::{OrderKey, SortKey, Tie};

/// A position in an ordered result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SortPosition {
    /// Behind a row with this key.
    After(SortKey),
    Cut(CutPosition),
}

/// The whole key of a position that a token holds cut.
#[derive(Debug, Clone)]
pub struct PositionKey(pub(crate) Vec<OrderKey>);

/// The beginning of a key, and the means to recognise the whole key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CutPosition {
    /// The keys up to the cut; the last one is the beginning of a string.
    pub(crate) keys: Vec<OrderKey>,
    /// The hash of all keys without the cut.
    pub(crate) hash: DistinctHash,
    pub(crate) tie: Tie,
    /// Estimated number of rows with the same beginning in front of the position. The next page
    /// reserves room for these rows until the whole key is known.
    pub(crate) rows: u64,
}

impl SortPosition {
    /// The position behind a row. All its strings share `bytes_max`.
    pub(crate) fn of(row: &SortKey, bytes_max: usize) -> SortPosition {
        let mut bytes_left = bytes_max;
        let mut keys = Vec::with_capacity(row.keys.len());
        for key in &row.keys {
            let Value::String(text) = &key.value else {
                keys.push(key.clone());
                continue;
            };
            // The cut is made behind a character. So of two cut strings neither is cut to the
            // beginning of the other, and no uncut string begins with either.
            let end = text.ceil_char_boundary(bytes_left);
            if end == text.len() {
                bytes_left = bytes_left.saturating_sub(end);
                keys.push(key.clone());
                continue;
            }
            keys.push(OrderKey {
                value: Value::from(&text[..end]),
                ..key.clone()
            });
            return SortPosition::Cut(CutPosition {
                keys,
                hash: hash(&row.keys),
                tie: row.tie,
                rows: 0,
            });
        }
        SortPosition::After(row.clone())
    }

    pub(crate) fn keys(&self) -> &[OrderKey] {
        match self {
            SortPosition::After(row) => &row.keys,
            SortPosition::Cut(cut) => &cut.keys,
        }
    }

    /// Whether a row certainly or possibly follows the position.
    pub(crate) fn admits(&self, row: &SortKey) -> bool {
        match self {
            SortPosition::After(last) => row > last,
            SortPosition::Cut(cut) => cut.begins(&row.keys) || cut.is_before(&row.keys),
        }
    }

    /// Whether a row with this value in the first column certainly comes before the position.
    pub(crate) fn is_before(&self, value: &Value) -> bool {
        let Some(first) = self.keys().first() else {
            return false;
        };
        first.compare_value(value).is_lt()
            && !matches!(self, SortPosition::Cut(cut)
                if cut.keys.len() == 1 && extends_prefix(value, &first.value))
    }
}

impl CutPosition {
    /// Whether a row with these keys begins like the position, so that the position does not decide
    /// about it.
    pub(crate) fn begins(&self, keys: &[OrderKey]) -> bool {
        let Some((last, whole)) = self.keys.split_last() else {
            return false;
        };
        keys.starts_with(whole)
            && keys
                .get(whole.len())
                .is_some_and(|key| extends_prefix(&key.value, &last.value))
    }

    /// Whether a row that does not begin like the position comes behind it. The cut string is
    /// longer than its remainder here.
    fn is_before(&self, keys: &[OrderKey]) -> bool {
        let orders = keys.iter().zip(&self.keys).map(|(key, at)| key.cmp(at));
        let order = orders.fold(Ordering::Equal, Ordering::then);
        let last = self.keys.last();
        let is_down = last.is_some_and(|last| last.direction == SortDirection::Descending);
        order == Ordering::Greater || order == Ordering::Equal && is_down
    }

    /// The complete position, if these are its keys.
    pub(crate) fn whole(&self, keys: &[OrderKey]) -> Option<SortPosition> {
        (hash(keys) == self.hash).then(|| {
            SortPosition::After(SortKey {
                keys: keys.to_vec(),
                tie: self.tie,
            })
        })
    }
}

/// The hash of a key list. A key holds only the hash of an array or object.
fn hash(keys: &[OrderKey]) -> DistinctHash {
    let cells = keys.iter().map(|key| match &key.value {
        Value::Array(_) | Value::Object(_) => Cow::Owned(Value::Array(vec![
            key.value.clone(),
            Value::from(key.hash.low.cast_signed()),
            Value::from(key.hash.high.cast_signed()),
        ])),
        value => Cow::Borrowed(value),
    });
    DistinctHash::of_cells(&cells.collect::<Vec<_>>())
}

/// Whether a string continues behind `prefix`.
pub(crate) fn extends_prefix(value: &Value, prefix: &Value) -> bool {
    match (value, prefix) {
        (Value::String(text), Value::String(prefix)) => {
            text.len() > prefix.len() && text.starts_with(prefix.as_str())
        }
        _ => false,
    }
}
