//! `ORDER BY`: the first rows after the position of the page before.
//!
//! With `DISTINCT` the same row may stand at several places of the order; the first one counts.
//! Where the row decides its sort key all its copies share one place, and the hash of the row is
//! what orders rows with equal keys. Otherwise the copy of a row may come pages after the row, so
//! all different rows are held, up to a limit.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{Setup, hash_of, make};
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::page::Document;
use crate::position::{Side, SortPosition};
use crate::prefix::Prefix;
use crate::resume::Position;
use crate::scalar::Scalar;
use crate::sort_key::{OrderColumn, SortKey, Tie};
use crate::window::{Made, Output, fill};
use crate::{ExecError, OrderBound, OrderKeyHint, Resume};

const DISTINCT_ROWS_MAX: usize = 50_000;
const DISTINCT_BYTES_MAX: usize = 64 << 20;

#[derive(Debug)]
pub(crate) struct Sorted<'a> {
    pub(super) setup: Setup<'a>,
    position: Option<SortPosition>,
    prefix: Prefix<SortKey>,
    copies: Copies,
}

#[derive(Debug)]
enum Copies {
    Kept,
    /// They have the same key, and the hash of the row orders equal keys.
    Together,
    /// Where the first copy of each row is.
    Apart(HashMap<DistinctHash, SortKey>),
}

impl<'a> Sorted<'a> {
    pub(super) fn new(
        setup: Setup<'a>,
        position: Option<Position>,
    ) -> Result<Sorted<'a>, ExecError> {
        let position = match position {
            None => None,
            Some(Position::Sorted(position)) if fits(&position, setup) => Some(position),
            Some(_) => return Err(ExecError::InvalidResume),
        };
        let block = setup.program.block();
        let mut columns = setup.program.order().iter();
        let copies = if !block.distinct {
            Copies::Kept
        } else if columns.all(|column| block.selection.decides(&column.scalar)) {
            Copies::Together
        } else {
            Copies::Apart(HashMap::new())
        };
        let prefix = if matches!(copies, Copies::Apart(_)) {
            Prefix::unbounded()
        } else {
            let (rows, passed) = setup.rows(position.as_ref().map_or(0, |at| at.done));
            Prefix::new(rows, passed, setup.limits.bytes_max)
        };
        Ok(Sorted {
            setup,
            position,
            prefix,
            copies,
        })
    }

    pub(super) fn add(
        &mut self,
        frame: &Frame<'_>,
        tie: Tie,
        document: Option<Document<'_>>,
    ) -> Result<(), ExecError> {
        let program = self.setup.program;
        if self.passes_by(frame) {
            return Ok(());
        }
        let key = SortKey::of(program.order(), frame, tie)?;
        if program
            .resume_filter()
            .is_some_and(|filter| !filter.admits(&key))
        {
            return Ok(());
        }
        let made = || make(&program.block().selection, frame, document);
        if matches!(self.copies, Copies::Kept) {
            // The row is made only if it may be in the page.
            if self.is_ahead(&key)
                && self.prefix.admits(&key)
                && let Some(mut made) = made()?
            {
                made.held.add(key.allocated_bytes())?;
                self.prefix.insert(key, made);
            }
            return Ok(());
        }
        let Some(made) = made()? else {
            return Ok(());
        };
        let hash = hash_of(&made, frame);
        self.add_distinct(key, hash, made)
    }

    fn add_distinct(
        &mut self,
        key: SortKey,
        hash: DistinctHash,
        mut made: Made,
    ) -> Result<(), ExecError> {
        // A row whose copies stand apart has its key in two places.
        made.held.add(2 * key.allocated_bytes())?;
        let Copies::Apart(firsts) = &mut self.copies else {
            let key = SortKey {
                tie: Tie::Hash(hash),
                ..key
            };
            if self.is_ahead(&key) && !self.prefix.contains(&key) && self.prefix.admits(&key) {
                self.prefix.insert(key, made);
            }
            return Ok(());
        };
        match firsts.entry(hash) {
            Entry::Occupied(first) if *first.get() <= key => return Ok(()),
            Entry::Occupied(mut first) => {
                self.prefix.remove(first.get());
                first.insert(key.clone());
            }
            Entry::Vacant(first) => {
                first.insert(key.clone());
            }
        }
        self.prefix.insert(key, made);
        if self.prefix.len() > DISTINCT_ROWS_MAX || self.prefix.bytes() > DISTINCT_BYTES_MAX {
            return Err(ExecError::LimitExceeded {
                what: "distinct rows ordered by properties that are not in the rows",
                limit: DISTINCT_ROWS_MAX as u64,
            });
        }
        Ok(())
    }

    /// Whether the first column alone says that the row is not in the page, which it does of most
    /// rows without a copy of their values.
    fn passes_by(&mut self, frame: &Frame<'_>) -> bool {
        let Some(OrderColumn {
            scalar: scalar @ Scalar::Path(0, _),
            ..
        }) = self.setup.program.order().first()
        else {
            return false;
        };
        if matches!(self.copies, Copies::Apart(_)) {
            return false;
        }
        let value = scalar.evaluate(frame);
        let position = self.position.as_ref();
        if position.is_some_and(|position| position.is_before(&value)) {
            return true;
        }
        let limit = self.prefix.limit().and_then(|limit| limit.keys.first());
        let is_behind = limit.is_some_and(|limit| limit.compare_value(&value) == Ordering::Greater);
        if is_behind && matches!(self.copies, Copies::Kept) {
            self.prefix.refuse();
            return true;
        }
        false
    }

    /// A page that ends the result need not know whether there is more; any other has to have seen
    /// a row behind its last.
    pub(super) fn is_past(&self, bound: &OrderBound) -> bool {
        if self.setup.window.is_over() {
            return true;
        }
        let is_settled = self.prefix.is_truncated() || self.ends_result();
        is_settled
            && self
                .prefix
                .limit()
                .is_some_and(|limit| bound.is_behind(limit))
    }

    fn ends_result(&self) -> bool {
        let done = self.position.as_ref().map_or(0, |position| position.done);
        let (rows, _) = self.setup.rows(done);
        let items_max = self.setup.limits.items_max as u64;
        let takes_all = self.setup.window.take.is_some_and(|take| take <= items_max);
        takes_all && self.prefix.rows_max() >= rows
    }

    /// Where copies stand apart, rows before the position tell which rows have been given.
    pub(super) fn seek_hint(&self) -> Option<OrderKeyHint> {
        if let Some(position) = &self.position
            && !matches!(self.copies, Copies::Apart(_))
        {
            return position.keys.first().map(|first| OrderKeyHint {
                value: first.key.value.clone(),
                is_cut: first.is_cut,
            });
        }
        let first = self.setup.program.resume_filter()?.first()?;
        Some(OrderKeyHint {
            value: first.value.clone(),
            is_cut: false,
        })
    }

    fn is_ahead(&self, key: &SortKey) -> bool {
        self.position
            .as_ref()
            .is_none_or(|position| position.side(key) != Side::Before)
    }

    pub(super) fn finish(self, output: &mut Output) -> Result<Option<Resume>, ExecError> {
        let mut window = self.setup.window;
        let is_truncated = self.prefix.is_truncated();
        let position = self.position;
        let mut done = position.as_ref().map_or(0, |position| position.done);
        let rows = self.prefix.into_rows().filter(|(key, _)| {
            match position.as_ref().map(|position| position.side(key)) {
                Some(Side::Before) => false,
                Some(Side::Unknown) if done > 0 => {
                    done -= 1;
                    false
                }
                _ => true,
            }
        });
        let used = fill(rows, &mut window, &self.setup.limits, output);
        if window.is_over() || !used.is_cut && !is_truncated {
            return Ok(None);
        }
        let Some(last) = used.keys.last() else {
            return Err(ExecError::LimitExceeded {
                what: "rows whose ORDER BY values begin with the same long text",
                limit: position.map_or(0, |position| position.done),
            });
        };
        let mut next = SortPosition::of(last);
        if next.tie.is_none() {
            let alike = |key: &&SortKey| next.side(key) == Side::Unknown;
            let count = used.keys.iter().rev().take_while(alike).count();
            let before = position
                .filter(|before| count == used.keys.len() && next.counts_with(before))
                .map_or(0, |before| before.done);
            next.done = before + count as u64;
        }
        Ok(Some(Resume {
            window,
            position: Position::Sorted(next),
        }))
    }
}

fn fits(position: &SortPosition, setup: Setup<'_>) -> bool {
    let columns = setup.program.order();
    let directions = position.keys.iter().zip(columns);
    position.keys.len() <= columns.len()
        && (position.tie.is_none() || position.keys.len() == columns.len())
        && directions
            .into_iter()
            .all(|(at, column)| at.key.direction == column.direction)
}
