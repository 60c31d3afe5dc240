//! The whole state of a store at one position, in pieces.
//!
//! All maps are given as they are, also what follows from others: a copy is then consistent by
//! itself, including an index that is half way from one policy to the next.

use bytes::Bytes;
use orrery_log::Position;
use orrery_regions::Progress;
use orrery_storage::{Snapshot, Space};

use crate::Error;
use crate::counters::APPLIED_KEY;
use crate::multi::read_progress;
use crate::note::NOTE_KEY;
use crate::replay::position_of;
use crate::spaces::{META, NAMES};

pub struct SnapshotStream {
    snapshot: Snapshot,
    position: Position,
    /// The map that comes next, and the key it was given up to.
    space: u8,
    after: Option<Bytes>,
}

/// Some entries of one map, in the order of their keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotPiece {
    pub(crate) space: Space,
    pub(crate) entries: Vec<(Bytes, Bytes)>,
}

impl SnapshotPiece {
    /// A piece as it came from another machine; none if there is no such map.
    pub fn new(map: u8, entries: Vec<(Bytes, Bytes)>) -> Option<SnapshotPiece> {
        let space = Space(map);
        (usize::from(map) < NAMES.len()).then_some(SnapshotPiece { space, entries })
    }

    /// The number of its map, and its entries.
    pub fn into_parts(self) -> (u8, Vec<(Bytes, Bytes)>) {
        (self.space.0, self.entries)
    }

    /// The map that the entries are of, by its name on disk.
    pub fn map(&self) -> &'static str {
        NAMES[usize::from(self.space.0)]
    }
}

impl SnapshotStream {
    pub(crate) fn new(snapshot: Snapshot) -> Result<SnapshotStream, Error> {
        let position = position_of(snapshot.get(META, APPLIED_KEY)?)?;
        Ok(SnapshotStream {
            snapshot,
            position,
            space: 0,
            after: None,
        })
    }

    /// The newest note that is in it.
    pub fn note(&self) -> Result<Option<Bytes>, Error> {
        Ok(self.snapshot.get(META, NOTE_KEY)?)
    }

    /// What is in it of every stream, where every region writes.
    pub fn progress(&self) -> Result<Progress, Error> {
        read_progress(&self.snapshot)
    }

    /// The last record that is in it.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The next piece: at least one entry, and no further one once there are `bytes_max` bytes. None
    /// at the end.
    pub fn next_piece(&mut self, bytes_max: usize) -> Result<Option<SnapshotPiece>, Error> {
        while usize::from(self.space) < NAMES.len() {
            let space = Space(self.space);
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
                self.space += 1;
                self.after = None;
                continue;
            };
            self.after = Some(last.clone());
            return Ok(Some(SnapshotPiece { space, entries }));
        }
        Ok(None)
    }
}
