//! What a region keeps beside its engine: its promise, and which directory its engine is in.
//!
//! One small file, replaced as a whole: written beside, synced, renamed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use orrery_regions::{Epoch, RegionId, Saved};

const FILE: &str = "region";
const VERSION: u8 = 1;
const BYTES: usize = 19;

/// Where a region keeps it; nowhere if the account is in memory.
pub(crate) struct Place {
    directory: Option<PathBuf>,
    pub(crate) kept: Kept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) id: RegionId,
    pub(crate) saved: Saved,
    /// Which of two directories the engine is in; the other is being filled, or is left over.
    pub(crate) side: u8,
}

impl Place {
    /// What was kept, if this is not the first start.
    pub(crate) fn read(directory: Option<&Path>) -> io::Result<Option<Kept>> {
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

    pub(crate) fn new(directory: Option<PathBuf>, kept: Kept) -> Place {
        Place { directory, kept }
    }

    pub(crate) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The directory of the engine, or the other one.
    pub(crate) fn side(&self, side: u8) -> Option<PathBuf> {
        let name = if side == 0 { "a" } else { "b" };
        self.directory.as_ref().map(|path| path.join(name))
    }

    pub(crate) fn save(&mut self, saved: Saved) -> io::Result<()> {
        self.kept.saved = saved;
        self.write()
    }

    pub(crate) fn turn(&mut self) -> io::Result<()> {
        self.kept.side ^= 1;
        self.write()
    }

    pub(crate) fn write(&self) -> io::Result<()> {
        let Some(directory) = &self.directory else {
            return Ok(());
        };
        fs::create_dir_all(directory)?;
        let (path, beside) = (directory.join(FILE), directory.join("region.new"));
        let mut file = File::create(&beside)?;
        file.write_all(&encode(&self.kept))?;
        file.sync_all()?;
        fs::rename(&beside, &path)?;
        // Where directories cannot be opened, the file system keeps renames in order by itself.
        if let Ok(directory) = File::open(directory) {
            directory.sync_all()?;
        }
        Ok(())
    }
}

fn encode(kept: &Kept) -> Vec<u8> {
    let mut bytes = vec![VERSION, kept.id.0, kept.side];
    bytes.extend_from_slice(&kept.saved.promised.0.to_le_bytes());
    bytes.extend_from_slice(&kept.saved.incarnation.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<Kept> {
    let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
    let [VERSION, id, side @ 0..=1, rest @ ..] = bytes else {
        return None;
    };
    let (promised, incarnation) = rest.split_first_chunk()?;
    Some(Kept {
        id: RegionId(*id),
        side: *side,
        saved: Saved {
            promised: Epoch(u64::from_le_bytes(*promised)),
            incarnation: u64::from_le_bytes(incarnation.try_into().ok()?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r");
        assert_eq!(Place::read(Some(&path)).unwrap(), None);
        let kept = Kept {
            id: RegionId(3),
            saved: Saved::default(),
            side: 0,
        };
        let mut place = Place::new(Some(path.clone()), kept);
        place.turn().unwrap();
        let saved = Saved {
            promised: Epoch(515),
            incarnation: 7,
        };
        place.save(saved).unwrap();
        let read = Place::read(Some(&path)).unwrap();
        assert_eq!(
            read,
            Some(Kept {
                saved,
                side: 1,
                ..kept
            })
        );
        fs::write(path.join(FILE), [1, 2]).unwrap();
        assert!(Place::read(Some(&path)).is_err());
    }
}
