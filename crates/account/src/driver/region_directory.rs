//! A region's state besides its engine: its promise, and the directory of its engine.
//!
//! The state is one small file. A new version is written beside it, synced and renamed, so that a
//! crash leaves either the old version or the new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use orrery_regions::{Epoch, HardState, RegionId, Sequence};

const FILE: &str = "region";
const VERSION: u8 = 2;
/// The version without the fields of multi-write accounts.
const VERSION_BEFORE: u8 = 1;

/// The directory of a region; without a path for an account in memory.
pub(crate) struct RegionDirectory {
    path: Option<PathBuf>,
    pub(crate) metadata: RegionMetadata,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegionMetadata {
    pub(crate) id: RegionId,
    pub(crate) hard_state: HardState,
    /// Which of two directories has the engine; the other directory has an incomplete snapshot or
    /// an old state.
    pub(crate) side: u8,
    /// Multi-write accounts: the record of the account stream that added this region, once the
    /// region may write.
    pub(crate) joined: Sequence,
    /// Multi-write accounts: the state has records that are not part of the history.
    pub(crate) has_diverged: bool,
}

/// The directory with the present store of a region, of the two in the region's directory. `None`
/// if the region was never started.
pub fn region_store(directory: &Path) -> io::Result<Option<PathBuf>> {
    let metadata = RegionDirectory::read(Some(directory))?;
    Ok(metadata.and_then(|metadata| {
        let region = RegionDirectory::new(Some(directory.to_owned()), metadata);
        region.side(metadata.side)
    }))
}

impl RegionMetadata {
    /// The metadata of a region that is started for the first time.
    pub(crate) fn new(id: RegionId) -> RegionMetadata {
        RegionMetadata {
            id,
            hard_state: HardState::default(),
            side: 0,
            joined: Sequence::ZERO,
            has_diverged: false,
        }
    }
}

impl RegionDirectory {
    /// The stored metadata; none at the first start.
    pub(crate) fn read(directory: Option<&Path>) -> io::Result<Option<RegionMetadata>> {
        let Some(directory) = directory else {
            return Ok(None);
        };
        match fs::read(directory.join(FILE)) {
            Ok(bytes) => decode(&bytes).map(Some).ok_or_else(|| {
                let text = format!("{} does not decode", directory.join(FILE).display());
                io::Error::new(io::ErrorKind::InvalidData, text)
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn new(path: Option<PathBuf>, metadata: RegionMetadata) -> RegionDirectory {
        RegionDirectory { path, metadata }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The path of one of the two engine directories.
    pub(crate) fn side(&self, side: u8) -> Option<PathBuf> {
        let name = if side == 0 { "a" } else { "b" };
        self.path.as_ref().map(|path| path.join(name))
    }

    pub(crate) fn save(&mut self, saved: HardState) -> io::Result<()> {
        self.change(|metadata| metadata.hard_state = saved)
    }

    /// Switches the engine to the other directory, which has a snapshot of the history.
    pub(crate) fn switch_side(&mut self) -> io::Result<()> {
        self.change(|metadata| {
            metadata.side ^= 1;
            metadata.has_diverged = false;
        })
    }

    pub(crate) fn set_joined(&mut self, joined: Sequence) -> io::Result<()> {
        self.change(|metadata| metadata.joined = joined)
    }

    pub(crate) fn set_diverged(&mut self) -> io::Result<()> {
        self.change(|metadata| metadata.has_diverged = true)
    }

    /// Changes the metadata in the file and in memory; a failed write changes neither. A driver that
    /// believed in a switch that failed would remove the directory that the engine uses.
    fn change(&mut self, change: impl FnOnce(&mut RegionMetadata)) -> io::Result<()> {
        let before = self.metadata;
        change(&mut self.metadata);
        let written = self.write();
        if written.is_err() {
            self.metadata = before;
        }
        written
    }

    pub(crate) fn write(&self) -> io::Result<()> {
        let Some(directory) = &self.path else {
            return Ok(());
        };
        fs::create_dir_all(directory)?;
        let (path, beside) = (directory.join(FILE), directory.join("region.new"));
        let mut file = File::create(&beside)?;
        file.write_all(&encode(&self.metadata))?;
        file.sync_all()?;
        // Only the rename makes the new metadata current; it must not happen before the content is
        // durable.
        fs::rename(&beside, &path)?;
        // On systems that cannot open directories, the file system orders renames by itself.
        if let Ok(directory) = File::open(directory) {
            directory.sync_all()?;
        }
        Ok(())
    }
}

fn encode(metadata: &RegionMetadata) -> Vec<u8> {
    let mut bytes = vec![VERSION, metadata.id.0, metadata.side];
    bytes.extend_from_slice(&metadata.hard_state.promised.0.to_le_bytes());
    bytes.extend_from_slice(&metadata.hard_state.incarnation.to_le_bytes());
    bytes.extend_from_slice(&metadata.joined.0.to_le_bytes());
    bytes.push(u8::from(metadata.has_diverged));
    bytes
}

fn decode(bytes: &[u8]) -> Option<RegionMetadata> {
    let ([version, id, side @ 0..=1], rest) = bytes.split_first_chunk()? else {
        return None;
    };
    let (promised, rest) = rest.split_first_chunk()?;
    let (incarnation, rest) = rest.split_first_chunk()?;
    let (joined, has_diverged) = match (*version, rest) {
        (VERSION_BEFORE, []) => (Sequence::ZERO, false),
        (VERSION, [joined @ .., has_diverged @ 0..=1]) => {
            let joined = u64::from_le_bytes(joined.try_into().ok()?);
            (Sequence(joined), *has_diverged == 1)
        }
        _ => return None,
    };
    Some(RegionMetadata {
        id: RegionId(*id),
        side: *side,
        hard_state: HardState {
            promised: Epoch(u64::from_le_bytes(*promised)),
            incarnation: u64::from_le_bytes(*incarnation),
        },
        joined,
        has_diverged,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn region_metadata_survives_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r");
        assert_eq!(RegionDirectory::read(Some(&path)).unwrap(), None);
        assert_eq!(region_store(&path).unwrap(), None);
        let metadata = RegionMetadata::new(RegionId(3));
        let mut region_directory = RegionDirectory::new(Some(path.clone()), metadata);
        region_directory.switch_side().unwrap();
        let saved = HardState {
            promised: Epoch(515),
            incarnation: 7,
        };
        region_directory.save(saved).unwrap();
        region_directory.set_joined(Sequence(9)).unwrap();
        region_directory.set_diverged().unwrap();
        let read = RegionDirectory::read(Some(&path)).unwrap();
        assert_eq!(
            read,
            Some(RegionMetadata {
                hard_state: saved,
                side: 1,
                joined: Sequence(9),
                has_diverged: true,
                ..metadata
            })
        );
        assert_eq!(region_store(&path).unwrap(), Some(path.join("b")));
        region_directory.switch_side().unwrap();
        assert_eq!(region_store(&path).unwrap(), Some(path.join("a")));
        let read = RegionDirectory::read(Some(&path)).unwrap().unwrap();
        assert!(!read.has_diverged, "the other state is a copy");
        let mut before = encode(&metadata);
        before[0] = VERSION_BEFORE;
        before.truncate(19);
        assert_eq!(decode(&before), Some(metadata));
        fs::write(path.join(FILE), [1, 2]).unwrap();
        assert!(RegionDirectory::read(Some(&path)).is_err());
    }

    #[test]
    fn a_change_that_is_not_written_does_not_happen() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r");
        fs::write(&path, "not a directory").unwrap();
        let metadata = RegionMetadata::new(RegionId(3));
        let mut region_directory = RegionDirectory::new(Some(path), metadata);
        assert!(region_directory.switch_side().is_err());
        assert!(region_directory.set_diverged().is_err());
        assert_eq!(region_directory.metadata, metadata);
    }
}
