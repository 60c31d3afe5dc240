//! `ORDER BY`: the first rows behind the position of the previous page.
//!
//! With `DISTINCT`, equal rows may occur at several places of the order; the first place counts. If
//! the row determines its sort key, all copies share one place, and the hash of the row orders rows
//! with equal keys. Otherwise a copy may occur pages later, so all different rows are held, up to a
//! limit.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{Setup, hash_of, make_row};
use crate::continuation::ContinuationPosition;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::page::InputDocument;
use crate::position::{CutPosition, PositionKey, SortPosition};
use crate::scalar::Scalar;
use crate::skip_take::{BufferedRow, PageBuffer, fill};
use crate::sort_key::{OrderColumn, OrderKey, SortKey, Tie};
use crate::top_rows::{SKIPPED_ROWS_MAX, TopRows};
use crate::{Continuation, ExecError, OrderBound, OrderKeyHint};

/// Limit of rows held for `DISTINCT` whose copies have several keys.
const DISTINCT_ROWS_MAX: usize = 50_000;
const DISTINCT_BYTES_MAX: usize = 64 << 20;

/// Keeps the first rows behind the position, in the order of their sort keys.
#[derive(Debug)]
pub(crate) struct SortOperator<'a> {
    pub(super) setup: Setup<'a>,
    position: Option<SortPosition>,
    /// Estimated number of rows that are held only because a cut position does not distinguish them
    /// from rows of the page.
    rows_held_for_cut: u64,
    top_rows: TopRows<SortKey>,
    distinct_mode: DistinctMode,
}

/// The treatment of equal rows.
#[derive(Debug)]
enum DistinctMode {
    Off,
    /// Copies have the same key, and the hash of the row orders equal keys.
    SameKey,
    /// The first place of each row.
    SeveralKeys(HashMap<DistinctHash, SortKey>),
}

impl<'a> SortOperator<'a> {
    pub(super) fn new(
        setup: Setup<'a>,
        position: Option<ContinuationPosition>,
    ) -> Result<SortOperator<'a>, ExecError> {
        let position = match position {
            None => None,
            // The token comes from a client, so its keys must fit the columns of this query.
            Some(ContinuationPosition::Sorted(position)) if fits(&position, setup) => {
                Some(position)
            }
            Some(_) => return Err(ExecError::InvalidContinuation),
        };
        let rows_held_for_cut = match &position {
            Some(SortPosition::Cut(cut)) => cut.rows,
            _ => 0,
        };
        let program = setup.program;
        let distinct_mode = if !program.block().distinct {
            DistinctMode::Off
        } else if program.copies_have_several_keys() {
            DistinctMode::SeveralKeys(HashMap::new())
        } else {
            DistinctMode::SameKey
        };
        let top_rows = if matches!(distinct_mode, DistinctMode::SeveralKeys(_)) {
            TopRows::unbounded()
        } else {
            let (rows, skipped) = setup.rows(rows_held_for_cut);
            TopRows::new(rows, skipped, setup.limits.bytes_max)
        };
        let mut sorted = SortOperator {
            setup,
            position,
            rows_held_for_cut,
            top_rows,
            distinct_mode,
        };
        if let Some(filter) = program.resume_filter() {
            sorted.complete_position(filter.keys());
        }
        Ok(sorted)
    }

    /// Adds a frame's row if the row can belong to the page.
    pub(super) fn add(
        &mut self,
        frame: &Frame<'_>,
        tie: Tie,
        document: Option<InputDocument<'_>>,
    ) -> Result<(), ExecError> {
        let program = self.setup.program;
        if self.rejects_by_first_column(frame) {
            return Ok(());
        }
        let key = SortKey::of(program.order(), frame, tie)?;
        self.complete_position(&key.keys);
        let made = || make_row(&program.block().projection, frame, document);
        if matches!(self.distinct_mode, DistinctMode::Off) {
            // Most rows lie outside of the page, so a row is built only after its key is admitted.
            if self.is_wanted(&key)
                && self.top_rows.admits(&key)
                && let Some(mut made) = made()?
            {
                made.held.add(key.allocated_bytes())?;
                self.top_rows.insert(key, made);
            }
            return Ok(());
        }
        let Some(made) = made()? else {
            return Ok(());
        };
        let hash = hash_of(&made, frame);
        self.add_distinct(key, hash, made)
    }

    /// Adds a row unless an equal row stands at an earlier place.
    fn add_distinct(
        &mut self,
        key: SortKey,
        hash: DistinctHash,
        mut made: BufferedRow,
    ) -> Result<(), ExecError> {
        // With several keys the key is stored twice: in the rows and in the map of first places.
        made.held.add(2 * key.allocated_bytes())?;
        let DistinctMode::SeveralKeys(first_keys) = &mut self.distinct_mode else {
            let key = SortKey {
                tie: Tie::Hash(hash),
                ..key
            };
            if self.is_wanted(&key) && !self.top_rows.contains(&key) && self.top_rows.admits(&key) {
                self.top_rows.insert(key, made);
            }
            return Ok(());
        };
        match first_keys.entry(hash) {
            // The earlier place stays, and this copy is dropped.
            Entry::Occupied(first) if *first.get() <= key => return Ok(()),
            Entry::Occupied(mut first) => {
                // An earlier copy replaces the known one.
                self.top_rows.remove(first.get());
                first.insert(key.clone());
            }
            Entry::Vacant(first) => {
                first.insert(key.clone());
            }
        }
        self.top_rows.insert(key, made);
        if self.top_rows.len() > DISTINCT_ROWS_MAX || self.top_rows.bytes() > DISTINCT_BYTES_MAX {
            return Err(ExecError::LimitExceeded {
                what: "distinct rows ordered by properties that are not in the rows",
                limit: DISTINCT_ROWS_MAX as u64,
            });
        }
        Ok(())
    }

    /// Whether the first column alone excludes the row from the page. This check copies no values
    /// and settles most rows.
    fn rejects_by_first_column(&mut self, frame: &Frame<'_>) -> bool {
        let Some(OrderColumn {
            scalar: scalar @ Scalar::Path(0, _),
            ..
        }) = self.setup.program.order().first()
        else {
            return false;
        };
        if matches!(self.distinct_mode, DistinctMode::SeveralKeys(_)) {
            return false;
        }
        let value = scalar.evaluate(frame);
        let position = self.position.as_ref();
        if position.is_some_and(|position| position.is_before(&value)) {
            return true;
        }
        let limit = self.top_rows.limit().and_then(|limit| limit.keys.first());
        // Arrays compare as equal here, so only a strict difference excludes the row.
        let is_behind = limit.is_some_and(|limit| limit.compare_value(&value) == Ordering::Greater);
        if is_behind
            && matches!(self.distinct_mode, DistinctMode::Off)
            && self.unresolved_cut().is_none()
        {
            self.top_rows.refuse();
            return true;
        }
        false
    }

    /// Whether no document behind `bound` can change the page. A page that ends the result needs no
    /// further row; any other page must have seen a row behind its last one, or it would not know
    /// that a next page exists.
    pub(super) fn is_past(&self, bound: &OrderBound) -> bool {
        if self.setup.skip_take.is_over() {
            return true;
        }
        // A cut position is unknown until its whole key has been met.
        if self
            .unresolved_cut()
            .is_some_and(|cut| !bound.is_behind_all(cut))
        {
            return false;
        }
        let is_settled = self.top_rows.is_truncated() || self.ends_result();
        is_settled
            && self
                .top_rows
                .limit()
                .is_some_and(|limit| bound.is_behind(limit))
    }

    /// Whether the rows that `TOP` or `LIMIT` leaves fit into this page.
    fn ends_result(&self) -> bool {
        let (rows, _) = self.setup.rows(self.rows_held_for_cut);
        let items_max = self.setup.limits.items_max as u64;
        let takes_all = self
            .setup
            .skip_take
            .take
            .is_some_and(|take| take <= items_max);
        takes_all && self.top_rows.rows_max() >= rows
    }

    /// The value at which an ordered walk may start. If copies have several keys, rows before the
    /// start tell which rows were returned, so there is no hint.
    pub(super) fn seek_hint(&self) -> Option<OrderKeyHint> {
        if matches!(self.distinct_mode, DistinctMode::SeveralKeys(_)) {
            return None;
        }
        let (first, is_cut) = match &self.position {
            Some(SortPosition::After(row)) => (row.keys.first()?, false),
            Some(SortPosition::Cut(cut)) => (cut.keys.first()?, cut.keys.len() == 1),
            None => (self.setup.program.resume_filter()?.first()?, false),
        };
        Some(OrderKeyHint {
            value: first.value.clone(),
            is_cut,
        })
    }

    /// The cut position, as long as no row has supplied its whole key.
    fn unresolved_cut(&self) -> Option<&CutPosition> {
        match &self.position {
            Some(SortPosition::Cut(cut)) => Some(cut),
            _ => None,
        }
    }

    /// Whether the page still does not know the whole key of its cut position.
    pub(super) fn seeks_position(&self) -> bool {
        self.unresolved_cut().is_some()
    }

    /// The whole key of the position, if the page knows it.
    pub(super) fn position_key(&self) -> Option<PositionKey> {
        match &self.position {
            Some(SortPosition::After(row)) => Some(PositionKey(row.keys.clone())),
            _ => None,
        }
    }

    /// Completes a cut position from a row with the same key.
    pub(super) fn complete_position(&mut self, keys: &[OrderKey]) {
        if let Some(cut) = self.unresolved_cut()
            && cut.begins(keys)
            && let Some(whole) = cut.whole(keys)
        {
            self.position = Some(whole);
        }
    }

    /// Whether the row lies behind the position and within the client's resume filter.
    fn is_wanted(&self, key: &SortKey) -> bool {
        let filter = self.setup.program.resume_filter();
        filter.is_none_or(|filter| filter.admits(key))
            && self.position.as_ref().is_none_or(|at| at.admits(key))
    }

    /// Fills the page and computes the position of the next page.
    pub(super) fn finish(
        mut self,
        output: &mut PageBuffer,
    ) -> Result<Option<Continuation>, ExecError> {
        let mut window = self.setup.skip_take;
        let is_truncated = self.top_rows.is_truncated();
        let rows_max = self.top_rows.rows_max();
        let rows = std::mem::replace(&mut self.top_rows, TopRows::unbounded()).into_rows();
        // A cut position may have been completed after rows were admitted, so the rows are filtered
        // again.
        let rows = rows.filter(|(key, _)| self.is_wanted(key));
        let used = fill(rows, &mut window, &self.setup.limits, output);
        if window.is_over() || !used.has_more && !is_truncated {
            return Ok(None);
        }
        let position = match used.keys.last() {
            Some(last) => self.position_after(last, &used.keys),
            None => self.with_larger_buffer(rows_max)?,
        };
        Ok(Some(Continuation {
            skip_take: window,
            position: ContinuationPosition::Sorted(position),
        }))
    }

    /// The position behind the last returned row.
    fn position_after(&self, last: &SortKey, given: &[SortKey]) -> SortPosition {
        let mut next = SortPosition::of(last, self.setup.limits.position_bytes_max);
        if let SortPosition::Cut(cut) = &mut next {
            // Rows with the same beginning precede the next position too. The count tells the next
            // page how many rows to hold until it finds the whole key.
            let matching = given.iter().rev().take_while(|key| cut.begins(&key.keys));
            let count = matching.count();
            let goes_on = count == given.len()
                && matches!(&self.position, Some(SortPosition::After(at)) if cut.begins(&at.keys));
            cut.rows = count as u64 + if goes_on { self.rows_held_for_cut } else { 0 };
        }
        next
    }

    /// The same position for a page that holds more rows: rows in front of the position had filled
    /// the room of all rows behind it.
    fn with_larger_buffer(&self, rows_max: usize) -> Result<SortPosition, ExecError> {
        if let Some(SortPosition::After(at)) = &self.position
            && let SortPosition::Cut(cut) =
                SortPosition::of(at, self.setup.limits.position_bytes_max)
            && rows_max < SKIPPED_ROWS_MAX
        {
            return Ok(SortPosition::Cut(CutPosition {
                // The room doubles with every attempt, so the number of attempts stays logarithmic.
                rows: 2 * rows_max as u64,
                ..cut
            }));
        }
        Err(ExecError::LimitExceeded {
            what: "rows whose ORDER BY values begin with the same long text",
            limit: SKIPPED_ROWS_MAX as u64,
        })
    }
}

/// Whether the keys of a position have the number and directions of the query's columns.
fn fits(position: &SortPosition, setup: Setup<'_>) -> bool {
    let columns = setup.program.order();
    let keys = position.keys();
    let is_whole = matches!(position, SortPosition::After(_));
    let has_as_many = if is_whole {
        keys.len() == columns.len()
    } else {
        (1..=columns.len()).contains(&keys.len())
    };
    has_as_many
        && keys
            .iter()
            .zip(columns)
            .all(|(key, column)| key.direction == column.direction)
}
