//! Items of an exact size: an id, a partition key and ten fields of random alphanumerics, the shape
//! of the records of YCSB.

use anyhow::{Result, bail};

use crate::random::Random;

const FIELDS: usize = 10;

/// Writes items whose JSON text has exactly the requested length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemShape {
    value_bytes: usize,
}

impl ItemShape {
    /// Fails if ids of `id_bytes_max` bytes leave no room for the fields.
    pub(crate) fn new(value_bytes: usize, id_bytes_max: usize) -> Result<Self> {
        let least = frame_bytes(2 * id_bytes_max);
        if value_bytes < least {
            bail!("items of {value_bytes} bytes are too small: the least is {least}");
        }
        Ok(Self { value_bytes })
    }

    /// Appends one item. The id and the partition key must need no JSON escapes, because they are
    /// written as they are.
    pub(crate) fn write(self, out: &mut Vec<u8>, [id, key]: [&str; 2], random: &mut Random) {
        // `new` has checked that this does not underflow.
        let padding = self.value_bytes - frame_bytes(id.len() + key.len());
        for (name, value) in [("{\"id\":\"", id), (",\"pk\":\"", key)] {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(value.as_bytes());
            out.push(b'"');
        }
        for (field, digit) in (b'0'..=b'9').enumerate() {
            out.extend_from_slice(b",\"field");
            out.push(digit);
            out.extend_from_slice(b"\":\"");
            // The remainder of the division goes to the first fields, one byte each.
            random.alphanumeric(
                out,
                padding / FIELDS + usize::from(field < padding % FIELDS),
            );
            out.push(b'"');
        }
        out.push(b'}');
    }
}

/// The length of the item without its random characters.
fn frame_bytes(names_bytes: usize) -> usize {
    "{\"id\":\"\",\"pk\":\"\"}".len() + names_bytes + FIELDS * ",\"field0\":\"\"".len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_the_asked_size_and_shape() {
        let mut random = Random::new(1, 0);
        for value_bytes in [frame_bytes(26), 200, 1023, 1024, 1029, 65_536] {
            let mut text = Vec::new();
            ItemShape::new(value_bytes, 13).unwrap().write(
                &mut text,
                ["k000000000007"; 2],
                &mut random,
            );
            assert_eq!(text.len(), value_bytes);

            let item: serde_json::Map<String, serde_json::Value> =
                serde_json::from_slice(&text).unwrap();
            assert_eq!(item.len(), 2 + FIELDS);
            assert_eq!(item["id"], "k000000000007");
            assert_eq!(item["pk"], item["id"]);
        }
    }

    #[test]
    fn too_small_is_an_error() {
        assert!(ItemShape::new(frame_bytes(26) - 1, 13).is_err());
    }
}
