//! Recognises plain objects and arrays of the engine.

use std::ffi::c_int;
use std::{ptr, slice};

use rquickjs::{Ctx, Value as JsValue, qjs};

use super::{PlainFailure, RawCtx};

/// The class ids of `{}` and `[]`; the engine numbers these classes first.
const CLASS_OBJECT: qjs::JSClassID = 1;
const CLASS_ARRAY: qjs::JSClassID = 2;

const NO_ATOM: qjs::JSAtom = 0;

#[expect(clippy::cast_possible_wrap, reason = "small flags")]
const ACCESSOR: c_int = qjs::JS_PROP_GETSET as c_int;
#[expect(clippy::cast_possible_wrap, reason = "small flags")]
const NAMES: c_int = (qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_ENUM_ONLY) as c_int;

/// The prototypes of plain objects and arrays, looked up once per value. No script code runs while
/// a value is read, so the prototypes stay unchanged.
pub(super) struct Prototypes {
    pub(super) ctx: RawCtx,
    object_prototype: qjs::JSValue,
    array_prototype: qjs::JSValue,
    to_json: qjs::JSAtom,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PlainKind {
    Object,
    Array,
}

impl Drop for Prototypes {
    fn drop(&mut self) {
        // SAFETY: the three were taken by `new` and are owned here.
        unsafe {
            qjs::JS_FreeValue(self.ctx, self.object_prototype);
            qjs::JS_FreeValue(self.ctx, self.array_prototype);
            qjs::JS_FreeAtom(self.ctx, self.to_json);
        }
    }
}

/// SAFETY of the functions below: the context is live and locked by the caller for as long as the
/// prototypes are, and values belong to it.
impl Prototypes {
    /// `None` when a script has given all objects or all arrays a `toJSON`.
    pub(super) unsafe fn new(ctx: RawCtx) -> Option<Prototypes> {
        // SAFETY: the context is live; prototypes come as owned values.
        unsafe {
            let prototypes = Prototypes {
                ctx,
                object_prototype: qjs::JS_GetClassProto(ctx, CLASS_OBJECT),
                array_prototype: qjs::JS_GetClassProto(ctx, CLASS_ARRAY),
                to_json: qjs::JS_NewAtomLen(ctx, c"toJSON".as_ptr(), 6),
            };
            if prototypes.to_json == NO_ATOM {
                prototypes.forget_exception();
                return None;
            }
            let (object, array) = (prototypes.object_prototype, prototypes.array_prototype);
            let usual = prototypes.inherits(array, object)
                && prototypes.inherits(object, qjs::JS_NULL)
                && prototypes.lacks_to_json(object)
                && prototypes.lacks_to_json(array);
            usual.then_some(prototypes)
        }
    }

    /// The kind of an object, if it is plain.
    pub(super) unsafe fn of(&self, object: qjs::JSValue) -> Option<PlainKind> {
        // SAFETY: `object` is one, and an object of these two classes is no proxy.
        unsafe {
            match qjs::JS_GetClassID(object) {
                CLASS_OBJECT if self.inherits(object, self.object_prototype) => {
                    Some(PlainKind::Object)
                }
                CLASS_ARRAY if self.inherits(object, self.array_prototype) => {
                    Some(PlainKind::Array)
                }
                _ => None,
            }
        }
    }

    unsafe fn lacks_to_json(&self, object: qjs::JSValue) -> bool {
        // SAFETY: both prototypes are ordinary objects, whose properties are looked up without
        // running anything; no descriptor is asked for.
        unsafe { qjs::JS_GetOwnProperty(self.ctx, ptr::null_mut(), object, self.to_json) == 0 }
    }

    /// `object` must not be a proxy.
    unsafe fn inherits(&self, object: qjs::JSValue, prototype: qjs::JSValue) -> bool {
        // SAFETY: tags are compared before pointers; what `JS_GetPrototype` gives is freed.
        unsafe {
            let found = qjs::JS_GetPrototype(self.ctx, object);
            let tag = qjs::JS_VALUE_GET_TAG(found);
            let same = tag == qjs::JS_VALUE_GET_TAG(prototype)
                && (tag == qjs::JS_TAG_NULL
                    || qjs::JS_VALUE_GET_PTR(found) == qjs::JS_VALUE_GET_PTR(prototype));
            qjs::JS_FreeValue(self.ctx, found);
            same
        }
    }

    /// Passes the property names that JSON represents of a plain object to `work`.
    pub(super) unsafe fn names<T>(
        &self,
        object: qjs::JSValue,
        work: impl FnOnce(&[qjs::JSPropertyEnum]) -> Result<T, PlainFailure>,
    ) -> Result<T, PlainFailure> {
        // SAFETY: the engine gives a table of `count` names, which is freed with its atoms before
        // this ends, whatever `work` comes to. An empty table may be null.
        unsafe {
            let mut names = ptr::null_mut();
            let mut count = 0;
            let status = qjs::JS_GetOwnPropertyNames(
                self.ctx,
                &raw mut names,
                &raw mut count,
                object,
                NAMES,
            );
            if status < 0 {
                self.forget_exception();
                return Err(PlainFailure::NotPlain);
            }
            let table = if names.is_null() {
                &[]
            } else {
                slice::from_raw_parts(names, count as usize)
            };
            let result = if table.iter().any(|name| name.atom == self.to_json) {
                Err(PlainFailure::NotPlain)
            } else {
                work(table)
            };
            qjs::JS_FreePropertyEnum(self.ctx, names, count);
            result
        }
    }

    /// The length of a plain array.
    pub(super) unsafe fn length(&self, array: qjs::JSValue) -> Result<u32, PlainFailure> {
        // SAFETY: the length of an array is its own data.
        unsafe {
            let mut length = 0;
            if qjs::JS_GetLength(self.ctx, array, &raw mut length) < 0 {
                self.forget_exception();
                return Err(PlainFailure::NotPlain);
            }
            // A longer array is not plain: only indexes below 2^31 are atoms without own memory.
            let length = u32::try_from(length).ok();
            length
                .filter(|length| *length >> 31 == 0)
                .ok_or(PlainFailure::NotPlain)
        }
    }

    /// Passes the value of an own property to `work`. A property computed by code is not plain, and
    /// neither is a hole in an array.
    pub(super) unsafe fn own<T>(
        &self,
        object: qjs::JSValue,
        name: qjs::JSAtom,
        work: impl FnOnce(qjs::JSValue) -> Result<T, PlainFailure>,
    ) -> Result<T, PlainFailure> {
        // SAFETY: `object` is an ordinary object or array, whose properties are looked up without
        // running anything. The engine fills the descriptor when the property exists, and this
        // function frees what the descriptor holds.
        unsafe {
            let mut found = qjs::JSPropertyDescriptor {
                flags: 0,
                value: qjs::JS_UNDEFINED,
                getter: qjs::JS_UNDEFINED,
                setter: qjs::JS_UNDEFINED,
            };
            let status = qjs::JS_GetOwnProperty(self.ctx, &raw mut found, object, name);
            if status < 0 {
                self.forget_exception();
            }
            if status <= 0 {
                return Err(PlainFailure::NotPlain);
            }
            let result = if found.flags & ACCESSOR == 0 {
                work(found.value)
            } else {
                Err(PlainFailure::NotPlain)
            };
            qjs::JS_FreeValue(self.ctx, found.value);
            qjs::JS_FreeValue(self.ctx, found.getter);
            qjs::JS_FreeValue(self.ctx, found.setter);
            result
        }
    }

    /// Drops the exception of an engine without memory. The caller then makes the JSON text of the
    /// value, which reports the exception again.
    pub(super) unsafe fn forget_exception(&self) {
        // SAFETY: the pending exception comes as an owned value.
        unsafe { qjs::JS_FreeValue(self.ctx, qjs::JS_GetException(self.ctx)) }
    }
}

/// The length of a string in UTF-16 units.
pub(super) unsafe fn string_length(ctx: RawCtx, text: qjs::JSValue) -> usize {
    // SAFETY: the length of a string is looked up without running anything, and cannot fail.
    unsafe {
        let mut length = 0;
        qjs::JS_GetLength(ctx, text, &raw mut length);
        usize::try_from(length).unwrap_or_default()
    }
}

/// The length of an array or array-like object, as every later reader finds it; -1 if code computes
/// the length, and -2 if the value has no length of its own.
pub(crate) fn own_length(ctx: &Ctx<'_>, value: &JsValue<'_>) -> f64 {
    const COMPUTED: f64 = -1.0;
    const NOT_THERE: f64 = -2.0;
    if value.is_null() || value.is_undefined() {
        return 0.0;
    }
    let raw_ctx = ctx.as_raw().as_ptr();
    let raw = value.as_raw();
    // SAFETY: the context is live and the value belongs to it. Of a proxy nothing is asked. The lengths of
    // arrays, typed arrays and strings are their own; of other objects the own property is looked at,
    // and what its descriptor holds is freed. Nothing runs.
    unsafe {
        if value.is_string() || qjs::JS_IsArray(raw) && !qjs::JS_IsProxy(raw) {
            let mut length = 0;
            qjs::JS_GetLength(raw_ctx, raw, &raw mut length);
            return length as f64;
        }
        if !value.is_object() {
            return NOT_THERE;
        }
        if qjs::JS_IsProxy(raw) {
            return COMPUTED;
        }
        let name = qjs::JS_NewAtomLen(raw_ctx, c"length".as_ptr(), 6);
        let mut found = qjs::JSPropertyDescriptor {
            flags: 0,
            value: qjs::JS_UNDEFINED,
            getter: qjs::JS_UNDEFINED,
            setter: qjs::JS_UNDEFINED,
        };
        let status = qjs::JS_GetOwnProperty(raw_ctx, &raw mut found, raw, name);
        qjs::JS_FreeAtom(raw_ctx, name);
        let length = match qjs::JS_VALUE_GET_NORM_TAG(found.value) {
            _ if status < 0 => COMPUTED,
            _ if status == 0 => NOT_THERE,
            qjs::JS_TAG_INT => f64::from(qjs::JS_VALUE_GET_INT(found.value)),
            qjs::JS_TAG_FLOAT64 => qjs::JS_VALUE_GET_FLOAT64(found.value),
            _ => COMPUTED,
        };
        if status > 0 {
            qjs::JS_FreeValue(raw_ctx, found.value);
            qjs::JS_FreeValue(raw_ctx, found.getter);
            qjs::JS_FreeValue(raw_ctx, found.setter);
        }
        length
    }
}
