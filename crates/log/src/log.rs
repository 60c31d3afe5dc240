//! The log itself: one writer that batches records into commits.
//!
//! Records gather in a buffer of frames. A commit seals them with hashes, writes them at the tail
//! of the current segment followed by a terminator, and syncs. All records of one commit lie in one
//! segment; where they do not fit, the segment is sealed (synced whole) and the next begins.
//!
//! New segments are filled with zeros a step ahead of the tail rather than at once, which spreads
//! the cost of the first round through the files and lets an empty directory open at once. Recycled
//! segments are already full size.
//!
//! Whatever a commit needs of the disk beside its write and its sync, that is the next segment and room in
//! the file, it gets before it writes. A disk that is full or a process that has no file left therefore
//! refuses a commit while the log is as it was ([`Error::NotWritten`]), and takes the next one when it can.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::directory::Directory;
use crate::disk::{Disk, DiskFile, SystemDisk};
use crate::error::Fault;
use crate::frame::{self, TERMINATOR_BYTES};
use crate::reader::{Tail, Visitor};
use crate::recovery::{Recovered, Recovery, recover};
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::{Durability, Error, LogOptions, Position};

/// The commit that takes a step syncs all of it, so it should not take long.
const ALLOCATION_STEP_BYTES: u64 = 512 << 10;
const SEGMENT_BYTES_MIN: u64 = 2 * SEGMENT_HEADER_BYTES as u64;
/// A buffer that one large commit has grown beyond this is given back.
const PENDING_KEPT_BYTES: usize = 4 << 20;

pub struct Log {
    directory: Directory,
    options: LogOptions,
    /// All but the one being written, oldest first.
    sealed: VecDeque<Sealed>,
    current: Current,
    /// Frames of the records appended since the last commit.
    pending: Vec<u8>,
    appended: u64,
    written: u64,
    durable: u64,
    hash: u128,
    /// Bytes that there was no room for last.
    refused: Option<usize>,
    failure: Option<Error>,
}

struct Sealed {
    header: SegmentHeader,
    last: u64,
    bytes: u64,
}

struct Current {
    header: SegmentHeader,
    key: u64,
    file: Box<dyn DiskFile>,
    /// Where the next frame goes.
    offset: u64,
    size: u64,
}

impl Log {
    /// Opens the log in `dir` or creates it. Reads the whole retained log and verifies it; cuts a
    /// torn tail and reports it; makes durable what it found.
    ///
    /// Nothing else may have the log open: the owner holds the lock on the data directory.
    pub fn open(dir: &Path, options: LogOptions) -> Result<(Log, Recovery), Error> {
        Log::open_on(Arc::new(SystemDisk), dir, options)
    }

    /// [`Log::open`] on a given disk.
    pub fn open_on(
        disk: Arc<dyn Disk>,
        dir: &Path,
        options: LogOptions,
    ) -> Result<(Log, Recovery), Error> {
        Log::open_after(disk, dir, options, Position::ZERO)
    }

    /// [`Log::open_on`] for an owner whose state has the records up to `after` from elsewhere: if
    /// there is no log yet, its first record will be the one after it.
    pub fn open_after(
        disk: Arc<dyn Disk>,
        dir: &Path,
        mut options: LogOptions,
        after: Position,
    ) -> Result<(Log, Recovery), Error> {
        options.segment_bytes = options.segment_bytes.max(SEGMENT_BYTES_MIN);
        let mut directory = Directory::new(disk, dir);
        let Recovered {
            mut segments,
            file,
            torn_tail,
        } = recover(&mut directory, after, options.known)?;
        directory.create()?;
        let (current, tail) = if let (Some(last), Some(file)) = (segments.pop(), file) {
            let (header, offset, size) = (last.header, last.tail.offset, last.size);
            let key = header.key();
            (
                Current {
                    header,
                    key,
                    file,
                    offset,
                    size,
                },
                last.tail,
            )
        } else {
            let header = SegmentHeader {
                sequence: 1,
                first: after.0 + 1,
                predecessor: 0,
            };
            let tail = Tail::of_empty(&header);
            (
                provision(&mut directory, header, options.segment_bytes)?,
                tail,
            )
        };
        let sealed: VecDeque<Sealed> = segments
            .into_iter()
            .map(|segment| Sealed {
                header: segment.header,
                last: segment.tail.last,
                bytes: segment.tail.offset,
            })
            .collect();
        let log = Log {
            directory,
            options,
            sealed,
            current,
            pending: Vec::new(),
            appended: tail.last,
            written: tail.last,
            durable: tail.last,
            hash: tail.hash,
            refused: None,
            failure: None,
        };
        let recovery = Recovery {
            last: log.last(),
            first: log.first(),
            torn_tail,
        };
        Ok((log, recovery))
    }

    /// Reads every committed record after `after` in order. Memory is bounded by the largest
    /// record. Fails with [`Error::Trimmed`] or [`Error::Ahead`] if the log cannot continue from
    /// `after`.
    pub fn replay(&self, after: Position, visit: &mut Visitor<'_>) -> Result<(), Error> {
        let (first, last) = (self.first(), self.last());
        if after.0 + 1 < first.0 {
            return Err(Error::Trimmed { after, first });
        }
        if after > last {
            return Err(Error::Ahead { after, last });
        }
        let sealed = self
            .sealed
            .iter()
            .map(|segment| (&segment.header, segment.last));
        let segments = sealed.chain([(&self.current.header, self.written)]);
        for (header, last) in segments.filter(|&(_, last)| last > after.0) {
            let mut reader = self.directory.reader(header.sequence)?;
            let mut tail = Tail::of_empty(header);
            reader.follow(header.key(), &mut tail, last, &mut |position, payload| {
                if position > after {
                    visit(position, payload)
                } else {
                    Ok(())
                }
            })?;
            if tail.last != last {
                return Err(Error::Corrupt {
                    segment: reader.path().to_owned(),
                    offset: tail.offset,
                    what: Fault::Record {
                        position: Position(tail.last + 1),
                    },
                });
            }
        }
        Ok(())
    }

    /// Buffers a record. It is on no disk before [`Log::commit`].
    ///
    /// # Panics
    ///
    /// If the payload is larger than [`RECORD_BYTES_MAX`](crate::RECORD_BYTES_MAX).
    pub fn append(&mut self, payload: &[u8]) -> Position {
        self.append_with(|buffer| buffer.extend_from_slice(payload))
    }

    /// [`Log::append`] for callers that encode straight into the buffer, to which they must only
    /// add.
    pub fn append_with(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> Position {
        self.appended += 1;
        // A poisoned log will never write them; the commit says so.
        if self.failure.is_none() {
            frame::push(&mut self.pending, self.appended, encode);
        }
        Position(self.appended)
    }

    /// Writes everything appended since the last commit with one write and, under
    /// [`Durability::Sync`], one sync. Gives the position of the last committed record.
    ///
    /// After [`Error::NotWritten`] the log has none of the records of this commit. After any other
    /// error nobody knows which of these records the log has, until the log is opened again.
    /// Records of earlier commits are safe.
    pub fn commit(&mut self) -> Result<Position, Error> {
        self.write()?;
        if self.options.durability == Durability::Sync {
            self.sync()?;
        }
        Ok(self.last())
    }

    /// [`Log::commit`] without a sync: what was written is durable with the next one, or when somebody
    /// has synced [`Log::tail`] and says so.
    pub fn write(&mut self) -> Result<Position, Error> {
        if !self.pending.is_empty() {
            if let Err(error) = self.make_room(self.pending.len()) {
                self.appended = self.written;
                self.pending.clear();
                return Err(error);
            }
            self.guarded(Log::write_pending)?;
        }
        self.guarded(|log| Ok(log.last()))
    }

    /// Prepares the log for a commit of frames of `bytes` bytes, so that this commit needs nothing of
    /// the disk but a write and a sync. For a caller that must be sure of this room before it tells
    /// others which records it will append; see [`frame_bytes`](crate::frame_bytes).
    pub fn make_room(&mut self, bytes: usize) -> Result<(), Error> {
        let made = self.get_room(bytes);
        if made.is_err() {
            self.refused = Some(bytes);
        }
        made
    }

    /// Tries again to get the room that the write which was refused last needed; on success the log
    /// takes writes again.
    pub fn try_again(&mut self) -> Result<(), Error> {
        self.refused.map_or(Ok(()), |bytes| self.make_room(bytes))?;
        self.refused = None;
        Ok(())
    }

    fn get_room(&mut self, bytes: usize) -> Result<(), Error> {
        let added = bytes as u64;
        let is_empty = self.current.offset == SEGMENT_HEADER_BYTES as u64;
        if !is_empty && self.current.offset + added > self.options.segment_bytes {
            self.guarded(Log::sync_written)?;
            self.unguarded(Log::roll)?;
        }
        self.unguarded(|log| log.allocate(log.current.offset + added))
    }

    /// The file that has the last committed record.
    pub fn tail(&self) -> PathBuf {
        self.directory.segment_path(self.current.header.sequence)
    }

    /// Somebody has synced the file that had the records up to `upto` as its last ones.
    pub fn synced(&mut self, upto: Position) {
        self.durable = self.durable.max(upto.0.min(self.written));
    }

    /// Makes every committed record durable.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.guarded(Log::sync_written)
    }

    /// Commits what is pending and makes all of it durable. Dropping a log does neither.
    pub fn close(mut self) -> Result<(), Error> {
        self.commit()?;
        self.sync()
    }

    /// Says that records up to `upto` are not needed any more. Segments that hold no other are
    /// recycled; the one being written never is.
    pub fn trim(&mut self, upto: Position) -> Result<(), Error> {
        self.guarded(|_| Ok(()))?;
        while self
            .sealed
            .front()
            .is_some_and(|segment| segment.last <= upto.0)
        {
            let Some(segment) = self.sealed.front() else {
                break;
            };
            let sequence = segment.header.sequence;
            self.unguarded(|log| log.directory.retire(sequence))?;
            self.sealed.pop_front();
            // One at a time: two changes in the wrong order would leave a hole in the log.
            self.guarded(|log| log.directory.sync())?;
        }
        Ok(())
    }

    /// The last committed record.
    pub fn last(&self) -> Position {
        Position(self.written)
    }

    /// The oldest retained record; one more than [`Log::last`] if there is none.
    pub fn first(&self) -> Position {
        let oldest = self
            .sealed
            .front()
            .map_or(&self.current.header, |segment| &segment.header);
        Position(oldest.first)
    }

    /// The last record that would survive the loss of power now.
    pub fn durable(&self) -> Position {
        Position(self.durable)
    }

    /// The last record of the newest sealed segment: trimming up to here frees everything that can
    /// be freed.
    pub fn sealed(&self) -> Option<Position> {
        self.sealed.back().map(|segment| Position(segment.last))
    }

    /// Bytes of the segments that hold records after `position`: what a restart would have to read
    /// if the state had been saved at `position`.
    pub fn bytes_since(&self, position: Position) -> u64 {
        let sealed = self
            .sealed
            .iter()
            .filter(|segment| segment.last > position.0);
        let current = if self.written > position.0 {
            self.current.offset
        } else {
            0
        };
        sealed.map(|segment| segment.bytes).sum::<u64>() + current
    }

    /// Segments in use, the one being written included.
    pub fn segment_count(&self) -> usize {
        self.sealed.len() + 1
    }

    /// Runs something that writes; its failure is the last thing that ever runs.
    fn guarded<T>(&mut self, run: impl FnOnce(&mut Log) -> Result<T, Error>) -> Result<T, Error> {
        if let Some(first) = &self.failure {
            return Err(Error::Poisoned {
                first: Box::new(first.clone()),
            });
        }
        run(self).inspect_err(|error| {
            self.failure = Some(error.clone());
            self.pending = Vec::new();
        })
    }

    /// Runs a step that changes nothing that a reader of the log relies on, and that the log can repeat
    /// if the step fails. A failed sync poisons the log here too: a repeated sync could report success
    /// although the system has dropped the unwritten pages.
    fn unguarded<T>(&mut self, run: impl FnOnce(&mut Log) -> Result<T, Error>) -> Result<T, Error> {
        self.guarded(|_| Ok(()))?;
        run(self).map_err(|error| {
            if error.is_of_sync() {
                self.failure = Some(error.clone());
                return error;
            }
            Error::NotWritten {
                source: Box::new(error),
            }
        })
    }

    fn write_pending(&mut self) -> Result<(), Error> {
        let added = self.pending.len() as u64;
        let key = self.current.key;
        let hash = frame::seal(&mut self.pending, key, self.durable, self.hash);

        let end = self.current.offset + added;
        let terminator = (TERMINATOR_BYTES as u64).min(self.current.size.saturating_sub(end));
        let terminated = self.pending.len() + usize::try_from(terminator).unwrap_or(0);
        self.pending.resize(terminated, 0);
        let written = self
            .current
            .file
            .write_at(self.current.offset, &self.pending);
        written.map_err(|error| self.current_error("write", error))?;

        self.current.offset = end;
        self.current.size = self.current.size.max(end);
        self.written = self.appended;
        self.hash = hash;
        self.pending.clear();
        self.pending.shrink_to(PENDING_KEPT_BYTES);
        Ok(())
    }

    /// Fills the segment with zeros beyond `end`, ahead of it up to its full size.
    fn allocate(&mut self, end: u64) -> Result<(), Error> {
        let full = self.options.segment_bytes.max(end);
        let needed = (end + TERMINATOR_BYTES as u64).min(full);
        if needed <= self.current.size {
            return Ok(());
        }
        let target = needed.next_multiple_of(ALLOCATION_STEP_BYTES).min(full);
        let step = usize::try_from(ALLOCATION_STEP_BYTES.min(target)).unwrap_or(0);
        let zeros = vec![0; step];
        while self.current.size < target {
            let left = usize::try_from(target - self.current.size).unwrap_or(usize::MAX);
            let count = left.min(zeros.len());
            let filled = self
                .current
                .file
                .write_at(self.current.size, &zeros[..count]);
            filled.map_err(|error| self.current_error("extend", error))?;
            self.current.size += count as u64;
        }
        Ok(())
    }

    /// Seals the current segment, which is synced, and begins the next.
    fn roll(&mut self) -> Result<(), Error> {
        let header = SegmentHeader {
            sequence: self.current.header.sequence + 1,
            first: self.written + 1,
            predecessor: self.hash,
        };
        let next = provision(&mut self.directory, header, self.options.segment_bytes)?;
        let sealed = std::mem::replace(&mut self.current, next);
        let (header, bytes) = (sealed.header, sealed.offset);
        self.sealed.push_back(Sealed {
            header,
            last: self.written,
            bytes,
        });
        Ok(())
    }

    fn sync_written(&mut self) -> Result<(), Error> {
        if self.durable < self.written {
            let synced = self.current.file.sync();
            synced.map_err(|error| self.current_error("sync", error))?;
            self.durable = self.written;
        }
        Ok(())
    }

    fn current_error(&self, action: &'static str, error: std::io::Error) -> Error {
        Error::io(action, &self.tail())(error)
    }
}

fn provision(
    directory: &mut Directory,
    header: SegmentHeader,
    segment_bytes: u64,
) -> Result<Current, Error> {
    let (file, size) = directory.provision(&header, segment_bytes)?;
    let (key, offset) = (header.key(), SEGMENT_HEADER_BYTES as u64);
    Ok(Current {
        header,
        key,
        file,
        offset,
        size,
    })
}
