//! The offline check: reports the problems of a log and changes no file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::directory::Directory;
use crate::disk::{Disk, SystemDisk};
use crate::error::SegmentFault;
use crate::survey::survey;
use crate::{Error, Position};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyReport {
    pub segments: usize,
    /// Number of intact records.
    pub records: u64,
    /// Bytes of these records with their frames.
    pub bytes: u64,
    /// Oldest retained position; one more than `last` if the log has no record.
    pub first: Position,
    pub last: Position,
    /// Problems in log order. The next open cuts off a [`SegmentFault::TornTail`]; all others are
    /// damage.
    pub problems: Vec<LogProblem>,
}

/// A problem at one offset of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogProblem {
    pub segment: PathBuf,
    pub offset: u64,
    pub what: SegmentFault,
}

impl VerifyReport {
    /// Whether opening the log would fail.
    pub fn is_damaged(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| !matches!(problem.what, SegmentFault::TornTail { .. }))
    }
}

/// Checks the whole log in `dir` without writing. No process may use the log meanwhile.
pub fn verify(dir: &Path) -> Result<VerifyReport, Error> {
    verify_on(Arc::new(SystemDisk), dir)
}

/// [`verify`] on a given disk.
pub fn verify_on(disk: Arc<dyn Disk>, dir: &Path) -> Result<VerifyReport, Error> {
    let mut directory = Directory::new(disk, dir);
    let survey = survey(&mut directory)?;
    let mut problems = survey.damage;
    if let (Some(bytes), Some(last)) = (survey.torn_bytes, survey.segments.last()) {
        problems.push(LogProblem {
            segment: directory.segment_path(last.header.sequence),
            offset: last.tail.offset,
            what: SegmentFault::TornTail { bytes },
        });
    }
    let header_bytes = crate::segment::SEGMENT_HEADER_BYTES as u64;
    let segments = &survey.segments;
    Ok(VerifyReport {
        segments: segments.len(),
        records: segments
            .iter()
            .map(|each| each.tail.last + 1 - each.header.first)
            .sum(),
        bytes: segments
            .iter()
            .map(|each| each.tail.offset - header_bytes)
            .sum(),
        first: Position(segments.first().map_or(1, |each| each.header.first)),
        last: Position(segments.last().map_or(0, |each| each.tail.last)),
        problems,
    })
}
