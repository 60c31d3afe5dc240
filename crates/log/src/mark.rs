//! A small file that says how far the log was durable when somebody last wrote it down.
//!
//! A log whose end is gone looks like one that never went further. The mark is what tells: it lies beside
//! the log, its owner raises it now and then, and a log that ends before it has lost records. It is
//! always behind or right, never ahead, because it is raised to what was synced.
//!
//! The file has two places that are written in turn, so that whatever a crash does to one, the other stands.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::disk::{Disk, DiskFile};
use crate::{Error, Position};

const MAGIC: [u8; 8] = *b"ORRERYDM";
/// The two places lie one page apart, so that no sector of the disk holds parts of both.
const PLACE_BYTES: usize = 4096;
const FIELDS_BYTES: usize = 24;
const ENTRY_BYTES: usize = FIELDS_BYTES + 8;

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// No mark file exists, or one exists and nothing was ever written into it.
    Nothing,
    /// The log was durable up to this position.
    Durable(Position),
    /// Neither place is whole: the file is damaged.
    Damaged,
}

pub struct Mark {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    generation: u64,
    position: Position,
}

impl Mark {
    /// What the mark at `path` says.
    pub fn read(disk: &dyn Disk, path: &Path) -> Result<Marked, Error> {
        let mut file = match disk.open_read(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Marked::Nothing),
            Err(error) => return Err(Error::io("open", path)(error)),
        };
        let bytes = read(file.as_mut()).map_err(Error::io("read", path))?;
        Ok(match newest(&bytes) {
            Some((_, position)) => Marked::Durable(position),
            None if bytes.iter().all(|byte| *byte == 0) => Marked::Nothing,
            None => Marked::Damaged,
        })
    }

    /// Opens the mark at `path`, or makes that file, and writes `position` into it. No other `Mark`
    /// may have the file open.
    pub fn open(disk: &Arc<dyn Disk>, path: &Path, position: Position) -> Result<Mark, Error> {
        let (mut file, is_new) = match disk.open_write(path) {
            Ok(file) => (file, false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let file = disk.create(path).map_err(Error::io("create", path))?;
                (file, true)
            }
            Err(error) => return Err(Error::io("open", path)(error)),
        };
        let bytes = read(file.as_mut()).map_err(Error::io("read", path))?;
        let mut mark = Mark {
            file,
            path: path.to_owned(),
            generation: newest(&bytes).map_or(0, |(generation, _)| generation),
            position,
        };
        // Writes both places, so that neither of them keeps the position that it held before.
        mark.write(position)?;
        mark.write(position)?;
        if is_new {
            let parent = path.parent().unwrap_or(Path::new("."));
            disk.sync_dir(parent).map_err(Error::io("sync", parent))?;
        }
        Ok(mark)
    }

    /// Writes into the mark that the log is durable up to `position`, unless the mark already says
    /// so.
    pub fn raise(&mut self, position: Position) -> Result<(), Error> {
        if position > self.position {
            self.write(position)?;
            self.position = position;
        }
        Ok(())
    }

    fn write(&mut self, position: Position) -> Result<(), Error> {
        self.generation += 1;
        let mut entry = Vec::with_capacity(ENTRY_BYTES);
        entry.extend_from_slice(&MAGIC);
        entry.extend_from_slice(&self.generation.to_le_bytes());
        entry.extend_from_slice(&position.0.to_le_bytes());
        entry.extend_from_slice(&xxh3_64(&entry).to_le_bytes());
        let place = self.generation % 2 * PLACE_BYTES as u64;
        self.file
            .write_at(place, &entry)
            .map_err(Error::io("write", &self.path))?;
        self.file.sync().map_err(Error::io("sync", &self.path))
    }
}

fn read(file: &mut dyn DiskFile) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; PLACE_BYTES + ENTRY_BYTES];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

/// Generation and position of the place that was written last.
fn newest(bytes: &[u8]) -> Option<(u64, Position)> {
    [0, PLACE_BYTES]
        .into_iter()
        .filter_map(|place| entry(&bytes[place..place + ENTRY_BYTES]))
        .max()
}

fn entry(bytes: &[u8]) -> Option<(u64, Position)> {
    let number = |offset: usize| Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?));
    let is_whole =
        bytes.starts_with(&MAGIC) && number(FIELDS_BYTES)? == xxh3_64(&bytes[..FIELDS_BYTES]);
    is_whole.then_some((number(8)?, Position(number(16)?)))
}
