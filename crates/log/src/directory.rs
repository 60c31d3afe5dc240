//! The files of a log directory: provisioning a segment from a spare file, and recycling a trimmed
//! segment to a spare file.
//!
//! A file is renamed to a segment only after its header is durable, and it receives records only
//! after the rename is durable. So a segment with a broken header is always damage and never an
//! unfinished creation.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Error;
use crate::disk::{Disk, DiskFile};
use crate::frame::TERMINATOR_BYTES;
use crate::reader::SegmentReader;
use crate::segment::{FileKind, SegmentHeader, file_kind, segment_path, spare_path};

/// Maximum number of spare files; further segments are deleted. A checkpoint tends to free several
/// segments at once.
const SPARES_MAX: usize = 4;

pub(crate) struct Directory {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    spares: Vec<PathBuf>,
}

impl Directory {
    pub(crate) fn new(disk: Arc<dyn Disk>, path: &Path) -> Directory {
        Directory {
            disk,
            path: path.to_owned(),
            spares: Vec::new(),
        }
    }

    pub(crate) fn create(&self) -> Result<(), Error> {
        self.disk
            .create_dir(&self.path)
            .map_err(Error::io("create", &self.path))
    }

    /// Lists the directory: remembers the spare files and returns the sequences of the segments in
    /// order.
    pub(crate) fn list(&mut self) -> Result<Vec<u64>, Error> {
        let paths = self
            .disk
            .list(&self.path)
            .map_err(Error::io("list", &self.path))?;
        let mut sequences = Vec::new();
        self.spares.clear();
        for path in paths {
            match file_kind(&path) {
                Some(FileKind::Segment(sequence)) => sequences.push(sequence),
                Some(FileKind::Spare(_)) => self.spares.push(path),
                None => {}
            }
        }
        sequences.sort_unstable();
        self.spares.sort_unstable();
        Ok(sequences)
    }

    pub(crate) fn segment_path(&self, sequence: u64) -> PathBuf {
        segment_path(&self.path, sequence)
    }

    /// Whether a spare file exists that only a log with records can leave behind.
    pub(crate) fn has_used_spares(&self) -> bool {
        // Spare 1 may be the first file of a new log, left by a crash before its rename.
        self.spares
            .iter()
            .any(|path| *path != spare_path(&self.path, 1))
    }

    pub(crate) fn reader(&self, sequence: u64) -> Result<SegmentReader, Error> {
        let path = self.segment_path(sequence);
        let file = self
            .disk
            .open_read(&path)
            .map_err(Error::io("open", &path))?;
        SegmentReader::new(file, &path)
    }

    pub(crate) fn open_segment(&self, sequence: u64) -> Result<Box<dyn DiskFile>, Error> {
        let path = self.segment_path(sequence);
        self.disk
            .open_write(&path)
            .map_err(Error::io("open", &path))
    }

    /// Turns a spare file or a new file into the segment of `header`, durably. Returns the file and
    /// its size. After an error the caller may repeat the call.
    pub(crate) fn provision(
        &mut self,
        header: &SegmentHeader,
        segment_bytes: u64,
    ) -> Result<(Box<dyn DiskFile>, u64), Error> {
        let segment = self.segment_path(header.sequence);
        let found = self.spares.last().cloned();
        let (spare, opened) = if let Some(spare) = found {
            let opened = self.disk.open_write(&spare);
            (spare, opened)
        } else {
            let spare = spare_path(&self.path, header.sequence);
            let opened = self.disk.create(&spare);
            if opened.is_ok() {
                self.spares.push(spare.clone());
            }
            (spare, opened)
        };
        let mut file = opened.map_err(Error::io("open", &spare))?;
        let mut size = file.size().map_err(Error::io("measure", &spare))?;
        if size > segment_bytes {
            file.truncate(segment_bytes)
                .map_err(Error::io("shorten", &spare))?;
            size = segment_bytes;
        }
        let mut beginning = header.encode();
        beginning.resize(beginning.len() + TERMINATOR_BYTES, 0);
        // The terminator follows the header directly, so that recovery finds a clean end even where
        // a recycled file has frames of its earlier life.
        file.write_at(0, &beginning)
            .map_err(Error::io("write", &spare))?;
        file.sync().map_err(Error::io("sync", &spare))?;

        // The header is durable before the file becomes a segment, and the rename is durable before
        // the caller writes records; see the module comment.
        self.disk
            .rename(&spare, &segment)
            .map_err(Error::io("rename", &spare))?;
        self.spares.pop();
        self.sync()?;
        Ok((file, size.max(beginning.len() as u64)))
    }

    /// Renames a segment to a spare file, or deletes it if there are enough spare files. The change
    /// is durable after [`Directory::sync`].
    pub(crate) fn recycle(&mut self, sequence: u64) -> Result<(), Error> {
        let segment = self.segment_path(sequence);
        let spare = spare_path(&self.path, sequence);
        // A spare file with this sequence exists if a crash occurred just before its rename to this
        // segment.
        if self.spares.len() >= SPARES_MAX || self.spares.contains(&spare) {
            return self
                .disk
                .remove(&segment)
                .map_err(Error::io("remove", &segment));
        }
        self.disk
            .rename(&segment, &spare)
            .map_err(Error::io("rename", &segment))?;
        self.spares.push(spare);
        Ok(())
    }

    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.disk
            .sync_dir(&self.path)
            .map_err(Error::io("sync", &self.path))
    }
}
