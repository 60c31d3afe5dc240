//! A fresh engine with its limits and the prelude.
//!
//! Every run has its own engine. Heap, globals and prototypes end with it, so nothing must be reset
//! and nothing can leak. The engine is made before its run arrives.

use std::rc::Rc;
use std::sync::Arc;

use rquickjs::context::intrinsic;
use rquickjs::{
    Array, Context, Ctx, Function, Object, Runtime as Engine, String as JsString, Value as JsValue,
};

use crate::bridge::Bridge;
use crate::budget::Budget;
use crate::bytecode;
use crate::compile::engine_error;
use crate::exception;
use crate::heap::Heap;
use crate::natives;
use crate::runtime::RuntimeShared;
use crate::{ScriptError, ScriptException};

/// Without `Eval`: code comes only from bytecode.
type Intrinsics = (
    intrinsic::Date,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
);

/// Creates an engine whose scripts may use `stack_bytes` of their thread's stack.
pub(crate) fn engine(
    shared: &RuntimeShared,
    heap: &Heap,
    stack_bytes: usize,
) -> Result<(Engine, Context, Rc<Bridge>), ScriptError> {
    let options = &shared.options;
    let budget = Budget::new(shared.clock.clone(), options);
    let bridge = Rc::new(Bridge::new(budget, heap.clone(), options));
    let engine = heap.engine().map_err(engine_error)?;
    engine.set_max_stack_size(stack_bytes);
    let watched = Rc::clone(&bridge);
    engine.set_interrupt_handler(Some(Box::new(move || watched.interrupt())));
    let context = Context::custom::<Intrinsics>(&engine).map_err(engine_error)?;
    Ok((engine, context, bridge))
}

/// Loads the part of the prelude for every script; returns its `native` and `core` objects.
pub(crate) fn load_core<'js>(
    ctx: &Ctx<'js>,
    bridge: &Rc<Bridge>,
    shared: &RuntimeShared,
) -> rquickjs::Result<(Object<'js>, Object<'js>)> {
    let natives = natives::core_natives(ctx, bridge, &shared.options)?;
    let prelude = bytecode::evaluate(ctx, &shared.prelude.core)?;
    let core = prelude.get::<Function<'js>>()?.call((natives.clone(),))?;
    Ok((natives, core))
}

/// The JSON text of a body; the prelude does not make a text above the limit.
pub(crate) enum BodyText<'js> {
    Made(JsString<'js>),
    TooLong,
}

/// The prelude functions that drive a run.
pub(crate) struct Sandbox<'js> {
    pub(crate) ctx: Ctx<'js>,
    pub(crate) bridge: Rc<Bridge>,
    begin: Function<'js>,
    next: Function<'js>,
    finish: Function<'js>,
}

impl<'js> Sandbox<'js> {
    pub(crate) fn new(
        ctx: Ctx<'js>,
        bridge: Rc<Bridge>,
        shared: &Arc<RuntimeShared>,
    ) -> Result<Sandbox<'js>, ScriptError> {
        let load = || {
            let (natives, core) = load_core(&ctx, &bridge, shared)?;
            natives::add_host_natives(&ctx, &bridge, shared, &natives)?;
            let prelude = bytecode::evaluate(&ctx, &shared.prelude.context)?;
            let driver: Object<'js> = prelude.get::<Function<'js>>()?.call((natives, core))?;
            Ok((
                driver.get("begin")?,
                driver.get("next")?,
                driver.get("finish")?,
            ))
        };
        bridge.budget.allow_lower_priority();
        let (begin, next, finish) = load().map_err(|error| failure(&ctx, &bridge, &error))?;
        Ok(Sandbox {
            ctx,
            bridge,
            begin,
            next,
            finish,
        })
    }

    /// Installs the context of a run. A run without response properties has no response.
    pub(crate) fn begin(
        &self,
        headers: Array<'js>,
        request: Array<'js>,
        response: Option<Array<'js>>,
    ) -> rquickjs::Result<()> {
        self.begin.call((headers, request, response))
    }

    /// Runs one waiting callback; returns false when none waits.
    pub(crate) fn next(&self) -> rquickjs::Result<bool> {
        self.next.call(())
    }

    /// The JSON texts of the response body and the request body, as far as the script has set them.
    pub(crate) fn finish(
        &self,
    ) -> rquickjs::Result<(Option<BodyText<'js>>, Option<BodyText<'js>>)> {
        let texts: Array<'js> = self.finish.call(())?;
        let text = |index| -> rquickjs::Result<_> {
            let text: JsValue<'js> = texts.get(index)?;
            Ok(match text.into_string() {
                Some(text) => Some(BodyText::Made(text)),
                None if texts.get::<Option<bool>>(index)?.is_some() => Some(BodyText::TooLong),
                None => None,
            })
        };
        Ok((text(0)?, text(1)?))
    }

    pub(crate) fn failure(&self, error: &rquickjs::Error) -> ScriptError {
        failure(&self.ctx, &self.bridge, error)
    }
}

/// The reason for which a call into the engine failed. A stopped run comes first, because the
/// exception is only its consequence.
pub(crate) fn failure(ctx: &Ctx<'_>, bridge: &Bridge, error: &rquickjs::Error) -> ScriptError {
    if let Some(stopped) = bridge.stopped() {
        return stopped;
    }
    if !matches!(error, rquickjs::Error::Exception) && !ctx.has_exception() {
        return ScriptError::Threw(ScriptException {
            text: error.to_string(),
            ..ScriptException::default()
        });
    }
    let exception: JsValue<'_> = ctx.catch();
    let thrown = exception::describe(&exception);
    if ctx.has_exception() {
        // Reading the exception may have thrown another one.
        ctx.catch();
    }
    if let Some(stopped) = bridge.stopped() {
        return stopped;
    }
    if exception::is_out_of_memory(&thrown) {
        ScriptError::OutOfMemory
    } else if exception::is_stack_overflow(&thrown) {
        ScriptError::StackOverflow
    } else {
        ScriptError::Threw(thrown)
    }
}
