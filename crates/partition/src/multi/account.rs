//! Catalogue changes of a multi-write account: decided by its hub, applied in every region as the
//! account stream says.
//!
//! A change was decided over a catalogue, and holds only on top of that. It names the account
//! record that changed the catalogue last; where another one came in between, because a hub was
//! replaced or gave up waiting, it changes nothing, in every region alike.

use bytes::Bytes;
use orrery_regions::{Progress, Sequence, StreamId};

use super::change_progress;
use super::codec::take_long;
use super::heirs::retire;
use crate::Error;
use crate::apply::apply_catalogue;
use crate::index_state::IndexStates;
use crate::overlay::Overlay;
use crate::record::{Change, decode_changes, encode_changes};
use crate::spaces::META;

/// Key of the account record that changed the catalogue last, in the meta space.
pub(crate) const CHANGED_KEY: &[u8] = b"c";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccountChange {
    pub(crate) sequence: Sequence,
    /// The one that changed the catalogue before it.
    pub(crate) base: Sequence,
    /// None of a record that says something else.
    pub(crate) changes: Vec<Change>,
}

/// What became of a record of the account stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountOutcome {
    Applied,
    /// It was here already.
    Known,
    /// It was decided over another catalogue and changes nothing anywhere.
    Void,
}

impl AccountChange {
    /// What a record of the account stream says.
    pub(crate) fn of_data(sequence: Sequence, data: Option<&[u8]>) -> Option<AccountChange> {
        let Some(mut data) = data else {
            return Some(AccountChange {
                sequence,
                base: Sequence::ZERO,
                changes: Vec::new(),
            });
        };
        let base = Sequence(take_long(&mut data)?);
        Some(AccountChange {
            sequence,
            base,
            changes: decode_changes(data)?,
        })
    }

    /// Without the changes.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sequence.0.to_le_bytes());
        out.extend_from_slice(&self.base.0.to_le_bytes());
    }

    pub(crate) fn decode(bytes: &mut &[u8]) -> Option<AccountChange> {
        Some(AccountChange {
            sequence: Sequence(take_long(bytes)?),
            base: Sequence(take_long(bytes)?),
            changes: Vec::new(),
        })
    }

    /// Whether it holds on top of the catalogue as it is.
    pub(crate) fn is_valid(&self, overlay: &Overlay<'_>) -> Result<bool, Error> {
        Ok(!self.changes.is_empty()
            && last_changed(overlay.get(META, &CHANGED_KEY.into())?) == self.base)
    }
}

/// The data of an account record: changes that were decided over the catalogue of `base`.
pub fn account_data(base: Sequence, changes: &[Change]) -> Bytes {
    let mut data = base.0.to_le_bytes().to_vec();
    encode_changes(changes, &mut data);
    data.into()
}

/// The account record that changed the catalogue last.
pub(crate) fn last_changed(row: Option<Bytes>) -> Sequence {
    let row = row.and_then(|row| row.first_chunk().copied());
    Sequence(row.map_or(0, u64::from_le_bytes))
}

/// Applies a record of the account stream; tells whether it changed the catalogue.
pub(crate) fn apply_account(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStates,
    account: &AccountChange,
) -> Result<bool, Error> {
    let is_valid = account.is_valid(overlay)?;
    if is_valid {
        for change in &account.changes {
            retire(overlay, change)?;
        }
        apply_catalogue(overlay, states, &account.changes)?;
        let row = Bytes::copy_from_slice(&account.sequence.0.to_le_bytes());
        overlay.put(META, CHANGED_KEY.into(), row);
    }
    let advance = |progress: &mut Progress| progress.advance(StreamId::Account, account.sequence);
    change_progress(overlay, advance)?;
    Ok(is_valid)
}
