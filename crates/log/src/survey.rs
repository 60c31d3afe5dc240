//! Reading the whole retained log and judging it, without changing anything.
//!
//! Two things can end a chain of records early. A **torn tail** is what a crash leaves of writes
//! that nobody was told had succeeded. **Damage** is the loss of something that had been durable.
//! The first is expected and cut off, the second must reach a person. They are told apart so:
//!
//! - A segment is synced whole before its successor gets a header, so a break anywhere but in the
//!   last segment is damage.
//! - In the last segment, frames written together may reach the disk in any order, so a whole frame
//!   after a broken one proves nothing by itself. Every frame names the position up to which all
//!   was durable when it was written; if that includes the broken record, the break is damage.
//!
//! What cannot be told apart: damage to the last records, which nothing written later vouches for,
//! looks like a torn tail. The owner notices it as [`Error::Ahead`] if its state had them.

use crate::directory::Directory;
use crate::error::Fault;
use crate::frame::{FRAME_HEADER_BYTES, FrameHeader, TERMINATOR_BYTES};
use crate::reader::{SegmentReader, Tail};
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::verify::Problem;
use crate::{Error, Position};

pub(crate) struct Survey {
    /// Segments whose header could be read, oldest first.
    pub(crate) segments: Vec<Surveyed>,
    /// Damage, in the order of the log.
    pub(crate) damage: Vec<Problem>,
    /// Bytes after the tail of the last segment that a crash left.
    pub(crate) torn_bytes: Option<u64>,
}

pub(crate) struct Surveyed {
    pub(crate) header: SegmentHeader,
    pub(crate) tail: Tail,
    pub(crate) size: u64,
}

pub(crate) fn survey(directory: &mut Directory) -> Result<Survey, Error> {
    let sequences = directory.list()?;
    let mut survey = Survey {
        segments: Vec::new(),
        damage: Vec::new(),
        torn_bytes: None,
    };
    if sequences.is_empty() && directory.has_used_spares() {
        survey.damage.push(Problem {
            segment: directory.segment_path(1),
            offset: 0,
            what: Fault::MissingSegment,
        });
    }
    let mut headers = Vec::with_capacity(sequences.len());
    for &sequence in &sequences {
        headers.push(read_header(&mut directory.reader(sequence)?, sequence)?);
    }
    for (index, &sequence) in sequences.iter().enumerate() {
        if index > 0 && sequences[index - 1] + 1 != sequence {
            survey.damage.push(Problem {
                segment: directory.segment_path(sequences[index - 1] + 1),
                offset: 0,
                what: Fault::MissingSegment,
            });
        }
        let header = match &headers[index] {
            Ok(header) => *header,
            Err(fault) => {
                survey.damage.push(Problem {
                    segment: directory.segment_path(sequence),
                    offset: 0,
                    what: fault.clone(),
                });
                continue;
            }
        };
        let successor = match (sequences.get(index + 1), headers.get(index + 1)) {
            (None, _) | (_, None) => Successor::None,
            (Some(&next), Some(Ok(header))) if next == sequence + 1 => Successor::Known(*header),
            (Some(_), Some(_)) => Successor::Unknown,
        };
        survey_segment(&mut survey, directory.reader(sequence)?, header, &successor)?;
    }
    Ok(survey)
}

enum Successor {
    None,
    Known(SegmentHeader),
    /// There is one but its header cannot be used.
    Unknown,
}

fn survey_segment(
    survey: &mut Survey,
    mut reader: SegmentReader,
    header: SegmentHeader,
    successor: &Successor,
) -> Result<(), Error> {
    let until = match successor {
        Successor::Known(next) => next.first.saturating_sub(1),
        Successor::None | Successor::Unknown => u64::MAX,
    };
    let mut tail = Tail::of_empty(&header);
    reader.follow(header.key(), &mut tail, until, &mut |_, _| Ok(()))?;
    let fault = match successor {
        Successor::Known(next) => sealed_fault(&mut reader, &header, &tail, next)?,
        Successor::Unknown => None,
        Successor::None => match judge_tail(&mut reader, &header, &tail)? {
            Ok(torn_bytes) => {
                survey.torn_bytes = torn_bytes;
                None
            }
            Err(fault) => Some(fault),
        },
    };
    if let Some(what) = fault {
        let segment = reader.path().to_owned();
        survey.damage.push(Problem {
            segment,
            offset: tail.offset,
            what,
        });
    }
    survey.segments.push(Surveyed {
        header,
        tail,
        size: reader.size(),
    });
    Ok(())
}

fn read_header(
    reader: &mut SegmentReader,
    sequence: u64,
) -> Result<Result<SegmentHeader, Fault>, Error> {
    let header = SegmentHeader::decode(reader.window(0, SEGMENT_HEADER_BYTES)?);
    Ok(header.and_then(|header| {
        if header.sequence != sequence {
            Err(Fault::Sequence {
                named: sequence,
                found: header.sequence,
            })
        } else if header.first == 0 {
            Err(Fault::Header)
        } else {
            Ok(header)
        }
    }))
}

fn sealed_fault(
    reader: &mut SegmentReader,
    header: &SegmentHeader,
    tail: &Tail,
    next: &SegmentHeader,
) -> Result<Option<Fault>, Error> {
    let (position, next_first) = (Position(tail.last + 1), Position(next.first));
    if position > next_first || (position == next_first && tail.hash != next.predecessor) {
        return Ok(Some(Fault::WrongSuccessor { next: next_first }));
    }
    if position == next_first {
        return Ok(None);
    }
    if let Some(fault) = chain_fault(reader, header, tail)? {
        return Ok(Some(fault));
    }
    let short = reader.is_zero(tail.offset, FRAME_HEADER_BYTES)?;
    Ok(Some(if short {
        Fault::ShortSegment {
            position,
            next: next_first,
        }
    } else {
        Fault::Record { position }
    }))
}

/// A whole frame of this segment in the right place that names another predecessor: no crash does
/// that, since what a crash left is wiped before anything is written over it.
fn chain_fault(
    reader: &mut SegmentReader,
    header: &SegmentHeader,
    tail: &Tail,
) -> Result<Option<Fault>, Error> {
    let found = reader.frame_at(tail.offset, header.key())?;
    Ok(found.map(|(frame, _)| Fault::Chain {
        position: Position(frame.position),
    }))
}

/// What follows the tail of the last segment: nothing, so many torn bytes, or a fault.
fn judge_tail(
    reader: &mut SegmentReader,
    header: &SegmentHeader,
    tail: &Tail,
) -> Result<Result<Option<u64>, Fault>, Error> {
    if let Some(fault) = chain_fault(reader, header, tail)? {
        return Ok(Err(fault));
    }
    let broken = tail.last + 1;
    let mut torn_end = None;
    let mut offset = tail.offset;
    while let Some((place, frame)) = reader.find_frame(offset, header.key(), broken)? {
        if frame.durable >= broken {
            return Ok(Err(Fault::Record {
                position: Position(broken),
            }));
        }
        offset = place + frame.frame_bytes() as u64;
        torn_end = Some(offset);
    }
    if torn_end.is_none() && !reader.is_zero(tail.offset, TERMINATOR_BYTES)? {
        torn_end = Some(torn_end_of(reader, tail, broken)?);
    }
    Ok(Ok(torn_end.map(|end| end.min(reader.size()) - tail.offset)))
}

/// How far the broken frame at the tail says it reaches, or else as far as can be seen at once.
fn torn_end_of(reader: &mut SegmentReader, tail: &Tail, broken: u64) -> Result<u64, Error> {
    let bytes = reader.window(tail.offset, TERMINATOR_BYTES)?;
    let claimed = FrameHeader::decode(bytes)
        .filter(|frame| frame.position == broken)
        .map_or(bytes.len(), |frame| frame.frame_bytes());
    Ok(tail.offset + claimed as u64)
}
