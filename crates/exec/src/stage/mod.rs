//! The operators that turn rows into pages, one for each kind of query.

mod distinct;
mod grouped;
mod sorted;
mod stream;

use std::ops::ControlFlow::{self, Break, Continue};

use crate::context::Context;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::page::{Document, PageLimits, Row};
use crate::program::Program;
use crate::projection::Selection;
use crate::resume::Position;
use crate::shape::Shape;
use crate::sort_key::Tie;
use crate::text_bytes::text_bytes;
use crate::window::{Made, Output, Window};
use crate::{ExecError, OrderBound, OrderKeyHint, Resume};

use distinct::Distinct;
use grouped::Grouped;
use sorted::Sorted;
use stream::Stream;

/// A combination of sources that passed the filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) frame: &'a Frame<'a>,
    pub(crate) document: Document<'a>,
    /// Its number among those of the document.
    pub(crate) row: u64,
}

#[derive(Debug)]
pub(crate) enum Stage<'a> {
    Stream(Stream<'a>),
    Sorted(Sorted<'a>),
    Distinct(Distinct<'a>),
    Grouped(Grouped<'a>),
}

impl<'a> Stage<'a> {
    pub(crate) fn new(
        program: &'a Program,
        resume: Option<Resume>,
        limits: PageLimits<'a>,
        context: &Context<'_>,
    ) -> Result<Stage<'a>, ExecError> {
        let (window, position) = match resume {
            Some(resume) => (resume.window, Some(resume.position)),
            None => (program.window(), None),
        };
        let setup = Setup {
            program,
            limits,
            window,
        };
        Ok(match program.shape() {
            Shape::Stream => Stage::Stream(Stream::new(setup, position, context)?),
            Shape::Sorted => Stage::Sorted(Sorted::new(setup, position)?),
            Shape::Distinct => Stage::Distinct(Distinct::new(setup, position.as_ref())?),
            Shape::Grouped => Stage::Grouped(Grouped::new(setup, position, context)?),
        })
    }

    pub(crate) fn start_place(&self) -> Option<&[u8]> {
        match self {
            Stage::Stream(stream) => stream.start_place(),
            _ => None,
        }
    }

    /// Whether the page is complete before the document at `place`.
    pub(crate) fn is_full(&mut self, place: &[u8]) -> bool {
        match self {
            Stage::Stream(stream) => stream.is_full(place),
            Stage::Sorted(Sorted { setup, .. })
            | Stage::Distinct(Distinct { setup, .. })
            | Stage::Grouped(Grouped { setup, .. }) => setup.window.is_over(),
        }
    }

    /// Whether no document from `bound` on can be in the page.
    pub(crate) fn is_past(&self, bound: &OrderBound) -> bool {
        match self {
            Stage::Sorted(sorted) => sorted.is_past(bound),
            _ => false,
        }
    }

    pub(crate) fn seek_hint(&self) -> Option<OrderKeyHint> {
        match self {
            Stage::Sorted(sorted) => sorted.seek_hint(),
            _ => None,
        }
    }

    pub(crate) fn interrupt(&mut self, place: &[u8]) {
        if let Stage::Stream(stream) = self {
            stream.interrupt(place);
        }
    }

    /// Ends the page before a row of a document, if it has rows and the next page can begin there.
    pub(crate) fn end_early(&mut self, place: &[u8], row: u64) -> bool {
        match self {
            Stage::Stream(stream) if stream.has_rows() => {
                stream.interrupt_at(place, row);
                true
            }
            _ => false,
        }
    }

    /// Breaks when the page is full.
    pub(crate) fn add(&mut self, input: Input<'_>) -> Result<ControlFlow<()>, ExecError> {
        match self {
            Stage::Stream(stream) => {
                return Ok(if stream.add(input)? {
                    Continue(())
                } else {
                    Break(())
                });
            }
            Stage::Sorted(sorted) => {
                let tie = Tie::Row {
                    rid: input.document.rid,
                    row: input.row,
                };
                sorted.add(input.frame, tie, Some(input.document))?;
            }
            Stage::Distinct(distinct) => distinct.add(input.frame, Some(input.document))?,
            Stage::Grouped(grouped) => grouped.add(input.frame)?,
        }
        Ok(Continue(()))
    }

    pub(crate) fn finish(
        self,
        context: &Context<'_>,
        output: &mut Output,
    ) -> Result<Option<Resume>, ExecError> {
        match self {
            Stage::Stream(stream) => Ok(stream.finish(output)),
            Stage::Sorted(sorted) => sorted.finish(output),
            Stage::Distinct(distinct) => Ok(distinct.finish(output)),
            Stage::Grouped(grouped) => grouped.finish(context, output),
        }
    }
}

/// What every operator knows of its page.
#[derive(Clone, Copy)]
pub(crate) struct Setup<'a> {
    program: &'a Program,
    limits: PageLimits<'a>,
    window: Window,
}

impl Setup<'_> {
    /// Rows of an ordered result that are looked at, and how many of them only to pass over.
    fn rows(&self, done: u64) -> (usize, usize) {
        let done = usize::try_from(done).unwrap_or(usize::MAX);
        let skip = usize::try_from(self.window.skip).unwrap_or(usize::MAX);
        (
            self.window.rows_wanted(&self.limits).saturating_add(done),
            skip.saturating_add(done),
        )
    }
}

impl std::fmt::Debug for Setup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup")
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

/// The position of a resume in the order of hashes.
fn hash_position(position: Option<&Position>) -> Result<Option<DistinctHash>, ExecError> {
    match position {
        None => Ok(None),
        Some(Position::Hash(hash)) => Ok(Some(*hash)),
        Some(_) => Err(ExecError::InvalidResume),
    }
}

/// What a row takes beside its value or its text, in a list or a map.
const ROW_BYTES: usize = 2 * size_of::<Made>();

/// The row of a frame, if it has one.
fn make(
    selection: &Selection,
    frame: &Frame<'_>,
    document: Option<Document<'_>>,
) -> Result<Option<Made>, ExecError> {
    let mut held = frame.context().keep();
    if let (Selection::Document, Some(document)) = (selection, document) {
        held.add(ROW_BYTES + document.text.len())?;
        return Ok(Some(Made {
            row: Row::Text(document.text.clone()),
            bytes: document.text.len() + 1,
            held,
        }));
    }
    let value = selection.output(frame);
    // A failed evaluation may have left out a part of the value, so the failure is reported and the
    // value makes no row.
    frame.context().check()?;
    if value.is_undefined() {
        return Ok(None);
    }
    held.add(ROW_BYTES + value.allocated_bytes())?;
    Ok(Some(Made {
        bytes: text_bytes(&value) + 1,
        row: Row::Value(value),
        held,
    }))
}

fn hash_of(made: &Made, frame: &Frame<'_>) -> DistinctHash {
    match &made.row {
        Row::Value(value) => DistinctHash::of(value),
        Row::Text(_) => DistinctHash::of(frame.value_at(0)),
    }
}
