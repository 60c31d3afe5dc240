//! Where the engine measures its stack from.

#![expect(unsafe_code, reason = "the engine has no safe interface for this")]

use rquickjs::{Ctx, qjs};

/// Makes the limit of the stack count from here on. An engine that is entered on another thread
/// than the last time would compare places on different stacks.
pub(crate) fn measure_from_here(ctx: &Ctx<'_>) {
    // SAFETY: `ctx` is a live context whose runtime this thread has locked; the call only stores
    // the present address of the stack in that runtime.
    unsafe { qjs::JS_UpdateStackTop(qjs::JS_GetRuntime(ctx.as_raw().as_ptr())) }
}
