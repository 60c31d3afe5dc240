//! The prefix of stored keys that identifies the logical partition of a document.
//!
//! ```text
//! effective partition key | count of components (1 byte) | components
//! ```
//!
//! The effective partition key comes first so that one key range is one contiguous range of stored
//! keys, which a split can divide. The components follow because two partition keys may have the
//! same hash. Zeros pad version 2 hashes to the width of a complete key, and version 1 keys are
//! self-delimiting, so no effective partition key is a prefix of another. The components are
//! encoded as the hash input of version 2, which is injective and self-delimiting.

use crate::KeyComponent;
use crate::hash_v1;
use crate::hash_v2::{self, HASH_BYTES};

const COUNT_BYTES: usize = 1;
/// Bytes of the hash at the start of a version 1 key: a number with its type marker.
const HASH_V1_BYTES_MAX: usize = 10;

pub(crate) fn write_hash_v1(components: &[KeyComponent], out: &mut Vec<u8>) {
    // Twice the components: once for the key itself, and once as scratch space for the hash input.
    out.reserve(HASH_V1_BYTES_MAX + 2 * (1 + components_bytes(components)));
    hash_v1::write_epk(components, out);
    write_count(components, out);
    for component in components {
        match component {
            KeyComponent::String(text) => {
                hash_v2::write_string_input(&hash_v1::significant(text), out);
            }
            other => hash_v2::write_input(other, out),
        }
    }
}

pub(crate) fn write_hash_v2(components: &[KeyComponent], out: &mut Vec<u8>) {
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

pub(crate) fn write_multi_hash(levels: usize, components: &[KeyComponent], out: &mut Vec<u8>) {
    let start = write_room(levels, components, out);
    for (level, component) in components.iter().take(levels).enumerate() {
        let input = out.len();
        hash_v2::write_input(component, out);
        let hash = hash_v2::hash(&out[input..]);
        let hash_offset = start + level * HASH_BYTES;
        out[hash_offset..hash_offset + HASH_BYTES].copy_from_slice(&hash);
    }
}

/// The byte offset and the bytes of the first components in the output of [`write_multi_hash`], for
/// all keys that begin with these components.
pub(crate) fn prefix_components(levels: usize, components: &[KeyComponent]) -> (usize, Vec<u8>) {
    let mut bytes = Vec::with_capacity(components_bytes(components));
    for component in components {
        hash_v2::write_input(component, &mut bytes);
    }
    (levels * HASH_BYTES + COUNT_BYTES, bytes)
}

/// Reserves space for the whole prefix, fills the position of the hashes with zeros and returns
/// that position. The hashes are computed from the components that the caller appends after them.
fn write_room(levels: usize, components: &[KeyComponent], out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.reserve(levels * HASH_BYTES + 1 + components_bytes(components));
    out.resize(start + levels * HASH_BYTES, 0);
    write_count(components, out);
    start
}

fn components_bytes(components: &[KeyComponent]) -> usize {
    components.iter().map(hash_v2::input_bytes).sum()
}

fn write_count(components: &[KeyComponent], out: &mut Vec<u8>) {
    out.push(u8::try_from(components.len()).expect("a checked key has at most three components"));
}
