//! The JSON parser: text to value.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::{Number, Object, Value};

/// Maximum nesting of a document. The parser rejects deeper text before the recursion exhausts the
/// stack.
pub(crate) const DEPTH_MAX: usize = 128;

/// The reason why a text is not JSON that Orrery can store, and its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} at line {line}, column {column}")]
pub struct ParseError {
    pub message: String,
    pub line: usize,
    pub column: usize,
}

/// Reads one JSON value nested at most 128 levels deep.
pub fn parse(text: &[u8]) -> Result<Value, ParseError> {
    parse_bounded(text, DEPTH_MAX)
}

/// Reads one JSON value; arrays and objects may nest `depth_max` levels deep.
///
/// Of repeated property names the last value wins. Numbers outside the range of finite doubles and
/// strings with half a surrogate pair are errors. Strings may contain raw control characters, which
/// the service accepts although JSON forbids them.
pub fn parse_bounded(text: &[u8], depth_max: usize) -> Result<Value, ParseError> {
    // Most texts have no raw control characters, so the strict parser runs first and the text is
    // scanned only after it failed.
    let strict = parse_strict(text, depth_max);
    match strict {
        Ok(value) => Ok(value),
        Err(error) => match with_escaped_controls(text) {
            Some(escaped) => parse_strict(&escaped, depth_max),
            None => Err(error),
        },
    }
}

/// The text with every control character inside strings escaped. `None` if no string has one.
fn with_escaped_controls(text: &[u8]) -> Option<Vec<u8>> {
    let is_control = |byte: &u8| *byte < b' ';
    if !text.iter().any(is_control) {
        return None;
    }
    let mut escaped = Vec::with_capacity(text.len() + 64);
    let (mut in_string, mut after_backslash, mut found) = (false, false, false);
    for &byte in text {
        if in_string && !after_backslash && is_control(&byte) {
            found = true;
            escaped.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
            continue;
        }
        escaped.push(byte);
        in_string ^= byte == b'"' && !after_backslash;
        after_backslash = in_string && byte == b'\\' && !after_backslash;
    }
    found.then_some(escaped)
}

fn parse_strict(text: &[u8], depth_max: usize) -> Result<Value, ParseError> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    // The visitor enforces `depth_max` instead.
    reader.disable_recursion_limit();
    ValueVisitor {
        depth_left: depth_max,
    }
    .deserialize(&mut reader)
    .and_then(|value| reader.end().map(|()| value))
    .map_err(|error| {
        // `serde_json` appends the position to its message; `ParseError` carries the position
        // separately.
        let full = error.to_string();
        let message = full
            .rsplit_once(" at line ")
            .map_or(full.as_str(), |(head, _)| head);
        ParseError {
            message: message.to_owned(),
            line: error.line(),
            column: error.column(),
        }
    })
}

#[derive(Clone, Copy)]
struct ValueVisitor {
    depth_left: usize,
}

impl ValueVisitor {
    fn deeper<E: serde::de::Error>(self) -> Result<ValueVisitor, E> {
        match self.depth_left.checked_sub(1) {
            Some(depth_left) => Ok(ValueVisitor { depth_left }),
            None => Err(E::custom("arrays and objects are nested too deeply")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for ValueVisitor {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(Number::from(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "beyond 64 bits signed, a double it is"
        )]
        let number = i64::try_from(value).map_or(Number::Float(value as f64), Number::Int);
        Ok(Value::Number(number))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        if value.is_finite() {
            Ok(Value::Number(Number::from(value)))
        } else {
            Err(E::custom("number out of range"))
        }
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let element = self
            .deeper()
            .map_err(|error: A::Error| A::Error::custom(error))?;
        let mut array = Vec::new();
        while let Some(value) = elements.next_element_seed(element)? {
            array.push(value);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut properties: A) -> Result<Value, A::Error> {
        let property = self
            .deeper()
            .map_err(|error: A::Error| A::Error::custom(error))?;
        let mut object = Object::default();
        while let Some(name) = properties.next_key::<String>()? {
            let value = properties.next_value_seed(property)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(input: &str) -> String {
        match parse(input.as_bytes()) {
            Ok(value) => value.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn json_text_round_trips() {
        for input in [
            "null",
            "true",
            "[]",
            "{}",
            r#"{"b":1,"a":[1.5,"x",null,{"c":false}]}"#,
            "9223372036854775807",
            r#""é😀\n\"\\\u0001""#,
        ] {
            assert_eq!(text(input), input);
        }
    }

    #[test]
    fn control_characters_may_stand_in_strings() {
        for (input, expected) in [
            (
                "{\"a\tb\":\"\n\u{1}\",\n\t\"c\":1}",
                r#"{"a\tb":"\n\u0001","c":1}"#,
            ),
            ("[\"\\\\\n\",\"\\\"\t\"]", r#"["\\\n","\"\t"]"#),
        ] {
            assert_eq!(text(input), expected);
        }
        for input in ["[\u{1}]", "\"\\\u{1}\"", "\"\n"] {
            assert!(parse(input.as_bytes()).is_err(), "{input:?}");
        }
    }

    #[test]
    fn numbers_take_their_shortest_form() {
        for (input, expected) in [
            ("1.0", "1"),
            ("-0", "0"),
            ("1e2", "100"),
            ("0.10", "0.1"),
            ("1e300", "1e300"),
            ("18446744073709551615", "18446744073709551616"),
            ("123456789012345678901234567890", "1.2345678901234568e29"),
        ] {
            assert_eq!(text(input), expected, "{input}");
        }
    }

    #[test]
    fn the_last_of_repeated_names_counts() {
        assert_eq!(text(r#"{"a":1,"b":2,"a":3}"#), r#"{"a":3,"b":2}"#);
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        for (input, expected) in [
            ("", "EOF while parsing a value at line 1, column 0"),
            ("{\"a\":}", "expected value at line 1, column 6"),
            ("[1,]", "trailing comma at line 1, column 4"),
            ("1 2", "trailing characters at line 1, column 3"),
            ("1e999", "number out of range at line 1, column 5"),
            (
                r#""\ud800""#,
                "unexpected end of hex escape at line 1, column 8",
            ),
            ("NaN", "expected value at line 1, column 1"),
        ] {
            assert_eq!(text(input), expected, "{input}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(nested(128).as_bytes()).is_ok());
        let error = parse(nested(129).as_bytes()).unwrap_err();
        assert!(error.message.contains("nested too deeply"), "{error}");
        assert!(parse(nested(1_000_000).as_bytes()).is_err());
    }
}
