//! Rows in the order of the scan: filters, projections and joins.
//!
//! A page ends before a row of some document; the next one begins its scan at that document and
//! passes over the rows it has given. A document that has gone in between has no such rows.

use super::{Input, Setup, make};
use crate::context::Context;
use crate::resume::Position;
use crate::window::Output;
use crate::{ExecError, Resume};

#[derive(Debug)]
pub(crate) struct Stream<'a> {
    setup: Setup<'a>,
    start: Option<(Vec<u8>, u64)>,
    output: Output,
    end: Option<(Vec<u8>, u64)>,
}

impl<'a> Stream<'a> {
    pub(super) fn new(
        setup: Setup<'a>,
        position: Option<Position>,
        context: &Context<'_>,
    ) -> Result<Stream<'a>, ExecError> {
        let start = match position {
            None => None,
            Some(Position::Place { place, row }) => Some((place, row)),
            Some(_) => return Err(ExecError::InvalidResume),
        };
        Ok(Stream {
            setup,
            start,
            output: Output::new(context.keep()),
            end: None,
        })
    }

    pub(super) fn start_place(&self) -> Option<&[u8]> {
        self.start.as_ref().map(|(place, _)| &**place)
    }

    pub(super) fn is_full(&mut self, place: &[u8]) -> bool {
        if self.output.rows.len() >= self.setup.limits.items_max {
            self.interrupt(place);
        }
        self.end.is_some() || self.setup.window.is_over()
    }

    pub(super) fn interrupt(&mut self, place: &[u8]) {
        self.interrupt_at(place, 0);
    }

    /// Ends the page before a row of a document.
    pub(super) fn interrupt_at(&mut self, place: &[u8], row: u64) {
        self.end.get_or_insert_with(|| (place.to_vec(), row));
    }

    pub(super) fn has_rows(&self) -> bool {
        !self.output.rows.is_empty()
    }

    /// False when the page is full.
    pub(super) fn add(&mut self, input: Input<'_>) -> Result<bool, ExecError> {
        if self.setup.window.is_over() {
            return Ok(false);
        }
        let place = input.document.place;
        if let Some((start, row)) = &self.start
            && start == place
            && input.row < *row
        {
            return Ok(true);
        }
        let selection = &self.setup.program.block().selection;
        let Some(made) = make(selection, input.frame, Some(input.document))? else {
            return Ok(true);
        };
        if self.setup.window.skips() {
            return Ok(true);
        }
        if !self.output.has_room(made.bytes, &self.setup.limits) {
            self.end = Some((place.to_vec(), input.row));
            return Ok(false);
        }
        self.output.push(made);
        self.setup.window.takes();
        Ok(!self.setup.window.is_over())
    }

    pub(super) fn finish(self, output: &mut Output) -> Option<Resume> {
        *output = self.output;
        let window = self.setup.window;
        self.end
            .filter(|_| !window.is_over())
            .map(|(place, row)| Resume {
                window,
                position: Position::Place { place, row },
            })
    }
}
