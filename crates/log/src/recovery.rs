//! Recovery: prepares a log for new records after a crash.

use std::path::PathBuf;

use crate::directory::Directory;
use crate::disk::DiskFile;
use crate::survey::{SurveyedSegment, survey};
use crate::{Error, Position};

const WIPE_BYTES: u64 = 256 << 10;

/// The result of opening a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// [`Position::ZERO`] if the log never had a record.
    pub last: Position,
    /// Oldest retained position; one more than `last` if the log has no record.
    pub first: Position,
    pub torn_tail: Option<TornTail>,
}

/// The remains of unacknowledged writes after a crash. Recovery has wiped them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    pub segment: PathBuf,
    pub offset: u64,
    /// A lower bound: in a recycled segment the end of the torn write may not be visible.
    pub bytes: u64,
}

/// A log ready for appending: every record before the tail is durable, and no byte after the tail
/// can be taken for a record.
pub(crate) struct RecoveredLog {
    /// Empty for a new log.
    pub(crate) segments: Vec<SurveyedSegment>,
    pub(crate) file: Option<Box<dyn DiskFile>>,
    pub(crate) torn_tail: Option<TornTail>,
}

/// Recovers the log. A new log begins after `after`. A log that ends before `known` has lost
/// records, and recovery leaves it unchanged.
pub(crate) fn recover(
    directory: &mut Directory,
    after: Position,
    known: Position,
) -> Result<RecoveredLog, Error> {
    let survey = survey(directory)?;
    if let Some(problem) = survey.damage.into_iter().next() {
        let (segment, offset, what) = (problem.segment, problem.offset, problem.what);
        return Err(Error::Corrupt {
            segment,
            offset,
            what,
        });
    }
    let end = survey.segments.last();
    let end = end.map_or(after, |segment| Position(segment.tail.last));
    if end < known {
        return Err(Error::Ahead {
            after: known,
            last: end,
        });
    }
    let Some(last) = survey.segments.last() else {
        return Ok(RecoveredLog {
            segments: Vec::new(),
            file: None,
            torn_tail: None,
        });
    };
    let path = directory.segment_path(last.header.sequence);
    let mut file = directory.open_segment(last.header.sequence)?;
    let torn_tail = survey.torn_bytes.map(|bytes| TornTail {
        segment: path.clone(),
        offset: last.tail.offset,
        bytes,
    });
    if let Some(torn) = &torn_tail {
        tracing::warn!(
            segment = %torn.segment.display(),
            offset = torn.offset,
            bytes = torn.bytes,
            last = last.tail.last,
            "cut an unfinished write off the log"
        );
        // The order: wipe, rewrite, then one sync for both. New records follow only after the sync,
        // so a crash in between leaves the same torn tail again.
        wipe(file.as_mut(), last.tail.offset, last.size).map_err(Error::io("wipe", &path))?;
    }
    rewrite(file.as_mut(), last.tail.unproven_offset, last.tail.offset)
        .map_err(Error::io("rewrite", &path))?;
    file.sync().map_err(Error::io("sync", &path))?;
    Ok(RecoveredLog {
        segments: survey.segments,
        file: Some(file),
        torn_tail,
    })
}

/// Fills the file with zeros from `from` to `to`. Intact frames may lie anywhere after the tail. If
/// a client repeated the lost record byte for byte, the chain would continue into such a frame and
/// revive it.
fn wipe(file: &mut dyn DiskFile, from: u64, to: u64) -> std::io::Result<()> {
    let zeros = vec![0; usize::try_from(WIPE_BYTES.min(to - from)).unwrap_or(0)];
    let mut offset = from;
    while offset < to {
        let count = zeros
            .len()
            .min(usize::try_from(to - offset).unwrap_or(usize::MAX));
        file.write_at(offset, &zeros[..count])?;
        offset += count as u64;
    }
    Ok(())
}

/// Writes the last records again. After a failed sync the system may mark pages clean that never
/// reached the disk; only a page that is written again is certain to be part of the next sync.
fn rewrite(file: &mut dyn DiskFile, from: u64, to: u64) -> std::io::Result<()> {
    let mut buffer = vec![0; usize::try_from(WIPE_BYTES.min(to - from)).unwrap_or(0)];
    let mut offset = from;
    while offset < to {
        let wanted = buffer
            .len()
            .min(usize::try_from(to - offset).unwrap_or(usize::MAX));
        let count = file.read_at(offset, &mut buffer[..wanted])?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        file.write_at(offset, &buffer[..count])?;
        offset += count as u64;
    }
    Ok(())
}
