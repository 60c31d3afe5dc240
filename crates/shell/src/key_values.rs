//! The values of a partition key, as the header carries them.

use std::fmt;
use std::str::FromStr;

use orrery_json::{Path, Value};

#[derive(Debug, Clone, PartialEq)]
pub struct KeyValues(Vec<Value>);

impl KeyValues {
    /// The key of an item in a container with these paths.
    pub(crate) fn of_item(item: &Value, paths: &[Path]) -> KeyValues {
        let values = paths.iter().map(|path| path.of_value(item).clone());
        KeyValues(values.collect())
    }

    /// What was typed for a key: JSON, or else a string without its quotes.
    pub(crate) fn typed(text: &str) -> KeyValues {
        text.parse().unwrap_or_else(|_| KeyValues::of_text(text))
    }

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
            Value::Array(values) => values,
            value => vec![value],
        }))
    }
}

impl fmt::Display for KeyValues {
    /// Only ASCII, because it becomes a header. What an item lacks is an empty object there.
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
        let paths = ["/id", "/a/\"b c\"", "/none"].map(|path| Path::parse(path).unwrap());
        assert_eq!(
            KeyValues::of_item(&item, &paths).to_string(),
            r#"["1",2,{}]"#
        );
    }
}
