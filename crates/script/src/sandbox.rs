//! A fresh engine with its limits set and the prelude loaded.
//!
//! Every run gets an engine of its own: heap, globals and prototypes end with it, so that there is
//! nothing to reset and nothing to leak. An engine is made before the run that needs it arrives.

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
use crate::heap::Heap;
use crate::natives;
use crate::runtime::Shared;
use crate::thrown;
use crate::{ScriptError, Thrown};

/// No `Eval`: code comes only from bytecode.
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

/// An engine whose scripts may use `stack_bytes` of the thread they run on.
pub(crate) fn engine(
    shared: &Shared,
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

/// Loads what every script has; gives the `native` and `core` of the prelude.
pub(crate) fn load_core<'js>(
    ctx: &Ctx<'js>,
    bridge: &Rc<Bridge>,
    shared: &Shared,
) -> rquickjs::Result<(Object<'js>, Object<'js>)> {
    let natives = natives::core_natives(ctx, bridge, &shared.options)?;
    let prelude = bytecode::evaluate(ctx, &shared.prelude.core)?;
    let core = prelude.get::<Function<'js>>()?.call((natives.clone(),))?;
    Ok((natives, core))
}

/// The JSON text of a body; the prelude makes no text that would be too long.
pub(crate) enum BodyText<'js> {
    Made(JsString<'js>),
    TooLong,
}

/// The functions by which the prelude is driven.
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
        shared: &Arc<Shared>,
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
        bridge.budget.own_thread();
        let (begin, next, finish) = load().map_err(|error| failure(&ctx, &bridge, &error))?;
        Ok(Sandbox {
            ctx,
            bridge,
            begin,
            next,
            finish,
        })
    }

    /// Installs the context of a run. Without properties of a response there is no response.
    pub(crate) fn begin(
        &self,
        headers: Array<'js>,
        request: Array<'js>,
        response: Option<Array<'js>>,
    ) -> rquickjs::Result<()> {
        self.begin.call((headers, request, response))
    }

    /// Runs one callback; false when none is waiting.
    pub(crate) fn next(&self) -> rquickjs::Result<bool> {
        self.next.call(())
    }

    /// JSON texts of the response body and of the request body, where the script set them.
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

/// Why a call into the engine failed, the first cause first.
pub(crate) fn failure(ctx: &Ctx<'_>, bridge: &Bridge, error: &rquickjs::Error) -> ScriptError {
    if let Some(stopped) = bridge.stopped() {
        return stopped;
    }
    if !matches!(error, rquickjs::Error::Exception) && !ctx.has_exception() {
        return ScriptError::Threw(Thrown {
            text: error.to_string(),
            ..Thrown::default()
        });
    }
    let exception: JsValue<'_> = ctx.catch();
    let thrown = thrown::describe(&exception);
    if ctx.has_exception() {
        // Reading what was thrown may throw as well.
        ctx.catch();
    }
    if let Some(stopped) = bridge.stopped() {
        return stopped;
    }
    if thrown::is_out_of_memory(&thrown) {
        ScriptError::OutOfMemory
    } else if thrown::is_stack_overflow(&thrown) {
        ScriptError::StackOverflow
    } else {
        ScriptError::Threw(thrown)
    }
}
