//! `DISTINCT` without an order: different rows, in the order of their hashes.
//!
//! In scan order, a page would need every row of all earlier pages to recognise repeated rows. In
//! hash order a page needs the last hash only. So pages of any size agree with each other, and with
//! `TOP`, `OFFSET` and `LIMIT`.

use super::{Setup, hash_of, hash_position, make_row};
use crate::continuation::ContinuationPosition;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::page::InputDocument;
use crate::skip_take::{PageBuffer, fill};
use crate::top_rows::TopRows;
use crate::{Continuation, ExecError};

/// Keeps the first rows behind the position, in hash order.
#[derive(Debug)]
pub(crate) struct DistinctOperator<'a> {
    pub(super) setup: Setup<'a>,
    after: Option<DistinctHash>,
    top_rows: TopRows<DistinctHash>,
}

impl<'a> DistinctOperator<'a> {
    pub(super) fn new(
        setup: Setup<'a>,
        position: Option<&ContinuationPosition>,
    ) -> Result<DistinctOperator<'a>, ExecError> {
        let (rows, skipped) = setup.rows(0);
        Ok(DistinctOperator {
            setup,
            after: hash_position(position)?,
            top_rows: TopRows::new(rows, skipped, setup.limits.bytes_max),
        })
    }

    /// Adds the row of a frame, unless an earlier page or this page has it.
    pub(super) fn add(
        &mut self,
        frame: &Frame<'_>,
        document: Option<InputDocument<'_>>,
    ) -> Result<(), ExecError> {
        let selection = &self.setup.program.block().projection;
        let Some(made) = make_row(selection, frame, document)? else {
            return Ok(());
        };
        let hash = hash_of(&made, frame);
        // A hash up to the position was returned by an earlier page.
        if self.after.is_some_and(|after| hash <= after) || self.top_rows.contains(&hash) {
            return Ok(());
        }
        if self.top_rows.admits(&hash) {
            self.top_rows.insert(hash, made);
        }
        Ok(())
    }

    /// Fills the page; the continuation is the hash of its last row.
    pub(super) fn finish(self, output: &mut PageBuffer) -> Option<Continuation> {
        let mut window = self.setup.skip_take;
        let is_truncated = self.top_rows.is_truncated();
        let rows = self.top_rows.into_rows();
        let used = fill(rows, &mut window, &self.setup.limits, output);
        // Without further rows the result is complete, so the page has no continuation.
        if window.is_over() || !used.has_more && !is_truncated {
            return None;
        }
        used.keys.last().map(|last| Continuation {
            skip_take: window,
            position: ContinuationPosition::Hash(*last),
        })
    }
}
