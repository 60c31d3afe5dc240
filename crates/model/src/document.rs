//! A document from a client, checked once.

use orrery_json::{
    BINARY_MARK, Object, Value, parse_binary, parse_bounded, write_string, write_value,
};

use crate::{Failure, limits};

/// The properties that the server writes. The client's values under these names are dropped.
const SYSTEM_PROPERTIES: [&str; 6] = ["_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"];

/// A JSON object with a valid `id`, without system properties, and within the limits of size and
/// depth.
#[derive(Debug, Clone)]
pub struct Document {
    value: Value,
    id: String,
}

impl Document {
    /// Parses the body of a create, upsert or replace, as JSON text or binary JSON.
    pub fn parse(body: &[u8]) -> Result<Document, Failure> {
        // Checked before parsing, so that a large body costs no memory for its values.
        if body.len() > limits::ITEM_BYTES_MAX {
            return Err(too_large());
        }
        let depth_max = limits::NESTING_LEVELS_MAX;
        let parsed = match body.first() {
            // No JSON text begins with this byte.
            Some(&BINARY_MARK) => parse_binary(body, depth_max),
            _ => parse_bounded(body, depth_max),
        };
        let value = parsed.map_err(|error| {
            Failure::BadRequest(format!(
                "One of the input values is invalid. The body is not valid JSON: {error}."
            ))
        })?;
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
