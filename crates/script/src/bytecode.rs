//! Compiled scripts as bytes that any engine of this process can load.
//!
//! The engine has no safe interface for the bytecode of plain scripts, so this file uses the unsafe
//! one. The engine trusts bytecode. Therefore engines read bytecode only from a [`Bytecode`], and
//! only [`compile`] makes one.

#![expect(
    unsafe_code,
    reason = "the engine's bytecode of scripts has no safe interface"
)]

use std::ffi::CStr;
use std::slice;

use rquickjs::{Ctx, Error, Value, qjs};

/// A compiled script. Only [`compile`] makes one.
pub(crate) struct Bytecode(Box<[u8]>);

impl Bytecode {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Whether stack traces and `Function.prototype.toString` keep the source text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceRetention {
    Kept,
    Stripped,
}

/// Compiles `text` without running it. A syntax error remains as the pending exception.
pub(crate) fn compile(
    ctx: &Ctx<'_>,
    text: &CStr,
    file: &CStr,
    source: SourceRetention,
) -> Result<Bytecode, Error> {
    let flags = qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
    let mut strip = qjs::JS_WRITE_OBJ_BYTECODE;
    if source == SourceRetention::Stripped {
        strip |= qjs::JS_WRITE_OBJ_STRIP_SOURCE | qjs::JS_WRITE_OBJ_STRIP_DEBUG;
    }
    // SAFETY: `ctx` is a live context whose runtime lock the `Ctx` holds. Both strings end in NUL
    // and outlive the calls; the length excludes the NUL, as `JS_Eval` wants. `JS_Eval` gives an
    // owned value, which is freed exactly once after it was written. `JS_WriteObject` gives a
    // buffer of `length` bytes of the context's allocator, which is copied and freed once.
    unsafe {
        let raw = ctx.as_raw().as_ptr();
        #[expect(clippy::cast_possible_wrap, reason = "two small flags")]
        let compiled = qjs::JS_Eval(
            raw,
            text.as_ptr(),
            text.to_bytes().len() as _,
            file.as_ptr(),
            flags as i32,
        );
        if qjs::JS_IsException(compiled) {
            return Err(Error::Exception);
        }
        let mut length = 0;
        #[expect(clippy::cast_possible_wrap, reason = "two small flags")]
        let buffer = qjs::JS_WriteObject(raw, &raw mut length, compiled, strip as i32);
        qjs::JS_FreeValue(raw, compiled);
        if buffer.is_null() {
            return Err(Error::Exception);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::useless_conversion,
            reason = "a length of memory, whose type differs between targets"
        )]
        let bytes = slice::from_raw_parts(buffer, u64::from(length) as usize).into();
        qjs::js_free(raw, buffer.cast());
        Ok(Bytecode(bytes))
    }
}

/// Runs a compiled script and returns its value.
pub(crate) fn evaluate<'js>(ctx: &Ctx<'js>, code: &Bytecode) -> Result<Value<'js>, Error> {
    // SAFETY: `ctx` is live and locked as above. The bytes were written by `JS_WriteObject` of the
    // same engine build, because `Bytecode` has no other maker. `JS_ReadObject` copies what it
    // needs; `JS_EvalFunction` takes ownership of `function` and gives an owned value, which
    // `Value` then owns.
    unsafe {
        let raw = ctx.as_raw().as_ptr();
        #[expect(clippy::cast_possible_wrap, reason = "a small flag")]
        let function = qjs::JS_ReadObject(
            raw,
            code.0.as_ptr(),
            code.0.len() as _,
            qjs::JS_READ_OBJ_BYTECODE as i32,
        );
        if qjs::JS_IsException(function) {
            return Err(Error::Exception);
        }
        let value = qjs::JS_EvalFunction(raw, function);
        if qjs::JS_IsException(value) {
            return Err(Error::Exception);
        }
        Ok(Value::from_raw(ctx.clone(), value))
    }
}
