//! The history of a container: every change with the old and the new text.
//!
//! ```text
//! version 1 | kind 1 | LSN of the version before 8 | second 4 | bytes of the new text 4 | new text
//!           | bytes of the old text 4 | old text | key position of the document
//! ```

use bytes::Bytes;
use orrery_model::Lsn;

use crate::document_key::CONTAINER_BYTES;
use crate::keyspaces::HISTORY_POLICY;
use crate::record::KeyChange;
use crate::stored_item::StoredItem;
use crate::{Container, Error};

const VERSION: u8 = 1;
const CREATED: u8 = 1;
const REPLACED: u8 = 2;
const DELETED: u8 = 3;
const EXPIRED: u8 = 4;

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Create,
    Replace,
    Delete,
    /// Removed because its time to live was over.
    Expiry,
}

/// One change with the texts of both versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HistoryEntry {
    pub(crate) kind: ChangeKind,
    pub(crate) previous_lsn: Lsn,
    pub(crate) seconds: u32,
    pub(crate) current: Option<Bytes>,
    pub(crate) previous: Option<Bytes>,
    pub(crate) key_position: Bytes,
}

/// The history entry of a change; `None` if no client-visible version changed.
pub(crate) fn entry(
    document_key: &[u8],
    old: Option<&StoredItem>,
    new: Option<&StoredItem>,
    seconds: u32,
    is_expiry: bool,
) -> Option<Bytes> {
    let kind = match (old, new) {
        (None, None) => return None,
        (Some(old), Some(new)) if old.feed_position() == new.feed_position() => return None,
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

impl HistoryEntry {
    pub(crate) fn decode(bytes: &Bytes) -> Result<HistoryEntry, Error> {
        decode(bytes)
            .ok_or_else(|| Error::Damaged("an entry of the history does not decode".to_owned()))
    }
}

/// The second of a change, read without decoding the entry.
pub(crate) fn seconds_of(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(10..14)?.first_chunk()?))
}

fn decode(bytes: &Bytes) -> Option<HistoryEntry> {
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
    Some(HistoryEntry {
        kind,
        previous_lsn,
        seconds,
        current: (!current.is_empty()).then_some(current),
        previous: (!previous.is_empty()).then_some(previous),
        key_position: bytes.slice(at..),
    })
}

/// The catalogue key that exists while a container keeps its history.
pub(crate) fn history_key(container: u32) -> Bytes {
    [&[HISTORY_POLICY][..], &container.to_be_bytes()]
        .concat()
        .into()
}

/// The catalogue change that turns the history of a container on or off.
pub fn history_change(container: &Container) -> KeyChange {
    let kept = container.keeps_history();
    let value = kept.then(|| Bytes::from_static(b"1"));
    (history_key(container.rid.id()), value)
}

/// The catalogue change that accompanies the deletion of a container.
pub fn history_removal(container: &Container) -> KeyChange {
    (history_key(container.rid.id()), None)
}
