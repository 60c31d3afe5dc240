//! What a script threw, read without trusting it: anything may be thrown, and reading it may run
//! the script's own code.

use rquickjs::{Coerced, FromJs, Object, String as JsString, Value as JsValue};

use crate::Thrown;
use crate::compile::SCRIPT_FILE;
use crate::texts;

/// Longest text of an error that is passed on, in bytes.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// Longest text of an error that is looked at: a stack is shortened when it is known which frames are the
/// script's.
const TEXT_BYTES_READ_MAX: usize = 64 << 10;

pub(crate) fn describe(value: &JsValue<'_>) -> Thrown {
    let thrown = match value.as_object() {
        Some(object) => describe_object(object),
        None => Thrown {
            text: coerce(value),
            ..Thrown::default()
        },
    };
    Thrown {
        number: thrown.number,
        text: shortened(thrown.text),
        stack: shortened(own_frames(&thrown.stack)),
    }
}

pub(crate) fn is_out_of_memory(thrown: &Thrown) -> bool {
    thrown.text == "InternalError: out of memory"
}

pub(crate) fn is_stack_overflow(thrown: &Thrown) -> bool {
    thrown.text == "RangeError: Maximum call stack size exceeded"
        || thrown.text == "InternalError: stack overflow"
}

fn describe_object(object: &Object<'_>) -> Thrown {
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
    Thrown {
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
