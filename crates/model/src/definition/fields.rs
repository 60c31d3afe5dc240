//! Typed access to the properties of a definition, with refusals that name the property.

use std::fmt;

use orrery_json::{Number, Object, Value};

use crate::Failure;

/// A JSON object of a definition, and where in the body it stands.
pub(crate) struct Fields<'a> {
    object: &'a Object,
    place: String,
}

/// The refusal of a definition; the sentence says what to correct.
pub(crate) fn refused(sentence: impl fmt::Display) -> Failure {
    Failure::bad_request(format!(
        "One of the specified inputs is invalid. {sentence}"
    ))
}

impl<'a> Fields<'a> {
    /// The body itself.
    pub(crate) fn of_body(body: &'a Value) -> Result<Fields<'a>, Failure> {
        Fields::at(body, String::new())
    }

    fn at(value: &'a Value, place: String) -> Result<Fields<'a>, Failure> {
        match value.as_object() {
            Some(object) => Ok(Fields { object, place }),
            None if place.is_empty() => Err(refused("The body must be a JSON object.")),
            None => Err(wrong_type(&place, "an object", value)),
        }
    }

    /// A null stands for an absent property: several clients write one for the other.
    pub(crate) fn get(&self, property: &str) -> Option<&'a Value> {
        self.object
            .get(property)
            .filter(|value| !matches!(value, Value::Null))
    }

    /// Full name of a property, for messages: `indexingPolicy.automatic`.
    pub(crate) fn name(&self, property: &str) -> String {
        if self.place.is_empty() {
            property.to_owned()
        } else {
            format!("{}.{property}", self.place)
        }
    }

    pub(crate) fn text(&self, property: &str) -> Result<Option<&'a str>, Failure> {
        self.typed(property, "a string", Value::as_str)
    }

    pub(crate) fn required_text(&self, property: &str) -> Result<&'a str, Failure> {
        self.text(property)?.ok_or_else(|| self.missing(property))
    }

    pub(crate) fn boolean(&self, property: &str) -> Result<Option<bool>, Failure> {
        self.typed(property, "a boolean", Value::as_bool)
    }

    pub(crate) fn integer(&self, property: &str) -> Result<Option<i64>, Failure> {
        self.typed(property, "a whole number", |value| {
            value.as_number().and_then(Number::as_i64)
        })
    }

    pub(crate) fn required_integer(&self, property: &str) -> Result<i64, Failure> {
        self.integer(property)?
            .ok_or_else(|| self.missing(property))
    }

    pub(crate) fn required_number(&self, property: &str) -> Result<Number, Failure> {
        self.typed(property, "a number", Value::as_number)?
            .ok_or_else(|| self.missing(property))
    }

    pub(crate) fn object(&self, property: &str) -> Result<Option<Fields<'a>>, Failure> {
        self.get(property)
            .map(|value| Fields::at(value, self.name(property)))
            .transpose()
    }

    pub(crate) fn list(&self, property: &str) -> Result<Option<&'a [Value]>, Failure> {
        self.typed(property, "an array", Value::as_array)
    }

    /// The objects of a list; `None` when there is no list.
    pub(crate) fn objects(&self, property: &str) -> Result<Option<Vec<Fields<'a>>>, Failure> {
        let Some(list) = self.list(property)? else {
            return Ok(None);
        };
        objects_of(list, &self.name(property)).map(Some)
    }

    /// The strings of a list; `None` when there is no list.
    pub(crate) fn texts(&self, property: &str) -> Result<Option<Vec<&'a str>>, Failure> {
        let Some(list) = self.list(property)? else {
            return Ok(None);
        };
        let text = |(index, value): (usize, &'a Value)| {
            let place = || format!("{}[{index}]", self.name(property));
            value
                .as_str()
                .ok_or_else(|| wrong_type(&place(), "a string", value))
        };
        list.iter()
            .enumerate()
            .map(text)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// One of a few words, in any case.
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
            refused(format!(
                "'{}' must be one of {}; '{text}' is not.",
                self.name(property),
                names.join(", ")
            ))
        })
    }

    pub(crate) fn missing(&self, property: &str) -> Failure {
        refused(format!("'{}' is missing.", self.name(property)))
    }

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

/// The objects in an array that stands at `place`.
pub(crate) fn objects_of<'a>(list: &'a [Value], place: &str) -> Result<Vec<Fields<'a>>, Failure> {
    let object =
        |(index, value): (usize, &'a Value)| Fields::at(value, format!("{place}[{index}]"));
    list.iter().enumerate().map(object).collect()
}

pub(crate) fn find_word<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text))
        .map(|(_, value)| *value)
}

/// The word that stands for `value`; every value is in its own table.
pub(crate) fn word_of<T: PartialEq>(value: &T, words: &[(&'static str, T)]) -> Value {
    let found = words.iter().find(|(_, candidate)| candidate == value);
    Value::from(found.map_or("", |(name, _)| *name))
}

/// An object of those properties that are there: `Undefined` leaves a property out.
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

/// An array, or nothing at all when it would be empty.
pub(crate) fn list_unless_empty(values: impl Iterator<Item = Value>) -> Value {
    let values: Vec<Value> = values.collect();
    if values.is_empty() {
        Value::Undefined
    } else {
        Value::Array(values)
    }
}

fn wrong_type(place: &str, expected: &str, value: &Value) -> Failure {
    refused(format!(
        "'{place}' must be {expected}, but its type is {}.",
        value.type_name()
    ))
}
