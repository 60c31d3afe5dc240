//! Copies plain values out of the engine.

use std::{slice, str};

use orrery_json::{NameHasher, Object, Value};
use rquickjs::{Ctx, Value as JsValue, qjs};

use super::prototypes::{PlainKind, Prototypes};
use super::{DEPTH_MAX, PlainFailure, unless_plain};
use crate::copy_counter::{CopyCounter, Refusal};

/// Memory of an allocation in addition to its bytes.
const ALLOCATION_BYTES: usize = 16;

/// Memory of an array element, with spare capacity.
const ELEMENT_BYTES: usize = 2 * size_of::<Value>();

/// Memory of a property in addition to the text of its name: its entry, and its slot in the name
/// table.
const PROPERTY_BYTES: usize =
    size_of::<(usize, String, Value)>() + 2 * size_of::<usize>() + ALLOCATION_BYTES;

/// Copies the value if it is plain, that is if `JSON.stringify` would represent the whole value and
/// nothing else. `copy_counter` counts every copy.
pub(crate) fn read<'js>(
    ctx: &Ctx<'js>,
    value: &JsValue<'js>,
    copy_counter: &mut CopyCounter<'_>,
) -> Result<Option<Value>, Refusal> {
    // SAFETY: the context is live, and the `Ctx` holds its lock; the value belongs to it and is
    // borrowed for the whole call. Dropping the prototypes frees the two prototype values and the
    // atom.
    unsafe {
        let Some(prototypes) = Prototypes::new(ctx.as_raw().as_ptr()) else {
            return Ok(None);
        };
        let mut reader = Reader {
            prototypes: &prototypes,
            copy_counter,
        };
        unless_plain(reader.value(value.as_raw(), DEPTH_MAX))
    }
}

struct Reader<'a, 'b> {
    prototypes: &'a Prototypes,
    copy_counter: &'a mut CopyCounter<'b>,
}

/// SAFETY of the functions below: as for [`Prototypes`].
impl Reader<'_, '_> {
    /// Copies a value; a value that JSON leaves out is `Undefined`.
    unsafe fn value(&mut self, value: qjs::JSValue, depth: usize) -> Result<Value, PlainFailure> {
        self.copy_counter.step()?;
        // SAFETY: each accessor is used for the tag that it belongs to.
        unsafe {
            match qjs::JS_VALUE_GET_NORM_TAG(value) {
                qjs::JS_TAG_UNDEFINED | qjs::JS_TAG_SYMBOL => Ok(Value::Undefined),
                qjs::JS_TAG_NULL => Ok(Value::Null),
                qjs::JS_TAG_BOOL => Ok(Value::Bool(qjs::JS_VALUE_GET_BOOL(value))),
                qjs::JS_TAG_INT => Ok(Value::from(i64::from(qjs::JS_VALUE_GET_INT(value)))),
                qjs::JS_TAG_FLOAT64 => read_float(qjs::JS_VALUE_GET_FLOAT64(value)),
                qjs::JS_TAG_STRING | qjs::JS_TAG_STRING_ROPE => {
                    self.string(value).map(Value::String)
                }
                qjs::JS_TAG_OBJECT if depth > 0 => match self.prototypes.of(value) {
                    Some(PlainKind::Object) => self.object(value, depth - 1),
                    Some(PlainKind::Array) => self.array(value, depth - 1),
                    None => Err(PlainFailure::NotPlain),
                },
                _ => Err(PlainFailure::NotPlain),
            }
        }
    }

    unsafe fn object(&mut self, object: qjs::JSValue, depth: usize) -> Result<Value, PlainFailure> {
        let Reader {
            prototypes,
            copy_counter,
        } = self;
        // SAFETY: the atoms live as long as their table. The text of a name is copied before it is freed.
        unsafe {
            prototypes.names(object, |names| {
                copy_counter.add(ALLOCATION_BYTES + names.len() * PROPERTY_BYTES)?;
                let mut properties =
                    Object::with_capacity_and_hasher(names.len(), NameHasher::default());
                for name in names {
                    let mut inner = Reader {
                        prototypes,
                        copy_counter,
                    };
                    let value =
                        prototypes.own(object, name.atom, |value| inner.value(value, depth))?;
                    if value.is_undefined() {
                        continue;
                    }
                    let mut length = 0;
                    let text = qjs::JS_AtomToCStringLen(prototypes.ctx, &raw mut length, name.atom);
                    properties.insert(inner.copied(text, length)?, value);
                }
                Ok(Value::Object(properties))
            })
        }
    }

    unsafe fn array(&mut self, array: qjs::JSValue, depth: usize) -> Result<Value, PlainFailure> {
        let Reader {
            prototypes,
            copy_counter,
        } = self;
        // SAFETY: an index of a plain array is an atom that holds no memory.
        unsafe {
            copy_counter.add(ALLOCATION_BYTES)?;
            let mut elements = Vec::new();
            for index in 0..prototypes.length(array)? {
                copy_counter.add(ELEMENT_BYTES)?;
                let atom = qjs::JS_NewAtomUInt32(prototypes.ctx, index);
                let mut inner = Reader {
                    prototypes,
                    copy_counter,
                };
                let element = prototypes.own(array, atom, |value| inner.value(value, depth))?;
                elements.push(match element {
                    Value::Undefined => Value::Null,
                    element => element,
                });
            }
            Ok(Value::Array(elements))
        }
    }

    unsafe fn string(&mut self, text: qjs::JSValue) -> Result<String, PlainFailure> {
        // SAFETY: `text` is a string, so that this converts without running anything.
        unsafe {
            let mut length = 0;
            let bytes = qjs::JS_ToCStringLen2(self.prototypes.ctx, &raw mut length, text, false);
            self.copied(bytes, length)
        }
    }

    /// Copies and frees a text of the engine; a text that is not Unicode is not plain.
    unsafe fn copied(
        &mut self,
        text: *const std::ffi::c_char,
        length: qjs::size_t,
    ) -> Result<String, PlainFailure> {
        if text.is_null() {
            // SAFETY: the context is live.
            unsafe { self.prototypes.forget_exception() };
            return Err(PlainFailure::NotPlain);
        }
        // SAFETY: the engine gave `length` bytes at `text`, which are ours until they are freed.
        unsafe {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::useless_conversion,
                reason = "a length of memory, whose type differs between targets"
            )]
            let bytes = slice::from_raw_parts(text.cast::<u8>(), u64::from(length) as usize);
            let copied = match self.copy_counter.add(ALLOCATION_BYTES + bytes.len()) {
                Ok(()) => str::from_utf8(bytes)
                    .map(str::to_owned)
                    .map_err(|_| PlainFailure::NotPlain),
                Err(refusal) => Err(refusal.into()),
            };
            qjs::JS_FreeCString(self.prototypes.ctx, text);
            copied
        }
    }
}

/// Large doubles are not plain: beyond the exact integers, their text has digits that the double
/// lacks.
fn read_float(value: f64) -> Result<Value, PlainFailure> {
    match value {
        value if !value.is_finite() => Ok(Value::Null),
        value if value.abs() < 9_007_199_254_740_992.0 => Ok(Value::from(value)),
        _ => Err(PlainFailure::NotPlain),
    }
}
