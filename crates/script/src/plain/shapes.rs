//! What plain objects and arrays look like to the engine.

use std::ffi::c_int;
use std::{ptr, slice};

use rquickjs::{Ctx, Value as JsValue, qjs};

use super::{RawCtx, Unread};

/// The classes of what `{}` and `[]` make; the engine numbers them first.
const CLASS_OBJECT: qjs::JSClassID = 1;
const CLASS_ARRAY: qjs::JSClassID = 2;

const NO_ATOM: qjs::JSAtom = 0;

#[expect(clippy::cast_possible_wrap, reason = "small flags")]
const ACCESSOR: c_int = qjs::JS_PROP_GETSET as c_int;
#[expect(clippy::cast_possible_wrap, reason = "small flags")]
const NAMES: c_int = (qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_ENUM_ONLY) as c_int;

/// What plain objects and arrays inherit from, looked up once for a whole value: nothing of the
/// script runs meanwhile, so that it stays true.
pub(super) struct Shapes {
    pub(super) ctx: RawCtx,
    object_prototype: qjs::JSValue,
    array_prototype: qjs::JSValue,
    to_json: qjs::JSAtom,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Object,
    Array,
}

impl Drop for Shapes {
    fn drop(&mut self) {
        // SAFETY: the three were taken by `new` and are owned here.
        unsafe {
            qjs::JS_FreeValue(self.ctx, self.object_prototype);
            qjs::JS_FreeValue(self.ctx, self.array_prototype);
            qjs::JS_FreeAtom(self.ctx, self.to_json);
        }
    }
}

/// SAFETY of the functions below: the context is live and locked by the caller for as long as the shapes
/// are, and values belong to it.
impl Shapes {
    /// None when a script has given all objects or arrays a `toJSON`.
    pub(super) unsafe fn new(ctx: RawCtx) -> Option<Shapes> {
        // SAFETY: the context is live; prototypes come as owned values.
        unsafe {
            let shapes = Shapes {
                ctx,
                object_prototype: qjs::JS_GetClassProto(ctx, CLASS_OBJECT),
                array_prototype: qjs::JS_GetClassProto(ctx, CLASS_ARRAY),
                to_json: qjs::JS_NewAtomLen(ctx, c"toJSON".as_ptr(), 6),
            };
            if shapes.to_json == NO_ATOM {
                shapes.forget_exception();
                return None;
            }
            let (object, array) = (shapes.object_prototype, shapes.array_prototype);
            let usual = shapes.inherits(array, object)
                && shapes.inherits(object, qjs::JS_NULL)
                && shapes.lacks_to_json(object)
                && shapes.lacks_to_json(array);
            usual.then_some(shapes)
        }
    }

    /// The shape of an object, if it is plain.
    pub(super) unsafe fn of(&self, object: qjs::JSValue) -> Option<Shape> {
        // SAFETY: `object` is one, and an object of these two classes is no proxy.
        unsafe {
            match qjs::JS_GetClassID(object) {
                CLASS_OBJECT if self.inherits(object, self.object_prototype) => Some(Shape::Object),
                CLASS_ARRAY if self.inherits(object, self.array_prototype) => Some(Shape::Array),
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

    /// Gives `work` the names of the properties that JSON shows of a plain object.
    pub(super) unsafe fn names<T>(
        &self,
        object: qjs::JSValue,
        work: impl FnOnce(&[qjs::JSPropertyEnum]) -> Result<T, Unread>,
    ) -> Result<T, Unread> {
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
                return Err(Unread::NotPlain);
            }
            let table = if names.is_null() {
                &[]
            } else {
                slice::from_raw_parts(names, count as usize)
            };
            let result = if table.iter().any(|name| name.atom == self.to_json) {
                Err(Unread::NotPlain)
            } else {
                work(table)
            };
            qjs::JS_FreePropertyEnum(self.ctx, names, count);
            result
        }
    }

    /// How long a plain array is.
    pub(super) unsafe fn length(&self, array: qjs::JSValue) -> Result<u32, Unread> {
        // SAFETY: the length of an array is its own data.
        unsafe {
            let mut length = 0;
            if qjs::JS_GetLength(self.ctx, array, &raw mut length) < 0 {
                self.forget_exception();
                return Err(Unread::NotPlain);
            }
            // A longer array is not plain, because only an index below 2^31 is an atom that holds
            // no memory.
            let length = u32::try_from(length).ok();
            length
                .filter(|length| *length >> 31 == 0)
                .ok_or(Unread::NotPlain)
        }
    }

    /// Gives the value of an own property to `work`; a property that code computes is not plain,
    /// nor is a hole in an array.
    pub(super) unsafe fn own<T>(
        &self,
        object: qjs::JSValue,
        name: qjs::JSAtom,
        work: impl FnOnce(qjs::JSValue) -> Result<T, Unread>,
    ) -> Result<T, Unread> {
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
                return Err(Unread::NotPlain);
            }
            let result = if found.flags & ACCESSOR == 0 {
                work(found.value)
            } else {
                Err(Unread::NotPlain)
            };
            qjs::JS_FreeValue(self.ctx, found.value);
            qjs::JS_FreeValue(self.ctx, found.getter);
            qjs::JS_FreeValue(self.ctx, found.setter);
            result
        }
    }

    /// Drops the exception of an engine that has run out of memory; the caller then makes the JSON
    /// text of the value, which reports that again.
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

/// The length of an array or of an array-like object, as every later reader will find it; -1 if code
/// computes the length, and -2 if the value has no length of its own.
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
