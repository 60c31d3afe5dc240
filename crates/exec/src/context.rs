//! What one evaluation may cost, and why it stopped.
//!
//! Expressions give values, not results: what fails inside one (a subquery with two rows, a time
//! limit) is noted here once, the expression goes on as undefined, and whoever drives the rows
//! asks before it uses them.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use orrery_json::Value;
use orrery_memory::Share;

use crate::ledger::{Held, Ledger};
use crate::{ExecError, FunctionError, Functions};

/// Steps between two looks at the clock of the caller.
const STEPS_PER_LOOK: u64 = 1024;

/// The same for calls of user-defined functions, each of which may take long.
const CALLS_PER_LOOK: u64 = 16;

/// Bytes of text that a function works on in about the time of one row of a loop.
pub(crate) const BYTES_PER_STEP: usize = 256;

/// The most memory that one page may hold at one time, even where the share of its client could
/// lend more. A document of the largest size takes more than half of it in the worst case.
pub const PAGE_MEMORY_BYTES_MAX: usize = 512 << 20;

/// Rows that the sources and subqueries of one document may make.
pub(crate) const DOCUMENT_ROWS_MAX: u64 = 10_000_000;

/// Steps of an evaluation that nobody times: of a condition, or of a constant while compiling.
const UNTIMED_STEPS_MAX: u64 = 200_000;
const UNTIMED_BYTES_MAX: usize = 32 << 20;

pub(crate) struct Context<'a> {
    /// Whether the time of the request is over.
    deadline: Option<&'a dyn Fn() -> bool>,
    /// The moment of the query.
    now_ticks: i64,
    /// The values of parameters, by their slots.
    parameters: &'a [Value],
    functions: Option<&'a dyn Functions>,
    /// By the numbers of the functions.
    function_names: &'a [String],
    calls: Cell<u64>,
    /// How many documents alike the present one stands for.
    times: Cell<u64>,
    steps: Cell<u64>,
    steps_max: u64,
    next_look: Cell<u64>,
    document_rows: Cell<u64>,
    ledger: Rc<Ledger>,
    failed: Cell<bool>,
    failure: RefCell<Option<ExecError>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(deadline: Option<&'a dyn Fn() -> bool>, now_ticks: i64) -> Context<'a> {
        Context::with_limits(deadline, now_ticks, u64::MAX, PAGE_MEMORY_BYTES_MAX)
    }

    /// The context of an evaluation that has no clock. Other requests wait while such an evaluation
    /// runs, so small limits of its steps and its bytes end it after a moment.
    pub(crate) fn untimed() -> Context<'a> {
        Context::with_limits(None, 0, UNTIMED_STEPS_MAX, UNTIMED_BYTES_MAX)
    }

    fn with_limits(
        deadline: Option<&'a dyn Fn() -> bool>,
        now_ticks: i64,
        steps_max: u64,
        bytes_max: usize,
    ) -> Context<'a> {
        Context {
            deadline,
            now_ticks,
            parameters: &[],
            functions: None,
            function_names: &[],
            calls: Cell::new(0),
            times: Cell::new(1),
            steps: Cell::new(0),
            steps_max,
            next_look: Cell::new(STEPS_PER_LOOK.min(steps_max)),
            document_rows: Cell::new(0),
            ledger: Rc::new(Ledger::new(bytes_max)),
            failed: Cell::new(false),
            failure: RefCell::new(None),
        }
    }

    pub(crate) fn with_parameters(self, parameters: &'a [Value]) -> Context<'a> {
        Context { parameters, ..self }
    }

    pub(crate) fn with_functions(
        self,
        functions: Option<&'a dyn Functions>,
        function_names: &'a [String],
    ) -> Context<'a> {
        Context {
            functions,
            function_names,
            ..self
        }
    }

    pub(crate) fn borrow_through(&self, share: &Share) {
        self.ledger.borrow_through(share);
    }

    pub(crate) fn parameter(&self, slot: usize) -> &'a Value {
        self.parameters.get(slot).unwrap_or(&Value::Undefined)
    }

    pub(crate) fn set_times(&self, times: u64) {
        self.times.set(times);
    }

    pub(crate) fn times(&self) -> u64 {
        self.times.get()
    }

    /// Calls a user-defined function, unless the evaluation has to end.
    pub(crate) fn call(&self, function: usize, arguments: &[Value]) -> Value {
        if self.has_failed() {
            return Value::Undefined;
        }
        let calls = self.calls.get() + 1;
        self.calls.set(calls);
        if calls.is_multiple_of(CALLS_PER_LOOK) && self.is_late() {
            self.fail(ExecError::Timeout);
            return Value::Undefined;
        }
        let result = match self.functions {
            Some(functions) => functions.call(function, arguments),
            None => Err(FunctionError::Failed(
                "This query cannot call functions.".to_owned(),
            )),
        };
        result.unwrap_or_else(|error| {
            let name = self.function_names.get(function);
            self.fail(match error {
                FunctionError::Failed(message) => ExecError::Function {
                    name: name.cloned().unwrap_or_default(),
                    message,
                },
                FunctionError::OutOfTime => ExecError::Timeout,
                FunctionError::Exhausted(exhausted) => ExecError::Exhausted(exhausted),
            });
            Value::Undefined
        })
    }

    /// One row of some loop; false when the evaluation has to end.
    pub(crate) fn step(&self) -> bool {
        let rows = self.document_rows.get() + 1;
        self.document_rows.set(rows);
        if rows > DOCUMENT_ROWS_MAX {
            self.fail(ExecError::LimitExceeded {
                what: "rows made of one document",
                limit: DOCUMENT_ROWS_MAX,
            });
        }
        self.work(1)
    }

    /// Work that takes as long as so many rows of a loop; false when the evaluation has to end.
    pub(crate) fn work(&self, steps: u64) -> bool {
        let steps = self.steps.get().saturating_add(steps);
        self.steps.set(steps);
        if steps >= self.next_look.get() {
            self.look(steps);
        }
        !self.failed.get()
    }

    /// Work on so many bytes of text.
    pub(crate) fn work_on_text(&self, bytes: usize) -> bool {
        let steps = bytes / BYTES_PER_STEP;
        steps == 0 || self.work(steps as u64)
    }

    fn look(&self, steps: u64) {
        let next = steps.saturating_add(STEPS_PER_LOOK).min(self.steps_max);
        self.next_look.set(next);
        if steps >= self.steps_max {
            self.next_look.set(u64::MAX);
            self.fail(ExecError::LimitExceeded {
                what: "steps",
                limit: self.steps_max,
            });
        } else if self.is_late() {
            self.fail(ExecError::Timeout);
        }
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|is_over| is_over())
    }

    /// An account of values that are about to be kept in memory, empty so far.
    pub(crate) fn hold(&self) -> Holding<'_> {
        Holding {
            context: self,
            bytes: 0,
        }
    }

    /// An account that may outlive the evaluation of an expression.
    pub(crate) fn keep(&self) -> Held {
        Held::nothing(&self.ledger)
    }

    pub(crate) fn begin_document(&self) {
        self.document_rows.set(0);
    }

    /// The first failure is the one that counts.
    pub(crate) fn fail(&self, error: ExecError) {
        if !self.failed.replace(true) {
            *self.failure.borrow_mut() = Some(error);
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.get()
    }

    pub(crate) fn check(&self) -> Result<(), ExecError> {
        match self.failure.borrow().as_ref() {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Clears the failure, for a page that ends early and gives the rows that it has made before.
    pub(crate) fn forgive(&self) {
        self.failed.set(false);
        *self.failure.borrow_mut() = None;
    }

    pub(crate) fn now_ticks(&self) -> i64 {
        self.now_ticks
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.get()
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.get()
    }
}

/// Bytes that an expression holds while it is evaluated.
#[derive(Debug)]
pub(crate) struct Holding<'a> {
    context: &'a Context<'a>,
    bytes: usize,
}

impl Holding<'_> {
    /// Counts a value; false when there is too much, and the evaluation has failed.
    pub(crate) fn add(&mut self, value: &Value) -> bool {
        self.add_bytes(value.allocated_bytes())
    }

    /// Counts a value that the evaluation made; a value borrowed from a document takes no memory of
    /// its own.
    #[expect(clippy::ptr_arg, reason = "whether it is borrowed is what matters")]
    pub(crate) fn add_made(&mut self, value: &Cow<'_, Value>) -> bool {
        match value {
            Cow::Owned(value @ (Value::String(_) | Value::Array(_) | Value::Object(_))) => {
                self.add(value)
            }
            _ => !self.context.has_failed(),
        }
    }

    pub(crate) fn add_bytes(&mut self, bytes: usize) -> bool {
        match self.context.ledger.take(bytes) {
            Ok(()) => self.bytes += bytes,
            Err(error) => self.context.fail(error),
        }
        !self.context.has_failed()
    }
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.context.ledger.give_back(self.bytes);
        }
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("steps", &self.steps)
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}
