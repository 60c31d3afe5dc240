//! What a region keeps beside its engine: its promise, and which directory its engine is in.
//!
//! One small file, replaced as a whole: written beside, synced, renamed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use orrery_regions::{Epoch, RegionId, Saved, Sequence};

const FILE: &str = "region";
const VERSION: u8 = 2;
/// Without what is only of regions that all write.
const VERSION_BEFORE: u8 = 1;

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
    /// Where every region writes: the record of the account stream that added this region, once it may
    /// write.
    pub(crate) joined: Sequence,
    /// Where every region writes: the state has records that are not part of the history.
    pub(crate) is_astray: bool,
}

impl Kept {
    /// Of a region that was never there before.
    pub(crate) fn new(id: RegionId) -> Kept {
        Kept {
            id,
            saved: Saved::default(),
            side: 0,
            joined: Sequence::ZERO,
            is_astray: false,
        }
    }
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

    /// The state is the one in the other directory from now on.
    pub(crate) fn turn(&mut self) -> io::Result<()> {
        self.kept.side ^= 1;
        self.kept.is_astray = false;
        self.write()
    }

    pub(crate) fn set_joined(&mut self, joined: Sequence) -> io::Result<()> {
        self.kept.joined = joined;
        self.write()
    }

    pub(crate) fn set_astray(&mut self) -> io::Result<()> {
        self.kept.is_astray = true;
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
    bytes.extend_from_slice(&kept.joined.0.to_le_bytes());
    bytes.push(u8::from(kept.is_astray));
    bytes
}

fn decode(bytes: &[u8]) -> Option<Kept> {
    let ([version, id, side @ 0..=1], rest) = bytes.split_first_chunk()? else {
        return None;
    };
    let (promised, rest) = rest.split_first_chunk()?;
    let (incarnation, rest) = rest.split_first_chunk()?;
    let (joined, is_astray) = match (*version, rest) {
        (VERSION_BEFORE, []) => (Sequence::ZERO, false),
        (VERSION, [joined @ .., is_astray @ 0..=1]) => {
            let joined = u64::from_le_bytes(joined.try_into().ok()?);
            (Sequence(joined), *is_astray == 1)
        }
        _ => return None,
    };
    Some(Kept {
        id: RegionId(*id),
        side: *side,
        saved: Saved {
            promised: Epoch(u64::from_le_bytes(*promised)),
            incarnation: u64::from_le_bytes(*incarnation),
        },
        joined,
        is_astray,
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
        let kept = Kept::new(RegionId(3));
        let mut place = Place::new(Some(path.clone()), kept);
        place.turn().unwrap();
        let saved = Saved {
            promised: Epoch(515),
            incarnation: 7,
        };
        place.save(saved).unwrap();
        place.set_joined(Sequence(9)).unwrap();
        place.set_astray().unwrap();
        let read = Place::read(Some(&path)).unwrap();
        assert_eq!(
            read,
            Some(Kept {
                saved,
                side: 1,
                joined: Sequence(9),
                is_astray: true,
                ..kept
            })
        );
        place.turn().unwrap();
        let read = Place::read(Some(&path)).unwrap().unwrap();
        assert!(!read.is_astray, "the other state is a copy");
        let mut before = encode(&kept);
        before[0] = VERSION_BEFORE;
        before.truncate(19);
        assert_eq!(decode(&before), Some(kept));
        fs::write(path.join(FILE), [1, 2]).unwrap();
        assert!(Place::read(Some(&path)).is_err());
    }
}
