//! Computes a lower bound of a plain value's JSON text without making the text.

use rquickjs::{Ctx, Value as JsValue, qjs};

use super::prototypes::{PlainKind, Prototypes, string_length};
use super::{DEPTH_MAX, PlainFailure, unless_plain};
use crate::copy_counter::{CopyCounter, Refusal};

/// The result of measuring a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Fits,
    NotPlain,
}

/// Refuses a value whose JSON text certainly exceeds `length_max` UTF-16 units. Escapes and names
/// are not counted.
pub(crate) fn measure<'js>(
    ctx: &Ctx<'js>,
    value: &JsValue<'js>,
    length_max: usize,
    copy_counter: &mut CopyCounter<'_>,
) -> Result<Measure, Refusal> {
    // SAFETY: the context is live, and the `Ctx` holds its lock; the value belongs to it and is
    // borrowed for the whole call. Dropping the prototypes frees the two prototype values and the
    // atom.
    unsafe {
        let Some(prototypes) = Prototypes::new(ctx.as_raw().as_ptr()) else {
            return Ok(Measure::NotPlain);
        };
        let mut walk = Walk {
            prototypes: &prototypes,
            copy_counter,
            left: length_max,
        };
        let shown = unless_plain(walk.value(value.as_raw(), DEPTH_MAX))?;
        Ok(shown.map_or(Measure::NotPlain, |_| Measure::Fits))
    }
}

struct Walk<'a, 'b> {
    prototypes: &'a Prototypes,
    copy_counter: &'a mut CopyCounter<'b>,
    left: usize,
}

/// SAFETY of the functions below: as for [`Prototypes`].
impl Walk<'_, '_> {
    fn add(&mut self, length: usize) -> Result<(), PlainFailure> {
        self.left = self.left.checked_sub(length).ok_or(Refusal::TooLarge)?;
        Ok(())
    }

    /// Measures a value; returns whether JSON represents it at all.
    unsafe fn value(&mut self, value: qjs::JSValue, depth: usize) -> Result<bool, PlainFailure> {
        self.copy_counter.step()?;
        // SAFETY: each accessor is used for the tag that it belongs to.
        unsafe {
            match qjs::JS_VALUE_GET_NORM_TAG(value) {
                qjs::JS_TAG_UNDEFINED | qjs::JS_TAG_SYMBOL => return Ok(false),
                qjs::JS_TAG_NULL | qjs::JS_TAG_BOOL => self.add(4)?,
                qjs::JS_TAG_STRING | qjs::JS_TAG_STRING_ROPE => {
                    self.add(2 + string_length(self.prototypes.ctx, value))?;
                }
                qjs::JS_TAG_OBJECT if depth > 0 => match self.prototypes.of(value) {
                    Some(PlainKind::Object) => self.object(value, depth - 1)?,
                    Some(PlainKind::Array) => self.array(value, depth - 1)?,
                    None => return Err(PlainFailure::NotPlain),
                },
                qjs::JS_TAG_OBJECT => return Err(PlainFailure::NotPlain),
                _ => self.add(1)?,
            }
        }
        Ok(true)
    }

    unsafe fn object(&mut self, object: qjs::JSValue, depth: usize) -> Result<(), PlainFailure> {
        // SAFETY: the atoms live as long as their table.
        unsafe {
            self.add(2)?;
            let prototypes = self.prototypes;
            prototypes.names(object, |names| {
                for name in names {
                    if prototypes.own(object, name.atom, |value| self.value(value, depth))? {
                        // Quotation marks and a colon. A name is short, or the copy counts the name
                        // later.
                        self.add(3)?;
                    }
                }
                Ok(())
            })
        }
    }

    unsafe fn array(&mut self, array: qjs::JSValue, depth: usize) -> Result<(), PlainFailure> {
        // SAFETY: an index of a plain array is an atom that holds no memory.
        unsafe {
            self.add(2)?;
            for index in 0..self.prototypes.length(array)? {
                let atom = qjs::JS_NewAtomUInt32(self.prototypes.ctx, index);
                let prototypes = self.prototypes;
                if !prototypes.own(array, atom, |value| self.value(value, depth))? {
                    self.add(4)?;
                }
            }
        }
        Ok(())
    }
}
