//! The log: a single writer that batches records into commits.
//!
//! Records gather in a buffer of frames. A commit completes the frames with hashes, writes them at
//! the tail of the current segment together with a terminator, and syncs. All records of one commit
//! are in one segment. If the current segment has no room for them, the log seals it (syncs it
//! completely) and starts the next segment.
//!
//! New segments are filled with zeros in steps ahead of the tail. This spreads the cost of the
//! first pass through the files, and an empty directory opens immediately. Recycled segments
//! already have full size.
//!
//! A commit first obtains the resources that it needs besides its write and its sync: the next
//! segment, and room in the file. So a full disk or a process without free file handles rejects a
//! commit before the log has changed ([`Error::NotWritten`]), and the log accepts the next commit
//! once the resources are available.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::directory::Directory;
use crate::disk::{Disk, DiskFile, SystemDisk};
use crate::error::SegmentFault;
use crate::frame::{self, TERMINATOR_BYTES};
use crate::reader::{Tail, Visitor};
use crate::recovery::{RecoveredLog, Recovery, recover};
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::{Durability, Error, LogOptions, Position};

/// Bytes by which a segment grows at once. The commit that triggers a step also syncs it, so the
/// step is small.
const ALLOCATION_STEP_BYTES: u64 = 512 << 10;
const SEGMENT_BYTES_MIN: u64 = 2 * SEGMENT_HEADER_BYTES as u64;
/// Maximum capacity that the frame buffer retains after a commit. A larger buffer is released.
const PENDING_KEPT_BYTES: usize = 4 << 20;

pub struct Log {
    directory: Directory,
    options: LogOptions,
    /// All segments except the current one, oldest first.
    sealed: VecDeque<SealedSegment>,
    current: CurrentSegment,
    /// Frames of the records appended since the last commit.
    pending: Vec<u8>,
    appended: u64,
    written: u64,
    durable: u64,
    hash: u128,
    /// Size of the last write that the disk had no room for.
    refused: Option<usize>,
    failure: Option<Error>,
}

struct SealedSegment {
    header: SegmentHeader,
    last: u64,
    bytes: u64,
}

struct CurrentSegment {
    header: SegmentHeader,
    key: u64,
    file: Box<dyn DiskFile>,
    /// File offset of the next frame.
    offset: u64,
    size: u64,
}

impl Log {
    /// Opens the log in `dir` or creates it. Opening reads and verifies the whole retained log,
    /// cuts off and reports a torn tail, and makes all found records durable.
    ///
    /// No other process may have the log open: the owner holds the lock of the data directory.
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

    /// [`Log::open_on`] for an owner that received the records up to `after` by other means. If no
    /// log exists, its first record will be the record after `after`.
    pub fn open_after(
        disk: Arc<dyn Disk>,
        dir: &Path,
        mut options: LogOptions,
        after: Position,
    ) -> Result<(Log, Recovery), Error> {
        options.segment_bytes = options.segment_bytes.max(SEGMENT_BYTES_MIN);
        let mut directory = Directory::new(disk, dir);
        let RecoveredLog {
            mut segments,
            file,
            torn_tail,
        } = recover(&mut directory, after, options.known_durable)?;
        directory.create()?;
        let (current, tail) = if let (Some(last), Some(file)) = (segments.pop(), file) {
            let (header, offset, size) = (last.header, last.tail.offset, last.size);
            let key = header.key();
            (
                CurrentSegment {
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
        let sealed: VecDeque<SealedSegment> = segments
            .into_iter()
            .map(|segment| SealedSegment {
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
    /// record. Fails with [`Error::Trimmed`] or [`Error::Ahead`] if the log does not have the
    /// record after `after`.
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
                    what: SegmentFault::Record {
                        position: Position(tail.last + 1),
                    },
                });
            }
        }
        Ok(())
    }

    /// Buffers a record. No byte of the record reaches the disk before [`Log::commit`].
    ///
    /// # Panics
    ///
    /// If the payload is larger than [`RECORD_BYTES_MAX`](crate::RECORD_BYTES_MAX).
    pub fn append(&mut self, payload: &[u8]) -> Position {
        self.append_with(|buffer| buffer.extend_from_slice(payload))
    }

    /// [`Log::append`] for callers that encode directly into the buffer. The encoder may only
    /// append.
    pub fn append_with(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> Position {
        self.appended += 1;
        // A poisoned log never writes the record, and the next commit reports the failure.
        if self.failure.is_none() {
            frame::push(&mut self.pending, self.appended, encode);
        }
        Position(self.appended)
    }

    /// Writes all records since the last commit with one write and, under [`Durability::Sync`], one
    /// sync. Returns the position of the last committed record.
    ///
    /// After [`Error::NotWritten`] the log has none of the records of this commit. After any other
    /// error the caller must open the log again to learn which of these records it contains.
    /// Records of earlier commits are safe.
    pub fn commit(&mut self) -> Result<Position, Error> {
        self.write()?;
        if self.options.durability == Durability::Sync {
            self.sync()?;
        }
        Ok(self.last())
    }

    /// [`Log::commit`] without a sync. The records become durable with the next sync of the log, or
    /// when a caller syncs [`Log::current_segment_path`] and calls [`Log::mark_synced`].
    pub fn write(&mut self) -> Result<Position, Error> {
        if !self.pending.is_empty() {
            // Nothing has been written, so the positions of these records are free for the next
            // commit.
            if let Err(error) = self.preallocate(self.pending.len()) {
                self.appended = self.written;
                self.pending.clear();
                return Err(error);
            }
            self.poisoning(Log::write_pending)?;
        }
        self.poisoning(|log| Ok(log.last()))
    }

    /// Prepares the log for a commit of frames of `bytes` bytes, so that the commit needs only a
    /// write and a sync. For a caller that announces records to other nodes before it appends them;
    /// see [`frame_bytes`](crate::frame_bytes).
    pub fn preallocate(&mut self, bytes: usize) -> Result<(), Error> {
        let made = self.get_room(bytes);
        if made.is_err() {
            self.refused = Some(bytes);
        }
        made
    }

    /// Repeats the last failed preallocation. If it succeeds, the log accepts writes again.
    pub fn retry_preallocate(&mut self) -> Result<(), Error> {
        self.refused
            .map_or(Ok(()), |bytes| self.preallocate(bytes))?;
        self.refused = None;
        Ok(())
    }

    fn get_room(&mut self, bytes: usize) -> Result<(), Error> {
        let added = bytes as u64;
        let is_empty = self.current.offset == SEGMENT_HEADER_BYTES as u64;
        if !is_empty && self.current.offset + added > self.options.segment_bytes {
            // The segment is synced before its successor gets a header: recovery treats a break in
            // any segment but the last as damage.
            self.poisoning(Log::sync_written)?;
            self.retryable(Log::roll)?;
        }
        self.retryable(|log| log.allocate(log.current.offset + added))
    }

    /// The path of the segment that contains the last committed record.
    pub fn current_segment_path(&self) -> PathBuf {
        self.directory.segment_path(self.current.header.sequence)
    }

    /// Records that a caller has synced the segment whose last record was `upto`.
    pub fn mark_synced(&mut self, upto: Position) {
        // A position beyond `written` would mark records durable before their write.
        self.durable = self.durable.max(upto.0.min(self.written));
    }

    /// Makes every committed record durable.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.poisoning(Log::sync_written)
    }

    /// Commits the pending records and makes all records durable. Dropping a log does neither.
    pub fn close(mut self) -> Result<(), Error> {
        self.commit()?;
        self.sync()
    }

    /// Declares that records up to `upto` are no longer needed. The log recycles segments with only
    /// such records, but never the current segment.
    pub fn trim(&mut self, upto: Position) -> Result<(), Error> {
        self.poisoning(|_| Ok(()))?;
        while self
            .sealed
            .front()
            .is_some_and(|segment| segment.last <= upto.0)
        {
            let Some(segment) = self.sealed.front() else {
                break;
            };
            let sequence = segment.header.sequence;
            self.retryable(|log| log.directory.recycle(sequence))?;
            self.sealed.pop_front();
            // Each rename is made durable before the next: out of order after a crash, two renames
            // would leave a gap between segments.
            self.poisoning(|log| log.directory.sync())?;
        }
        Ok(())
    }

    pub(crate) fn durability(&self) -> Durability {
        self.options.durability
    }

    /// The position of the last committed record.
    pub fn last(&self) -> Position {
        Position(self.written)
    }

    /// The position of the oldest retained record; one more than [`Log::last`] if there is none.
    pub fn first(&self) -> Position {
        let oldest = self
            .sealed
            .front()
            .map_or(&self.current.header, |segment| &segment.header);
        Position(oldest.first)
    }

    /// The position of the last durable record.
    pub fn durable(&self) -> Position {
        Position(self.durable)
    }

    /// The last record of the newest sealed segment. Trimming up to this position frees as much as
    /// possible.
    pub fn sealed(&self) -> Option<Position> {
        self.sealed.back().map(|segment| Position(segment.last))
    }

    /// Bytes of the segments with records after `position`: the bytes that a restart reads if the
    /// last checkpoint was at `position`.
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

    /// Number of segments, including the current one.
    pub fn segment_count(&self) -> usize {
        self.sealed.len() + 1
    }

    /// Runs a step that writes. A failure poisons the log, so that no step runs after it.
    fn poisoning<T>(&mut self, run: impl FnOnce(&mut Log) -> Result<T, Error>) -> Result<T, Error> {
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

    /// Runs a repeatable step that changes nothing a reader of the log depends on. A failed sync
    /// poisons the log here as well: a repeated sync could report success although the system has
    /// dropped the unwritten pages.
    fn retryable<T>(&mut self, run: impl FnOnce(&mut Log) -> Result<T, Error>) -> Result<T, Error> {
        self.poisoning(|_| Ok(()))?;
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
        // `durable` is the value before this commit: no record of this write may vouch for its own
        // durability.
        let hash = frame::seal(&mut self.pending, key, self.durable, self.hash);

        let end = self.current.offset + added;
        // Terminator and frames go into one write. The terminator is cut at the end of the file, so
        // that it does not grow the segment.
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

    /// Grows the segment with zeros to at least `end`, and ahead of `end` up to its full size.
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

    /// Seals the current segment, which the caller has synced, and starts the next one.
    fn roll(&mut self) -> Result<(), Error> {
        let header = SegmentHeader {
            sequence: self.current.header.sequence + 1,
            first: self.written + 1,
            predecessor: self.hash,
        };
        let next = provision(&mut self.directory, header, self.options.segment_bytes)?;
        let sealed = std::mem::replace(&mut self.current, next);
        let (header, bytes) = (sealed.header, sealed.offset);
        self.sealed.push_back(SealedSegment {
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
        Error::io(action, &self.current_segment_path())(error)
    }
}

fn provision(
    directory: &mut Directory,
    header: SegmentHeader,
    segment_bytes: u64,
) -> Result<CurrentSegment, Error> {
    let (file, size) = directory.provision(&header, segment_bytes)?;
    let (key, offset) = (header.key(), SEGMENT_HEADER_BYTES as u64);
    Ok(CurrentSegment {
        header,
        key,
        file,
        offset,
        size,
    })
}
