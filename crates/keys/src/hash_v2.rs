//! Version 2 of the key hash: 128 bits over whole values, of which the top two are dropped.

use crate::KeyComponent;
use crate::murmur::murmur3_128;
use crate::sortable::{STRING, marker};

/// Bytes of one hash, and so of each level of an effective partition key.
pub(crate) const HASH_BYTES: usize = 16;

/// Terminates a string. Valid UTF-8 never contains this byte.
const STRING_END: u8 = 0xFF;

/// Clears the two highest bits, so that every hash is below `40` and [`Epk::max`](crate::Epk::max)
/// (`FF`) is above all of them.
const FIRST_BYTE_MASK: u8 = 0x3F;

/// The hash of an input that [`write_input`] has written: one level of an effective partition key.
pub(crate) fn hash(input: &[u8]) -> [u8; HASH_BYTES] {
    let mut bytes = murmur3_128(input).to_be_bytes();
    bytes[0] &= FIRST_BYTE_MASK;
    bytes
}

/// Appends the hash input of a component. The encoding is injective and self-delimiting.
pub(crate) fn write_input(component: &KeyComponent, out: &mut Vec<u8>) {
    out.push(marker(component));
    match component {
        KeyComponent::Undefined | KeyComponent::Null | KeyComponent::Bool(_) => {}
        KeyComponent::Number(number) => out.extend_from_slice(&number.to_le_bytes()),
        KeyComponent::String(text) => write_text(text, out),
    }
}

/// [`write_input`] for a borrowed string that is not inside a [`KeyComponent`].
pub(crate) fn write_string_input(text: &str, out: &mut Vec<u8>) {
    out.push(STRING);
    write_text(text, out);
}

/// The number of bytes that [`write_input`] appends.
pub(crate) fn input_bytes(component: &KeyComponent) -> usize {
    match component {
        KeyComponent::Undefined | KeyComponent::Null | KeyComponent::Bool(_) => 1,
        KeyComponent::Number(_) => 1 + size_of::<f64>(),
        KeyComponent::String(text) => 2 + text.len(),
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(STRING_END);
}

/// One hash over all components: containers with one partition key path.
pub(crate) fn epk_of_hash(components: &[KeyComponent]) -> Vec<u8> {
    if components.is_empty() {
        return Vec::new();
    }
    let mut input = Vec::new();
    for component in components {
        write_input(component, &mut input);
    }
    hash(&input).to_vec()
}

/// One hash for each component: hierarchical keys, where a prefix of the key is a range.
pub(crate) fn epk_of_multi_hash(components: &[KeyComponent]) -> Vec<u8> {
    let mut epk = Vec::with_capacity(components.len() * HASH_BYTES);
    let mut input = Vec::new();
    for component in components {
        input.clear();
        write_input(component, &mut input);
        epk.extend_from_slice(&hash(&input));
    }
    epk
}
