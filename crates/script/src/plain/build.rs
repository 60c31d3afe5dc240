//! Builds database values in the engine.

use std::ffi::c_int;
use std::slice;

use orrery_json::{Number, Object, Value};
use rquickjs::{Ctx, Error, Result, Value as JsValue, qjs};

use super::RawCtx;

const NO_ATOM: qjs::JSAtom = 0;

#[expect(clippy::cast_possible_wrap, reason = "small flags")]
const ORDINARY: c_int = qjs::JS_PROP_C_W_E as c_int;

/// Builds a value of the engine; fails when the engine's memory is exhausted.
pub(crate) fn build<'js>(ctx: &Ctx<'js>, value: &Value) -> Result<JsValue<'js>> {
    // SAFETY: the context is live, and the `Ctx` holds its lock. `build_raw` gives a value that
    // this function owns, and that the `Value` owns from then on.
    unsafe {
        let built = build_raw(ctx.as_raw().as_ptr(), value).ok_or(Error::Exception)?;
        Ok(JsValue::from_raw(ctx.clone(), built))
    }
}

/// `None` when an exception is pending.
unsafe fn build_raw(ctx: RawCtx, value: &Value) -> Option<qjs::JSValue> {
    // SAFETY: as promised by the caller. This function passes every new value to an engine function
    // that takes ownership, also on failure, or frees the value, or returns it.
    unsafe {
        match value {
            Value::Undefined => Some(qjs::JS_UNDEFINED),
            Value::Null => Some(qjs::JS_NULL),
            Value::Bool(true) => Some(qjs::JS_TRUE),
            Value::Bool(false) => Some(qjs::JS_FALSE),
            Value::Number(number) => Some(build_number(*number)),
            Value::String(text) => build_string(ctx, text),
            Value::Array(array) => build_array(ctx, array),
            Value::Object(object) => build_object(ctx, object),
        }
    }
}

fn build_number(number: Number) -> qjs::JSValue {
    if !number.is_finite() {
        return qjs::JS_NULL;
    }
    match number.as_i64().and_then(|value| i32::try_from(value).ok()) {
        Some(value) => qjs::JS_MKVAL(qjs::JS_TAG_INT, value),
        None => qjs::JS_NewFloat64(number.as_f64()),
    }
}

unsafe fn build_string(ctx: RawCtx, text: &str) -> Option<qjs::JSValue> {
    // SAFETY: the text has this many bytes, and the engine copies them.
    let built = unsafe { qjs::JS_NewStringLen(ctx, text.as_ptr().cast(), text.len() as _) };
    // SAFETY: `JS_NewStringLen` has just made the value.
    unsafe { made(built) }
}

/// Builds an array. Its elements stay on the engine's heap until the array owns them, so that a
/// thread that abandons the engine loses no memory.
unsafe fn build_array(ctx: RawCtx, array: &[Value]) -> Option<qjs::JSValue> {
    if array.is_empty() {
        // SAFETY: an array without elements reads none.
        return unsafe { made(qjs::JS_NewArray(ctx)) };
    }
    // SAFETY: the buffer has room for all elements and is freed once. This function owns the
    // finished elements until `JS_NewArrayFrom` takes them over, which that call also does when it
    // fails.
    unsafe {
        let count = c_int::try_from(array.len()).expect("arrays of a request are short");
        let buffer: *mut qjs::JSValue =
            qjs::js_malloc(ctx, (size_of::<qjs::JSValue>() * array.len()) as _).cast();
        if buffer.is_null() {
            return None;
        }
        for (index, element) in array.iter().enumerate() {
            let Some(built) = build_raw(ctx, element) else {
                for built in slice::from_raw_parts(buffer, index) {
                    qjs::JS_FreeValue(ctx, *built);
                }
                qjs::js_free(ctx, buffer.cast());
                return None;
            };
            buffer.add(index).write(built);
        }
        let made = made(qjs::JS_NewArrayFrom(ctx, count, buffer));
        qjs::js_free(ctx, buffer.cast());
        made
    }
}

unsafe fn build_object(ctx: RawCtx, object: &Object) -> Option<qjs::JSValue> {
    // SAFETY: the new object is returned or freed; `JS_DefinePropertyValue` takes the value over
    // in every case and leaves the atom to us.
    unsafe {
        let built = made(qjs::JS_NewObject(ctx))?;
        for (name, value) in object {
            let mut defined = -1;
            let atom = name_atom(ctx, name);
            if atom != NO_ATOM {
                if let Some(value) = build_raw(ctx, value) {
                    defined = qjs::JS_DefinePropertyValue(ctx, built, atom, value, ORDINARY);
                }
                qjs::JS_FreeAtom(ctx, atom);
            }
            if defined < 0 {
                qjs::JS_FreeValue(ctx, built);
                return None;
            }
        }
        Some(built)
    }
}

/// The atom of a name. The engine's direct conversion from bytes would read them as Latin-1.
unsafe fn name_atom(ctx: RawCtx, name: &str) -> qjs::JSAtom {
    // SAFETY: the name has this many bytes; the string between is freed here.
    unsafe {
        if name.is_ascii() {
            return qjs::JS_NewAtomLen(ctx, name.as_ptr().cast(), name.len() as _);
        }
        let Some(text) = build_string(ctx, name) else {
            return NO_ATOM;
        };
        let atom = qjs::JS_ValueToAtom(ctx, text);
        qjs::JS_FreeValue(ctx, text);
        atom
    }
}

unsafe fn made(value: qjs::JSValue) -> Option<qjs::JSValue> {
    // SAFETY: this looks at the tag only.
    let failed = unsafe { qjs::JS_IsException(value) };
    (!failed).then_some(value)
}
