//! Notes: opaque records that the layer above the store keeps in the log, and a row of the state
//! with the newest note, which is part of snapshots.

use bytes::Bytes;
use orrery_storage::Storage;

use crate::keyspaces::META;
use crate::overlay::Overlay;
use crate::record::Record;
use crate::{Error, Store};

pub(crate) const NOTE_KEY: &[u8] = b"note";

/// The log record of a note.
pub fn note_record(text: Bytes) -> Bytes {
    Record::Note { text }.payload()
}

/// The text of a note record; `None` for other records.
pub fn note_of(record: &[u8]) -> Option<Bytes> {
    Record::text_of_note(record).map(Bytes::copy_from_slice)
}

pub(crate) fn put_note(overlay: &mut Overlay<'_>, text: Bytes) {
    overlay.put(META, NOTE_KEY.into(), text);
}

pub(crate) fn read_note(storage: &Storage) -> Result<Option<Bytes>, Error> {
    Ok(storage.get(META, NOTE_KEY)?)
}

impl Store {
    /// The newest note in the state.
    pub fn note(&self) -> Result<Option<Bytes>, Error> {
        read_note(&self.storage)
    }
}
