//! A small file with a lower bound of the durable position of the log.
//!
//! A log that has lost its end looks like a log that never had more records. The watermark detects
//! this loss: it lies beside the log, the owner raises it from time to time, and a log that ends
//! before the watermark has lost records. The owner raises it only to synced positions, so it is
//! never ahead of the log.
//!
//! The file has two slots that are written alternately, so that a crash during one write leaves the
//! other slot intact.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::disk::{Disk, DiskFile};
use crate::{Error, Position};

const MAGIC: [u8; 8] = *b"ORRERYDM";
/// The slots are one page apart, so that no disk sector contains parts of both.
const SLOT_BYTES: usize = 4096;
const FIELDS_BYTES: usize = 24;
const ENTRY_BYTES: usize = FIELDS_BYTES + 8;

/// The contents of a watermark file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatermarkReading {
    /// The file does not exist, or contains only zeros.
    Absent,
    /// The log was durable up to this position.
    Durable(Position),
    /// Neither slot is intact: the file is damaged.
    Damaged,
}

pub struct DurableWatermark {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    generation: u64,
    position: Position,
}

impl DurableWatermark {
    /// Reads the watermark at `path`.
    pub fn read(disk: &dyn Disk, path: &Path) -> Result<WatermarkReading, Error> {
        let mut file = match disk.open_read(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(WatermarkReading::Absent);
            }
            Err(error) => return Err(Error::io("open", path)(error)),
        };
        let bytes = read(file.as_mut()).map_err(Error::io("read", path))?;
        Ok(match newest(&bytes) {
            Some((_, position)) => WatermarkReading::Durable(position),
            None if bytes.iter().all(|byte| *byte == 0) => WatermarkReading::Absent,
            None => WatermarkReading::Damaged,
        })
    }

    /// Opens the watermark file at `path` or creates it, and writes `position` into it. No other
    /// `DurableWatermark` may have the file open.
    pub fn open(
        disk: &Arc<dyn Disk>,
        path: &Path,
        position: Position,
    ) -> Result<DurableWatermark, Error> {
        let (mut file, is_new) = match disk.open_write(path) {
            Ok(file) => (file, false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let file = disk.create(path).map_err(Error::io("create", path))?;
                (file, true)
            }
            Err(error) => return Err(Error::io("open", path)(error)),
        };
        let bytes = read(file.as_mut()).map_err(Error::io("read", path))?;
        let mut mark = DurableWatermark {
            file,
            path: path.to_owned(),
            generation: newest(&bytes).map_or(0, |(generation, _)| generation),
            position,
        };
        // Writes both slots, so that neither keeps its earlier position.
        mark.write(position)?;
        mark.write(position)?;
        if is_new {
            let parent = path.parent().unwrap_or(Path::new("."));
            disk.sync_dir(parent).map_err(Error::io("sync", parent))?;
        }
        Ok(mark)
    }

    /// Raises the watermark to `position`, unless it is already there.
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
        let offset = self.generation % 2 * SLOT_BYTES as u64;
        self.file
            .write_at(offset, &entry)
            .map_err(Error::io("write", &self.path))?;
        self.file.sync().map_err(Error::io("sync", &self.path))
    }
}

fn read(file: &mut dyn DiskFile) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; SLOT_BYTES + ENTRY_BYTES];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

/// Generation and position of the slot that was written last.
fn newest(bytes: &[u8]) -> Option<(u64, Position)> {
    [0, SLOT_BYTES]
        .into_iter()
        .filter_map(|offset| entry(&bytes[offset..offset + ENTRY_BYTES]))
        .max()
}

fn entry(bytes: &[u8]) -> Option<(u64, Position)> {
    let number = |offset: usize| Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?));
    let is_whole =
        bytes.starts_with(&MAGIC) && number(FIELDS_BYTES)? == xxh3_64(&bytes[..FIELDS_BYTES]);
    is_whole.then_some((number(8)?, Position(number(16)?)))
}
