//! Values between the database and JavaScript.
//!
//! JSON text is the definition of what survives, and what is not plain goes through it; see
//! [`crate::plain`] for what does not need to.

use std::borrow::Cow;

use orrery_json::{Number, Value, parse};
use rquickjs::{Ctx, Error, Exception, Result, String as JsString, Value as JsValue};

use crate::plain;

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

/// The value as JSON would keep it; what JSON leaves out is `Undefined`.
pub(crate) fn from_js<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>) -> Result<Value> {
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
        return lossy_text(text).map(Value::String);
    }
    if let Some(value) = plain::read(ctx, value) {
        return Ok(value);
    }
    match ctx.json_stringify(value.clone())? {
        Some(text) => value_of(ctx, &text.to_string()?),
        None => Ok(Value::Undefined),
    }
}

/// The text of a string; halves of surrogate pairs are replaced.
pub(crate) fn lossy_text(text: &JsString<'_>) -> Result<String> {
    match text.to_string() {
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

/// Parses JSON text that came out of a script; what the database cannot hold is a script's error.
fn value_of(ctx: &Ctx<'_>, text: &str) -> Result<Value> {
    parse_script_json(text).map_err(|message| Exception::throw_range(ctx, &message))
}

pub(crate) fn parse_script_json(text: &str) -> std::result::Result<Value, String> {
    parse(mend_surrogates(text).as_bytes()).map_err(|error| error.to_string())
}

/// Replaces escaped halves of surrogate pairs, which JavaScript allows in strings and UTF-8 does
/// not, by the replacement character.
fn mend_surrogates(text: &str) -> Cow<'_, str> {
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
        // A backslash is followed by one ASCII character in JSON; anything else fails later.
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

/// Text for a script; of no use to it when memory is out.
pub(crate) fn text<'js>(ctx: &Ctx<'js>, text: &str) -> Result<JsValue<'js>> {
    JsString::from_str(ctx.clone(), text)
        .map(JsString::into_value)
        .map_err(|_| Error::Exception)
}

#[cfg(test)]
mod tests {
    use super::mend_surrogates;

    #[test]
    fn half_pairs_are_mended() {
        for (text, expected) in [
            (r#""a""#, r#""a""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d""#, "\"\u{FFFD}\""),
            (r#""x\ude00y\n\\ud83d""#, "\"x\u{FFFD}y\\n\\\\ud83d\""),
            (r#""\ud83d\u0041""#, "\"\u{FFFD}\\u0041\""),
            ("\\", "\\"),
            ("\\é", "\\é"),
        ] {
            assert_eq!(mend_surrogates(text), expected, "{text}");
        }
    }
}
