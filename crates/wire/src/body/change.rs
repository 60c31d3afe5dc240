//! Changes in a change feed: bare items, or envelopes with the operation.

use std::io::Write as _;

use bytes::Bytes;
use orrery_model::Lsn;

use super::object::ObjectWriter;

/// A change, as clients receive it.
#[derive(Debug, Clone, Copy)]
pub struct ChangeDescription<'a> {
    pub lsn: Lsn,
    pub seconds: u32,
    pub current: Option<&'a Bytes>,
    /// The operation. None in the feed of latest versions, which does not record operations.
    pub event: Option<ChangeEvent<'a>>,
}

/// The operation that changed an item.
#[derive(Debug, Clone, Copy)]
pub struct ChangeEvent<'a> {
    pub operation: ChangeOperation,
    pub previous: Option<&'a Bytes>,
    pub previous_lsn: Lsn,
    pub id: &'a str,
    /// The partition key as an object, from the name of each level to its value.
    pub partition_key: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOperation {
    Create,
    Replace,
    Delete,
    Expiry,
}

/// The most bytes that [`write_changed_item`] adds to a text.
pub const CHANGED_ITEM_BYTES: usize = 32;

/// Writes the text of an item with the LSN of its change: `{…,"_lsn":12}`.
pub fn write_changed_item(text: &[u8], lsn: Lsn, out: &mut Vec<u8>) {
    // The stored text is not parsed: the position goes before its closing brace.
    let open = text.strip_suffix(b"}").unwrap_or(text);
    out.extend_from_slice(open);
    write!(out, ",\"_lsn\":{lsn}}}").expect("a vector takes any bytes");
}

/// The envelope in the wire format `2021-09-15`.
pub fn change_envelope(change: &ChangeDescription<'_>) -> Vec<u8> {
    let mut metadata = ObjectWriter::new();
    let mut envelope = ObjectWriter::new();
    let current: &[u8] = change.current.map_or(b"{}", |text| text);
    envelope = envelope.raw("current", current);
    if let Some(event) = &change.event {
        if let Some(previous) = event.previous {
            envelope = envelope.raw("previous", previous);
        }
        let name = match event.operation {
            ChangeOperation::Create => "create",
            ChangeOperation::Replace => "replace",
            ChangeOperation::Delete | ChangeOperation::Expiry => "delete",
        };
        metadata = metadata.text("operationType", name);
    }
    metadata = metadata
        .literal("lsn", change.lsn)
        .literal("crts", change.seconds);
    if let Some(event) = &change.event {
        // A create replaced no version.
        if event.operation != ChangeOperation::Create {
            metadata = metadata.literal("previousImageLSN", event.previous_lsn);
        }
        if matches!(
            event.operation,
            ChangeOperation::Delete | ChangeOperation::Expiry
        ) {
            let is_expiry = event.operation == ChangeOperation::Expiry;
            metadata = metadata
                .literal("timeToLiveExpired", is_expiry)
                .text("id", event.id)
                .raw("partitionKey", event.partition_key);
        }
    }
    envelope.raw("metadata", &metadata.finish()).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn items_get_their_position() {
        for (lsn, expected) in [
            (Lsn(12), r#"{"id":"a","_lsn":12}"#),
            (Lsn(u64::MAX), r#"{"id":"a","_lsn":18446744073709551615}"#),
        ] {
            let mut body = Vec::new();
            let item = br#"{"id":"a"}"#;
            write_changed_item(item, lsn, &mut body);
            assert!(body.len() <= item.len() + CHANGED_ITEM_BYTES);
            assert_eq!(text(body), expected);
        }
    }

    #[test]
    fn envelopes() {
        let (new, old) = (
            Bytes::from_static(b"{\"n\":2}"),
            Bytes::from_static(b"{\"n\":1}"),
        );
        let latest = ChangeDescription {
            lsn: Lsn(7),
            seconds: 9,
            current: Some(&new),
            event: None,
        };
        assert_eq!(
            text(change_envelope(&latest)),
            r#"{"current":{"n":2},"metadata":{"lsn":7,"crts":9}}"#
        );
        let with = |operation, current, previous| ChangeDescription {
            current,
            event: Some(ChangeEvent {
                operation,
                previous,
                previous_lsn: Lsn(3),
                id: "a",
                partition_key: br#"{"p":"x"}"#,
            }),
            ..latest
        };
        for (change, expected) in [
            (
                with(ChangeOperation::Create, Some(&new), None),
                r#"{"current":{"n":2},"metadata":{"operationType":"create","lsn":7,"crts":9}}"#,
            ),
            (
                with(ChangeOperation::Replace, Some(&new), Some(&old)),
                r#"{"current":{"n":2},"previous":{"n":1},"metadata":{"operationType":"replace","lsn":7,"crts":9,"previousImageLSN":3}}"#,
            ),
            (
                with(ChangeOperation::Expiry, None, Some(&old)),
                r#"{"current":{},"previous":{"n":1},"metadata":{"operationType":"delete","lsn":7,"crts":9,"previousImageLSN":3,"timeToLiveExpired":true,"id":"a","partitionKey":{"p":"x"}}}"#,
            ),
        ] {
            assert_eq!(text(change_envelope(&change)), expected);
        }
    }
}
