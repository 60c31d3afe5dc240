//! `TOP`, `OFFSET` and `LIMIT`, and the filling of a page.

use orrery_json::Value;
use orrery_sql::Query;
use orrery_sql::ast::RowCount;

use crate::CompileError;
use crate::ledger::MemoryLease;
use crate::page::{PageLimits, ResultRow};
use crate::parameters;

/// Rows still to skip, and rows still to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SkipTake {
    pub(crate) skip: u64,
    pub(crate) take: Option<u64>,
}

impl SkipTake {
    /// Compiles the row limits of a query.
    pub(crate) fn compile(
        query: &Query,
        parameters: &[(String, Value)],
    ) -> Result<SkipTake, CompileError> {
        let top = query.select.top.as_ref();
        let top = top
            .map(|top| count(top, parameters, "TOP", "SC2060"))
            .transpose()?;
        let Some(page) = &query.offset_limit else {
            return Ok(SkipTake { skip: 0, take: top });
        };
        let skip = count(&page.offset, parameters, "OFFSET", "SC2062")?;
        let limit = count(&page.limit, parameters, "LIMIT", "SC2061")?;
        Ok(SkipTake {
            skip,
            // `TOP` and `LIMIT` both apply, so the smaller count wins.
            take: Some(top.map_or(limit, |top| top.min(limit))),
        })
    }

    pub(crate) fn is_over(self) -> bool {
        self.take == Some(0)
    }

    /// Skips one row, if rows remain to be skipped.
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

    /// The number of rows that a page of an ordered result must examine.
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

/// The count of a clause: a literal, or a parameter with an integer from 0 to 2^32 - 1.
fn count(
    count: &RowCount,
    parameters: &[(String, Value)],
    clause: &'static str,
    code: &'static str,
) -> Result<u64, CompileError> {
    let value = match count {
        RowCount::Literal(count) => return Ok(u64::from(*count)),
        RowCount::Parameter(name) => parameters::find(parameters, name),
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

/// A row, the bytes of its text, and its memory lease.
#[derive(Debug)]
pub(crate) struct BufferedRow {
    pub(crate) row: ResultRow,
    pub(crate) bytes: usize,
    pub(crate) held: MemoryLease,
}

/// The rows of a page while they are collected.
#[derive(Debug)]
pub(crate) struct PageBuffer {
    pub(crate) rows: Vec<ResultRow>,
    pub(crate) bytes: usize,
    pub(crate) held: MemoryLease,
}

impl PageBuffer {
    pub(crate) fn new(held: MemoryLease) -> PageBuffer {
        PageBuffer {
            rows: Vec::new(),
            bytes: 0,
            held,
        }
    }

    /// Whether a row fits. The first row always fits, so that every page progresses.
    pub(crate) fn has_room(&self, bytes: usize, limits: &PageLimits<'_>) -> bool {
        self.rows.is_empty()
            || self.rows.len() < limits.items_max && self.bytes + bytes <= limits.bytes_max
    }

    pub(crate) fn push(&mut self, made: BufferedRow) {
        self.rows.push(made.row);
        self.bytes += made.bytes;
        self.held.absorb(made.held);
    }
}

/// The part of an ordered result that a page has used.
#[derive(Debug)]
pub(crate) struct FillOutcome<K> {
    /// The keys of returned and skipped rows.
    pub(crate) keys: Vec<K>,
    /// Whether further rows exist.
    pub(crate) has_more: bool,
}

/// Fills a page from rows in their order.
pub(crate) fn fill<K>(
    rows: impl Iterator<Item = (K, BufferedRow)>,
    window: &mut SkipTake,
    limits: &PageLimits<'_>,
    output: &mut PageBuffer,
) -> FillOutcome<K> {
    let mut keys = Vec::new();
    for (key, made) in rows {
        if window.is_over() {
            break;
        }
        if !window.skips() {
            if !output.has_room(made.bytes, limits) {
                return FillOutcome {
                    keys,
                    has_more: true,
                };
            }
            output.push(made);
            window.takes();
        }
        keys.push(key);
    }
    FillOutcome {
        keys,
        has_more: false,
    }
}
