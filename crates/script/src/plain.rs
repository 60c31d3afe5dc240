//! Values between the database and the engine without text in between.
//!
//! JSON text defines what a value means on the other side (`toJSON`, no functions, `__proto__` as an
//! ordinary name), and most values need nothing of that: they are objects, arrays and scalars as
//! literals make them. [`read`] takes exactly those, and runs no code of the script while it
//! looks, so that whoever gets nothing from it can still ask for the text. [`build`] makes what
//! parsing the text would have made.

#![expect(
    unsafe_code,
    reason = "the engine's safe interface reads properties by running getters, and sets them by running setters"
)]

use std::ffi::c_int;
use std::{ptr, slice, str};

use orrery_json::{NameHasher, Number, Object, Value};
use rquickjs::{Ctx, Error, Result, Value as JsValue, qjs};

/// Deeper values go through text, whose reader has a limit of its own.
const DEPTH_MAX: usize = 64;

/// The classes of what `{}` and `[]` make; the engine numbers them first.
const CLASS_OBJECT: qjs::JSClassID = 1;
const CLASS_ARRAY: qjs::JSClassID = 2;

const NO_ATOM: qjs::JSAtom = 0;

#[expect(clippy::cast_possible_wrap, reason = "small flags")]
const ORDINARY: c_int = qjs::JS_PROP_C_W_E as c_int;
#[expect(clippy::cast_possible_wrap, reason = "small flags")]
const ACCESSOR: c_int = qjs::JS_PROP_GETSET as c_int;
#[expect(clippy::cast_possible_wrap, reason = "small flags")]
const NAMES: c_int = (qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_ENUM_ONLY) as c_int;

type RawCtx = *mut qjs::JSContext;

/// A new value of the engine; fails when its memory is out.
pub(crate) fn build<'js>(ctx: &Ctx<'js>, value: &Value) -> Result<JsValue<'js>> {
    // SAFETY: the context is live, and the `Ctx` holds its lock. `build_raw` gives a value that is
    // owned here, and by the `Value` from then on.
    unsafe {
        let built = build_raw(ctx.as_raw().as_ptr(), value).ok_or(Error::Exception)?;
        Ok(JsValue::from_raw(ctx.clone(), built))
    }
}

/// The value, if it is plain and `JSON.stringify` would show all of it and nothing else.
pub(crate) fn read<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>) -> Option<Value> {
    // SAFETY: the context is live, and the `Ctx` holds its lock; the value belongs to it and is
    // borrowed for the whole call. The reader frees what it takes when it is dropped.
    unsafe {
        let reader = Reader::new(ctx.as_raw().as_ptr())?;
        reader.value(value.as_raw(), DEPTH_MAX)
    }
}

/// None when an exception is pending.
unsafe fn build_raw(ctx: RawCtx, value: &Value) -> Option<qjs::JSValue> {
    // SAFETY: as promised by the caller. Every value made here is passed to a function that takes
    // it over, whether that succeeds or not, or freed, or returned.
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
    // SAFETY: the value was made just now.
    unsafe { made(built) }
}

unsafe fn build_array(ctx: RawCtx, array: &[Value]) -> Option<qjs::JSValue> {
    // SAFETY: elements that were built are owned by the vector until `JS_NewArrayFrom` takes them
    // all over, which it does also when it fails.
    unsafe {
        let mut elements = Vec::with_capacity(array.len());
        for element in array {
            let Some(built) = build_raw(ctx, element) else {
                for built in elements {
                    qjs::JS_FreeValue(ctx, built);
                }
                return None;
            };
            elements.push(built);
        }
        let count = c_int::try_from(elements.len()).expect("arrays of a request are short");
        made(qjs::JS_NewArrayFrom(ctx, count, elements.as_ptr()))
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

/// The engine's shortcut from bytes to an atom takes them for Latin-1.
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

/// What plain objects and arrays inherit from, looked up once for a whole value: nothing of the
/// script runs meanwhile, so that it stays true.
struct Reader {
    ctx: RawCtx,
    object_prototype: qjs::JSValue,
    array_prototype: qjs::JSValue,
    to_json: qjs::JSAtom,
}

impl Drop for Reader {
    fn drop(&mut self) {
        // SAFETY: the three were taken by `new` and are owned here.
        unsafe {
            qjs::JS_FreeValue(self.ctx, self.object_prototype);
            qjs::JS_FreeValue(self.ctx, self.array_prototype);
            qjs::JS_FreeAtom(self.ctx, self.to_json);
        }
    }
}

impl Reader {
    /// None when a script has given all objects or arrays a `toJSON`.
    unsafe fn new(ctx: RawCtx) -> Option<Reader> {
        // SAFETY: the context is live; prototypes come as owned values.
        unsafe {
            let reader = Reader {
                ctx,
                object_prototype: qjs::JS_GetClassProto(ctx, CLASS_OBJECT),
                array_prototype: qjs::JS_GetClassProto(ctx, CLASS_ARRAY),
                to_json: qjs::JS_NewAtomLen(ctx, c"toJSON".as_ptr(), 6),
            };
            if reader.to_json == NO_ATOM {
                reader.forget_exception();
                return None;
            }
            let (object, array) = (reader.object_prototype, reader.array_prototype);
            let usual = reader.inherits(array, object)
                && reader.inherits(object, qjs::JS_NULL)
                && reader.lacks_to_json(object)
                && reader.lacks_to_json(array);
            usual.then_some(reader)
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

    /// What JSON leaves out is `Undefined`.
    unsafe fn value(&self, value: qjs::JSValue, depth: usize) -> Option<Value> {
        // SAFETY: each accessor is used for the tag that it belongs to.
        unsafe {
            match qjs::JS_VALUE_GET_NORM_TAG(value) {
                qjs::JS_TAG_UNDEFINED | qjs::JS_TAG_SYMBOL => Some(Value::Undefined),
                qjs::JS_TAG_NULL => Some(Value::Null),
                qjs::JS_TAG_BOOL => Some(Value::Bool(qjs::JS_VALUE_GET_BOOL(value))),
                qjs::JS_TAG_INT => Some(Value::from(i64::from(qjs::JS_VALUE_GET_INT(value)))),
                qjs::JS_TAG_FLOAT64 => read_float(qjs::JS_VALUE_GET_FLOAT64(value)),
                qjs::JS_TAG_STRING | qjs::JS_TAG_STRING_ROPE => {
                    self.string(value).map(Value::String)
                }
                qjs::JS_TAG_OBJECT => match qjs::JS_GetClassID(value) {
                    _ if depth == 0 => None,
                    CLASS_OBJECT if self.inherits(value, self.object_prototype) => {
                        self.object(value, depth - 1)
                    }
                    CLASS_ARRAY if self.inherits(value, self.array_prototype) => {
                        self.array(value, depth - 1)
                    }
                    _ => None,
                },
                _ => None,
            }
        }
    }

    unsafe fn object(&self, object: qjs::JSValue, depth: usize) -> Option<Value> {
        // SAFETY: the engine gives a table of `count` names, which is freed with its atoms before
        // this ends, whatever `properties` comes to. An empty table may be null.
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
                return None;
            }
            let table = if names.is_null() {
                &[]
            } else {
                slice::from_raw_parts(names, count as usize)
            };
            let properties = self.properties(object, table, depth);
            qjs::JS_FreePropertyEnum(self.ctx, names, count);
            properties.map(Value::Object)
        }
    }

    unsafe fn properties(
        &self,
        object: qjs::JSValue,
        names: &[qjs::JSPropertyEnum],
        depth: usize,
    ) -> Option<Object> {
        // SAFETY: the atoms live as long as their table, which the caller holds. The text of a name
        // is copied before it is freed.
        unsafe {
            let mut properties =
                Object::with_capacity_and_hasher(names.len(), NameHasher::default());
            for name in names {
                if name.atom == self.to_json {
                    return None;
                }
                let value = self.own(object, name.atom, depth)?;
                if value.is_undefined() {
                    continue;
                }
                let mut length = 0;
                let text = qjs::JS_AtomToCStringLen(self.ctx, &raw mut length, name.atom);
                properties.insert(self.copied(text, length)?, value);
            }
            Some(properties)
        }
    }

    unsafe fn array(&self, array: qjs::JSValue, depth: usize) -> Option<Value> {
        // SAFETY: the length of an array is its own data; an index below 2^31 is an atom that
        // holds no memory.
        unsafe {
            let mut length = 0;
            if qjs::JS_GetLength(self.ctx, array, &raw mut length) < 0 {
                self.forget_exception();
                return None;
            }
            let mut elements = Vec::new();
            for index in 0..u32::try_from(length)
                .ok()
                .filter(|length| *length >> 31 == 0)?
            {
                let atom = qjs::JS_NewAtomUInt32(self.ctx, index);
                let element = self.own(array, atom, depth)?;
                elements.push(match element {
                    Value::Undefined => Value::Null,
                    element => element,
                });
            }
            Some(Value::Array(elements))
        }
    }

    /// The value of an own property; none for one that is computed or, in an array, a hole.
    unsafe fn own(&self, object: qjs::JSValue, name: qjs::JSAtom, depth: usize) -> Option<Value> {
        // SAFETY: `object` is an ordinary object or array, whose properties are looked up without
        // running anything. The descriptor is filled when the property is there, and what it holds
        // is freed.
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
                return None;
            }
            let is_data = found.flags & ACCESSOR == 0;
            let value = is_data.then(|| self.value(found.value, depth)).flatten();
            qjs::JS_FreeValue(self.ctx, found.value);
            qjs::JS_FreeValue(self.ctx, found.getter);
            qjs::JS_FreeValue(self.ctx, found.setter);
            value
        }
    }

    unsafe fn string(&self, text: qjs::JSValue) -> Option<String> {
        // SAFETY: `text` is a string, so that this converts without running anything.
        unsafe {
            let mut length = 0;
            let bytes = qjs::JS_ToCStringLen2(self.ctx, &raw mut length, text, false);
            self.copied(bytes, length)
        }
    }

    /// Copies and frees a text of the engine; none when it is not Unicode.
    unsafe fn copied(&self, text: *const std::ffi::c_char, length: qjs::size_t) -> Option<String> {
        if text.is_null() {
            // SAFETY: the context is live.
            unsafe { self.forget_exception() };
            return None;
        }
        // SAFETY: the engine gave `length` bytes at `text`, which are ours until they are freed.
        unsafe {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::useless_conversion,
                reason = "a length of memory, whose type differs between targets"
            )]
            let bytes = slice::from_raw_parts(text.cast::<u8>(), u64::from(length) as usize);
            let copied = str::from_utf8(bytes).ok().map(str::to_owned);
            qjs::JS_FreeCString(self.ctx, text);
            copied
        }
    }

    /// Memory was out here; going through text will say so.
    unsafe fn forget_exception(&self) {
        // SAFETY: the pending exception comes as an owned value.
        unsafe { qjs::JS_FreeValue(self.ctx, qjs::JS_GetException(self.ctx)) }
    }
}

/// Doubles beyond the exact integers have digits in their text that the double does not have.
fn read_float(value: f64) -> Option<Value> {
    match value {
        value if !value.is_finite() => Some(Value::Null),
        value if value.abs() < 9_007_199_254_740_992.0 => Some(Value::from(value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use orrery_json::parse;
    use rquickjs::Context;

    use super::*;
    use crate::heap::Heap;

    fn with_ctx(test: impl FnOnce(&Ctx<'_>)) {
        let engine = Heap::new(usize::MAX).engine().unwrap();
        Context::full(&engine).unwrap().with(|ctx| test(&ctx));
    }

    fn stringified<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>) -> String {
        let text = ctx.json_stringify(value.clone()).unwrap();
        text.map_or_else(|| "undefined".to_owned(), |text| text.to_string().unwrap())
    }

    #[test]
    fn plain_values_are_read_as_their_text_says() {
        with_ctx(|ctx| {
            for source in [
                "({})",
                "[]",
                "({a: 1, b: -0, c: 1.5, d: 1e-7, e: 2 ** 40, f: NaN, g: -Infinity})",
                "({u: undefined, s: Symbol('s'), n: null, t: true, x: 'é\\u{1F600}\\n\\0'})",
                "({b: 1, 2: 2, a: 3, 1: 4, '-1': 5, 'é': 6, '\\u{1F600}': 7, '': 8})",
                "[1, undefined, 'x', [[]], {a: [{b: []}]}]",
                "({['__proto__']: 1, constructor: 2})",
                "(() => { const o = {a: 1, b: 2}; delete o.a; o.a = 3; return o; })()",
                "(() => { const o = {a: 1}; Object.defineProperty(o, 'h', {value: 1}); return o; })()",
                "(() => { const a = [1]; a.extra = 2; return a; })()",
                "(() => { const o = {}; for (let i = 0; i < 99; i++) o['k' + i] = i; return o; })()",
                "('ab' + 'x'.repeat(9000) + 'y')",
                "Object.freeze([Object.freeze({a: 'x'.repeat(3).slice(1)})])",
            ] {
                let value: JsValue<'_> = ctx.eval(source).unwrap();
                let text = parse(stringified(ctx, &value).as_bytes()).unwrap();
                let found = read(ctx, &value).unwrap_or_else(|| panic!("{source} is plain"));
                assert_eq!(found.to_string(), text.to_string(), "{source}");
            }
        });
    }

    #[test]
    fn what_is_not_plain_is_left_to_text_and_untouched() {
        with_ctx(|ctx| {
            for source in [
                "({get a() { ran++; return 1; }})",
                "[{toJSON() { ran++; return 1; }}]",
                "({a: {toJSON: 1}})",
                "new Proxy({}, {ownKeys() { ran++; return []; }, getPrototypeOf() { ran++; return null; }})",
                "({a: new Proxy([], {get() { ran++; }})})",
                "new Date(0)",
                "({a: new Map()})",
                "[new Number(1)]",
                "({f() {}})",
                "({a: 1n})",
                "[1, , 2]",
                "new Array(3)",
                "({a: '\\ud800'})",
                "({'\\udc00': 1})",
                "({a: 2 ** 53})",
                "Object.create({toJSON() { ran++; }})",
                "Object.create(null)",
                "new (class { a = 1 })()",
                "new (class extends Array {})()",
                "(() => { const a = []; a.push(a); return a; })()",
                "(() => { let o = {}; for (let i = 0; i < 100; i++) o = {o}; return o; })()",
                "(function () { return arguments; })(1)",
            ] {
                let value: JsValue<'_> = ctx.eval(format!("var ran = 0; {source}")).unwrap();
                assert!(read(ctx, &value).is_none(), "{source}");
                assert_eq!(ctx.eval::<i32, _>("ran").unwrap(), 0, "{source}");
                assert!(!ctx.has_exception(), "{source}");
            }
        });
    }

    #[test]
    fn what_all_objects_inherit_counts() {
        for source in [
            "Object.prototype.toJSON = () => 1",
            "Array.prototype.toJSON = () => 1",
            "Object.defineProperty(Object.prototype, 'toJSON', { get() { throw 1; } })",
            "Object.setPrototypeOf(Array.prototype, { toJSON() { return 1; } })",
        ] {
            with_ctx(|ctx| {
                let value: JsValue<'_> = ctx.eval("({a: []})").unwrap();
                assert!(read(ctx, &value).is_some());
                ctx.eval::<(), _>(format!("{source}; undefined")).unwrap();
                assert!(read(ctx, &value).is_none(), "{source}");
            });
        }
    }

    #[test]
    fn what_is_built_is_what_parsing_makes() {
        with_ctx(|ctx| {
            // Neither setters nor what other objects inherit is in the way.
            ctx.eval::<(), _>(
                "for (const name of ['a', '0']) Object.defineProperty(Object.prototype, name, {
                    set() { throw new Error(name); }, get() { return 'inherited'; } }); undefined",
            )
            .unwrap();
            for text in [
                "{}",
                "[]",
                r#"{"a":1,"b":[true,null,"x",{"a":-1.5e-7}],"0":2,"c":9007199254740993}"#,
                r#"{"__proto__":{"a":1},"Ã©":1,"é":2,"😀":3,"":4,"\n":5}"#,
                r#"[[[[]]],"é😀",12345678901234567890,-2147483649,2147483647]"#,
            ] {
                let parsed: JsValue<'_> = ctx.json_parse(text).unwrap();
                let built = build(ctx, &parse(text.as_bytes()).unwrap()).unwrap();
                assert_eq!(
                    stringified(ctx, &built),
                    stringified(ctx, &parsed),
                    "{text}"
                );
            }
        });
    }

    #[test]
    fn memory_that_runs_out_is_an_exception() {
        let value = parse(format!("[{}1]", r#"{"a":["x"]},"#.repeat(999)).as_bytes()).unwrap();
        let engine = Heap::new(usize::MAX).engine().unwrap();
        let context = Context::full(&engine).unwrap();
        let used = || usize::try_from(engine.memory_usage().malloc_size).unwrap();
        let at_start = used();
        for free in (0..60_000).step_by(500) {
            engine.set_memory_limit(at_start + free);
            context.with(|ctx| {
                assert!(matches!(build(&ctx, &value), Err(Error::Exception)));
                ctx.catch();
            });
        }
        engine.set_memory_limit(0);
        context.with(|ctx| {
            ctx.globals()
                .set("built", build(&ctx, &value).unwrap())
                .unwrap();
        });
        let (with_built, mut read_well) = (used(), 0);
        for free in (0..30_000).step_by(100) {
            engine.set_memory_limit(with_built + free);
            context.with(|ctx| {
                let built: JsValue<'_> = ctx.globals().get("built").unwrap();
                read_well += i32::from(read(&ctx, &built).is_some());
                assert!(!ctx.has_exception());
            });
        }
        assert!(read_well > 0);
    }
}
