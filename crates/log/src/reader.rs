//! Reads one segment in chunks: follows its chain of frames, and searches for intact frames after a
//! break in the chain.

use std::path::{Path, PathBuf};

use crate::disk::DiskFile;
use crate::frame::{self, FRAME_ALIGNMENT, FRAME_HEADER_BYTES, FrameHeader};
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::{Error, Position};

const CHUNK_BYTES: usize = 256 << 10;

/// Receives records in order. An error ends the reading.
pub type Visitor<'a> = dyn FnMut(Position, &[u8]) -> Result<(), Error> + 'a;

/// Reads a segment with one chunk in memory, or one record if that is larger.
pub(crate) struct SegmentReader {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    size: u64,
    chunk: Vec<u8>,
    chunk_offset: u64,
}

/// The end of the chain that a reader has followed in a segment so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    /// Offset of the next frame.
    pub(crate) offset: u64,
    pub(crate) last: u64,
    pub(crate) hash: u128,
    /// Offset of the first frame that no later frame declares durable.
    pub(crate) unproven_offset: u64,
    unproven_durable: u64,
}

impl Tail {
    pub(crate) fn of_empty(header: &SegmentHeader) -> Tail {
        Tail {
            offset: SEGMENT_HEADER_BYTES as u64,
            last: header.first - 1,
            hash: header.predecessor,
            unproven_offset: SEGMENT_HEADER_BYTES as u64,
            unproven_durable: header.first - 1,
        }
    }

    fn advance(&mut self, frame: &FrameHeader) {
        // A new `durable` value means a new sync: frames before this one were durable when it was
        // written.
        if frame.durable != self.unproven_durable {
            self.unproven_durable = frame.durable;
            self.unproven_offset = self.offset;
        }
        self.offset += frame.frame_bytes() as u64;
        self.last = frame.position;
        self.hash = frame.hash;
    }
}

impl SegmentReader {
    pub(crate) fn new(mut file: Box<dyn DiskFile>, path: &Path) -> Result<SegmentReader, Error> {
        let size = file.size().map_err(Error::io("measure", path))?;
        Ok(SegmentReader {
            file,
            path: path.to_owned(),
            size,
            chunk: Vec::new(),
            chunk_offset: 0,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Drops the chunk in memory, because the file may have changed.
    pub(crate) fn refresh(&mut self) -> Result<(), Error> {
        self.chunk.clear();
        let size = self.file.size();
        self.size = size.map_err(Error::io("measure", &self.path))?;
        Ok(())
    }

    /// Returns `wanted` bytes from `offset`, or fewer at the end of the file.
    pub(crate) fn window(&mut self, offset: u64, wanted: usize) -> Result<&[u8], Error> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = wanted.min(left);
        let held = offset
            .checked_sub(self.chunk_offset)
            .and_then(|skip| usize::try_from(skip).ok());
        if let Some(skip) = held
            && skip
                .checked_add(wanted)
                .is_some_and(|end| end <= self.chunk.len())
        {
            return Ok(&self.chunk[skip..skip + wanted]);
        }
        let filled = wanted.max(CHUNK_BYTES).min(left);
        if filled > self.chunk.len() {
            self.chunk = vec![0; filled];
        }
        self.chunk.truncate(filled);
        self.chunk_offset = offset;
        let count = self.file.read_at(offset, &mut self.chunk);
        self.chunk
            .truncate(count.map_err(Error::io("read", &self.path))?);
        Ok(&self.chunk[..wanted.min(self.chunk.len())])
    }

    /// Follows the chain from `tail` up to record `until` or to the first bytes that do not
    /// continue the chain. An error of the visitor ends the walk.
    pub(crate) fn follow(
        &mut self,
        key: u64,
        tail: &mut Tail,
        until: u64,
        visit: &mut Visitor<'_>,
    ) -> Result<(), Error> {
        while tail.last < until {
            let Some((frame, payload)) = self.frame_at(tail.offset, key)? else {
                break;
            };
            if frame.position != tail.last + 1 || frame.predecessor != tail.hash {
                break;
            }
            visit(Position(frame.position), payload)?;
            tail.advance(&frame);
        }
        Ok(())
    }

    /// The intact frame of this segment at `offset`, if there is one.
    pub(crate) fn frame_at(
        &mut self,
        offset: u64,
        key: u64,
    ) -> Result<Option<(FrameHeader, &[u8])>, Error> {
        let Some(header) = FrameHeader::decode(self.window(offset, FRAME_HEADER_BYTES)?) else {
            return Ok(None);
        };
        let covered = FRAME_HEADER_BYTES + header.length;
        let bytes = self.window(offset, covered)?;
        if bytes.len() < covered || !frame::is_intact(bytes, &header, key) {
            return Ok(None);
        }
        Ok(Some((header, &bytes[FRAME_HEADER_BYTES..])))
    }

    /// The next intact frame of this segment at or after `offset` with record `oldest` or a later
    /// one, and its offset.
    pub(crate) fn find_frame(
        &mut self,
        mut offset: u64,
        key: u64,
        oldest: u64,
    ) -> Result<Option<(u64, FrameHeader)>, Error> {
        loop {
            let bytes = self.rest_of_chunk(offset)?;
            if bytes.len() < FRAME_HEADER_BYTES {
                return Ok(None);
            }
            // Frames of an earlier life have lower positions, and this check spares most of them
            // the hash.
            let searched = bytes.len() - FRAME_HEADER_BYTES + 1;
            let candidate = (0..searched).step_by(FRAME_ALIGNMENT).find(|&index| {
                frame::may_begin_at(bytes, index)
                    && FrameHeader::decode(&bytes[index..])
                        .is_some_and(|header| header.position >= oldest)
            });
            let Some(index) = candidate else {
                offset += searched.next_multiple_of(FRAME_ALIGNMENT) as u64;
                continue;
            };
            offset += index as u64;
            if let Some((header, _)) = self.frame_at(offset, key)? {
                return Ok(Some((offset, header)));
            }
            offset += FRAME_ALIGNMENT as u64;
        }
    }

    /// The part of the chunk from `offset`. Reads a new chunk if this part is shorter than a frame
    /// header.
    fn rest_of_chunk(&mut self, offset: u64) -> Result<&[u8], Error> {
        let held = offset
            .checked_sub(self.chunk_offset)
            .and_then(|skip| usize::try_from(skip).ok())
            .map_or(0, |skip| self.chunk.len().saturating_sub(skip));
        let wanted = if held < FRAME_HEADER_BYTES {
            CHUNK_BYTES
        } else {
            held
        };
        self.window(offset, wanted)
    }

    /// Whether the `wanted` bytes from `offset`, or up to the end of the file, are zero.
    pub(crate) fn is_zero(&mut self, offset: u64, wanted: usize) -> Result<bool, Error> {
        Ok(self.window(offset, wanted)?.iter().all(|&byte| byte == 0))
    }
}
