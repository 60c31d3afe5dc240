//! The state that an engine and its Rust driver share: the run, its host, its budget and its log.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;
use std::time::Duration;

use rquickjs::{Ctx, Error, Exception, Result, Value as JsValue};

use crate::answer::{HostResult, WriteResult};
use crate::budget::Budget;
use crate::copy_counter::{MemoryLease, Refusal};
use crate::exception;
use crate::heap::Heap;
use crate::submission::ScriptRun;
use crate::{Host, ScriptError, ScriptException, ScriptOptions};

/// The state that the native functions of one engine share with the Rust code that drives it.
pub(crate) struct Bridge {
    pub(crate) budget: Budget,
    heap: Heap,
    /// Whether the memory limit has stopped the run.
    memory_is_out: Cell<bool>,
    /// The present run, held weakly: the thread that serves it owns it. Functions of queries have
    /// no run and no host.
    pub(crate) run: RefCell<Option<Weak<dyn ScriptRun>>>,
    pub(crate) logging: Cell<bool>,
    pub(crate) log: RefCell<String>,
    pub(crate) aborted: RefCell<Option<ScriptException>>,
    pub(crate) host_panicked: Cell<bool>,
    log_bytes_max: usize,
    value_bytes_max: usize,
    /// Deadline after which the heap grants the engine no further blocks.
    time_max: Duration,
}

impl Bridge {
    pub(crate) fn new(budget: Budget, heap: Heap, options: &ScriptOptions) -> Bridge {
        Bridge {
            budget,
            heap,
            memory_is_out: Cell::default(),
            run: RefCell::default(),
            logging: Cell::default(),
            log: RefCell::default(),
            aborted: RefCell::default(),
            host_panicked: Cell::default(),
            log_bytes_max: options.log_bytes,
            value_bytes_max: options.value_bytes,
            time_max: options.wall_time + options.abandon_time,
        }
    }

    pub(crate) fn heap(&self) -> &Heap {
        &self.heap
    }

    /// Memory limit of one value outside of the heap.
    pub(crate) fn value_bytes_max(&self) -> usize {
        self.value_bytes_max
    }

    /// Restarts the time and memory limits for a new run.
    pub(crate) fn restart_budget(&self) {
        self.budget.restart();
        self.heap.set_deadline(self.time_max);
        self.memory_is_out.set(false);
    }

    /// Whether the engine must stop. The engine's interrupt handler calls this.
    pub(crate) fn interrupt(&self) -> bool {
        if self.heap.is_above_limit() {
            self.memory_is_out.set(true);
        }
        // The watchdog has already answered for this run, so its script must not continue.
        if self.heap.is_given_up() {
            self.budget.halt();
        }
        self.budget.interrupt() || self.memory_is_out.get()
    }

    /// The reason for which the run must end. A script can catch an error, but it cannot clear this
    /// state.
    pub(crate) fn stopped(&self) -> Option<ScriptError> {
        if self.host_panicked.get() {
            return Some(ScriptError::HostPanicked);
        }
        if let Some(reason) = self.aborted.borrow().as_ref() {
            return Some(ScriptError::Aborted(reason.clone()));
        }
        if let Some(refusal) = self.heap.account().refusal() {
            return Some(ScriptError::Memory(refusal));
        }
        if self.memory_is_out.get() {
            return Some(ScriptError::OutOfMemory);
        }
        self.budget.is_exhausted().then_some(ScriptError::TimedOut)
    }

    /// Appends to the log; returns false when the log is full.
    pub(crate) fn append_log(&self, text: &str) -> bool {
        let mut log = self.log.borrow_mut();
        let fits = log.len() + text.len() <= self.log_bytes_max;
        if fits {
            log.push_str(text);
        }
        fits
    }

    /// Records that the script has aborted itself, and stops it. The first reason counts.
    pub(crate) fn abort(&self, value: &JsValue<'_>) {
        let reason = exception::describe(value);
        self.aborted.borrow_mut().get_or_insert(reason);
        self.budget.halt();
    }

    /// Calls the host. A panic of the host ends the run, and so does a missing host.
    pub(crate) fn host<T>(
        &self,
        ctx: &Ctx<'_>,
        call: impl FnOnce(&mut dyn Host) -> T,
    ) -> Result<T> {
        // The watchdog may have taken the host, so each call upgrades the run again.
        let run = self.run.borrow().as_ref().and_then(Weak::upgrade);
        let mut call = Some(call);
        let mut result = None;
        if let Some(run) = run
            && !self.host_panicked.get()
        {
            run.with_host(&mut |host| {
                if let Some(call) = call.take() {
                    result = Some(catch_unwind(AssertUnwindSafe(|| call(host))));
                }
            });
        }
        match result {
            Some(Ok(value)) => Ok(value),
            Some(Err(_)) => {
                self.host_panicked.set(true);
                Err(self.stop(ctx))
            }
            None => Err(self.stop(ctx)),
        }
    }

    /// Carries out a write in one call of the host; `None` if the write is not accepted.
    pub(crate) fn write<T>(
        &self,
        ctx: &Ctx<'_>,
        work: impl FnOnce(&mut dyn Host) -> HostResult<T>,
    ) -> Result<Option<WriteResult<T>>> {
        if !self.budget.accepts() {
            return Ok(None);
        }
        self.host(ctx, |host| {
            host.accepts()
                .then(|| work(host).map(|done| (done, host.collection_size())))
        })
    }

    /// Counts bytes that are copied as a whole, until the lease is dropped.
    pub(crate) fn lease(&self, ctx: &Ctx<'_>, what: &str, bytes: usize) -> Result<MemoryLease> {
        let mut held = MemoryLease::new(&self.heap);
        if bytes > self.value_bytes_max {
            return Err(self.refused(ctx, Refusal::TooLarge, what));
        }
        if !held.grow(bytes) {
            return Err(self.refused(ctx, Refusal::RunEnded, what));
        }
        Ok(held)
    }

    /// The script's error for a value that the bridge does not copy.
    pub(crate) fn refused(&self, ctx: &Ctx<'_>, refusal: Refusal, what: &str) -> Error {
        match refusal {
            Refusal::RunEnded => self.stop(ctx),
            Refusal::TooLarge => {
                let max = self.value_bytes_max;
                let message = format!(
                    "{what} takes more than {max} bytes of memory, which one value may take."
                );
                too_large(ctx, &message)
            }
        }
    }

    /// Stops the run. The exception unwinds the script; `halt` stops a script that catches it.
    fn stop(&self, ctx: &Ctx<'_>) -> Error {
        self.budget.halt();
        Exception::throw_internal(ctx, "the run is over")
    }

    /// Fails when the run must end. Native functions call this when they may run long between two
    /// interrupts of the engine.
    pub(crate) fn check(&self, ctx: &Ctx<'_>) -> Result<()> {
        if self.interrupt() {
            return Err(self.stop(ctx));
        }
        Ok(())
    }

    pub(crate) fn log_bytes_max(&self) -> usize {
        self.log_bytes_max
    }

    /// Whether the script may start another operation: time and charge are left.
    pub(crate) fn accepted(&self, ctx: &Ctx<'_>) -> Result<bool> {
        Ok(self.budget.accepts() && self.host(ctx, |host| host.accepts())?)
    }
}

/// An error with the number 413, by which scripts recognise an excessive size.
pub(crate) fn too_large(ctx: &Ctx<'_>, message: &str) -> Error {
    const REQUEST_ENTITY_TOO_LARGE: i32 = 413;
    let thrown = Exception::from_message(ctx.clone(), message).and_then(|error| {
        error
            .as_object()
            .set("number", REQUEST_ENTITY_TOO_LARGE)
            .map(|()| error)
    });
    match thrown {
        Ok(error) => error.throw(),
        Err(error) => error,
    }
}
