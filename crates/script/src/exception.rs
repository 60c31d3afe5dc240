//! Reads exceptions of scripts without trusting them: a script may throw any value, and reading a
//! property may run the script's own code.

use rquickjs::{Coerced, FromJs, Object, String as JsString, Value as JsValue};

use crate::ScriptException;
use crate::compile::SCRIPT_FILE;
use crate::texts;

/// Maximal bytes of an error text that is passed on.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// Maximal bytes of an error text that is read. A stack trace is shortened only after the frames of
/// the prelude have been removed.
const TEXT_BYTES_READ_MAX: usize = 64 << 10;

/// Describes a thrown value.
pub(crate) fn describe(value: &JsValue<'_>) -> ScriptException {
    let thrown = match value.as_object() {
        Some(object) => describe_object(object),
        None => ScriptException {
            text: coerce(value),
            ..ScriptException::default()
        },
    };
    ScriptException {
        number: thrown.number,
        text: shortened(thrown.text),
        stack: shortened(own_frames(&thrown.stack)),
    }
}

/// Whether an exception has the text of the engine's error for exhausted memory.
pub(crate) fn is_out_of_memory(thrown: &ScriptException) -> bool {
    thrown.text == "InternalError: out of memory"
}

pub(crate) fn is_stack_overflow(thrown: &ScriptException) -> bool {
    thrown.text == "RangeError: Maximum call stack size exceeded"
        || thrown.text == "InternalError: stack overflow"
}

/// Describes a thrown object. Each property access may run script code and fail, so every part is
/// optional.
fn describe_object(object: &Object<'_>) -> ScriptException {
    let number = get::<f64>(object, "number").filter(|number| number.fract() == 0.0);
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    let number = number.map(|number| number as i64);
    let text = if object.is_error() {
        let name = text_of(object, "name").unwrap_or_else(|| "Error".to_owned());
        let message = text_of(object, "message").unwrap_or_default();
        if message.is_empty() {
            name
        } else {
            format!("{name}: {message}")
        }
    } else {
        text_of(object, "message")
            .or_else(|| text_of(object, "body"))
            .or_else(|| {
                let text = object.ctx().json_stringify(object.clone()).ok()??;
                texts::beginning(&text, TEXT_BYTES_MAX).ok()
            })
            .unwrap_or_else(|| coerce(object.as_value()))
    };
    let stack = text_of(object, "stack").unwrap_or_default();
    ScriptException {
        number,
        text,
        stack,
    }
}

fn get<'js, T: FromJs<'js>>(object: &Object<'js>, name: &str) -> Option<T> {
    object.get::<_, Option<T>>(name).ok().flatten()
}

fn text_of(object: &Object<'_>, name: &str) -> Option<String> {
    texts::beginning(&get::<JsString<'_>>(object, name)?, TEXT_BYTES_READ_MAX).ok()
}

fn coerce(value: &JsValue<'_>) -> String {
    Coerced::<JsString<'_>>::from_js(value.ctx(), value.clone())
        .and_then(|text| texts::beginning(&text.0, TEXT_BYTES_MAX))
        .unwrap_or_else(|_| "unknown".to_owned())
}

/// The frames of the script itself, without those of the prelude and of native functions.
fn own_frames(stack: &str) -> String {
    let frames: Vec<_> = stack
        .lines()
        .filter(|line| line.contains(SCRIPT_FILE))
        .map(str::trim)
        .collect();
    frames.join("\n")
}

fn shortened(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        let mut end = TEXT_BYTES_MAX;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}
