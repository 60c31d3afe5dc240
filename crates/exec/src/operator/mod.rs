//! The operators that turn rows into pages, one for each kind of query.

mod distinct;
mod grouped;
mod sorted;
mod stream;

use std::ops::ControlFlow::{self, Break, Continue};

use crate::context::Context;
use crate::continuation::ContinuationPosition;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::page::{InputDocument, PageLimits, ResultRow};
use crate::planner_info::ResultShape;
use crate::position::PositionKey;
use crate::program::Program;
use crate::projection::RowProjection;
use crate::skip_take::{BufferedRow, PageBuffer, SkipTake};
use crate::sort_key::Tie;
use crate::text_bytes::text_bytes;
use crate::{Continuation, ExecError, OrderBound, OrderKeyHint};

use distinct::DistinctOperator;
use grouped::GroupOperator;
use sorted::SortOperator;
use stream::StreamOperator;

/// A combination of sources that passed the filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) frame: &'a Frame<'a>,
    pub(crate) document: InputDocument<'a>,
    /// The ordinal of this combination within the document.
    pub(crate) row: u64,
}

/// The operator of a page. Only a stream can end in the middle of the scan.
#[derive(Debug)]
pub(crate) enum PageOperator<'a> {
    Stream(StreamOperator<'a>),
    Sorted(SortOperator<'a>),
    Distinct(DistinctOperator<'a>),
    Grouped(GroupOperator<'a>),
}

impl<'a> PageOperator<'a> {
    pub(crate) fn new(
        program: &'a Program,
        resume: Option<Continuation>,
        limits: PageLimits<'a>,
        context: &Context<'_>,
    ) -> Result<PageOperator<'a>, ExecError> {
        let (window, position) = match resume {
            Some(resume) => (resume.skip_take, Some(resume.position)),
            None => (program.skip_take(), None),
        };
        let setup = Setup {
            program,
            limits,
            skip_take: window,
        };
        Ok(match program.shape() {
            ResultShape::Stream => {
                PageOperator::Stream(StreamOperator::new(setup, position, context)?)
            }
            ResultShape::Sorted => PageOperator::Sorted(SortOperator::new(setup, position)?),
            ResultShape::Distinct => {
                PageOperator::Distinct(DistinctOperator::new(setup, position.as_ref())?)
            }
            ResultShape::Grouped => {
                PageOperator::Grouped(GroupOperator::new(setup, position, context)?)
            }
        })
    }

    /// The scan position at which the page begins; only a stream continues a scan.
    pub(crate) fn start_position(&self) -> Option<&[u8]> {
        match self {
            PageOperator::Stream(stream) => stream.start_position(),
            _ => None,
        }
    }

    /// Whether the page is complete before the document at `scan_position`.
    pub(crate) fn is_full(&mut self, scan_position: &[u8]) -> bool {
        match self {
            PageOperator::Stream(stream) => stream.is_full(scan_position),
            PageOperator::Sorted(SortOperator { setup, .. })
            | PageOperator::Distinct(DistinctOperator { setup, .. })
            | PageOperator::Grouped(GroupOperator { setup, .. }) => setup.skip_take.is_over(),
        }
    }

    /// Whether documents at `bound` and behind it are irrelevant for the page.
    pub(crate) fn is_past(&self, bound: &OrderBound) -> bool {
        match self {
            PageOperator::Sorted(sorted) => sorted.is_past(bound),
            _ => false,
        }
    }

    pub(crate) fn seek_hint(&self) -> Option<OrderKeyHint> {
        match self {
            PageOperator::Sorted(sorted) => sorted.seek_hint(),
            _ => None,
        }
    }

    pub(crate) fn seeks_position(&self) -> bool {
        matches!(self, PageOperator::Sorted(sorted) if sorted.seeks_position())
    }

    pub(crate) fn position_key(&self) -> Option<PositionKey> {
        match self {
            PageOperator::Sorted(sorted) => sorted.position_key(),
            _ => None,
        }
    }

    pub(crate) fn complete_position(&mut self, key: &PositionKey) {
        if let PageOperator::Sorted(sorted) = self {
            sorted.complete_position(&key.0);
        }
    }

    pub(crate) fn end_before(&mut self, scan_position: &[u8]) {
        if let PageOperator::Stream(stream) = self {
            stream.end_before(scan_position, 0);
        }
    }

    /// Ends the page before a row of a document, if the page has rows and the next page can resume
    /// there.
    pub(crate) fn try_end_before(&mut self, scan_position: &[u8], row: u64) -> bool {
        match self {
            PageOperator::Stream(stream) if stream.has_rows() => {
                stream.end_before(scan_position, row);
                true
            }
            _ => false,
        }
    }

    /// Adds a row; breaks when the page is full.
    pub(crate) fn add(&mut self, input: Input<'_>) -> Result<ControlFlow<()>, ExecError> {
        match self {
            PageOperator::Stream(stream) => {
                return Ok(if stream.add(input)? {
                    Continue(())
                } else {
                    Break(())
                });
            }
            PageOperator::Sorted(sorted) => {
                let tie = Tie::Row {
                    rid: input.document.rid,
                    row: input.row,
                };
                sorted.add(input.frame, tie, Some(input.document))?;
            }
            PageOperator::Distinct(distinct) => distinct.add(input.frame, Some(input.document))?,
            PageOperator::Grouped(grouped) => grouped.add(input.frame)?,
        }
        Ok(Continue(()))
    }

    pub(crate) fn finish(
        self,
        context: &Context<'_>,
        output: &mut PageBuffer,
    ) -> Result<Option<Continuation>, ExecError> {
        match self {
            PageOperator::Stream(stream) => Ok(stream.finish(output)),
            PageOperator::Sorted(sorted) => sorted.finish(output),
            PageOperator::Distinct(distinct) => Ok(distinct.finish(output)),
            PageOperator::Grouped(grouped) => grouped.finish(context, output),
        }
    }
}

/// The inputs that every operator needs for its page.
#[derive(Clone, Copy)]
pub(crate) struct Setup<'a> {
    program: &'a Program,
    limits: PageLimits<'a>,
    skip_take: SkipTake,
}

impl Setup<'_> {
    /// The number of rows of an ordered result to examine, and how many of them are only skipped.
    fn rows(&self, done: u64) -> (usize, usize) {
        let done = usize::try_from(done).unwrap_or(usize::MAX);
        let skip = usize::try_from(self.skip_take.skip).unwrap_or(usize::MAX);
        (
            self.skip_take
                .rows_wanted(&self.limits)
                .saturating_add(done),
            skip.saturating_add(done),
        )
    }
}

impl std::fmt::Debug for Setup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup")
            .field("window", &self.skip_take)
            .finish_non_exhaustive()
    }
}

/// The hash position of a continuation; another kind of position is invalid for this operator.
fn hash_position(
    position: Option<&ContinuationPosition>,
) -> Result<Option<DistinctHash>, ExecError> {
    match position {
        None => Ok(None),
        Some(ContinuationPosition::Hash(hash)) => Ok(Some(*hash)),
        Some(_) => Err(ExecError::InvalidContinuation),
    }
}

/// Memory of a row in a list or map, in addition to its value or text.
const ROW_BYTES: usize = 2 * size_of::<BufferedRow>();

/// Builds the row of a frame; an undefined value gives no row.
fn make_row(
    selection: &RowProjection,
    frame: &Frame<'_>,
    document: Option<InputDocument<'_>>,
) -> Result<Option<BufferedRow>, ExecError> {
    let mut held = frame.context().lease();
    // The stored text of the document is the row, so nothing is rendered.
    if let (RowProjection::Document, Some(document)) = (selection, document) {
        held.add(ROW_BYTES + document.text.len())?;
        return Ok(Some(BufferedRow {
            row: ResultRow::Text(document.text.clone()),
            bytes: document.text.len() + 1,
            held,
        }));
    }
    let value = selection.output(frame);
    // A failed evaluation may have left out a part of the value. The failure is reported and the
    // value makes no row.
    frame.context().check()?;
    if value.is_undefined() {
        return Ok(None);
    }
    held.add(ROW_BYTES + value.allocated_bytes())?;
    Ok(Some(BufferedRow {
        bytes: text_bytes(&value) + 1,
        row: ResultRow::Value(value),
        held,
    }))
}

/// The hash of a row. The row of a whole document is hashed from its value, not from its text.
fn hash_of(made: &BufferedRow, frame: &Frame<'_>) -> DistinctHash {
    match &made.row {
        ResultRow::Value(value) => DistinctHash::of(value),
        ResultRow::Text(_) => DistinctHash::of(frame.value_at(0)),
    }
}
