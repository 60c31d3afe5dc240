//! A snapshot of the whole state of a store at one position, in chunks.
//!
//! All keyspaces are copied as they are, including derived rows. So a copy is consistent by itself,
//! even with an index in the middle of a reindexing walk.

use bytes::Bytes;
use orrery_log::Position;
use orrery_regions::VersionVector;
use orrery_storage::{KeyspaceId, Snapshot};

use crate::Error;
use crate::counters::APPLIED_KEY;
use crate::keyspaces::{META, NAMES};
use crate::multi_write::read_progress;
use crate::note::NOTE_KEY;
use crate::replay::position_of;

pub struct SnapshotStream {
    snapshot: Snapshot,
    position: Position,
    /// The current keyspace, and its last copied key.
    keyspace: u8,
    after: Option<Bytes>,
}

/// Some rows of one keyspace, in key order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotChunk {
    pub(crate) keyspace: KeyspaceId,
    pub(crate) entries: Vec<(Bytes, Bytes)>,
}

impl SnapshotChunk {
    /// A chunk from another machine; `None` for an unknown keyspace.
    pub fn new(map: u8, entries: Vec<(Bytes, Bytes)>) -> Option<SnapshotChunk> {
        let space = KeyspaceId(map);
        (usize::from(map) < NAMES.len()).then_some(SnapshotChunk {
            keyspace: space,
            entries,
        })
    }

    /// The number of the keyspace, and the rows.
    pub fn into_parts(self) -> (u8, Vec<(Bytes, Bytes)>) {
        (self.keyspace.0, self.entries)
    }

    /// The name of the keyspace on disk.
    pub fn keyspace_name(&self) -> &'static str {
        NAMES[usize::from(self.keyspace.0)]
    }
}

impl SnapshotStream {
    pub(crate) fn new(snapshot: Snapshot) -> Result<SnapshotStream, Error> {
        let position = position_of(snapshot.get(META, APPLIED_KEY)?)?;
        Ok(SnapshotStream {
            snapshot,
            position,
            keyspace: 0,
            after: None,
        })
    }

    /// The newest note in the snapshot.
    pub fn note(&self) -> Result<Option<Bytes>, Error> {
        Ok(self.snapshot.get(META, NOTE_KEY)?)
    }

    /// The version vector in the snapshot, for a multi-write account.
    pub fn progress(&self) -> Result<VersionVector, Error> {
        read_progress(&self.snapshot)
    }

    /// The last record in the snapshot.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The next chunk: at least one row, and no further row once the rows have `bytes_max` bytes.
    /// `None` at the end.
    pub fn next_chunk(&mut self, bytes_max: usize) -> Result<Option<SnapshotChunk>, Error> {
        while usize::from(self.keyspace) < NAMES.len() {
            let space = KeyspaceId(self.keyspace);
            let from = self.after.as_ref().map(|key| [&key[..], &[0]].concat());
            let (mut entries, mut bytes) = (Vec::new(), 0);
            for entry in self
                .snapshot
                .range(space, from.as_deref().unwrap_or_default(), None)
            {
                let (key, value) = entry?;
                bytes += key.len() + value.len();
                entries.push((key, value));
                if bytes >= bytes_max {
                    break;
                }
            }
            let Some((last, _)) = entries.last() else {
                self.keyspace += 1;
                self.after = None;
                continue;
            };
            self.after = Some(last.clone());
            return Ok(Some(SnapshotChunk {
                keyspace: space,
                entries,
            }));
        }
        Ok(None)
    }
}
