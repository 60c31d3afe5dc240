//! What one evaluation may cost, and why it stopped.
//!
//! Expressions give values, not results: what fails inside one (a subquery with two rows, a time
//! limit) is noted here once, the expression goes on as undefined, and whoever drives the rows
//! asks before it uses them.

use std::cell::{Cell, RefCell};
use std::fmt;

use orrery_json::Value;

use crate::size::size_of;
use crate::{ExecError, FunctionError, Functions};

/// Steps between two looks at the clock of the caller.
const STEPS_PER_LOOK: u64 = 1024;

/// The same for calls of user-defined functions, each of which may take long.
const CALLS_PER_LOOK: u64 = 16;

/// Bytes of values that an evaluation may hold at one time, so that `CONCAT(a, a)` repeated does
/// not take all memory. It is several times the largest document.
const HELD_BYTES_MAX: usize = 64 << 20;

/// Rows that the sources and subqueries of one document may make.
pub(crate) const DOCUMENT_STEPS_MAX: u64 = 10_000_000;

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
    document_steps_max: Cell<u64>,
    held_bytes: Cell<usize>,
    failed: Cell<bool>,
    failure: RefCell<Option<ExecError>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(deadline: Option<&'a dyn Fn() -> bool>, now_ticks: i64) -> Context<'a> {
        Context {
            deadline,
            now_ticks,
            parameters: &[],
            functions: None,
            function_names: &[],
            calls: Cell::new(0),
            times: Cell::new(1),
            steps: Cell::new(0),
            document_steps_max: Cell::new(DOCUMENT_STEPS_MAX),
            held_bytes: Cell::new(0),
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
        if calls.is_multiple_of(CALLS_PER_LOOK) && self.deadline.is_some_and(|is_over| is_over()) {
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
            });
            Value::Undefined
        })
    }

    /// One row of some loop; false when the evaluation has to end.
    pub(crate) fn step(&self) -> bool {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps.is_multiple_of(STEPS_PER_LOOK) && self.deadline.is_some_and(|is_over| is_over()) {
            self.fail(ExecError::Timeout);
        }
        if steps > self.document_steps_max.get() {
            self.fail(ExecError::LimitExceeded {
                what: "rows made of one document",
                limit: DOCUMENT_STEPS_MAX,
            });
        }
        !self.failed.get()
    }

    /// An account of values that are about to be kept in memory, empty so far.
    pub(crate) fn hold(&self) -> Held<'_> {
        Held {
            context: self,
            bytes: 0,
        }
    }

    pub(crate) fn begin_document(&self) {
        self.document_steps_max
            .set(self.steps.get() + DOCUMENT_STEPS_MAX);
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

/// Bytes that are given back when it goes.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    context: &'a Context<'a>,
    bytes: usize,
}

impl Held<'_> {
    /// Counts a value; false when there is too much, and the evaluation has failed.
    pub(crate) fn add(&mut self, value: &Value) -> bool {
        let bytes = size_of(value);
        self.bytes += bytes;
        let held = self.context.held_bytes.get() + bytes;
        self.context.held_bytes.set(held);
        if held > HELD_BYTES_MAX {
            self.context.fail(ExecError::LimitExceeded {
                what: "bytes of values at one time",
                limit: HELD_BYTES_MAX as u64,
            });
        }
        !self.context.has_failed()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let held = &self.context.held_bytes;
        held.set(held.get().saturating_sub(self.bytes));
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
