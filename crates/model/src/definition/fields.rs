//! Typed access to the properties of a definition. Refusals name the property.

use std::fmt;

use orrery_json::{Number, Object, Value};

use crate::Failure;

/// A JSON object of a definition, and the path of this object in the body.
pub(crate) struct DefinitionFields<'a> {
    object: &'a Object,
    path: String,
}

/// The refusal of a definition. The sentence tells the client what to correct.
pub(crate) fn invalid_input(sentence: impl fmt::Display) -> Failure {
    Failure::bad_request(format!(
        "One of the specified inputs is invalid. {sentence}"
    ))
}

impl<'a> DefinitionFields<'a> {
    /// The properties of the body itself.
    pub(crate) fn of_body(body: &'a Value) -> Result<DefinitionFields<'a>, Failure> {
        DefinitionFields::at(body, String::new())
    }

    /// The properties of the value at `path`, which must be an object.
    fn at(value: &'a Value, path: String) -> Result<DefinitionFields<'a>, Failure> {
        match value.as_object() {
            Some(object) => Ok(DefinitionFields { object, path }),
            None if path.is_empty() => Err(invalid_input("The body must be a JSON object.")),
            None => Err(wrong_type(&path, "an object", value)),
        }
    }

    /// The value of a property, or None if it is absent or null: several SDKs write null for an
    /// absent property.
    pub(crate) fn get(&self, property: &str) -> Option<&'a Value> {
        self.object
            .get(property)
            .filter(|value| !matches!(value, Value::Null))
    }

    /// The full name of a property, for messages: `indexingPolicy.automatic`.
    pub(crate) fn name(&self, property: &str) -> String {
        if self.path.is_empty() {
            property.to_owned()
        } else {
            format!("{}.{property}", self.path)
        }
    }

    /// The text of a string property. None if the property is absent; another type is refused.
    pub(crate) fn text(&self, property: &str) -> Result<Option<&'a str>, Failure> {
        self.typed(property, "a string", Value::as_str)
    }

    /// A property with a string, which must be present.
    pub(crate) fn required_text(&self, property: &str) -> Result<&'a str, Failure> {
        self.text(property)?.ok_or_else(|| self.missing(property))
    }

    /// A property with a boolean.
    pub(crate) fn boolean(&self, property: &str) -> Result<Option<bool>, Failure> {
        self.typed(property, "a boolean", Value::as_bool)
    }

    /// A property with a whole number. A fraction is refused.
    pub(crate) fn integer(&self, property: &str) -> Result<Option<i64>, Failure> {
        self.typed(property, "a whole number", |value| {
            value.as_number().and_then(Number::as_i64)
        })
    }

    /// A property with a whole number, which must be present.
    pub(crate) fn required_integer(&self, property: &str) -> Result<i64, Failure> {
        self.integer(property)?
            .ok_or_else(|| self.missing(property))
    }

    /// A property with a number, which must be present.
    pub(crate) fn required_number(&self, property: &str) -> Result<Number, Failure> {
        self.typed(property, "a number", Value::as_number)?
            .ok_or_else(|| self.missing(property))
    }

    /// The properties of a nested object, with the full path for messages.
    pub(crate) fn object(&self, property: &str) -> Result<Option<DefinitionFields<'a>>, Failure> {
        self.get(property)
            .map(|value| DefinitionFields::at(value, self.name(property)))
            .transpose()
    }

    /// The elements of an array.
    pub(crate) fn list(&self, property: &str) -> Result<Option<&'a [Value]>, Failure> {
        self.typed(property, "an array", Value::as_array)
    }

    /// The objects of a list, or `None` without the list.
    pub(crate) fn objects(
        &self,
        property: &str,
    ) -> Result<Option<Vec<DefinitionFields<'a>>>, Failure> {
        let Some(list) = self.list(property)? else {
            return Ok(None);
        };
        objects_of(list, &self.name(property)).map(Some)
    }

    /// The strings of a list, or `None` without the list.
    pub(crate) fn texts(&self, property: &str) -> Result<Option<Vec<&'a str>>, Failure> {
        let Some(list) = self.list(property)? else {
            return Ok(None);
        };
        let text = |(index, value): (usize, &'a Value)| {
            let path = || format!("{}[{index}]", self.name(property));
            value
                .as_str()
                .ok_or_else(|| wrong_type(&path(), "a string", value))
        };
        list.iter()
            .enumerate()
            .map(text)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// One of several words, in any case.
    pub(crate) fn choice<T: Copy>(
        &self,
        property: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, Failure> {
        let Some(text) = self.text(property)? else {
            return Ok(None);
        };
        find_word(text, words).map(Some).ok_or_else(|| {
            let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
            invalid_input(format!(
                "'{}' must be one of {}; '{text}' is not.",
                self.name(property),
                names.join(", ")
            ))
        })
    }

    /// The refusal of a body without this property.
    pub(crate) fn missing(&self, property: &str) -> Failure {
        invalid_input(format!("'{}' is missing.", self.name(property)))
    }

    /// Reads a property with one type. An absent property is None, and another type is refused.
    fn typed<T>(
        &self,
        property: &str,
        expected: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let Some(value) = self.get(property) else {
            return Ok(None);
        };
        let wrong = || wrong_type(&self.name(property), expected, value);
        read(value).map(Some).ok_or_else(wrong)
    }
}

/// The objects of the array at `path`.
pub(crate) fn objects_of<'a>(
    list: &'a [Value],
    path: &str,
) -> Result<Vec<DefinitionFields<'a>>, Failure> {
    let object = |(index, value): (usize, &'a Value)| {
        DefinitionFields::at(value, format!("{path}[{index}]"))
    };
    list.iter().enumerate().map(object).collect()
}

/// The value of a word, in any case.
pub(crate) fn find_word<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text))
        .map(|(_, value)| *value)
}

/// The word of `value`. Every value has a row in its table.
pub(crate) fn word_of<T: PartialEq>(value: &T, words: &[(&'static str, T)]) -> Value {
    let found = words.iter().find(|(_, candidate)| candidate == value);
    Value::from(found.map_or("", |(name, _)| *name))
}

/// An object of the properties that are not `Undefined`.
pub(crate) fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let present = properties
        .into_iter()
        .filter(|(_, value)| !value.is_undefined());
    Value::Object(
        present
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

/// An array, or `Undefined` for an empty array.
pub(crate) fn list_unless_empty(values: impl Iterator<Item = Value>) -> Value {
    let values: Vec<Value> = values.collect();
    if values.is_empty() {
        Value::Undefined
    } else {
        Value::Array(values)
    }
}

/// The refusal of a value with the wrong type. The value itself is not repeated, since it may be
/// large.
fn wrong_type(path: &str, expected: &str, value: &Value) -> Failure {
    invalid_input(format!(
        "'{path}' must be {expected}, but its type is {}.",
        value.type_name()
    ))
}
