//! Where an ordered result was left, in a few hundred bytes.
//!
//! A position is the sort key of the last row of a page. Keys of any length must fit a token of
//! one kilobyte, so a long string is cut: what is left says of most rows whether they come before
//! or after, and of the rows that begin with the same text nothing. Those rows stand together in
//! the order, so the position counts how many of them are done, and the next page passes over as
//! many. What follows a cut key can decide nothing and is left out.

use std::cmp::Ordering;

use orrery_json::Value;

use crate::sort_key::{OrderKey, SortKey, Tie};

/// Bytes of strings in one position, shared by its keys.
const TEXT_BYTES_MAX: usize = 480;
const KEY_BYTES_MIN: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SortPosition {
    pub(crate) keys: Vec<PositionKey>,
    /// None when the last key is cut.
    pub(crate) tie: Option<Tie>,
    /// Rows done that the cut key cannot tell apart.
    pub(crate) done: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PositionKey {
    pub(crate) key: OrderKey,
    pub(crate) is_cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    /// It begins like the position, and only counting tells.
    Unknown,
    After,
}

impl SortPosition {
    pub(crate) fn of(row: &SortKey) -> SortPosition {
        let bytes_max = (TEXT_BYTES_MAX / row.keys.len().max(1)).max(KEY_BYTES_MIN);
        let mut keys = Vec::with_capacity(row.keys.len());
        for key in &row.keys {
            let key = cut(key, bytes_max);
            let is_cut = key.is_cut;
            keys.push(key);
            if is_cut {
                return SortPosition {
                    keys,
                    tie: None,
                    done: 0,
                };
            }
        }
        SortPosition {
            keys,
            tie: Some(row.tie),
            done: 0,
        }
    }

    pub(crate) fn side(&self, row: &SortKey) -> Side {
        for (position, key) in self.keys.iter().zip(&row.keys) {
            if position.is_cut && begins_with(&key.value, &position.key.value) {
                return Side::Unknown;
            }
            match key.cmp(&position.key) {
                Ordering::Less => return Side::Before,
                Ordering::Greater => return Side::After,
                Ordering::Equal => {}
            }
        }
        match self.tie.map(|tie| row.compare_tie(tie)) {
            Some(Ordering::Greater) => Side::After,
            _ => Side::Before,
        }
    }

    /// Whether a row with this value in the first column comes before for certain.
    pub(crate) fn is_before(&self, value: &Value) -> bool {
        self.keys.first().is_some_and(|first| {
            first.key.compare_value(value) == Ordering::Less
                && !(first.is_cut && begins_with(value, &first.key.value))
        })
    }

    /// Whether two positions were cut to the same text, so that they count the same rows.
    pub(crate) fn counts_with(&self, other: &SortPosition) -> bool {
        self.tie.is_none() && other.tie.is_none() && self.keys == other.keys
    }
}

fn cut(key: &OrderKey, bytes_max: usize) -> PositionKey {
    let mut key = key.clone();
    let is_cut = match &mut key.value {
        Value::String(text) if text.len() > bytes_max => {
            let end = (0..=bytes_max)
                .rev()
                .find(|end| text.is_char_boundary(*end));
            text.truncate(end.unwrap_or_default());
            true
        }
        _ => false,
    };
    PositionKey { key, is_cut }
}

fn begins_with(value: &Value, prefix: &Value) -> bool {
    match (value, prefix) {
        (Value::String(text), Value::String(prefix)) => text.starts_with(prefix.as_str()),
        _ => false,
    }
}
