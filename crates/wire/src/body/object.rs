//! Writes an object property by property, in the order of the protocol.

use std::fmt::Display;

use orrery_json::{Value, write_string, write_value};

/// The text of an object whose closing brace is missing.
pub(crate) struct ObjectWriter {
    out: Vec<u8>,
}

impl ObjectWriter {
    /// Begins an empty object.
    pub(crate) fn new() -> ObjectWriter {
        ObjectWriter { out: vec![b'{'] }
    }

    /// Continues an object that exists as a value.
    pub(crate) fn of(value: &Value) -> ObjectWriter {
        let mut out = Vec::new();
        write_value(value, &mut out);
        // Only objects are continued; the closing brace is written again by `finish`.
        debug_assert_eq!(out.last(), Some(&b'}'));
        out.pop();
        ObjectWriter { out }
    }

    /// Writes a name, and a comma unless the name is the first one.
    fn name(&mut self, name: &str) {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        write_string(name, &mut self.out);
        self.out.push(b':');
    }

    /// A string, which may need escapes.
    pub(crate) fn text(mut self, name: &str, text: &str) -> ObjectWriter {
        self.name(name);
        write_string(text, &mut self.out);
        self
    }

    /// A value whose text has no quotes, such as a resource id or a link.
    pub(crate) fn display(self, name: &str, value: impl Display) -> ObjectWriter {
        self.text(name, &value.to_string())
    }

    /// A number, a boolean, or another value whose text is its JSON.
    pub(crate) fn literal(mut self, name: &str, value: impl Display) -> ObjectWriter {
        self.name(name);
        self.out.extend_from_slice(value.to_string().as_bytes());
        self
    }

    /// A value that is JSON text already.
    pub(crate) fn raw(mut self, name: &str, json: &[u8]) -> ObjectWriter {
        self.name(name);
        self.out.extend_from_slice(json);
        self
    }

    /// Ends the object.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }
}

/// An array of JSON texts.
pub(crate) fn array_of(elements: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = vec![b'['];
    for (index, element) in elements.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&element);
    }
    out.push(b']');
    out
}
