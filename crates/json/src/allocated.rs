//! How much memory a value takes, which is many times the length of its text.
//!
//! An element of an array takes the space of a whole [`Value`] whatever it is, and a property
//! beside that its name, its hash and its place in a table: `[{"a":1}]` is 9 bytes of text and
//! hundreds of memory. Whoever limits what values may take counts them with these functions.

use crate::{Object, Value};

/// Of a value that holds nothing beside itself: a number, a truth, an empty string.
pub const VALUE_BYTES: usize = size_of::<Value>();

/// A property of an object: hash, name and value, and its place in the table.
const PROPERTY_BYTES: usize = size_of::<usize>() + size_of::<String>() + VALUE_BYTES + PLACE_BYTES;
/// The bytes of one place in a hash table and of the mark of that place; doubled, because up to
/// half of the places of a table that has grown are empty.
const PLACE_BYTES: usize = 2 * (size_of::<usize>() + 1);
/// What a table takes beside its places.
const TABLE_BYTES: usize = 32;
/// Allocators round up.
const ROUNDING: usize = 16;

impl Value {
    /// All bytes of memory that the value takes, with those of the `Value` itself.
    pub fn allocated_bytes(&self) -> usize {
        VALUE_BYTES + self.heap_bytes()
    }

    /// The bytes of memory that the value takes on the heap, beside those of the `Value` itself.
    fn heap_bytes(&self) -> usize {
        match self {
            Value::Undefined | Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => rounded(text.capacity()),
            Value::Array(elements) => {
                let values: usize = elements.iter().map(Value::heap_bytes).sum();
                rounded(elements.capacity() * VALUE_BYTES) + values
            }
            Value::Object(object) => {
                let properties = object.iter();
                let parts =
                    properties.map(|(name, value)| rounded(name.capacity()) + value.heap_bytes());
                object_bytes(object) + parts.sum::<usize>()
            }
        }
    }
}

fn object_bytes(object: &Object) -> usize {
    match object.capacity() {
        0 => 0,
        properties => TABLE_BYTES + properties * PROPERTY_BYTES,
    }
}

fn rounded(bytes: usize) -> usize {
    bytes.next_multiple_of(ROUNDING)
}

/// An upper bound of the memory that the value of a JSON text takes, for a caller that must know
/// this bound before it parses the text. The function does not parse the text: it counts the signs
/// that values stand between, also those in strings, and takes every array and object to be half
/// empty.
pub fn allocated_bytes_max(text: &[u8]) -> usize {
    let (mut commas, mut colons, mut arrays, mut objects, mut quotes) = (0, 0, 0, 0, 0);
    let mut empty = 0;
    let mut before = b' ';
    for byte in text {
        match byte {
            b']' if before == b'[' => empty += 1,
            b'}' if before == b'{' => empty += 1,
            b',' => commas += 1,
            b':' => colons += 1,
            b'[' => arrays += 1,
            b'{' => objects += 1,
            b'"' => quotes += 1,
            _ => {}
        }
        before = *byte;
    }
    // An array that has elements begins with room for four, an object for three properties.
    let (elements_min, properties_min) = (4 * arrays, 4 * objects);
    let saved = empty * 4 * VALUE_BYTES;
    let elements = 2 * (1 + commas + arrays + objects) + elements_min;
    let properties = 2 * colons + properties_min;
    text.len()
        + quotes / 2 * ROUNDING
        + elements * VALUE_BYTES
        + properties * PROPERTY_BYTES
        + objects * TABLE_BYTES
        + (arrays + objects) * ROUNDING
        - saved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn values_take_more_than_their_text() {
        for (text, at_least) in [
            ("1", VALUE_BYTES),
            ("\"abc\"", VALUE_BYTES + 3),
            ("[]", VALUE_BYTES),
            ("[1,2,3]", 4 * VALUE_BYTES),
            (r#"{"a":1}"#, 2 * VALUE_BYTES + size_of::<String>()),
            ("[[[1]]]", 4 * VALUE_BYTES),
        ] {
            let value = parse(text.as_bytes()).unwrap();
            assert!(value.allocated_bytes() >= at_least, "{text}");
        }
        let numbers: Vec<Value> = (0..1000).map(Value::from).collect();
        let bytes = Value::Array(numbers).allocated_bytes();
        assert!((1000 * VALUE_BYTES..1100 * VALUE_BYTES).contains(&bytes));
    }

    #[test]
    fn a_text_says_what_its_value_can_take_at_most() {
        let long = format!("[{}1]", "1,".repeat(5_000));
        let empty = format!("[{}[]]", "[],".repeat(5_000));
        let objects = format!("[{}{{}}]", r#"{"":1},"#.repeat(5_000));
        let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let names: Vec<String> = (0..5_000).map(|name| format!("\"{name}\":0")).collect();
        let names = format!("{{{}}}", names.join(","));
        for text in [
            "1",
            "\"a\"",
            "{}",
            "[]",
            r#"{"a":{"b":[1,"x",null]}}"#,
            &long,
            &empty,
            &objects,
            &nested,
            &names,
        ] {
            let value = parse(text.as_bytes()).unwrap();
            let (allocated, bound) = (
                value.allocated_bytes(),
                allocated_bytes_max(text.as_bytes()),
            );
            assert!(allocated <= bound, "{allocated} > {bound}: {text:.40}");
        }
    }
}
