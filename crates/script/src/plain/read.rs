//! Plain values of the engine, copied.

use std::{slice, str};

use orrery_json::{NameHasher, Object, Value};
use rquickjs::{Ctx, Value as JsValue, qjs};

use super::shapes::{Shape, Shapes};
use super::{DEPTH_MAX, Unread, unless_plain};
use crate::crossing::{Crossing, Refusal};

/// What an allocation takes beyond its bytes.
const ALLOCATION_BYTES: usize = 16;

/// An element of an array, which may have grown to twice what it needs.
const ELEMENT_BYTES: usize = 2 * size_of::<Value>();

/// A property of an object beside the text of its name: its entry, and its place in the table of names.
const PROPERTY_BYTES: usize =
    size_of::<(usize, String, Value)>() + 2 * size_of::<usize>() + ALLOCATION_BYTES;

/// Gives the value if it is plain, so that `JSON.stringify` would show all of that value and nothing else.
/// Every copy that is made counts in `crossing`.
pub(crate) fn read<'js>(
    ctx: &Ctx<'js>,
    value: &JsValue<'js>,
    crossing: &mut Crossing<'_>,
) -> Result<Option<Value>, Refusal> {
    // SAFETY: the context is live, and the `Ctx` holds its lock; the value belongs to it and is
    // borrowed for the whole call. When the shapes are dropped, they free the prototypes and the
    // atom that they hold.
    unsafe {
        let Some(shapes) = Shapes::new(ctx.as_raw().as_ptr()) else {
            return Ok(None);
        };
        let mut reader = Reader {
            shapes: &shapes,
            crossing,
        };
        unless_plain(reader.value(value.as_raw(), DEPTH_MAX))
    }
}

struct Reader<'a, 'b> {
    shapes: &'a Shapes,
    crossing: &'a mut Crossing<'b>,
}

/// SAFETY of the functions below: as for [`Shapes`].
impl Reader<'_, '_> {
    /// What JSON leaves out is `Undefined`.
    unsafe fn value(&mut self, value: qjs::JSValue, depth: usize) -> Result<Value, Unread> {
        self.crossing.step()?;
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
                qjs::JS_TAG_OBJECT if depth > 0 => match self.shapes.of(value) {
                    Some(Shape::Object) => self.object(value, depth - 1),
                    Some(Shape::Array) => self.array(value, depth - 1),
                    None => Err(Unread::NotPlain),
                },
                _ => Err(Unread::NotPlain),
            }
        }
    }

    unsafe fn object(&mut self, object: qjs::JSValue, depth: usize) -> Result<Value, Unread> {
        let Reader { shapes, crossing } = self;
        // SAFETY: the atoms live as long as their table. The text of a name is copied before it is freed.
        unsafe {
            shapes.names(object, |names| {
                crossing.add(ALLOCATION_BYTES + names.len() * PROPERTY_BYTES)?;
                let mut properties =
                    Object::with_capacity_and_hasher(names.len(), NameHasher::default());
                for name in names {
                    let mut inner = Reader { shapes, crossing };
                    let value = shapes.own(object, name.atom, |value| inner.value(value, depth))?;
                    if value.is_undefined() {
                        continue;
                    }
                    let mut length = 0;
                    let text = qjs::JS_AtomToCStringLen(shapes.ctx, &raw mut length, name.atom);
                    properties.insert(inner.copied(text, length)?, value);
                }
                Ok(Value::Object(properties))
            })
        }
    }

    unsafe fn array(&mut self, array: qjs::JSValue, depth: usize) -> Result<Value, Unread> {
        let Reader { shapes, crossing } = self;
        // SAFETY: an index of a plain array is an atom that holds no memory.
        unsafe {
            crossing.add(ALLOCATION_BYTES)?;
            let mut elements = Vec::new();
            for index in 0..shapes.length(array)? {
                crossing.add(ELEMENT_BYTES)?;
                let atom = qjs::JS_NewAtomUInt32(shapes.ctx, index);
                let mut inner = Reader { shapes, crossing };
                let element = shapes.own(array, atom, |value| inner.value(value, depth))?;
                elements.push(match element {
                    Value::Undefined => Value::Null,
                    element => element,
                });
            }
            Ok(Value::Array(elements))
        }
    }

    unsafe fn string(&mut self, text: qjs::JSValue) -> Result<String, Unread> {
        // SAFETY: `text` is a string, so that this converts without running anything.
        unsafe {
            let mut length = 0;
            let bytes = qjs::JS_ToCStringLen2(self.shapes.ctx, &raw mut length, text, false);
            self.copied(bytes, length)
        }
    }

    /// Copies and frees a text of the engine; it is not plain when it is not Unicode.
    unsafe fn copied(
        &mut self,
        text: *const std::ffi::c_char,
        length: qjs::size_t,
    ) -> Result<String, Unread> {
        if text.is_null() {
            // SAFETY: the context is live.
            unsafe { self.shapes.forget_exception() };
            return Err(Unread::NotPlain);
        }
        // SAFETY: the engine gave `length` bytes at `text`, which are ours until they are freed.
        unsafe {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::useless_conversion,
                reason = "a length of memory, whose type differs between targets"
            )]
            let bytes = slice::from_raw_parts(text.cast::<u8>(), u64::from(length) as usize);
            let copied = match self.crossing.add(ALLOCATION_BYTES + bytes.len()) {
                Ok(()) => str::from_utf8(bytes)
                    .map(str::to_owned)
                    .map_err(|_| Unread::NotPlain),
                Err(refusal) => Err(refusal.into()),
            };
            qjs::JS_FreeCString(self.shapes.ctx, text);
            copied
        }
    }
}

/// Doubles beyond the exact integers have digits in their text that the double does not have.
fn read_float(value: f64) -> Result<Value, Unread> {
    match value {
        value if !value.is_finite() => Ok(Value::Null),
        value if value.abs() < 9_007_199_254_740_992.0 => Ok(Value::from(value)),
        _ => Err(Unread::NotPlain),
    }
}
