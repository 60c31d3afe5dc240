//! The partition key of one document, or a prefix of a hierarchical key.

use std::fmt;

use orrery_json::{Number, ParseError, Value, parse_bounded, write_number, write_string};

use crate::KeyComponent;

/// Components in the order of the container's partition key paths.
///
/// A key with fewer components than paths is a prefix. A key without components belongs to
/// documents in containers that predate partition keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PartitionKey(Vec<KeyComponent>);

/// The reason why a value is not a partition key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("partition key is not JSON")]
    Json(#[from] ParseError),
    #[error("partition key must be a JSON array, not {0}")]
    NotArray(&'static str),
    #[error("partition key component {index} may not be {found}")]
    NotComponent { index: usize, found: &'static str },
    #[error("partition key has {found} components, more than the {defined} paths of the container")]
    TooMany { found: usize, defined: usize },
    #[error("partition key has {found} components of the {defined} the container defines")]
    Incomplete { found: usize, defined: usize },
    #[error("partition key component of {found} bytes is longer than {max} bytes")]
    TooLong { found: usize, max: usize },
}

/// Nesting depth of a header: the array, an object inside it (`{}`), and no deeper value. See
/// [`PartitionKey::parse_header`].
const HEADER_DEPTH_MAX: usize = 3;

impl PartitionKey {
    pub fn new(components: Vec<KeyComponent>) -> PartitionKey {
        PartitionKey(
            components
                .into_iter()
                .map(KeyComponent::normalised)
                .collect(),
        )
    }

    pub fn components(&self) -> &[KeyComponent] {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the JSON array of the header `x-ms-documentdb-partitionkey`.
    ///
    /// `[{}]` is one undefined component and `[]` is the key without components. Any other object
    /// and any inner array is an error.
    pub fn parse_header(text: &str) -> Result<PartitionKey, KeyError> {
        PartitionKey::from_json(&parse_bounded(text.as_bytes(), HEADER_DEPTH_MAX)?)
    }

    /// The same as [`parse_header`](Self::parse_header), for an array that is already a value.
    pub fn from_json(array: &Value) -> Result<PartitionKey, KeyError> {
        let elements = array
            .as_array()
            .ok_or_else(|| KeyError::NotArray(array.type_name()))?;
        elements
            .iter()
            .enumerate()
            .map(|(index, element)| match element {
                Value::Object(object) if object.is_empty() => Ok(KeyComponent::Undefined),
                other => component(index, other),
            })
            .collect::<Result<_, _>>()
            .map(PartitionKey)
    }

    /// The key with these component values. Arrays and objects are errors, even empty ones.
    pub fn from_values(values: &[&Value]) -> Result<PartitionKey, KeyError> {
        values
            .iter()
            .enumerate()
            .map(|(index, value)| component(index, value))
            .collect::<Result<_, _>>()
            .map(PartitionKey)
    }

    /// The JSON text of this key, which [`parse_header`](Self::parse_header) parses to the same
    /// key.
    pub fn to_json(&self) -> String {
        let mut text = vec![b'['];
        for (index, component) in self.0.iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            match component {
                KeyComponent::Undefined => text.extend_from_slice(b"{}"),
                KeyComponent::Null => text.extend_from_slice(b"null"),
                KeyComponent::Bool(true) => text.extend_from_slice(b"true"),
                KeyComponent::Bool(false) => text.extend_from_slice(b"false"),
                KeyComponent::Number(number) => write_number(Number::from(*number), &mut text),
                KeyComponent::String(string) => write_string(string, &mut text),
            }
        }
        text.push(b']');
        String::from_utf8(text).expect("the JSON writer writes UTF-8")
    }
}

impl fmt::Display for PartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

fn component(index: usize, value: &Value) -> Result<KeyComponent, KeyError> {
    KeyComponent::from_value(value).ok_or_else(|| KeyError::NotComponent {
        index,
        found: value.type_name(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn headers_parse_and_print() {
        for (header, expected) in [
            ("[]", "[]"),
            ("[{}]", "[{}]"),
            (r#"["a"]"#, r#"["a"]"#),
            (r#"[ "a", "b" , 3 ]"#, r#"["a","b",3]"#),
            (r#"["\u00e9"]"#, r#"["é"]"#),
            ("[1.0]", "[1]"),
            ("[1e0]", "[1]"),
            ("[-0.0]", "[0]"),
            ("[null,true,false,1.5]", "[null,true,false,1.5]"),
        ] {
            let key = PartitionKey::parse_header(header).unwrap();
            assert_eq!(key.to_json(), expected, "{header}");
        }
    }

    #[test]
    fn what_is_not_a_key_is_refused() {
        for (header, expected) in [
            ("", "partition key is not JSON"),
            ("[", "partition key is not JSON"),
            ("\"a\"", "partition key must be a JSON array, not string"),
            ("{}", "partition key must be a JSON array, not object"),
            ("[1,[]]", "partition key component 1 may not be array"),
            (
                r#"[{"a":1}]"#,
                "partition key component 0 may not be object",
            ),
            ("[[[[[[]]]]]]", "partition key is not JSON"),
        ] {
            let error = PartitionKey::parse_header(header).unwrap_err();
            assert_eq!(error.to_string(), expected, "{header}");
        }
    }

    #[test]
    fn equal_numbers_are_equal_keys() {
        let key = |number| PartitionKey::new(vec![KeyComponent::Number(number)]);
        assert_eq!(key(0.0), key(-0.0));
        assert_eq!(key(f64::NAN), key(f64::NAN));
        assert_ne!(key(1.0), key(2.0));
        assert_ne!(key(0.0), PartitionKey::new(vec![KeyComponent::Null]));
    }

    pub(crate) fn any_component() -> impl Strategy<Value = KeyComponent> {
        prop_oneof![
            Just(KeyComponent::Undefined),
            Just(KeyComponent::Null),
            any::<bool>().prop_map(KeyComponent::Bool),
            any::<i32>().prop_map(|number| KeyComponent::Number(f64::from(number))),
            proptest::num::f64::NORMAL.prop_map(KeyComponent::Number),
            "\\PC{0,8}".prop_map(KeyComponent::String),
            any::<String>().prop_map(KeyComponent::String),
        ]
    }

    proptest! {
        #[test]
        fn print_then_parse_is_identity(
            components in proptest::collection::vec(any_component(), 0..4),
        ) {
            let key = PartitionKey::new(components);
            prop_assert_eq!(PartitionKey::parse_header(&key.to_json()), Ok(key));
        }
    }
}
