//! Converts values between the database and JavaScript.
//!
//! The JSON text of a value defines what the conversion preserves. Values that are not plain are
//! converted through that text; see [`crate::plain`] for those that need no text.

use std::borrow::Cow;

use orrery_json::{Number, Value, parse};
use rquickjs::{Ctx, Error, Exception, Result, String as JsString, Value as JsValue};

use crate::bridge::Bridge;
use crate::copy_counter::{CopyCounter, MemoryLease};
use crate::plain;
use crate::texts::{self, JSON_LENGTH_MAX};

/// Memory of a value in addition to its text: an array element with spare capacity, or half of a
/// property.
const BYTES_PER_VALUE: usize = 2 * size_of::<Value>();

/// Builds a JavaScript value.
pub(crate) fn to_js<'js>(ctx: &Ctx<'js>, value: &Value) -> Result<JsValue<'js>> {
    match value {
        Value::Undefined => Ok(JsValue::new_undefined(ctx.clone())),
        Value::Null => Ok(JsValue::new_null(ctx.clone())),
        Value::Bool(value) => Ok(JsValue::new_bool(ctx.clone(), *value)),
        Value::Number(number) => Ok(number_to_js(ctx, *number)),
        Value::String(text) => Ok(JsString::from_str(ctx.clone(), text)?.into_value()),
        Value::Array(_) | Value::Object(_) => plain::build(ctx, value),
    }
}

fn number_to_js<'js>(ctx: &Ctx<'js>, number: Number) -> JsValue<'js> {
    match number.as_i64().and_then(|value| i32::try_from(value).ok()) {
        Some(value) => JsValue::new_int(ctx.clone(), value),
        None => JsValue::new_float(ctx.clone(), number.as_f64()),
    }
}

/// The value as JSON preserves it; a value that JSON leaves out is `Undefined`. Errors call it
/// `what`.
pub(crate) fn from_js<'js>(
    ctx: &Ctx<'js>,
    bridge: &Bridge,
    value: &JsValue<'js>,
    what: &str,
) -> Result<Value> {
    // Numbers, booleans and null need no text and no memory account.
    if let Some(value) = value.as_int() {
        return Ok(Value::from(i64::from(value)));
    }
    if let Some(value) = value.as_bool() {
        return Ok(Value::Bool(value));
    }
    if let Some(value) = value.as_float() {
        return Ok(if value.is_finite() {
            Value::from(value)
        } else {
            Value::Null
        });
    }
    if value.is_undefined() {
        return Ok(Value::Undefined);
    }
    if value.is_null() {
        return Ok(Value::Null);
    }
    if let Some(text) = value.as_string() {
        let _held = bridge.lease(ctx, what, texts::length(text))?;
        return bridge
            .heap()
            .without_abandoning(|| lossy_text(text))
            .map(Value::String);
    }
    if let Some((value, _held)) = plain(ctx, bridge, value, what)? {
        return Ok(value);
    }
    match ctx.json_stringify(value.clone())? {
        Some(text) => {
            let text = texts::bounded(bridge, &text, what, JSON_LENGTH_MAX)?;
            let _held = bridge.lease(ctx, what, parsed_bytes(&text))?;
            value_of(ctx, &text)
        }
        None => Ok(Value::Undefined),
    }
}

/// Copies a plain value, with a lease on the copied bytes; `None` for other values.
pub(crate) fn plain<'js>(
    ctx: &Ctx<'js>,
    bridge: &Bridge,
    value: &JsValue<'js>,
    what: &str,
) -> Result<Option<(Value, MemoryLease)>> {
    let mut copy_counter = CopyCounter::new(bridge);
    // The copy lies outside of the engine's heap and would be lost if the thread abandoned the
    // engine meanwhile, so `without_abandoning` forbids that.
    let read = bridge
        .heap()
        .without_abandoning(|| plain::read(ctx, value, &mut copy_counter));
    match read {
        Ok(value) => Ok(value.map(|value| (value, copy_counter.into_lease()))),
        Err(refusal) => Err(bridge.refused(ctx, refusal, what)),
    }
}

/// Upper bound of the memory of a JSON text's value, including the text: every comma, colon and
/// bracket outside of strings may precede a value.
pub(crate) fn parsed_bytes(text: &str) -> usize {
    let mut values: usize = 1;
    let mut is_string = false;
    let mut is_escaped = false;
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b',' | b':' | b'[' | b'{' if !is_string => values += 1,
            _ => {}
        }
    }
    values * BYTES_PER_VALUE + 2 * text.len()
}

/// The text of a string. Lone surrogates are replaced, because UTF-8 cannot hold them.
pub(crate) fn lossy_text(text: &JsString<'_>) -> Result<String> {
    match text.to_string() {
        // The engine's direct conversion fails for lone surrogates; JSON text escapes them.
        Err(Error::Utf8(_)) => {}
        result => return result,
    }
    let ctx = text.ctx();
    let quoted = ctx.json_stringify(text.clone())?;
    let quoted = quoted.map_or(Ok(String::new()), |quoted| quoted.to_string())?;
    match value_of(ctx, &quoted)? {
        Value::String(text) => Ok(text),
        _ => Ok(String::new()),
    }
}

/// Parses JSON text of a script. Values outside of the database's data model are errors of the
/// script.
fn value_of(ctx: &Ctx<'_>, text: &str) -> Result<Value> {
    parse_script_json(text).map_err(|message| Exception::throw_range(ctx, &message))
}

pub(crate) fn parse_script_json(text: &str) -> std::result::Result<Value, String> {
    parse(replace_lone_surrogates(text).as_bytes()).map_err(|error| error.to_string())
}

/// Replaces escaped lone surrogates by the replacement character. JavaScript permits them in
/// strings, and UTF-8 does not.
fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    let unit_at = |index: usize| {
        let hex = text.get(index..index + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(hex, 16).ok()
    };
    let mut mended = String::new();
    let mut copied = 0;
    let mut index = 0;
    while let Some(found) = text[index..].find('\\') {
        index += found;
        index += match (unit_at(index), unit_at(index + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                mended.push_str(&text[copied..index]);
                mended.push('\u{FFFD}');
                copied = index + 6;
                6
            }
            _ => 2,
        };
        if index >= text.len() {
            break;
        }
        // In JSON a backslash precedes one ASCII character; any other text fails in the parser.
        if !text.is_char_boundary(index) {
            return Cow::Borrowed(text);
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    mended.push_str(&text[copied..]);
    Cow::Owned(mended)
}

/// Builds a string for a script.
pub(crate) fn text<'js>(ctx: &Ctx<'js>, text: &str) -> Result<JsValue<'js>> {
    JsString::from_str(ctx.clone(), text)
        .map(JsString::into_value)
        .map_err(|_| Error::Exception)
}

#[cfg(test)]
mod tests {
    use super::{parsed_bytes, replace_lone_surrogates};

    #[test]
    fn a_text_tells_what_its_value_takes() {
        let of = |text: &str| parsed_bytes(text) - 2 * text.len();
        let one = of("1");
        assert_eq!(of("\"a,b:[{\\\",,\""), one);
        assert_eq!(of("[]"), 2 * one);
        assert_eq!(of("[1,{\"a\":[]}]"), 6 * one);
    }

    #[test]
    fn lone_surrogates_are_replaced() {
        for (text, expected) in [
            (r#""a""#, r#""a""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d""#, "\"\u{FFFD}\""),
            (r#""x\ude00y\n\\ud83d""#, "\"x\u{FFFD}y\\n\\\\ud83d\""),
            (r#""\ud83d\u0041""#, "\"\u{FFFD}\\u0041\""),
            ("\\", "\\"),
            ("\\é", "\\é"),
        ] {
            assert_eq!(replace_lone_surrogates(text), expected, "{text}");
        }
    }
}
