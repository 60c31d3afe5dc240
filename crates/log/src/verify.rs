//! The offline check: says what is wrong with a log and changes nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::directory::Directory;
use crate::disk::{Disk, SystemDisk};
use crate::error::Fault;
use crate::survey::survey;
use crate::{Error, Position};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyReport {
    pub segments: usize,
    /// Records that could be reached and are whole.
    pub records: u64,
    /// Bytes of those records with their frames.
    pub bytes: u64,
    /// Oldest retained position; one more than `last` if the log holds no record.
    pub first: Position,
    pub last: Position,
    /// In the order of the log. A [`Fault::TornTail`] is cut by the next open; all else is damage.
    pub problems: Vec<Problem>,
}

/// Something wrong at one place of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub segment: PathBuf,
    pub offset: u64,
    pub what: Fault,
}

impl VerifyReport {
    /// Whether the log would refuse to open.
    pub fn is_damaged(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| !matches!(problem.what, Fault::TornTail { .. }))
    }
}

/// Reads the whole log in `dir` without writing. The log must not be in use.
pub fn verify(dir: &Path) -> Result<VerifyReport, Error> {
    verify_on(Arc::new(SystemDisk), dir)
}

/// [`verify`] on a given disk.
pub fn verify_on(disk: Arc<dyn Disk>, dir: &Path) -> Result<VerifyReport, Error> {
    let mut directory = Directory::new(disk, dir);
    let survey = survey(&mut directory)?;
    let mut problems = survey.damage;
    if let (Some(bytes), Some(last)) = (survey.torn_bytes, survey.segments.last()) {
        problems.push(Problem {
            segment: directory.segment_path(last.header.sequence),
            offset: last.tail.offset,
            what: Fault::TornTail { bytes },
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
