//! Reading records while their owner goes on writing.
//!
//! A cursor shares nothing with the [`Log`](crate::Log) but the files. It is told how far records are
//! committed and never looks beyond that, so what it reads is written. A segment may be recycled
//! under it: then the frames are not of the segment's key any more, or the file has another name,
//! and either way the records are gone and not wrong.
//!
//! It remembers where it stopped. Reading a log in pieces costs one pass over its bytes.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::directory::Directory;
use crate::error::Fault;
use crate::reader::{SegmentReader, Tail};
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::{Disk, Error, Position};

pub struct Cursor {
    directory: Directory,
    place: Option<Place>,
}

struct Place {
    reader: SegmentReader,
    header: SegmentHeader,
    tail: Tail,
}

impl Cursor {
    /// Before the first record of the log in `dir`.
    pub fn new(disk: Arc<dyn Disk>, dir: &Path) -> Cursor {
        Cursor {
            directory: Directory::new(disk, dir),
            place: None,
        }
    }

    /// Records after `after`, up to `upto`, which must be committed: at least one if there is one,
    /// and no further one once there are `bytes_max` bytes. Fails with [`Error::Trimmed`] if the
    /// log does not have them any more.
    pub fn read(
        &mut self,
        after: Position,
        upto: Position,
        bytes_max: usize,
    ) -> Result<Vec<(Position, Vec<u8>)>, Error> {
        let (mut records, mut bytes) = (Vec::new(), 0);
        let mut place = match self.place.take() {
            Some(place) if place.tail.last <= after.0 => place,
            Some(_) | None => self.find(after)?,
        };
        place.reader.refresh()?;
        while place.tail.last < upto.0 && (records.is_empty() || bytes < bytes_max) {
            let passed = place.tail.last;
            let key = place.header.key();
            let mut take = |position, payload: &[u8]| {
                if position > after {
                    bytes += payload.len();
                    records.push((position, payload.to_vec()));
                }
                Ok(())
            };
            place
                .reader
                .follow(key, &mut place.tail, passed + 1, &mut take)?;
            if place.tail.last == passed {
                let next = self.find(Position(passed.max(after.0)))?;
                if next.header.sequence == place.header.sequence {
                    return Err(Error::Corrupt {
                        segment: place.reader.path().to_owned(),
                        offset: place.tail.offset,
                        what: Fault::Record {
                            position: Position(passed + 1),
                        },
                    });
                }
                place = next;
            }
        }
        self.place = Some(place);
        Ok(records)
    }

    /// The beginning of the segment that has the record after `after`.
    fn find(&mut self, after: Position) -> Result<Place, Error> {
        let mut first = Position(u64::MAX);
        for sequence in self.directory.list()?.into_iter().rev() {
            let mut reader = match self.directory.reader(sequence) {
                Ok(reader) => reader,
                // Recycled since it was listed.
                Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let header = SegmentHeader::decode(reader.window(0, SEGMENT_HEADER_BYTES)?);
            let Some(header) = header.ok().filter(|header| header.sequence == sequence) else {
                continue;
            };
            first = Position(header.first);
            if header.first <= after.0 + 1 {
                let tail = Tail::of_empty(&header);
                return Ok(Place {
                    reader,
                    header,
                    tail,
                });
            }
        }
        Err(Error::Trimmed { after, first })
    }
}
