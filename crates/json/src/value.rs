//! A JSON value, or `Undefined`.

use std::fmt;

use indexmap::IndexMap;

use crate::{Number, write_value};

/// A JSON object. Properties keep their insertion order.
pub type Object = IndexMap<String, Value, NameHasher>;

/// The hasher of property names.
pub type NameHasher = foldhash::fast::RandomState;

/// The result of any expression.
///
/// `Undefined` is the value of a missing property. It never occurs inside an array or an object, is
/// never stored and is never printed.
#[derive(Debug, Clone, Default)]
pub enum Value {
    #[default]
    Undefined,
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Value>),
    Object(Object),
}

/// For an object with at most this many properties, comparing names is cheaper than hashing a name.
const COMPARED_MAX: usize = 8;

static UNDEFINED: Value = Value::Undefined;

impl Value {
    /// The property `name` of an object; `Undefined` for anything else.
    pub fn get(&self, name: &str) -> &Value {
        match self {
            Value::Object(object) if object.len() <= COMPARED_MAX => {
                let mut properties = object.as_slice().iter();
                let found = properties.find(|(known, _)| *known == name);
                found.map_or(&UNDEFINED, |(_, value)| value)
            }
            Value::Object(object) => object.get(name).unwrap_or(&UNDEFINED),
            _ => &UNDEFINED,
        }
    }

    /// The element `index` of an array; `Undefined` for anything else.
    pub fn at(&self, index: usize) -> &Value {
        match self {
            Value::Array(array) => array.get(index).unwrap_or(&UNDEFINED),
            _ => &UNDEFINED,
        }
    }

    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined)
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_number(&self) -> Option<Number> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The name of this type in error messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined => "undefined",
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        write_value(self, &mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Value::Number(number)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Number(Number::from(number))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(Number::from(number))
    }
}

/// Structural equality as the query language defines it, with `Undefined` equal to itself.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        crate::equal(self, other)
    }
}
