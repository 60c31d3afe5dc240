//! The expiry keyspace: documents by the second of their expiry, for the sweep that removes expired
//! documents. The visibility of a document never depends on this keyspace.

use bytes::Bytes;
use orrery_storage::Snapshot;

use crate::Error;
use crate::document_key::container_of;
use crate::keyspaces::EXPIRY;

const SECOND_BYTES: usize = 4;

pub(crate) fn entry_key(second: u32, document_key: &[u8]) -> Bytes {
    [&second.to_be_bytes()[..], document_key].concat().into()
}

/// A document that may have expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiryCandidate {
    /// The second in its expiry entry; 0 if it has no entry.
    pub second: u32,
    pub key: Bytes,
}

impl ExpiryCandidate {
    /// The container number of the document.
    pub fn container(&self) -> u32 {
        container_of(&self.key).unwrap_or(0)
    }
}

pub(crate) fn decode_entry(entry: &Bytes) -> Option<ExpiryCandidate> {
    let second = entry.first_chunk::<SECOND_BYTES>()?;
    Some(ExpiryCandidate {
        second: u32::from_be_bytes(*second),
        key: entry.slice(SECOND_BYTES..),
    })
}

/// Documents due at or before `now_seconds`, oldest first, for which `removes` holds: the documents
/// whose writes this region takes.
pub(crate) fn due(
    snapshot: &Snapshot,
    now_seconds: u64,
    limit: usize,
    removes: impl Fn(&[u8]) -> bool,
) -> Result<Vec<ExpiryCandidate>, Error> {
    let end = u32::try_from(now_seconds.saturating_add(1))
        .unwrap_or(u32::MAX)
        .to_be_bytes();
    let entries = snapshot.range(EXPIRY, &[], Some(&end));
    let due = entries.map(|entry| {
        let (entry, _) = entry?;
        decode_entry(&entry)
            .ok_or_else(|| Error::Damaged("an expiry entry is too short".to_owned()))
    });
    due.filter(|due| due.as_ref().map_or(true, |due| removes(&due.key)))
        .take(limit)
        .collect()
}
