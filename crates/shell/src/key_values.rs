//! The values of a partition key, in the form of their header.

use std::fmt;
use std::str::FromStr;

use orrery_json::{PropertyPath, Value};

/// One value for each path of the partition key.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyValues(Vec<Value>);

impl KeyValues {
    /// The partition key of an item in a container with these paths.
    pub(crate) fn of_item(item: &Value, paths: &[PropertyPath]) -> KeyValues {
        let values = paths.iter().map(|path| path.value_in(item).clone());
        KeyValues(values.collect())
    }

    /// The key that a user typed: JSON, or else a string without quotes.
    pub(crate) fn typed(text: &str) -> KeyValues {
        text.parse().unwrap_or_else(|_| KeyValues::of_text(text))
    }

    /// A key of one string.
    pub(crate) fn of_text(text: &str) -> KeyValues {
        KeyValues(vec![Value::from(text)])
    }
}

impl FromStr for KeyValues {
    type Err = String;

    fn from_str(text: &str) -> Result<KeyValues, String> {
        let value = orrery_json::parse(text.as_bytes()).map_err(|error| {
            format!("not JSON ({error}); a string has quotes of its own: '\"a\"'")
        })?;
        Ok(KeyValues(match value {
            // An array is a hierarchical key; a key of one array value is not supported by the
            // protocol.
            Value::Array(values) => values,
            value => vec![value],
        }))
    }
}

impl fmt::Display for KeyValues {
    /// Only ASCII, because the text becomes a header. A missing value is an empty object there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self
            .0
            .iter()
            .map(|value| match value {
                Value::Undefined => "{}".to_owned(),
                value => value.to_string(),
            })
            .collect();
        for c in format!("[{}]", values.join(",")).chars() {
            if c.is_ascii() {
                write!(f, "{c}")?;
                continue;
            }
            // JSON escapes are UTF-16 units.
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(f, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_a_header() {
        for (text, expected) in [
            ("\"a\"", r#"["a"]"#),
            ("[\"a\",1]", r#"["a",1]"#),
            ("null", "[null]"),
            ("{}", "[{}]"),
            ("\"é😀\"", r#"["\u00e9\ud83d\ude00"]"#),
        ] {
            let key: KeyValues = text.parse().unwrap();
            assert_eq!(key.to_string(), expected);
        }
        assert!("a".parse::<KeyValues>().unwrap_err().contains("quotes"));
        for (typed, expected) in [("a b", r#"["a b"]"#), ("7", "[7]"), ("\"7\"", r#"["7"]"#)] {
            assert_eq!(KeyValues::typed(typed).to_string(), expected);
        }
    }

    #[test]
    fn items_have_their_key_in_them() {
        let item = orrery_json::parse(br#"{"id":"1","a":{"b c":2}}"#).unwrap();
        let paths = ["/id", "/a/\"b c\"", "/none"].map(|path| PropertyPath::parse(path).unwrap());
        assert_eq!(
            KeyValues::of_item(&item, &paths).to_string(),
            r#"["1",2,{}]"#
        );
    }
}
