//! Renders a record as lines of JSON. Operators use it for acknowledged records that are not part
//! of the replicated history, to decide what to do with them.

use std::fmt::Write as _;

use orrery_regions::StreamRecord;

use crate::Error;
use crate::document_key::container_of;
use crate::multi_write::{AccountChange, items_of};
use crate::record::{KeyChange, Record, RecordHeader};
use crate::stored_item::StoredItem;

/// One line for each item that a record wrote or deleted, and one line for a catalogue change.
pub fn record_json_lines(sequence: u64, record: &[u8]) -> Result<Vec<String>, Error> {
    let (header, changes) = match Record::decode(record)? {
        Record::Items {
            header, changes, ..
        } => (header, changes),
        Record::Note { .. } | Record::Merged(_) => return Ok(Vec::new()),
        Record::Account(AccountChange { changes, .. })
        | Record::Catalogue { changes }
        | Record::Ranges { changes, .. } => {
            let count = changes.len();
            let line =
                format!(r#"{{"sequence":{sequence},"operation":"catalogue","changes":{count}}}"#);
            return Ok(vec![line]);
        }
    };
    item_lines(&format!(r#""sequence":{sequence}"#), header, &changes)
}

/// [`record_json_lines`] for a record of a region's stream.
pub fn stream_record_json_lines(record: &StreamRecord) -> Result<Vec<String>, Error> {
    let items = items_of(record);
    let (header, changes) =
        items.ok_or_else(|| Error::Damaged("a record of a stream does not decode".to_owned()))?;
    let name = format!(
        r#""region":{},"sequence":{}"#,
        record.origin.0, record.sequence.0
    );
    item_lines(&name, header, &changes)
}

fn item_lines(
    name: &str,
    header: RecordHeader,
    changes: &[KeyChange],
) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for (key, value) in changes {
        let container = container_of(key).unwrap_or(header.container);
        let start = format!(
            r#"{{{name},"container":{container},"time":{}"#,
            header.seconds
        );
        lines.push(match value {
            Some(value) => {
                let item = StoredItem::decode(value.clone())?;
                let text = item.text();
                let text = String::from_utf8_lossy(&text);
                format!(r#"{start},"operation":"put","item":{text}}}"#)
            }
            None => format!(
                r#"{start},"operation":"delete","key":"{}"}}"#,
                hexadecimal(key)
            ),
        });
    }
    Ok(lines)
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a string takes any text");
    }
    text
}
