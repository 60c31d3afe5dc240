//! Stored keys begin with the logical partition of what they hold.
//!
//! ```text
//! effective partition key | count of components (1 byte) | components
//! ```
//!
//! The effective partition key comes first so that a key range is one run of stored keys, which
//! a split can cut; the components follow because two partition keys may have one hash. Version 2
//! hashes are padded with zeros to the width of a complete key, and version 1 keys end themselves,
//! so that no effective partition key is the beginning of another. The components are written as
//! version 2 hashes them, which is injective and ends itself.

use crate::Component;
use crate::hash_v1;
use crate::hash_v2::{self, HASH_BYTES};

const COUNT_BYTES: usize = 1;
/// The hash at the start of a version 1 key, as a number with its mark.
const HASH_V1_BYTES_MAX: usize = 10;

pub(crate) fn write_hash_v1(components: &[Component], out: &mut Vec<u8>) {
    // The key holds the components once and the room is used once for what is hashed.
    out.reserve(HASH_V1_BYTES_MAX + 2 * (1 + components_bytes(components)));
    hash_v1::write_epk(components, out);
    write_count(components, out);
    for component in components {
        match component {
            Component::String(text) => {
                hash_v2::write_string_input(&hash_v1::significant(text), out);
            }
            other => hash_v2::write_input(other, out),
        }
    }
}

pub(crate) fn write_hash_v2(components: &[Component], out: &mut Vec<u8>) {
    let start = write_room(1, components, out);
    let input = out.len();
    for component in components {
        hash_v2::write_input(component, out);
    }
    if !components.is_empty() {
        let hash = hash_v2::hash(&out[input..]);
        out[start..start + HASH_BYTES].copy_from_slice(&hash);
    }
}

pub(crate) fn write_multi_hash(levels: usize, components: &[Component], out: &mut Vec<u8>) {
    let start = write_room(levels, components, out);
    for (level, component) in components.iter().take(levels).enumerate() {
        let input = out.len();
        hash_v2::write_input(component, out);
        let hash = hash_v2::hash(&out[input..]);
        let place = start + level * HASH_BYTES;
        out[place..place + HASH_BYTES].copy_from_slice(&hash);
    }
}

/// The bytes of the first components in what [`write_multi_hash`] writes for keys that begin with them, and
/// where they are.
pub(crate) fn first_levels(levels: usize, components: &[Component]) -> (usize, Vec<u8>) {
    let mut bytes = Vec::with_capacity(components_bytes(components));
    for component in components {
        hash_v2::write_input(component, &mut bytes);
    }
    (levels * HASH_BYTES + COUNT_BYTES, bytes)
}

/// Makes space for everything, fills the place of the hashes with zeros, and tells where it is.
fn write_room(levels: usize, components: &[Component], out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.reserve(levels * HASH_BYTES + 1 + components_bytes(components));
    out.resize(start + levels * HASH_BYTES, 0);
    write_count(components, out);
    start
}

fn components_bytes(components: &[Component]) -> usize {
    components.iter().map(hash_v2::input_bytes).sum()
}

fn write_count(components: &[Component], out: &mut Vec<u8>) {
    out.push(u8::try_from(components.len()).expect("a checked key has at most three components"));
}
