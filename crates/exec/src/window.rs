//! `TOP`, `OFFSET` and `LIMIT`, and the end of a page.

use orrery_json::Value;
use orrery_sql::Query;
use orrery_sql::ast::Count;

use crate::CompileError;
use crate::ledger::Held;
use crate::page::{PageLimits, Row};
use crate::parameters;

/// Rows still to pass over, and rows still to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) skip: u64,
    pub(crate) take: Option<u64>,
}

impl Window {
    pub(crate) fn compile(
        query: &Query,
        parameters: &[(String, Value)],
    ) -> Result<Window, CompileError> {
        let top = query.select.top.as_ref();
        let top = top
            .map(|top| count(top, parameters, "TOP", "SC2060"))
            .transpose()?;
        let Some(page) = &query.offset_limit else {
            return Ok(Window { skip: 0, take: top });
        };
        let skip = count(&page.offset, parameters, "OFFSET", "SC2062")?;
        let limit = count(&page.limit, parameters, "LIMIT", "SC2061")?;
        Ok(Window {
            skip,
            take: Some(top.map_or(limit, |top| top.min(limit))),
        })
    }

    pub(crate) fn is_over(self) -> bool {
        self.take == Some(0)
    }

    /// Passes over one row, if rows are to be passed over.
    pub(crate) fn skips(&mut self) -> bool {
        let skips = self.skip > 0;
        self.skip -= u64::from(skips);
        skips
    }

    pub(crate) fn takes(&mut self) {
        if let Some(take) = &mut self.take {
            *take = take.saturating_sub(1);
        }
    }

    /// How many rows of an ordered result a page has to look at.
    pub(crate) fn rows_wanted(self, limits: &PageLimits<'_>) -> usize {
        let rows = self
            .take
            .and_then(|take| usize::try_from(take).ok())
            .unwrap_or(usize::MAX)
            .min(limits.items_max)
            .max(1);
        usize::try_from(self.skip)
            .unwrap_or(usize::MAX)
            .saturating_add(rows)
    }
}

fn count(
    count: &Count,
    parameters: &[(String, Value)],
    clause: &'static str,
    code: &'static str,
) -> Result<u64, CompileError> {
    let value = match count {
        Count::Literal(count) => return Ok(u64::from(*count)),
        Count::Parameter(name) => parameters::find(parameters, name)?,
    };
    let number = match value {
        Value::Number(number) => number.as_i64(),
        _ => None,
    };
    number
        .and_then(|number| u32::try_from(number).ok())
        .map(u64::from)
        .ok_or(CompileError::Count { clause, code })
}

/// A row with the bytes of its text, and with the memory that the row holds.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) row: Row,
    pub(crate) bytes: usize,
    pub(crate) held: Held,
}

/// Rows of a page while they are collected.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) rows: Vec<Row>,
    pub(crate) bytes: usize,
    pub(crate) held: Held,
}

impl Output {
    pub(crate) fn new(held: Held) -> Output {
        Output {
            rows: Vec::new(),
            bytes: 0,
            held,
        }
    }

    /// A page has at least one row, however long it is.
    pub(crate) fn has_room(&self, bytes: usize, limits: &PageLimits<'_>) -> bool {
        self.rows.is_empty()
            || self.rows.len() < limits.items_max && self.bytes + bytes <= limits.bytes_max
    }

    pub(crate) fn push(&mut self, made: Made) {
        self.rows.push(made.row);
        self.bytes += made.bytes;
        self.held.absorb(made.held);
    }
}

/// What was used of an ordered result.
#[derive(Debug)]
pub(crate) struct Used<K> {
    /// The keys of rows that were given or passed over.
    pub(crate) keys: Vec<K>,
    /// Whether there are more.
    pub(crate) is_cut: bool,
}

/// Fills a page from rows in their order.
pub(crate) fn fill<K>(
    rows: impl Iterator<Item = (K, Made)>,
    window: &mut Window,
    limits: &PageLimits<'_>,
    output: &mut Output,
) -> Used<K> {
    let mut keys = Vec::new();
    for (key, made) in rows {
        if window.is_over() {
            break;
        }
        if !window.skips() {
            if !output.has_room(made.bytes, limits) {
                return Used { keys, is_cut: true };
            }
            output.push(made);
            window.takes();
        }
        keys.push(key);
    }
    Used {
        keys,
        is_cut: false,
    }
}
