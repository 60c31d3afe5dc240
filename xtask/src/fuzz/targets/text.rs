//! Documents and definitions.

use orrery_json::{BinaryLimits, Value, parse, parse_binary, write_value};
use orrery_model::{ContainerDefinition, Document, limits};

/// Parses JSON text. The parser of documents must accept nothing that this parser refuses.
pub(super) fn json(input: &[u8]) -> bool {
    let document = Document::parse(input);
    let Ok(value) = parse(input) else {
        assert!(document.is_err(), "a document that is no JSON");
        return false;
    };
    is_written_as_read(&value);
    true
}

/// Parses the binary JSON encoding of the protocol.
pub(super) fn binary_json(input: &[u8]) -> bool {
    let bounds = BinaryLimits {
        depth_max: limits::NESTING_LEVELS_MAX,
        text_bytes_max: limits::ITEM_BYTES_MAX,
    };
    let Ok(value) = parse_binary(input, bounds) else {
        return false;
    };
    is_written_as_read(&value);
    true
}

/// A parsed value, written as text, must be read as the same value.
fn is_written_as_read(value: &Value) {
    let mut text = Vec::new();
    write_value(value, &mut text);
    let again = parse(&text).expect("what is written can be read");
    assert!(again == *value, "{value} is read as {again}");
}

/// A parsed container definition must survive being written, read and replaced by itself.
pub(super) fn definition(input: &[u8]) -> bool {
    let Ok(value) = parse(input) else {
        return false;
    };
    let Ok(definition) = ContainerDefinition::parse(&value) else {
        return false;
    };
    let written = definition.to_value();
    let again = ContainerDefinition::parse(&written).expect("what is written can be read");
    assert!(again.to_value() == written, "{written}");
    let replaced = definition.replacement(&written);
    let replaced = replaced.expect("a definition replaces itself").to_value();
    assert!(replaced == written, "{written} is replaced by {replaced}");
    let _key = definition.key().extract(&value);
    true
}
