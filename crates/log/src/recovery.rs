//! Making a log that a crash may have left ready for records again.

use std::path::PathBuf;

use crate::directory::Directory;
use crate::disk::DiskFile;
use crate::survey::{Surveyed, survey};
use crate::{Error, Position};

const WIPE_BYTES: u64 = 256 << 10;

/// What opening a log found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// [`Position::ZERO`] if nothing was ever logged.
    pub last: Position,
    /// Oldest retained position; one more than `last` if the log holds no record.
    pub first: Position,
    pub torn_tail: Option<TornTail>,
}

/// What a crash left of writes that had not been acknowledged. It has been wiped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    pub segment: PathBuf,
    pub offset: u64,
    /// As far as can be told: in a recycled segment the end of the torn write may not be visible.
    pub bytes: u64,
}

/// The last segment, ready for appending: everything before its tail is durable, and nothing after
/// the tail can be taken for a record.
pub(crate) struct Recovered {
    /// Empty for a new log.
    pub(crate) segments: Vec<Surveyed>,
    pub(crate) file: Option<Box<dyn DiskFile>>,
    pub(crate) torn_tail: Option<TornTail>,
}

/// A new log begins after `after`; one that ends before `known` is left as it is.
pub(crate) fn recover(
    directory: &mut Directory,
    after: Position,
    known: Position,
) -> Result<Recovered, Error> {
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
        return Ok(Recovered {
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
        wipe(file.as_mut(), last.tail.offset, last.size).map_err(Error::io("wipe", &path))?;
    }
    rewrite(file.as_mut(), last.tail.unproven_offset, last.tail.offset)
        .map_err(Error::io("rewrite", &path))?;
    file.sync().map_err(Error::io("sync", &path))?;
    Ok(Recovered {
        segments: survey.segments,
        file: Some(file),
        torn_tail,
    })
}

/// Whole frames may lie anywhere after the tail. One of them would come back to life if the record
/// lost before it were appended again byte for byte, so all of it goes.
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

/// Writes the last records again. After a failed sync the system may show pages as clean that never
/// reached the disk; only a page written anew is sure to be part of the next sync.
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
