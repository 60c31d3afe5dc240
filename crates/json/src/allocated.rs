//! The memory that a value occupies, which is many times the length of its text.
//!
//! An array element occupies a whole [`Value`] whatever its type. A property of an object adds its
//! name, its hash and its slot in a hash table: `[{"a":1}]` is 9 bytes of text and hundreds of
//! bytes of memory. A caller that limits the memory of values measures the values with these
//! functions.

use crate::{Object, Value};

/// Bytes of a value without heap memory: a number, a boolean, an empty string.
pub const VALUE_BYTES: usize = size_of::<Value>();

/// Bytes of one property of an object: hash, name, value and slot in the hash table.
const PROPERTY_BYTES: usize = size_of::<usize>() + size_of::<String>() + VALUE_BYTES + SLOT_BYTES;
/// Bytes of one hash table slot and its control byte. The factor two covers empty slots: after
/// growth up to half of the slots are empty.
const SLOT_BYTES: usize = 2 * (size_of::<usize>() + 1);
/// Bytes of the allocation of a hash table beside its slots.
const TABLE_BYTES: usize = 32;
/// Allocators round sizes up to a multiple of this.
const ROUNDING: usize = 16;

impl Value {
    /// The total memory of the value, with the `Value` itself.
    pub fn allocated_bytes(&self) -> usize {
        VALUE_BYTES + self.heap_bytes()
    }

    /// The heap memory of the value, without the `Value` itself.
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

/// An upper bound of the memory that the value of a JSON text occupies, for a caller that needs the
/// bound before it parses the text. The function does not parse: it counts the punctuation between
/// values, including punctuation inside strings, and assumes that every array and object is half
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
    // A non-empty array starts with capacity for four elements, an object with capacity for three
    // properties.
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
    fn the_bound_of_a_text_covers_its_value() {
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
