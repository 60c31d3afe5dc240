//! `DISTINCT` without an order: different rows, in the order of their hashes.
//!
//! The order of the scan would need every row of all earlier pages to know which rows are new. In
//! the order of hashes a page needs the last hash only, so pages of any size agree with each
//! other, and `TOP`, `OFFSET` and `LIMIT` with all of them.

use super::{Setup, hash_of, hash_position, make};
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::page::Document;
use crate::prefix::Prefix;
use crate::resume::Position;
use crate::window::{Output, fill};
use crate::{ExecError, Resume};

#[derive(Debug)]
pub(crate) struct Distinct<'a> {
    pub(super) setup: Setup<'a>,
    after: Option<DistinctHash>,
    prefix: Prefix<DistinctHash>,
}

impl<'a> Distinct<'a> {
    pub(super) fn new(
        setup: Setup<'a>,
        position: Option<&Position>,
    ) -> Result<Distinct<'a>, ExecError> {
        let (rows, passed) = setup.rows(0);
        Ok(Distinct {
            setup,
            after: hash_position(position)?,
            prefix: Prefix::new(rows, passed, setup.limits.bytes_max),
        })
    }

    pub(super) fn add(
        &mut self,
        frame: &Frame<'_>,
        document: Option<Document<'_>>,
    ) -> Result<(), ExecError> {
        let selection = &self.setup.program.block().selection;
        let Some(made) = make(selection, frame, document)? else {
            return Ok(());
        };
        let hash = hash_of(&made, frame);
        if self.after.is_some_and(|after| hash <= after) || self.prefix.contains(&hash) {
            return Ok(());
        }
        if self.prefix.admits(&hash) {
            self.prefix.insert(hash, made);
        }
        Ok(())
    }

    pub(super) fn finish(self, output: &mut Output) -> Option<Resume> {
        let mut window = self.setup.window;
        let is_truncated = self.prefix.is_truncated();
        let rows = self.prefix.into_rows();
        let used = fill(rows, &mut window, &self.setup.limits, output);
        if window.is_over() || !used.is_cut && !is_truncated {
            return None;
        }
        used.keys.last().map(|last| Resume {
            window,
            position: Position::Hash(*last),
        })
    }
}
