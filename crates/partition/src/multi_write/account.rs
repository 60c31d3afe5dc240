//! Catalogue changes of a multi-write account: the hub decides them, and every region applies them
//! in the order of the account stream.
//!
//! A change is decided over one state of the catalogue and is valid only on top of that state. It
//! names the account record that changed the catalogue last. If another record came in between,
//! because a hub was replaced or gave up waiting, the change has no effect, identically in every
//! region.

use bytes::Bytes;
use orrery_regions::{Sequence, StreamId, VersionVector};

use super::change_progress;
use super::child_partitions::supersede;
use super::codec::take_long;
use crate::Error;
use crate::apply::apply_catalogue;
use crate::index_state::IndexStateCache;
use crate::keyspaces::META;
use crate::overlay::Overlay;
use crate::record::{KeyChange, decode_changes, encode_changes};

/// The key of the last account record that changed the catalogue, in the meta keyspace.
pub(crate) const CHANGED_KEY: &[u8] = b"c";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccountChange {
    pub(crate) sequence: Sequence,
    /// The account record that changed the catalogue before this one.
    pub(crate) base: Sequence,
    /// Empty for a record without catalogue changes.
    pub(crate) changes: Vec<KeyChange>,
}

/// The outcome of applying a record of the account stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountOutcome {
    Applied,
    /// The record was applied before.
    AlreadyApplied,
    /// The record was decided over another catalogue and has no effect in any region.
    Stale,
}

impl AccountChange {
    /// Decodes the data of a record of the account stream.
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

    /// Encodes the header without the changes.
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

    /// Whether the change was decided over the current catalogue.
    pub(crate) fn is_valid(&self, overlay: &Overlay<'_>) -> Result<bool, Error> {
        Ok(!self.changes.is_empty()
            && last_changed(overlay.get(META, &CHANGED_KEY.into())?) == self.base)
    }
}

/// The data of an account record with changes that were decided over the catalogue of `base`.
pub fn account_data(base: Sequence, changes: &[KeyChange]) -> Bytes {
    let mut data = base.0.to_le_bytes().to_vec();
    encode_changes(changes, &mut data);
    data.into()
}

/// The last account record that changed the catalogue.
pub(crate) fn last_changed(row: Option<Bytes>) -> Sequence {
    let row = row.and_then(|row| row.first_chunk().copied());
    Sequence(row.map_or(0, u64::from_le_bytes))
}

/// Applies a record of the account stream. Returns whether the record changed the catalogue.
pub(crate) fn apply_account(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStateCache,
    account: &AccountChange,
) -> Result<bool, Error> {
    let is_valid = account.is_valid(overlay)?;
    if is_valid {
        for change in &account.changes {
            supersede(overlay, change)?;
        }
        apply_catalogue(overlay, states, &account.changes)?;
        let row = Bytes::copy_from_slice(&account.sequence.0.to_le_bytes());
        overlay.put(META, CHANGED_KEY.into(), row);
    }
    // The record counts as applied even without effect, so that the stream continues.
    let advance =
        |progress: &mut VersionVector| progress.advance(StreamId::Account, account.sequence);
    change_progress(overlay, advance)?;
    Ok(is_valid)
}
