//! The limits of one evaluation, and the reason of its failure.
//!
//! Expressions return values and no errors. A failure inside an expression (a subquery with two
//! rows, a time limit) is stored here once, and the expression continues with undefined. The
//! operator that drives the rows checks for a failure before it uses them.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use orrery_json::Value;
use orrery_memory::MemoryShare;

use crate::ledger::{Ledger, MemoryLease};
use crate::{ExecError, UserFunctionError, UserFunctions};

/// Steps between two checks of the caller's deadline.
const STEPS_PER_LOOK: u64 = 1024;

/// Calls of user-defined functions between two checks; a single call may take long.
const CALLS_PER_LOOK: u64 = 16;

/// Bytes of text that a function processes in about the time of one loop row.
pub(crate) const BYTES_PER_STEP: usize = 256;

/// Memory limit of one page, whatever the client's share could lend. In the worst case a document
/// of maximal size takes more than half of it.
pub const PAGE_MEMORY_BYTES_MAX: usize = 512 << 20;

/// Limit of rows that the sources and subqueries may produce from one document.
pub(crate) const DOCUMENT_ROWS_MAX: u64 = 10_000_000;

/// Step limit of an evaluation without a deadline: a patch condition, or a constant at compile
/// time.
const UNTIMED_STEPS_MAX: u64 = 200_000;
const UNTIMED_BYTES_MAX: usize = 32 << 20;

/// The state of one evaluation. Cells make it shareable: all frames of the evaluation borrow it.
pub(crate) struct Context<'a> {
    /// Returns true when the time of the request is over.
    deadline: Option<&'a dyn Fn() -> bool>,
    /// The time of the query, in ticks.
    now_ticks: i64,
    /// Parameter values, indexed by slot.
    parameters: &'a [Value],
    functions: Option<&'a dyn UserFunctions>,
    /// Names of the user-defined functions, indexed by function number.
    function_names: &'a [String],
    calls: Cell<u64>,
    /// The number of identical documents that the present document stands for.
    repetitions: Cell<u64>,
    steps: Cell<u64>,
    steps_max: u64,
    next_look: Cell<u64>,
    /// Counts from the start of the present document, so that the limit applies to each document.
    document_rows: Cell<u64>,
    ledger: Rc<Ledger>,
    failed: Cell<bool>,
    failure: RefCell<Option<ExecError>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(deadline: Option<&'a dyn Fn() -> bool>, now_ticks: i64) -> Context<'a> {
        Context::with_limits(deadline, now_ticks, u64::MAX, PAGE_MEMORY_BYTES_MAX)
    }

    /// A context without a deadline. Other requests wait while such an evaluation runs, so small
    /// limits of steps and bytes end it soon.
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
            repetitions: Cell::new(1),
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
        functions: Option<&'a dyn UserFunctions>,
        function_names: &'a [String],
    ) -> Context<'a> {
        Context {
            functions,
            function_names,
            ..self
        }
    }

    /// Makes the page borrow its memory from the share of a client.
    pub(crate) fn borrow_through(&self, share: &MemoryShare) {
        self.ledger.borrow_through(share);
    }

    pub(crate) fn parameter(&self, slot: usize) -> &'a Value {
        self.parameters.get(slot).unwrap_or(&Value::Undefined)
    }

    /// Sets the number of identical documents that the next document stands for.
    pub(crate) fn set_repetitions(&self, times: u64) {
        self.repetitions.set(times);
    }

    pub(crate) fn repetitions(&self) -> u64 {
        self.repetitions.get()
    }

    /// Calls a user-defined function, unless the evaluation has already failed.
    pub(crate) fn call(&self, function: usize, arguments: &[Value]) -> Value {
        if self.has_failed() {
            return Value::Undefined;
        }
        let calls = self.calls.get() + 1;
        self.calls.set(calls);
        // The check runs before the call: a late page must not start another call.
        if calls.is_multiple_of(CALLS_PER_LOOK) && self.is_late() {
            self.fail(ExecError::Timeout);
            return Value::Undefined;
        }
        let result = match self.functions {
            Some(functions) => functions.call(function, arguments),
            None => Err(UserFunctionError::Failed {
                message: "This query cannot call functions.".to_owned(),
                number: None,
            }),
        };
        result.unwrap_or_else(|error| {
            let name = self.function_names.get(function);
            self.fail(match error {
                UserFunctionError::Failed { message, number } => ExecError::Function {
                    name: name.cloned().unwrap_or_default(),
                    message,
                    number,
                },
                UserFunctionError::OutOfTime => ExecError::Timeout,
                UserFunctionError::Exhausted(exhausted) => ExecError::Exhausted(exhausted),
            });
            Value::Undefined
        })
    }

    /// Counts one row of a loop; returns false when the evaluation must end.
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

    /// Counts work equal to this many loop rows; returns false when the evaluation must end.
    pub(crate) fn work(&self, steps: u64) -> bool {
        let steps = self.steps.get().saturating_add(steps);
        self.steps.set(steps);
        if steps >= self.next_look.get() {
            self.look(steps);
        }
        !self.failed.get()
    }

    /// Counts the work on this many bytes of text.
    pub(crate) fn work_on_text(&self, bytes: usize) -> bool {
        let steps = bytes / BYTES_PER_STEP;
        steps == 0 || self.work(steps as u64)
    }

    /// Checks the step limit and the deadline. The counter triggers this check at intervals, so
    /// that most steps cost one comparison.
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

    /// An empty lease for values of one expression.
    pub(crate) fn scoped_lease(&self) -> ScopedLease<'_> {
        ScopedLease {
            context: self,
            bytes: 0,
        }
    }

    /// An empty lease that may outlive the evaluation of one expression.
    pub(crate) fn lease(&self) -> MemoryLease {
        MemoryLease::nothing(&self.ledger)
    }

    /// Starts the row count of the next document.
    pub(crate) fn begin_document(&self) {
        self.document_rows.set(0);
    }

    /// Stores a failure. Only the first failure counts: later ones follow from its undefined value.
    pub(crate) fn fail(&self, error: ExecError) {
        if !self.failed.replace(true) {
            *self.failure.borrow_mut() = Some(error);
        }
    }

    /// Whether the evaluation has failed. Values of a failed evaluation are meaningless.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.get()
    }

    /// Returns the failure of the evaluation, if it has failed.
    pub(crate) fn check(&self) -> Result<(), ExecError> {
        match self.failure.borrow().as_ref() {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Clears the failure of a page that ends early and returns its finished rows.
    pub(crate) fn clear_failure(&self) {
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

/// Memory that an expression holds during its evaluation.
#[derive(Debug)]
pub(crate) struct ScopedLease<'a> {
    context: &'a Context<'a>,
    bytes: usize,
}

impl ScopedLease<'_> {
    /// Counts a value; returns false if the limit is exceeded and the evaluation has failed.
    pub(crate) fn add(&mut self, value: &Value) -> bool {
        self.add_bytes(value.allocated_bytes())
    }

    /// Counts a value that the evaluation created. A value borrowed from a document has no memory
    /// of its own.
    #[expect(clippy::ptr_arg, reason = "whether it is borrowed is what matters")]
    pub(crate) fn add_made(&mut self, value: &Cow<'_, Value>) -> bool {
        match value {
            Cow::Owned(value @ (Value::String(_) | Value::Array(_) | Value::Object(_))) => {
                self.add(value)
            }
            _ => !self.context.has_failed(),
        }
    }

    /// Counts bytes; returns false if the evaluation has failed.
    pub(crate) fn add_bytes(&mut self, bytes: usize) -> bool {
        match self.context.ledger.take(bytes) {
            Ok(()) => self.bytes += bytes,
            Err(error) => self.context.fail(error),
        }
        !self.context.has_failed()
    }
}

impl Drop for ScopedLease<'_> {
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
