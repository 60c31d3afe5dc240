//! A document from a client, checked once.

use orrery_json::{
    BINARY_MARK, BinaryError, BinaryLimits, Object, Value, parse_binary, parse_bounded,
    write_string, write_value,
};

use crate::{Failure, limits};

/// The properties that the server writes. The client's values under these names are dropped.
const SYSTEM_PROPERTIES: [&str; 6] = ["_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"];

/// How many bytes of JSON text a byte of binary JSON may stand for. Repeated strings and packed
/// strings are shorter than their text; without a bound a few bytes would cost the memory of a large
/// item, which the size of a body must not hide.
const TEXT_PER_BINARY_BYTE: usize = 16;
/// What the binary JSON of a small item may stand for in any case.
const BINARY_TEXT_BYTES: usize = 64 * 1024;

/// A JSON object with a valid `id`, without system properties, and within the limits of size and
/// depth.
#[derive(Debug, Clone)]
pub struct Document {
    value: Value,
    id: String,
}

/// Parses the body of an item, as JSON text or binary JSON.
pub fn parse_item(body: &[u8]) -> Result<Value, Failure> {
    // Checked before parsing, so that a large body costs no memory for its values.
    if body.len() > limits::ITEM_BYTES_MAX {
        return Err(too_large());
    }
    let depth_max = limits::NESTING_LEVELS_MAX;
    let parsed = match body.first() {
        // No JSON text begins with this byte.
        Some(&BINARY_MARK) => {
            let text_bytes = (body.len() * TEXT_PER_BINARY_BYTE).max(BINARY_TEXT_BYTES);
            let limits = BinaryLimits {
                depth_max,
                text_bytes_max: text_bytes.min(limits::ITEM_BYTES_MAX),
            };
            match parse_binary(body, limits) {
                Ok(value) => Ok(value),
                Err(BinaryError::Malformed(error)) => Err(error),
                Err(BinaryError::TooLarge) => return Err(too_large()),
            }
        }
        _ => parse_bounded(body, depth_max),
    };
    parsed.map_err(|error| {
        Failure::BadRequest(format!(
            "One of the input values is invalid. The body is not valid JSON: {error}."
        ))
    })
}

impl Document {
    /// Parses the body of a create, upsert or replace, as JSON text or binary JSON.
    pub fn parse(body: &[u8]) -> Result<Document, Failure> {
        let value = parse_item(body)?;
        Document::from_value(value)
    }

    /// Takes a parsed value: an operation of a batch, or the result of a patch.
    pub fn from_value(value: Value) -> Result<Document, Failure> {
        let Value::Object(mut object) = value else {
            return Err(Failure::bad_request(format!(
                "One of the input values is invalid. An item must be a JSON object, not {}.",
                with_article(value.type_name())
            )));
        };
        // Most documents have no name with an underscore, and removing from an object moves its
        // properties.
        if object.keys().any(|name| name.starts_with('_')) {
            object.retain(|name, _| !SYSTEM_PROPERTIES.contains(&name.as_str()));
        }
        let id = match object.get("id") {
            Some(Value::String(id)) => id.clone(),
            None => return Err(Failure::MissingProperty("id")),
            Some(other) => {
                return Err(Failure::bad_request(format!(
                    "One of the input values is invalid. 'id' must be a string, not {}.",
                    with_article(other.type_name())
                )));
            }
        };
        // REST bodies, batches and patches all pass this check.
        check_item_id(&id)?;
        Ok(Document {
            value: Value::Object(object),
            id,
        })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn value(&self) -> &Value {
        &self.value
    }

    pub fn into_value(self) -> Value {
        self.value
    }

    /// The object. The constructor accepts no other value.
    fn object(&self) -> &Object {
        self.value.as_object().expect("a document is an object")
    }

    /// Appends the JSON text of the client's properties, without the closing brace, so that the
    /// system properties can follow: `{"id":"a","b":1`.
    pub fn write_open_text(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (index, (name, value)) in self.object().iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_string(name, out);
            out.push(b':');
            write_value(value, out);
        }
    }

    /// The item's own time to live: absent, -1 for no expiry, or seconds.
    pub fn ttl(&self) -> Result<Option<i32>, Failure> {
        let value = self.value.get("ttl");
        let refused = || {
            Failure::bad_request(format!(
                "One of the input values is invalid. 'ttl' must be -1 or a whole number of seconds from 1 \
                 to {}, not {value}.",
                limits::TTL_SECONDS_MAX
            ))
        };
        match value {
            Value::Undefined => Ok(None),
            Value::Number(number) => match number.as_i64() {
                Some(seconds)
                    if seconds == -1 || (1..=limits::TTL_SECONDS_MAX).contains(&seconds) =>
                {
                    Ok(Some(i32::try_from(seconds).map_err(|_| refused())?))
                }
                // Zero is refused too: such an item would expire at once.
                _ => Err(refused()),
            },
            _ => Err(refused()),
        }
    }
}

/// Checks an item id: 1 to 1,023 bytes without `\`. An item with a `/` in its id can be created,
/// but no path addresses it.
pub fn check_item_id(id: &str) -> Result<(), Failure> {
    if id.is_empty() || id.len() > limits::ITEM_ID_BYTES_MAX {
        return Err(Failure::bad_request(format!(
            "One of the input values is invalid. Ensure to provide a unique non-empty string less than \
             '{}' characters.",
            limits::ITEM_ID_BYTES_MAX + 1
        )));
    }
    if id.contains('\\') {
        return Err(Failure::bad_request(format!(
            "One of the input values is invalid. The id '{id}' contains the invalid character '\\'."
        )));
    }
    Ok(())
}

/// Checks the id of a database, container, user or any other named resource.
pub fn check_resource_id(id: &str) -> Result<(), Failure> {
    if id.is_empty() || id.chars().count() > limits::RESOURCE_ID_CHARS_MAX {
        return Err(Failure::bad_request(format!(
            "One of the input values is invalid. Ensure to provide a unique non-empty string less than \
             '{}' characters.",
            limits::RESOURCE_ID_CHARS_MAX
        )));
    }
    if let Some(character) = id.chars().find(|c| matches!(c, '/' | '\\' | '?' | '#')) {
        return Err(Failure::bad_request(format!(
            "One of the input values is invalid. The id '{id}' contains the invalid character '{character}'."
        )));
    }
    if id.ends_with(' ') {
        return Err(Failure::bad_request(format!(
            "One of the input values is invalid. The id '{id}' must not end with space."
        )));
    }
    Ok(())
}

pub(crate) fn too_large() -> Failure {
    Failure::TooLarge(format!(
        "Request size is too large. An item may have {} bytes of JSON.",
        limits::ITEM_BYTES_MAX
    ))
}

fn with_article(type_name: &str) -> String {
    match type_name {
        "array" | "object" => format!("an {type_name}"),
        "null" | "undefined" => type_name.to_owned(),
        _ => format!("a {type_name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_text(body: &str) -> Result<String, Failure> {
        let document = Document::parse(body.as_bytes())?;
        let mut text = Vec::new();
        document.write_open_text(&mut text);
        Ok(String::from_utf8(text).unwrap())
    }

    #[test]
    fn system_properties_are_dropped_and_order_is_kept() {
        let text = open_text(r#"{"b": 1, "_ts": 5, "id": "x", "_self": "", "_mine": 2}"#);
        assert_eq!(text.unwrap(), r#"{"b":1,"id":"x","_mine":2"#);
    }

    #[test]
    fn binary_bodies_stand_for_a_bounded_text() {
        // An object whose property `a` has a string and references to it.
        let body = |references: usize| {
            let mut array = vec![0xC1, 0xE8, 0x03];
            array.extend([b'x'; 1_000]);
            array.extend([0xC3, 0x10].repeat(references));
            let mut body = vec![0x80, 0xEC];
            let members = 10 + array.len();
            body.extend(u32::try_from(members).unwrap().to_le_bytes());
            body.extend(b"\x2C\x81i\x81a");
            body.push(0xE4);
            body.extend(u32::try_from(array.len()).unwrap().to_le_bytes());
            body.extend(array);
            body
        };
        let document = Document::parse(&body(2)).unwrap();
        let strings = document.value().get("a");
        assert_eq!(strings.to_string().len(), 3 * 1_003 + 1);
        for (references, is_taken) in [(60, true), (70, false), (20_000, false)] {
            let parsed = Document::parse(&body(references));
            assert_eq!(parsed.is_ok(), is_taken, "{references}: {parsed:?}");
            if !is_taken {
                assert!(matches!(parsed, Err(Failure::TooLarge(_))));
            }
        }
    }

    #[test]
    fn bad_bodies_are_refused() {
        assert_eq!(open_text("{}"), Err(Failure::MissingProperty("id")));
        for body in [
            "",
            "[]",
            "{\"id\":5}",
            "{\"id\":\"\"}",
            "{\"id\":\"a\\\\b\"}",
        ] {
            assert!(
                matches!(open_text(body), Err(Failure::BadRequest(_))),
                "{body}"
            );
        }
        let long = format!("{{\"id\":\"{}\"}}", "x".repeat(1024));
        assert!(matches!(open_text(&long), Err(Failure::BadRequest(_))));
    }

    #[test]
    fn ttl_is_minus_one_or_positive() {
        let ttl = |text: &str| {
            Document::parse(format!("{{\"id\":\"x\"{text}}}").as_bytes())
                .unwrap()
                .ttl()
        };
        assert_eq!(ttl(""), Ok(None));
        assert_eq!(ttl(",\"ttl\":-1"), Ok(Some(-1)));
        assert_eq!(ttl(",\"ttl\":10"), Ok(Some(10)));
        for bad in ["0", "-10", "null", "\"1\"", "1.5", "2147483648"] {
            assert!(ttl(&format!(",\"ttl\":{bad}")).is_err(), "{bad}");
        }
    }
}
