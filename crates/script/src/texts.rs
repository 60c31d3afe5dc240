//! Texts between the engine and the database, each with a maximal length.

#![expect(
    unsafe_code,
    reason = "the engine's safe interface copies a text before anybody knows how long it is"
)]

use std::slice;

use rquickjs::{Ctx, Error, Result, String as JsString, Value as JsValue, qjs};

use crate::bridge::{Bridge, too_large};
use crate::{JsonText, convert};

/// Maximal length of a link or etag in UTF-16 units; ids have at most a thousand bytes.
pub(crate) const NAME_LENGTH_MAX: usize = 8 << 10;

/// Maximal length of a continuation, which can contain the value of an `ORDER BY`.
pub(crate) const CONTINUATION_LENGTH_MAX: usize = 256 << 10;

/// Maximal length of a script's JSON text of a document or query; the limit of documents is lower.
pub(crate) const JSON_LENGTH_MAX: usize = 4 << 20;

/// The length of an engine's string in UTF-16 units.
pub(crate) fn length(text: &JsString<'_>) -> usize {
    let ctx = text.ctx().as_raw().as_ptr();
    let mut length = 0;
    // SAFETY: the context is live and the string belongs to it. Its length is looked up without running
    // anything, and cannot fail.
    unsafe { qjs::JS_GetLength(ctx, text.as_raw(), &raw mut length) };
    usize::try_from(length).unwrap_or_default()
}

/// Copies a string of at most `length_max` units; a longer string is refused without a copy.
pub(crate) fn bounded(
    bridge: &Bridge,
    text: &JsString<'_>,
    what: &str,
    length_max: usize,
) -> Result<String> {
    let length = length(text);
    if length > length_max {
        let message = format!(
            "{what} has {length} characters, which is more than its limit of {length_max}."
        );
        return Err(too_large(text.ctx(), &message));
    }
    bridge
        .heap()
        .without_abandoning(|| convert::lossy_text(text))
}

/// The beginning of a string, in whole characters.
pub(crate) fn beginning(text: &JsString<'_>, bytes_max: usize) -> Result<String> {
    if length(text) <= bytes_max {
        let mut text = convert::lossy_text(text)?;
        text.truncate(text.floor_char_boundary(bytes_max));
        return Ok(text);
    }
    let ctx = text.ctx();
    // SAFETY: the context is live and the string belongs to it, so that this converts without
    // running anything. This function owns the text of the engine until it frees the text.
    unsafe {
        let mut length = 0;
        let bytes =
            qjs::JS_ToCStringLen2(ctx.as_raw().as_ptr(), &raw mut length, text.as_raw(), false);
        if bytes.is_null() {
            return Err(Error::Exception);
        }
        let copied = String::from_utf8_lossy(slice::from_raw_parts(bytes.cast(), bytes_max));
        let copied = copied
            .trim_end_matches(char::REPLACEMENT_CHARACTER)
            .to_owned();
        qjs::JS_FreeCString(ctx.as_raw().as_ptr(), bytes);
        Ok(copied)
    }
}

/// Parses a JSON text in the engine.
pub(crate) fn parsed<'js>(
    ctx: &Ctx<'js>,
    bridge: &Bridge,
    text: impl AsRef<[u8]>,
) -> Result<JsValue<'js>> {
    let buffer: Result<_> = bridge.heap().without_abandoning(|| {
        let text = text.as_ref();
        Ok(Buffer::new(ctx, text.len())?.with(text))
    });
    // The text is dropped before the engine parses its copy: a text outside of the heap would be
    // lost if the thread abandoned the engine.
    drop(text);
    buffer?.parse()
}

/// Parses JSON texts as one array in the engine.
pub(crate) fn parsed_array<'js>(
    ctx: &Ctx<'js>,
    bridge: &Bridge,
    texts: Vec<JsonText>,
) -> Result<JsValue<'js>> {
    let bytes: usize = texts.iter().map(|text| text.len() + 1).sum();
    let buffer: Result<_> = bridge.heap().without_abandoning(|| {
        let mut buffer = Buffer::new(ctx, bytes + 2)?.with(b"[");
        for (index, text) in texts.iter().enumerate() {
            if index > 0 {
                buffer = buffer.with(b",");
            }
            buffer = buffer.with(text);
        }
        Ok(buffer.with(b"]"))
    });
    drop(texts);
    buffer?.parse()
}

/// A text on the engine's heap. The heap frees the text even if the thread abandons the engine
/// while it parses the text.
struct Buffer<'a, 'js> {
    ctx: &'a Ctx<'js>,
    start: *mut u8,
    length: usize,
    length_max: usize,
}

impl<'a, 'js> Buffer<'a, 'js> {
    /// Allocates room for `length_max` bytes and for the terminating zero.
    fn new(ctx: &'a Ctx<'js>, length_max: usize) -> Result<Buffer<'a, 'js>> {
        // SAFETY: the context is live.
        let start: *mut u8 =
            unsafe { qjs::js_malloc(ctx.as_raw().as_ptr(), (length_max + 1) as _) }.cast();
        if start.is_null() {
            return Err(Error::Exception);
        }
        Ok(Buffer {
            ctx,
            start,
            length: 0,
            length_max,
        })
    }

    fn with(mut self, bytes: &[u8]) -> Buffer<'a, 'js> {
        assert!(
            bytes.len() <= self.length_max - self.length,
            "it was made for less"
        );
        // SAFETY: there is room for the bytes, as checked above.
        unsafe {
            let end = self.start.add(self.length);
            end.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        self.length += bytes.len();
        self
    }

    fn parse(self) -> Result<JsValue<'js>> {
        let ctx = self.ctx.as_raw().as_ptr();
        // SAFETY: the buffer has `length` bytes and room for the zero behind them. This function owns
        // the value that the engine gives, and the `Value` owns it from then on.
        unsafe {
            self.start.add(self.length).write(0);
            let value = qjs::JS_ParseJSON(
                ctx,
                self.start.cast(),
                self.length as _,
                c"<input>".as_ptr(),
            );
            if qjs::JS_IsException(value) {
                return Err(Error::Exception);
            }
            Ok(JsValue::from_raw(self.ctx.clone(), value))
        }
    }
}

impl Drop for Buffer<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: the engine gave the buffer, and it is freed once.
        unsafe { qjs::js_free(self.ctx.as_raw().as_ptr(), self.start.cast()) };
    }
}
