//! How long the text of a plain value is at least, without making it.

use rquickjs::{Ctx, Value as JsValue, qjs};

use super::shapes::{Shape, Shapes, string_length};
use super::{DEPTH_MAX, Unread, unless_plain};
use crate::crossing::{Crossing, Refusal};

/// What `measure` finds out about a JSON text without making that text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Fits,
    NotPlain,
}

/// Refuses a value whose JSON text is longer than `length_max`, in UTF-16 units, as far as that can be said
/// without making it: escapes and names are not counted.
pub(crate) fn measure<'js>(
    ctx: &Ctx<'js>,
    value: &JsValue<'js>,
    length_max: usize,
    crossing: &mut Crossing<'_>,
) -> Result<Measure, Refusal> {
    // SAFETY: the context is live, and the `Ctx` holds its lock; the value belongs to it and is
    // borrowed for the whole call. When the shapes are dropped, they free the prototypes and the
    // atom that they hold.
    unsafe {
        let Some(shapes) = Shapes::new(ctx.as_raw().as_ptr()) else {
            return Ok(Measure::NotPlain);
        };
        let mut walk = Walk {
            shapes: &shapes,
            crossing,
            left: length_max,
        };
        let shown = unless_plain(walk.value(value.as_raw(), DEPTH_MAX))?;
        Ok(shown.map_or(Measure::NotPlain, |_| Measure::Fits))
    }
}

struct Walk<'a, 'b> {
    shapes: &'a Shapes,
    crossing: &'a mut Crossing<'b>,
    left: usize,
}

/// SAFETY of the functions below: as for [`Shapes`].
impl Walk<'_, '_> {
    fn add(&mut self, length: usize) -> Result<(), Unread> {
        self.left = self.left.checked_sub(length).ok_or(Refusal::TooLarge)?;
        Ok(())
    }

    /// Whether JSON shows the value.
    unsafe fn value(&mut self, value: qjs::JSValue, depth: usize) -> Result<bool, Unread> {
        self.crossing.step()?;
        // SAFETY: each accessor is used for the tag that it belongs to.
        unsafe {
            match qjs::JS_VALUE_GET_NORM_TAG(value) {
                qjs::JS_TAG_UNDEFINED | qjs::JS_TAG_SYMBOL => return Ok(false),
                qjs::JS_TAG_NULL | qjs::JS_TAG_BOOL => self.add(4)?,
                qjs::JS_TAG_STRING | qjs::JS_TAG_STRING_ROPE => {
                    self.add(2 + string_length(self.shapes.ctx, value))?;
                }
                qjs::JS_TAG_OBJECT if depth > 0 => match self.shapes.of(value) {
                    Some(Shape::Object) => self.object(value, depth - 1)?,
                    Some(Shape::Array) => self.array(value, depth - 1)?,
                    None => return Err(Unread::NotPlain),
                },
                qjs::JS_TAG_OBJECT => return Err(Unread::NotPlain),
                _ => self.add(1)?,
            }
        }
        Ok(true)
    }

    unsafe fn object(&mut self, object: qjs::JSValue, depth: usize) -> Result<(), Unread> {
        // SAFETY: the atoms live as long as their table.
        unsafe {
            self.add(2)?;
            let shapes = self.shapes;
            shapes.names(object, |names| {
                for name in names {
                    if shapes.own(object, name.atom, |value| self.value(value, depth))? {
                        // Quotes and a colon; the name itself is short, or it is counted where it is copied.
                        self.add(3)?;
                    }
                }
                Ok(())
            })
        }
    }

    unsafe fn array(&mut self, array: qjs::JSValue, depth: usize) -> Result<(), Unread> {
        // SAFETY: an index of a plain array is an atom that holds no memory.
        unsafe {
            self.add(2)?;
            for index in 0..self.shapes.length(array)? {
                let atom = qjs::JS_NewAtomUInt32(self.shapes.ctx, index);
                let shapes = self.shapes;
                if !shapes.own(array, atom, |value| self.value(value, depth))? {
                    self.add(4)?;
                }
            }
        }
        Ok(())
    }
}
