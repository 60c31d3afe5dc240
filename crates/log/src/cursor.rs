//! Reads committed records while the owner of the log keeps writing.
//!
//! A cursor shares only the files with the [`Log`](crate::Log). The caller passes the last
//! committed position, and the cursor never reads beyond it, so every byte it reads has been
//! written. The log may recycle a segment under the cursor: then the key of the segment no longer
//! matches its frames, or the file has another name. In both cases the cursor reports missing
//! records and never returns wrong ones.
//!
//! The cursor remembers its position, so reading a log in pieces costs one pass over its bytes.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::directory::Directory;
use crate::error::SegmentFault;
use crate::reader::{SegmentReader, Tail};
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::{Disk, Error, Position};

pub struct Cursor {
    directory: Directory,
    segment: Option<SegmentCursor>,
}

struct SegmentCursor {
    reader: SegmentReader,
    header: SegmentHeader,
    tail: Tail,
}

impl Cursor {
    /// A cursor before the first record of the log in `dir`.
    pub fn new(disk: Arc<dyn Disk>, dir: &Path) -> Cursor {
        Cursor {
            directory: Directory::new(disk, dir),
            segment: None,
        }
    }

    /// Reads records after `after` up to `upto`, which must be committed. Returns at least one
    /// record if one exists, and stops once the records have `bytes_max` bytes. Fails with
    /// [`Error::Trimmed`] if the log no longer has the first of these records.
    pub fn read(
        &mut self,
        after: Position,
        upto: Position,
        bytes_max: usize,
    ) -> Result<Vec<(Position, Vec<u8>)>, Error> {
        let (mut records, mut bytes) = (Vec::new(), 0);
        let mut segment = match self.segment.take() {
            Some(segment) if segment.tail.last <= after.0 => segment,
            Some(_) | None => self.find(after)?,
        };
        // The owner has written since the last call, so bytes read ahead may be stale.
        segment.reader.refresh()?;
        while segment.tail.last < upto.0 && (records.is_empty() || bytes < bytes_max) {
            let scanned_upto = segment.tail.last;
            let key = segment.header.key();
            let mut take = |position, payload: &[u8]| {
                if position > after {
                    bytes += payload.len();
                    records.push((position, payload.to_vec()));
                }
                Ok(())
            };
            segment
                .reader
                .follow(key, &mut segment.tail, scanned_upto + 1, &mut take)?;
            // The chain ends in this segment before `upto`, so the next record must be in a later
            // segment. If [`Cursor::find`] returns the same segment again, a committed record is
            // damaged.
            if segment.tail.last == scanned_upto {
                let next = self.find(Position(scanned_upto.max(after.0)))?;
                if next.header.sequence == segment.header.sequence {
                    return Err(Error::Corrupt {
                        segment: segment.reader.path().to_owned(),
                        offset: segment.tail.offset,
                        what: SegmentFault::Record {
                            position: Position(scanned_upto + 1),
                        },
                    });
                }
                segment = next;
            }
        }
        self.segment = Some(segment);
        Ok(records)
    }

    /// A cursor at the beginning of the segment that contains the record after `after`.
    fn find(&mut self, after: Position) -> Result<SegmentCursor, Error> {
        let mut first = Position(u64::MAX);
        for sequence in self.directory.list()?.into_iter().rev() {
            let mut reader = match self.directory.reader(sequence) {
                Ok(reader) => reader,
                // The log has recycled the segment since the directory was listed.
                Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let header = SegmentHeader::decode(reader.window(0, SEGMENT_HEADER_BYTES)?);
            // A header with another sequence belongs to a recycled file that has been renamed in
            // between.
            let Some(header) = header.ok().filter(|header| header.sequence == sequence) else {
                continue;
            };
            first = Position(header.first);
            if header.first <= after.0 + 1 {
                let tail = Tail::of_empty(&header);
                return Ok(SegmentCursor {
                    reader,
                    header,
                    tail,
                });
            }
        }
        Err(Error::Trimmed { after, first })
    }
}
