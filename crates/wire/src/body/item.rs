//! The text of an item for a client that excludes system properties.

use bytes::Bytes;

/// The names with the texts around their values. The server writes both properties itself, behind
/// all properties of the client.
const EXCLUDED: [&[u8]; 2] = [b",\"_self\":\"", b",\"_attachments\":\""];

/// Removes `_self` and `_attachments` from the stored text of an item.
pub fn without_excluded_properties(item: &Bytes) -> Bytes {
    let mut text = item.to_vec();
    for begin in EXCLUDED {
        // A property of the client that looks the same comes earlier, so the last one counts.
        let found = text.windows(begin.len()).rposition(|part| part == begin);
        let end = found.and_then(|from| {
            let value = from + begin.len();
            let quote = text[value..].iter().position(|byte| *byte == b'"')?;
            Some((from, value + quote + 1))
        });
        if let Some((from, to)) = end {
            text.drain(from..to);
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_properties_of_the_server_are_removed() {
        let item = r#"{"id":"a","o":{"x":1,"_self":"mine"},"_rid":"r==","_self":"dbs/r==/","_etag":"\"e\"","_attachments":"attachments/","_ts":1}"#;
        let without = without_excluded_properties(&Bytes::from(item));
        assert_eq!(
            without,
            r#"{"id":"a","o":{"x":1,"_self":"mine"},"_rid":"r==","_etag":"\"e\"","_ts":1}"#
        );
    }
}
