//! Rows in scan order: filters, projections and joins.
//!
//! A page ends before a row of some document. The next page starts its scan at that document and
//! skips the returned rows. If the document was deleted meanwhile, there are no rows to skip.

use super::{Input, Setup, make_row};
use crate::context::Context;
use crate::continuation::ContinuationPosition;
use crate::skip_take::PageBuffer;
use crate::{Continuation, ExecError};

/// Passes rows on as they come, until the page is full.
#[derive(Debug)]
pub(crate) struct StreamOperator<'a> {
    setup: Setup<'a>,
    start: Option<(Vec<u8>, u64)>,
    output: PageBuffer,
    end: Option<(Vec<u8>, u64)>,
}

impl<'a> StreamOperator<'a> {
    pub(super) fn new(
        setup: Setup<'a>,
        position: Option<ContinuationPosition>,
        context: &Context<'_>,
    ) -> Result<StreamOperator<'a>, ExecError> {
        let start = match position {
            None => None,
            Some(ContinuationPosition::Scan { scan_position, row }) => Some((scan_position, row)),
            Some(_) => return Err(ExecError::InvalidContinuation),
        };
        Ok(StreamOperator {
            setup,
            start,
            output: PageBuffer::new(context.lease()),
            end: None,
        })
    }

    pub(super) fn start_position(&self) -> Option<&[u8]> {
        self.start
            .as_ref()
            .map(|(scan_position, _)| &**scan_position)
    }

    /// Whether the page is complete before the document at `scan_position`; a full page notes that
    /// position as its end.
    pub(super) fn is_full(&mut self, scan_position: &[u8]) -> bool {
        if self.output.rows.len() >= self.setup.limits.items_max {
            self.end_before(scan_position, 0);
        }
        self.end.is_some() || self.setup.skip_take.is_over()
    }

    /// Ends the page before a row of a document.
    pub(super) fn end_before(&mut self, scan_position: &[u8], row: u64) {
        // The first end counts: a later one would skip documents.
        self.end
            .get_or_insert_with(|| (scan_position.to_vec(), row));
    }

    pub(super) fn has_rows(&self) -> bool {
        !self.output.rows.is_empty()
    }

    /// Adds a row; returns false when the page is full.
    pub(super) fn add(&mut self, input: Input<'_>) -> Result<bool, ExecError> {
        if self.setup.skip_take.is_over() {
            return Ok(false);
        }
        let scan_position = input.document.scan_position;
        // The previous page has returned the first rows of this document.
        if let Some((start, row)) = &self.start
            && start == scan_position
            && input.row < *row
        {
            return Ok(true);
        }
        let selection = &self.setup.program.block().projection;
        let Some(made) = make_row(selection, input.frame, Some(input.document))? else {
            return Ok(true);
        };
        // A skipped row must be built first, because an undefined row does not count for `OFFSET`.
        if self.setup.skip_take.skips() {
            return Ok(true);
        }
        if !self.output.has_room(made.bytes, &self.setup.limits) {
            self.end = Some((scan_position.to_vec(), input.row));
            return Ok(false);
        }
        self.output.push(made);
        self.setup.skip_take.takes();
        Ok(!self.setup.skip_take.is_over())
    }

    /// Hands the rows over; the continuation is the place at which the page ended.
    pub(super) fn finish(self, output: &mut PageBuffer) -> Option<Continuation> {
        *output = self.output;
        let window = self.setup.skip_take;
        self.end
            // A result that `TOP` or `LIMIT` has completed needs no continuation.
            .filter(|_| !window.is_over())
            .map(|(scan_position, row)| Continuation {
                skip_take: window,
                position: ContinuationPosition::Scan { scan_position, row },
            })
    }
}
