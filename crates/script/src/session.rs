//! User-defined functions: many calls of a few functions, without a host.

use std::rc::Rc;
use std::sync::Arc;

use orrery_json::Value;
use orrery_memory::Share;
use rquickjs::function::Args;
use rquickjs::{Context, Function, Persistent, Value as JsValue};

use crate::aside::Aside;
use crate::bridge::Bridge;
use crate::bytecode::{self, Bytecode};
use crate::heap::Heap;
use crate::runtime::{Runtime, Shared};
use crate::{ScriptError, convert, sandbox, stack};

/// Stack of a function.
const STACK_BYTES: usize = 256 << 10;

/// Room beyond it, for what the engine and this crate do wherever the function is.
const RESERVE_STACK_BYTES: usize = 1 << 20;

/// The functions of one query, in one engine, on the thread of the caller.
///
/// The functions share globals with each other and from call to call, and with nothing else. The
/// wall time of the options is for the session as a whole: open one for each page.
pub struct FunctionSession {
    aside: Aside,
    heap: Heap,
    /// None when the engine had to be left.
    live: Option<Live>,
}

struct Live {
    // Handles are dropped before the engine that owns what they hold.
    functions: Vec<Persistent<Function<'static>>>,
    context: Context,
    bridge: Rc<Bridge>,
}

// SAFETY: the engine, its heap, its context, the handles and every clone of the `Rc`s between them are
// owned by the session alone (the other clones are in closures and the allocator that the engine
// owns), so that they all move to another thread together. The engine has no thread-local state: it is
// told its place on the stack at each call, and between calls there is nothing on that stack. The
// clock is `Send + Sync`.
#[expect(
    unsafe_code,
    reason = "a query moves between threads, and its functions with it"
)]
unsafe impl Send for FunctionSession {}

impl FunctionSession {
    /// Compiles `sources`, the bodies of functions; they are called by their place among them.
    /// Their memory is borrowed from `share`.
    pub fn open(
        runtime: &Runtime,
        sources: &[Arc<str>],
        share: &Share,
    ) -> Result<FunctionSession, ScriptError> {
        let shared = runtime.shared();
        let codes = sources
            .iter()
            .map(|source| shared.compiled(source, share))
            .collect::<Result<Vec<_>, _>>()?;
        let stack_bytes = shared.options.stack_bytes.min(STACK_BYTES);
        let mut session = FunctionSession {
            aside: Aside::new(stack_bytes + RESERVE_STACK_BYTES),
            heap: Heap::new(shared.options.heap_bytes, shared.clock.clone()),
            live: None,
        };
        let account = session.heap.account();
        account.open(share).map_err(ScriptError::Memory)?;
        let heap = session.heap.clone();
        let live = session.aside(|_| Live::new(shared, &heap, stack_bytes, &codes))?;
        session.live = Some(live);
        Ok(session)
    }

    /// Runs `work` where the engine can be left.
    fn aside<T>(
        &mut self,
        work: impl FnOnce(Option<&Live>) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        #[expect(unsafe_code, reason = "the engine may be left")]
        // SAFETY: the engine is in `live`, which is forgotten if it is left, or in frames that are.
        // Nothing is locked, and there is no host.
        let ended = unsafe { self.aside.run(&self.heap, || work(self.live.as_ref())) };
        match ended {
            Ok(Some(result)) => result,
            Ok(None) => {
                std::mem::forget(self.live.take());
                let left = self.heap.why_left();
                // The frames that the thread has left keep handles to the heap, so the heap is not
                // dropped and its account must be closed here.
                self.heap.close_account();
                Err(left)
            }
            Err(error) => Err(ScriptError::Engine(error.to_string())),
        }
    }

    /// Lets `console.log` write to [`FunctionSession::take_log`].
    pub fn enable_logging(&mut self) {
        if let Some(live) = &self.live {
            live.bridge.logging.set(true);
        }
    }

    pub fn take_log(&mut self) -> String {
        let log = self.live.as_ref().map(|live| live.bridge.log.take());
        log.unwrap_or_default()
    }

    /// Starts the wall time anew.
    pub fn renew(&mut self) {
        if let Some(live) = &self.live {
            live.bridge.restart();
        }
    }

    /// What function number `function` makes of `arguments`; `Undefined` for what JSON cannot
    /// hold. After an error of time or memory the session may go on, but should not.
    pub fn call(&mut self, function: usize, arguments: &[Value]) -> Result<Value, ScriptError> {
        self.aside(|live| match live {
            Some(live) => live.call(function, arguments),
            None => Err(ScriptError::OutOfMemory),
        })
    }

    /// Whether the session has used up its time; a query asks between rows.
    pub fn is_exhausted(&self) -> bool {
        match &self.live {
            Some(live) => live.bridge.stopped().is_some(),
            None => true,
        }
    }
}

impl Live {
    fn new(
        shared: &Shared,
        heap: &Heap,
        stack_bytes: usize,
        codes: &[Arc<Bytecode>],
    ) -> Result<Live, ScriptError> {
        let (_engine, context, bridge) = sandbox::engine(shared, heap, stack_bytes)?;
        let functions = context.with(|ctx| {
            let fail = |error| sandbox::failure(&ctx, &bridge, &error);
            sandbox::load_core(&ctx, &bridge, shared).map_err(fail)?;
            let mut functions = Vec::with_capacity(codes.len());
            for code in codes {
                let value = bytecode::evaluate(&ctx, code).map_err(fail)?;
                let function = value.into_function().ok_or(ScriptError::NotAFunction)?;
                functions.push(Persistent::save(&ctx, function));
            }
            Ok(functions)
        })?;
        Ok(Live {
            functions,
            context,
            bridge,
        })
    }

    fn call(&self, function: usize, arguments: &[Value]) -> Result<Value, ScriptError> {
        let function = self.functions[function].clone();
        self.context.with(|ctx| {
            stack::measure_from_here(&ctx);
            let call = || {
                let function = function.restore(&ctx)?;
                let mut args = Args::new(ctx.clone(), arguments.len());
                for argument in arguments {
                    args.push_arg(convert::to_js(&ctx, argument)?)?;
                }
                let value: JsValue<'_> = args.apply(&function)?;
                convert::from_js(&ctx, &self.bridge, &value, "The value of the function")
            };
            call().map_err(|error| sandbox::failure(&ctx, &self.bridge, &error))
        })
    }
}
