//! A record told to people: what it did, as lines of JSON. For records that a region had acknowledged
//! and that are not part of the history, so that somebody can decide what becomes of them.

use std::fmt::Write as _;

use orrery_regions::StreamRecord;

use crate::Error;
use crate::document_key::container_of;
use crate::multi::{AccountChange, items_of};
use crate::record::{Change, Moment, Record};
use crate::stored::StoredItem;

/// One line for each item that a record wrote or removed, and one for a change of the catalogue.
pub fn tell_record(sequence: u64, record: &[u8]) -> Result<Vec<String>, Error> {
    let (moment, changes) = match Record::decode(record)? {
        Record::Items {
            moment, changes, ..
        } => (moment, changes),
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
    tell_items(&format!(r#""sequence":{sequence}"#), moment, &changes)
}

/// The same of a record of a region's stream.
pub fn tell_stream_record(record: &StreamRecord) -> Result<Vec<String>, Error> {
    let items = items_of(record);
    let (moment, changes) =
        items.ok_or_else(|| Error::Damaged("a record of a stream does not decode".to_owned()))?;
    let name = format!(
        r#""region":{},"sequence":{}"#,
        record.origin.0, record.sequence.0
    );
    tell_items(&name, moment, &changes)
}

fn tell_items(name: &str, moment: Moment, changes: &[Change]) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for (key, value) in changes {
        let container = container_of(key).unwrap_or(moment.container);
        let start = format!(
            r#"{{{name},"container":{container},"time":{}"#,
            moment.seconds
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
