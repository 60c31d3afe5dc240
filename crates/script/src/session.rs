//! User-defined functions: many calls of a few functions, without a host.

use std::rc::Rc;
use std::sync::Arc;

use orrery_json::Value;
use rquickjs::function::Args;
use rquickjs::{Context, Function, Persistent, Value as JsValue};

use crate::bridge::Bridge;
use crate::runtime::Runtime;
use crate::sandbox::{self, stopped};
use crate::{ScriptError, bytecode, convert, stack};

/// Stack of a function: the thread is the caller's, and so is the rest of it.
const STACK_BYTES: usize = 256 << 10;

/// The functions of one query, in one engine, on the thread of the caller.
///
/// The functions share globals with each other and from call to call, and with nothing else. The
/// wall time of the options is for the session as a whole: open one for each page.
pub struct FunctionSession {
    // Handles are dropped before the engine that owns what they hold.
    functions: Vec<Persistent<Function<'static>>>,
    context: Context,
    bridge: Rc<Bridge>,
}

// SAFETY: the engine, its context, the handles and every clone of the `Rc`s between them are owned
// by the session alone (the other clones are in closures that the engine owns), so that they all
// move to another thread together. The engine has no thread-local state: it is told its place
// on the stack at each call. The clock is `Send + Sync`.
#[expect(
    unsafe_code,
    reason = "a query moves between threads, and its functions with it"
)]
unsafe impl Send for FunctionSession {}

impl FunctionSession {
    /// Compiles `sources`, the bodies of functions; they are called by their place among them.
    pub fn open(runtime: &Runtime, sources: &[Arc<str>]) -> Result<FunctionSession, ScriptError> {
        let shared = runtime.shared();
        let (_engine, context, bridge) =
            sandbox::engine(shared, shared.options.stack_bytes.min(STACK_BYTES))?;
        let functions = context.with(|ctx| {
            let fail = |error| sandbox::failure(&ctx, &bridge, &error);
            sandbox::load_core(&ctx, &bridge, shared).map_err(fail)?;
            let mut functions = Vec::with_capacity(sources.len());
            for source in sources {
                let code = shared.compiled(source)?;
                let value = bytecode::evaluate(&ctx, &code).map_err(fail)?;
                let function = value.into_function().ok_or(ScriptError::NotAFunction)?;
                functions.push(Persistent::save(&ctx, function));
            }
            Ok(functions)
        })?;
        Ok(FunctionSession {
            functions,
            context,
            bridge,
        })
    }

    /// Lets `console.log` write to [`FunctionSession::take_log`].
    pub fn enable_logging(&mut self) {
        self.bridge.logging.set(true);
    }

    pub fn take_log(&mut self) -> String {
        self.bridge.log.take()
    }

    /// Starts the wall time anew.
    pub fn renew(&mut self) {
        self.bridge.budget.restart();
    }

    /// What function number `function` makes of `arguments`; `Undefined` for what JSON cannot
    /// hold. After an error of time or memory the session may go on, but should not.
    pub fn call(&mut self, function: usize, arguments: &[Value]) -> Result<Value, ScriptError> {
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
                convert::from_js(&ctx, &value)
            };
            call().map_err(|error| sandbox::failure(&ctx, &self.bridge, &error))
        })
    }

    /// Whether the session has used up its time; a query asks between rows.
    pub fn is_exhausted(&self) -> bool {
        stopped(&self.bridge).is_some()
    }
}
