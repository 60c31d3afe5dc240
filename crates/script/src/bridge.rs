//! Where an engine and the Rust that drives it meet: the run, its host, its budget, its log.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;
use std::time::Duration;

use rquickjs::{Ctx, Error, Exception, Result, Value as JsValue};

use crate::answer::{Outcome, Written};
use crate::budget::Budget;
use crate::crossing::{Held, Refusal};
use crate::heap::Heap;
use crate::slot::Run;
use crate::thrown;
use crate::{Host, ScriptError, ScriptOptions, Thrown};

/// What the native functions of one engine share with the Rust that drives it.
pub(crate) struct Bridge {
    pub(crate) budget: Budget,
    heap: Heap,
    /// The script was stopped because of its memory.
    memory_is_out: Cell<bool>,
    /// The run that the engine serves; whoever gave it to the engine has it. Functions of queries
    /// have none, and no host.
    pub(crate) run: RefCell<Option<Weak<dyn Run>>>,
    pub(crate) logging: Cell<bool>,
    pub(crate) log: RefCell<String>,
    pub(crate) aborted: RefCell<Option<Thrown>>,
    pub(crate) host_panicked: Cell<bool>,
    log_bytes_max: usize,
    value_bytes_max: usize,
    /// How long the engine may want blocks.
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

    /// What one value may take outside of the heap.
    pub(crate) fn value_bytes_max(&self) -> usize {
        self.value_bytes_max
    }

    /// Gives a new run its time and its memory.
    pub(crate) fn restart(&self) {
        self.budget.restart();
        self.heap.set_deadline(self.time_max);
        self.memory_is_out.set(false);
    }

    /// Whether the engine must stop: called by its interrupt handler.
    pub(crate) fn interrupt(&self) -> bool {
        if self.heap.is_over() {
            self.memory_is_out.set(true);
        }
        if self.heap.is_given_up() {
            self.budget.halt();
        }
        self.budget.interrupt() || self.memory_is_out.get()
    }

    /// Why the run must not go on, whatever the script does about it.
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

    /// Adds to the log; false when it has no room.
    pub(crate) fn append_log(&self, text: &str) -> bool {
        let mut log = self.log.borrow_mut();
        let fits = log.len() + text.len() <= self.log_bytes_max;
        if fits {
            log.push_str(text);
        }
        fits
    }

    pub(crate) fn abort(&self, value: &JsValue<'_>) {
        let reason = thrown::describe(value);
        self.aborted.borrow_mut().get_or_insert(reason);
        self.budget.halt();
    }

    /// Calls the host. A host that panicked or was taken away ends the run.
    pub(crate) fn host<T>(
        &self,
        ctx: &Ctx<'_>,
        call: impl FnOnce(&mut dyn Host) -> T,
    ) -> Result<T> {
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

    /// Does a write in one call of the host; none when it is not accepted.
    pub(crate) fn write<T>(
        &self,
        ctx: &Ctx<'_>,
        work: impl FnOnce(&mut dyn Host) -> Outcome<T>,
    ) -> Result<Option<Written<T>>> {
        if !self.budget.accepts() {
            return Ok(None);
        }
        self.host(ctx, |host| {
            host.accepts()
                .then(|| work(host).map(|done| (done, host.collection_size())))
        })
    }

    /// Counts bytes that are copied as a whole, until what this gives is dropped.
    pub(crate) fn hold(&self, ctx: &Ctx<'_>, what: &str, bytes: usize) -> Result<Held> {
        let mut held = Held::new(&self.heap);
        if bytes > self.value_bytes_max {
            return Err(self.refused(ctx, Refusal::TooLarge, what));
        }
        if !held.grow(bytes) {
            return Err(self.refused(ctx, Refusal::Over, what));
        }
        Ok(held)
    }

    /// The error that the script gets for a value that the bridge does not copy.
    pub(crate) fn refused(&self, ctx: &Ctx<'_>, refusal: Refusal, what: &str) -> Error {
        match refusal {
            Refusal::Over => self.stop(ctx),
            Refusal::TooLarge => {
                let max = self.value_bytes_max;
                let message = format!(
                    "{what} takes more than {max} bytes of memory, which one value may take."
                );
                too_large(ctx, &message)
            }
        }
    }

    fn stop(&self, ctx: &Ctx<'_>) -> Error {
        self.budget.halt();
        Exception::throw_internal(ctx, "the run is over")
    }

    /// Fails when the run must not go on: for functions that may take long between two questions of the
    /// engine.
    pub(crate) fn check(&self, ctx: &Ctx<'_>) -> Result<()> {
        if self.interrupt() {
            return Err(self.stop(ctx));
        }
        Ok(())
    }

    pub(crate) fn log_bytes_max(&self) -> usize {
        self.log_bytes_max
    }

    pub(crate) fn accepted(&self, ctx: &Ctx<'_>) -> Result<bool> {
        Ok(self.budget.accepts() && self.host(ctx, |host| host.accepts())?)
    }
}

/// An error with the number 413, by which scripts recognize what is too large.
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
