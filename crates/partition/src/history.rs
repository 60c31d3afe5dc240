//! Every change of a container that keeps its history: what was, what became of it, and when.
//!
//! ```text
//! version 1 | kind 1 | LSN of the version before 8 | second 4 | bytes of the new text 4 | new text
//!           | bytes of the old text 4 | old text | place of the document
//! ```

use bytes::Bytes;
use orrery_model::Lsn;

use crate::document_key::CONTAINER_BYTES;
use crate::record::Change;
use crate::spaces::HISTORY_POLICY;
use crate::stored::StoredItem;
use crate::{Container, Error};

const VERSION: u8 = 1;
const CREATED: u8 = 1;
const REPLACED: u8 = 2;
const DELETED: u8 = 3;
const EXPIRED: u8 = 4;

/// What happened to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Create,
    Replace,
    Delete,
    /// Removed because its time was over.
    Expiry,
}

/// One change with both sides of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: ChangeKind,
    pub(crate) previous_lsn: Lsn,
    pub(crate) seconds: u32,
    pub(crate) current: Option<Bytes>,
    pub(crate) previous: Option<Bytes>,
    pub(crate) place: Bytes,
}

/// The entry of a change; none if nothing changed that a client can see.
pub(crate) fn entry(
    document_key: &[u8],
    old: Option<&StoredItem>,
    new: Option<&StoredItem>,
    seconds: u32,
    is_expiry: bool,
) -> Option<Bytes> {
    let kind = match (old, new) {
        (None, None) => return None,
        (Some(old), Some(new)) if old.moment() == new.moment() => return None,
        (None, Some(_)) => CREATED,
        (Some(_), Some(_)) => REPLACED,
        (Some(_), None) if is_expiry => EXPIRED,
        (Some(_), None) => DELETED,
    };
    let (old_bytes, new_bytes) = (text_bytes(old), text_bytes(new));
    let mut out = Vec::with_capacity(22 + old_bytes + new_bytes + document_key.len());
    out.extend_from_slice(&[VERSION, kind]);
    let previous_lsn = old.map_or(Lsn(0), StoredItem::lsn);
    out.extend_from_slice(&previous_lsn.0.to_le_bytes());
    out.extend_from_slice(&seconds.to_le_bytes());
    for item in [new, old] {
        let text = item.map(StoredItem::text).unwrap_or_default();
        let length = u32::try_from(text.len()).expect("documents are bounded by limits");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&text);
    }
    out.extend_from_slice(&document_key[CONTAINER_BYTES..]);
    Some(out.into())
}

fn text_bytes(item: Option<&StoredItem>) -> usize {
    item.map_or(0, StoredItem::text_bytes)
}

impl Event {
    pub(crate) fn decode(bytes: &Bytes) -> Result<Event, Error> {
        decode(bytes)
            .ok_or_else(|| Error::Damaged("an entry of the history does not decode".to_owned()))
    }
}

/// The second of a change, without the rest of it.
pub(crate) fn seconds_of(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(10..14)?.first_chunk()?))
}

fn decode(bytes: &Bytes) -> Option<Event> {
    let [VERSION, kind] = *bytes.first_chunk()? else {
        return None;
    };
    let kind = match kind {
        CREATED => ChangeKind::Create,
        REPLACED => ChangeKind::Replace,
        DELETED => ChangeKind::Delete,
        EXPIRED => ChangeKind::Expiry,
        _ => return None,
    };
    let previous_lsn = Lsn(u64::from_le_bytes(*bytes.get(2..10)?.first_chunk()?));
    let seconds = seconds_of(bytes)?;
    let mut at = 14;
    let mut text = || -> Option<Bytes> {
        let length = u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
        let from = at + 4;
        at = from.checked_add(usize::try_from(length).ok()?)?;
        bytes.get(from..at)?;
        Some(bytes.slice(from..at))
    };
    let (current, previous) = (text()?, text()?);
    Some(Event {
        kind,
        previous_lsn,
        seconds,
        current: (!current.is_empty()).then_some(current),
        previous: (!previous.is_empty()).then_some(previous),
        place: bytes.slice(at..),
    })
}

/// The key in the catalogue that stands for as long as a container keeps its history.
pub(crate) fn history_key(container: u32) -> Bytes {
    [&[HISTORY_POLICY][..], &container.to_be_bytes()]
        .concat()
        .into()
}

/// The change of the catalogue that says whether a container keeps its history.
pub fn history_change(container: &Container) -> Change {
    let kept = container.keeps_history();
    let value = kept.then(|| Bytes::from_static(b"1"));
    (history_key(container.rid.id()), value)
}

/// The change of the catalogue that goes with the deletion of a container.
pub fn history_removal(container: &Container) -> Change {
    (history_key(container.rid.id()), None)
}
