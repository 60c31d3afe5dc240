//! Sessions of user-defined functions: many calls of a few functions, without a host.

use std::rc::Rc;
use std::sync::Arc;

use orrery_json::Value;
use orrery_memory::MemoryShare;
use rquickjs::function::Args;
use rquickjs::{Context, Function, Persistent, Value as JsValue};

use crate::bridge::Bridge;
use crate::bytecode::{self, Bytecode};
use crate::fiber::Fiber;
use crate::heap::Heap;
use crate::runtime::{Runtime, RuntimeShared};
use crate::{ScriptError, convert, sandbox, stack};

/// Stack of a function.
const STACK_BYTES: usize = 256 << 10;

/// Stack beyond it for the engine and this crate, at any depth of the function.
const RESERVE_STACK_BYTES: usize = 1 << 20;

/// The functions of one query in one engine, on the caller's thread.
///
/// The functions share globals with each other and between calls, and share no state with other
/// sessions. The wall time of the options applies to the whole session, so callers open one session
/// per page.
pub struct FunctionSession {
    fiber: Fiber,
    heap: Heap,
    /// `None` after the engine was abandoned.
    live: Option<LiveEngine>,
}

struct LiveEngine {
    // Handles must be dropped before the engine that owns their objects, so this field comes first.
    functions: Vec<Persistent<Function<'static>>>,
    context: Context,
    bridge: Rc<Bridge>,
}

// SAFETY: the session alone owns the engine, its heap, its context, the handles and every clone of
// the `Rc`s between them (the other clones are in closures and in the allocator, which the engine
// owns). So all of them move to another thread together. The engine has no thread-local state: each
// call sets the engine's stack position, and between calls the stack holds no frame of the engine.
// The clock is `Send + Sync`.
#[expect(
    unsafe_code,
    reason = "a query moves between threads, and its functions with it"
)]
unsafe impl Send for FunctionSession {}

impl FunctionSession {
    /// Compiles `sources`, the bodies of functions, which are called by their index. Their memory
    /// is borrowed from `share`.
    pub fn open(
        runtime: &Runtime,
        sources: &[Arc<str>],
        share: &MemoryShare,
    ) -> Result<FunctionSession, ScriptError> {
        let shared = runtime.shared();
        let codes = sources
            .iter()
            .map(|source| shared.compiled(source, share))
            .collect::<Result<Vec<_>, _>>()?;
        let stack_bytes = shared.options.stack_bytes.min(STACK_BYTES);
        let mut session = FunctionSession {
            fiber: Fiber::new(stack_bytes + RESERVE_STACK_BYTES),
            heap: Heap::new(shared.options.heap_bytes, shared.clock.clone()),
            live: None,
        };
        let account = session.heap.account();
        account.open(share).map_err(ScriptError::Memory)?;
        let heap = session.heap.clone();
        let live = session.on_fiber(|_| LiveEngine::new(shared, &heap, stack_bytes, &codes))?;
        session.live = Some(live);
        Ok(session)
    }

    /// Runs `work` on a fiber, so that the engine can be abandoned.
    fn on_fiber<T>(
        &mut self,
        work: impl FnOnce(Option<&LiveEngine>) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        #[expect(unsafe_code, reason = "the engine may be left")]
        // SAFETY: the engine is in `live`, which is forgotten if the thread abandons the engine, or
        // in frames that are abandoned as well. The session holds no lock and has no host.
        let ended = unsafe { self.fiber.run(&self.heap, || work(self.live.as_ref())) };
        match ended {
            Ok(Some(result)) => result,
            Ok(None) => {
                std::mem::forget(self.live.take());
                let left = self.heap.abandon_error();
                // Frames of the abandoned engine keep handles to the heap, so the heap is never
                // dropped and its account must be closed here.
                self.heap.close_account();
                Err(left)
            }
            Err(error) => Err(ScriptError::Engine(error.to_string())),
        }
    }

    /// Lets `console.log` write to the log of [`FunctionSession::take_log`].
    pub fn enable_logging(&mut self) {
        if let Some(live) = &self.live {
            live.bridge.logging.set(true);
        }
    }

    pub fn take_log(&mut self) -> String {
        let log = self.live.as_ref().map(|live| live.bridge.log.take());
        log.unwrap_or_default()
    }

    /// Restarts the wall time.
    pub fn restart_budget(&mut self) {
        if let Some(live) = &self.live {
            live.bridge.restart_budget();
        }
    }

    /// Calls function number `function`; a result that JSON cannot represent is `Undefined`. After
    /// an error of time or memory the session can continue, but should not.
    pub fn call(&mut self, function: usize, arguments: &[Value]) -> Result<Value, ScriptError> {
        self.on_fiber(|live| match live {
            Some(live) => live.call(function, arguments),
            None => Err(ScriptError::OutOfMemory),
        })
    }

    /// Whether the session has used up its time; a query checks this between rows.
    pub fn is_exhausted(&self) -> bool {
        match &self.live {
            Some(live) => live.bridge.stopped().is_some(),
            None => true,
        }
    }
}

impl LiveEngine {
    fn new(
        shared: &RuntimeShared,
        heap: &Heap,
        stack_bytes: usize,
        codes: &[Arc<Bytecode>],
    ) -> Result<LiveEngine, ScriptError> {
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
        Ok(LiveEngine {
            functions,
            context,
            bridge,
        })
    }

    fn call(&self, function: usize, arguments: &[Value]) -> Result<Value, ScriptError> {
        let function = self.functions[function].clone();
        self.context.with(|ctx| {
            stack::update_stack_top(&ctx);
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
