//! One page of a query: documents go in, rows and a continuation come out.
//!
//! A scan of the scope feeds the page. A query that only filters and projects ends the scan when
//! its page is full and resumes there. Any other query examines all documents for every page and
//! keeps only the rows that the page can return, so memory does not grow with the container.

use std::ops::ControlFlow::{Break, Continue};

use bytes::Bytes;
use orrery_json::Value;
use orrery_memory::MemoryShare;

use crate::context::Context;
use crate::frame::Frame;
use crate::ledger::MemoryLease;
use crate::operator::{Input, PageOperator};
use crate::position::PositionKey;
use crate::program::Program;
use crate::skip_take::PageBuffer;
use crate::{Continuation, ExecError, OrderBound, OrderKeyHint, UserFunctions};

/// The limits of a page.
#[derive(Clone, Copy)]
pub struct PageLimits<'a> {
    pub items_max: usize,
    /// Approximate limit of the rows' text; a page returns one row even if it is longer.
    pub bytes_max: usize,
    /// Returns true when the time is over; called repeatedly.
    pub deadline: Option<&'a dyn Fn() -> bool>,
    /// The query's time for functions of the current time: ticks of 100 nanoseconds since 1970.
    pub now_ticks: i64,
    /// Byte limit of strings in the start position of the next page of an ordered result.
    pub position_bytes_max: usize,
}

/// A document of the scan.
#[derive(Debug, Clone, Copy)]
pub struct InputDocument<'a> {
    pub value: &'a Value,
    /// The counter of its resource id, which orders rows with equal keys.
    pub rid: u64,
    /// The stored text of the document.
    pub text: &'a Bytes,
    /// The position of the document in the scan.
    pub scan_position: &'a [u8],
}

/// A row of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultRow {
    Value(Value),
    /// The stored text of a document.
    Text(Bytes),
}

/// Whether the page takes further documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    More,
    /// The page needs no more documents and has used the last one only in part.
    Full,
}

/// The work that a page has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageWork {
    pub documents: u64,
    pub document_bytes: u64,
    pub rows: u64,
    pub row_bytes: u64,
    /// Rows of joins and subqueries, plus the equivalent rows of function calls.
    pub steps: u64,
    /// Calls of user-defined functions.
    pub calls: u64,
}

/// A finished page.
#[derive(Debug)]
pub struct PageResult {
    pub rows: Vec<ResultRow>,
    /// `None` when the result is complete.
    pub continuation: Option<Continuation>,
    pub work: PageWork,
    /// The memory of the rows; dropping this value returns the memory to the client's share.
    pub held: PageLease,
}

/// Memory that the client's share counts until this value is dropped.
#[derive(Debug)]
pub struct PageLease(MemoryLease);

impl PageLease {
    pub fn add(&mut self, bytes: usize) -> Result<(), ExecError> {
        self.0.add(bytes)
    }
}

/// A page that is being fed.
pub struct Page<'a> {
    program: &'a Program,
    limits: PageLimits<'a>,
    context: Context<'a>,
    operator: PageOperator<'a>,
    work: PageWork,
}

impl<'a> Page<'a> {
    pub(crate) fn new(
        program: &'a Program,
        resume: Option<Continuation>,
        limits: PageLimits<'a>,
        functions: Option<&'a dyn UserFunctions>,
    ) -> Result<Page<'a>, ExecError> {
        // A page of zero items could never progress.
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
            operator: PageOperator::new(program, resume, limits, &context)?,
            work: PageWork::default(),
            context,
        })
    }

    /// Makes the page borrow all its memory from a client's share.
    #[must_use]
    pub fn borrowing(self, share: &MemoryShare) -> Page<'a> {
        self.context.borrow_through(share);
        self
    }

    /// The work of the page so far.
    pub fn work(&self) -> PageWork {
        PageWork {
            steps: self.context.steps(),
            calls: self.context.calls(),
            ..self.work
        }
    }

    /// Counts memory that the caller uses for the page, such as that of the parsed document.
    pub fn lease(&self, bytes: usize) -> Result<PageLease, ExecError> {
        let mut held = self.context.lease();
        held.add(bytes)?;
        Ok(PageLease(held))
    }

    /// Ends a page with rows after a memory refusal; the next page begins at `scan_position`.
    pub fn try_end_before(&mut self, error: &ExecError, scan_position: &[u8]) -> bool {
        error.is_of_memory() && self.operator.try_end_before(scan_position, 0)
    }

    /// The scan position from which documents are needed; earlier documents have returned all their
    /// rows.
    pub fn start_position(&self) -> Option<&[u8]> {
        self.operator.start_position()
    }

    /// The start value of an ordered page, for a walk in the order of its first column. Earlier
    /// documents have returned all their rows.
    pub fn seek_hint(&self) -> Option<OrderKeyHint> {
        self.operator.seek_hint()
    }

    /// Whether an ordered page needs no document at `bound` or behind it. The page must be fed in
    /// the order of [`Program::order_terms`], or of its first term. Without the remaining
    /// documents, the page equals the page with all of them.
    pub fn is_past(&self, bound: &OrderBound) -> bool {
        self.operator.is_past(bound)
    }

    /// Whether an ordered page begins at a cut position whose whole key no document has supplied so
    /// far. Fed to its end like this, the page repeats the rows that begin like the position.
    pub fn seeks_position(&self) -> bool {
        self.operator.seeks_position()
    }

    /// The whole key of the position at which an ordered page begins, if the page knows the key.
    pub fn position_key(&self) -> Option<PositionKey> {
        self.operator.position_key()
    }

    /// Completes the cut position of a page before its first document, with the key that a page of
    /// the same query found in another scope.
    pub fn complete_position(&mut self, key: &PositionKey) {
        self.operator.complete_position(key);
    }

    /// Pushes the next document of the scan. After [`Flow::Full`] the page takes no more documents.
    pub fn push(&mut self, document: InputDocument<'_>) -> Result<Flow, ExecError> {
        if !self.program.reads_documents() || self.operator.is_full(document.scan_position) {
            return Ok(Flow::Full);
        }
        self.work.documents += 1;
        self.work.document_bytes += document.text.len() as u64;
        self.run(document)
    }

    /// Pushes one document that stands for `times` identical ones; only groups and aggregates
    /// accept this.
    pub fn push_repeated(
        &mut self,
        document: InputDocument<'_>,
        times: u64,
    ) -> Result<Flow, ExecError> {
        if times == 0 {
            return Ok(Flow::More);
        }
        self.context.set_repetitions(times);
        let flow = self.push(document);
        self.context.set_repetitions(1);
        flow
    }

    /// Ends the page early, before the document at `scan_position`. Only a query that does not need
    /// the whole scope can resume there.
    pub fn end_before(&mut self, scan_position: &[u8]) {
        self.operator.end_before(scan_position);
    }

    /// Completes the page, after the last document or after [`Flow::Full`].
    pub fn finish(mut self) -> Result<PageResult, ExecError> {
        if !self.program.reads_documents() {
            // The single row of a query without `FROM` is computed here.
            self.run(InputDocument {
                value: &Value::Undefined,
                rid: 0,
                text: &Bytes::new(),
                scan_position: &[],
            })?;
        }
        let mut output = PageBuffer::new(self.context.lease());
        let mut work = self.work();
        let resume = self.operator.finish(&self.context, &mut output)?;
        // An operator can fail while it finishes, so the failure is checked once more.
        self.context.check()?;
        work.rows = output.rows.len() as u64;
        work.row_bytes = output.bytes as u64;
        work.steps = self.context.steps();
        work.calls = self.context.calls();
        Ok(PageResult {
            continuation: resume,
            work,
            rows: output.rows,
            held: PageLease(output.held),
        })
    }

    /// Runs the sources and the filter over one document, and passes every combination to the
    /// operator.
    fn run(&mut self, document: InputDocument<'_>) -> Result<Flow, ExecError> {
        let context = &self.context;
        context.begin_document();
        let stage = &mut self.operator;
        let mut row = 0;
        // Whether the operator has started the current row without finishing it.
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
            // The step is counted before the row is added, so that a join without rows in the page
            // also reaches the limits.
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
            // The next page starts with its memory free again, so the remaining rows may fit there.
            let before = row.saturating_sub(u64::from(has_begun_row));
            if error.is_of_memory() && stage.try_end_before(document.scan_position, before) {
                context.clear_failure();
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
