//! A record told to people: what it did, as lines of JSON. For records that a region had acknowledged
//! and that are not part of the history, so that somebody can decide what becomes of them.

use std::fmt::Write as _;

use crate::Error;
use crate::document_key::container_of;
use crate::multi::AccountChange;
use crate::record::Record;
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
    let mut lines = Vec::new();
    for (key, value) in &changes {
        let container = container_of(key).unwrap_or(moment.container);
        let start = format!(
            r#"{{"sequence":{sequence},"container":{container},"time":{}"#,
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
