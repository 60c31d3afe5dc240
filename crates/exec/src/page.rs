//! One page of a query: documents go in, rows and the place to go on come out.
//!
//! A page is fed by a scan of the scope. A query that only filters and projects ends the scan when
//! its page is full and is resumed there; any other looks at all documents for every page and
//! keeps only the rows that the page can give, so memory does not grow with the container.

use std::ops::ControlFlow::{Break, Continue};

use bytes::Bytes;
use orrery_json::Value;
use orrery_memory::Share;

use crate::context::Context;
use crate::frame::Frame;
use crate::ledger::Held;
use crate::program::Program;
use crate::stage::{Input, Stage};
use crate::window::Output;
use crate::{ExecError, Functions, OrderBound, OrderKeyHint, Resume};

/// What a page may be and may cost.
#[derive(Clone, Copy)]
pub struct PageLimits<'a> {
    pub items_max: usize,
    /// Of the text of the rows, nearly; one row is given even if it is longer.
    pub bytes_max: usize,
    /// Says whether the time is over; asked again and again.
    pub deadline: Option<&'a dyn Fn() -> bool>,
    /// The moment of the query, for the functions that tell the time: 100 nanoseconds each, since
    /// 1970.
    pub now_ticks: i64,
}

/// A document of the scan.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    pub value: &'a Value,
    /// Its number in the container, which orders rows that are otherwise equal.
    pub rid: u64,
    /// Its stored text.
    pub text: &'a Bytes,
    /// Its position in the scan.
    pub place: &'a [u8],
}

#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    Value(Value),
    /// The stored text of a document.
    Text(Bytes),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    More,
    /// The page needs no more documents; it did not use the last one completely.
    Full,
}

/// What a page has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    pub documents: u64,
    pub document_bytes: u64,
    pub rows: u64,
    pub row_bytes: u64,
    /// Rows of joins and subqueries, and as many as functions could have made in the time they took.
    pub steps: u64,
    /// Calls of user-defined functions.
    pub calls: u64,
}

#[derive(Debug)]
pub struct Finished {
    pub rows: Vec<Row>,
    /// None when the result is complete.
    pub resume: Option<Resume>,
    pub work: Work,
    /// The memory that the rows take; dropping this value gives the memory back to the share of the
    /// client.
    pub held: HeldMemory,
}

/// Memory that the share of the client counts until this value is dropped.
#[derive(Debug)]
pub struct HeldMemory(Held);

impl HeldMemory {
    pub fn add(&mut self, bytes: usize) -> Result<(), ExecError> {
        self.0.add(bytes)
    }
}

pub struct Page<'a> {
    program: &'a Program,
    limits: PageLimits<'a>,
    context: Context<'a>,
    stage: Stage<'a>,
    work: Work,
}

impl<'a> Page<'a> {
    pub(crate) fn new(
        program: &'a Program,
        resume: Option<Resume>,
        limits: PageLimits<'a>,
        functions: Option<&'a dyn Functions>,
    ) -> Result<Page<'a>, ExecError> {
        let limits = PageLimits {
            items_max: limits.items_max.max(1),
            ..limits
        };
        let context = Context::new(limits.deadline, limits.now_ticks)
            .with_parameters(program.parameters())
            .with_functions(functions, program.functions_used());
        Ok(Page {
            program,
            limits,
            stage: Stage::new(program, resume, limits, &context)?,
            work: Work::default(),
            context,
        })
    }

    /// From here on the page borrows all memory that it holds from the share of a client.
    #[must_use]
    pub fn borrowing(self, share: &Share) -> Page<'a> {
        self.context.borrow_through(share);
        self
    }

    /// What the page has cost so far.
    pub fn work(&self) -> Work {
        Work {
            steps: self.context.steps(),
            calls: self.context.calls(),
            ..self.work
        }
    }

    /// Counts memory that is used for the page elsewhere, such as by the document of the scan.
    pub fn hold(&self, bytes: usize) -> Result<HeldMemory, ExecError> {
        let mut held = self.context.keep();
        held.add(bytes)?;
        Ok(HeldMemory(held))
    }

    /// Ends a page that has rows where memory was refused; the next one begins at `place`.
    pub fn ends_early(&mut self, error: &ExecError, place: &[u8]) -> bool {
        error.is_of_memory() && self.stage.end_early(place, 0)
    }

    /// Where the scan may begin: documents before this place have given all their rows.
    pub fn start_place(&self) -> Option<&[u8]> {
        self.stage.start_place()
    }

    /// Where the rows of an ordered page begin, for a walk in the order of its first column.
    /// Documents before this place have given all their rows.
    pub fn seek_hint(&self) -> Option<OrderKeyHint> {
        self.stage.seek_hint()
    }

    /// Whether an ordered page that is fed in the order of [`Program::order_terms`], or of the
    /// first of them, needs no document at `bound` or behind it. Without such a document the page
    /// is what it would be with all of them.
    pub fn is_past(&self, bound: &OrderBound) -> bool {
        self.stage.is_past(bound)
    }

    /// Gives the next document of the scan. After [`Flow::Full`] there is nothing more to give.
    pub fn push(&mut self, document: Document<'_>) -> Result<Flow, ExecError> {
        if !self.program.reads_documents() || self.stage.is_full(document.place) {
            return Ok(Flow::Full);
        }
        self.work.documents += 1;
        self.work.document_bytes += document.text.len() as u64;
        self.run(document)
    }

    /// Gives one document for so many alike; only groups and aggregates can be fed so.
    pub fn push_alike(&mut self, document: Document<'_>, times: u64) -> Result<Flow, ExecError> {
        if times == 0 {
            return Ok(Flow::More);
        }
        self.context.set_times(times);
        let flow = self.push(document);
        self.context.set_times(1);
        flow
    }

    /// Ends the page early, before the document at `place`. Only a query that does not need the
    /// whole scope can go on from there.
    pub fn interrupt(&mut self, place: &[u8]) {
        self.stage.interrupt(place);
    }

    /// The page, after the last document or after [`Flow::Full`].
    pub fn finish(mut self) -> Result<Finished, ExecError> {
        if !self.program.reads_documents() {
            self.run(Document {
                value: &Value::Undefined,
                rid: 0,
                text: &Bytes::new(),
                place: &[],
            })?;
        }
        let mut output = Output::new(self.context.keep());
        let mut work = self.work();
        let resume = self.stage.finish(&self.context, &mut output)?;
        self.context.check()?;
        work.rows = output.rows.len() as u64;
        work.row_bytes = output.bytes as u64;
        work.steps = self.context.steps();
        work.calls = self.context.calls();
        Ok(Finished {
            resume,
            work,
            rows: output.rows,
            held: HeldMemory(output.held),
        })
    }

    fn run(&mut self, document: Document<'_>) -> Result<Flow, ExecError> {
        let context = &self.context;
        context.begin_document();
        let stage = &mut self.stage;
        let mut row = 0;
        // Whether the row of the last number was begun and not given.
        let mut has_begun_row = false;
        let frame = Frame::document(document.value, context);
        let flow = self.program.block().each_frame(&frame, &mut |frame| {
            let input = Input {
                frame,
                document,
                row,
            };
            row += 1;
            has_begun_row = true;
            if !context.step() {
                return Break(());
            }
            match stage.add(input) {
                Ok(_) if context.has_failed() => Break(()),
                Ok(flow) => {
                    has_begun_row = false;
                    flow
                }
                Err(error) => {
                    context.fail(error);
                    Break(())
                }
            }
        });
        if let Err(error) = context.check() {
            // With the memory of its rows given back, the rest may find room on the next page.
            let before = row.saturating_sub(u64::from(has_begun_row));
            if error.is_of_memory() && stage.end_early(document.place, before) {
                context.forgive();
                return Ok(Flow::Full);
            }
            return Err(error);
        }
        Ok(match flow {
            Continue(()) => Flow::More,
            Break(()) => Flow::Full,
        })
    }
}

impl std::fmt::Debug for Page<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Page")
            .field("items_max", &self.limits.items_max)
            .field("work", &self.work)
            .finish_non_exhaustive()
    }
}
