//! What somebody above the store keeps with its records: a record that the store does not look into,
//! and a row of the state that has the newest of them, in snapshots too.

use bytes::Bytes;
use orrery_storage::Storage;

use crate::overlay::Overlay;
use crate::record::Record;
use crate::spaces::META;
use crate::{Error, Store};

pub(crate) const NOTE_KEY: &[u8] = b"note";

/// The record of a note, as it stands in the log.
pub fn note_record(text: Bytes) -> Bytes {
    Record::Note { text }.payload()
}

/// The text of a record that is a note.
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
    /// The newest note that the state has.
    pub fn note(&self) -> Result<Option<Bytes>, Error> {
        read_note(&self.storage)
    }
}
