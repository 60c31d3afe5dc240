//! The reference point of the engine's stack limit.

#![expect(unsafe_code, reason = "the engine has no safe interface for this")]

use rquickjs::{Ctx, qjs};

/// Makes the stack limit count from the present position. An engine that is entered on another
/// thread than before would otherwise compare addresses of different stacks.
pub(crate) fn update_stack_top(ctx: &Ctx<'_>) {
    // SAFETY: `ctx` is a live context whose runtime this thread has locked; the call only stores
    // the present address of the stack in that runtime.
    unsafe { qjs::JS_UpdateStackTop(qjs::JS_GetRuntime(ctx.as_raw().as_ptr())) }
}
