//! Reads the whole retained log and classifies its faults, without changing any file.
//!
//! Two faults can end a chain of records early. A **torn tail** is the rest of writes that were
//! never acknowledged before a crash. **Damage** is the loss of bytes that had been durable.
//! Recovery cuts off a torn tail, but damage needs an operator. The rules to distinguish them:
//!
//! - A segment is synced completely before its successor gets a header, so a break in any segment
//!   but the last is damage.
//! - In the last segment, frames of one write may reach the disk in any order, so an intact frame
//!   after a broken one proves nothing by itself. Every frame records the position up to which the
//!   log was durable when the frame was written. If this position includes the broken record, the
//!   break is damage.
//!
//! Damage to the last records is indistinguishable from a torn tail, because no later frame vouches
//! for them. The owner detects this case as [`Error::Ahead`] if its state contains these records.

use crate::directory::Directory;
use crate::error::SegmentFault;
use crate::frame::{FRAME_HEADER_BYTES, FrameHeader, TERMINATOR_BYTES};
use crate::reader::{SegmentReader, Tail};
use crate::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::verify::LogProblem;
use crate::{Error, Position};

pub(crate) struct Survey {
    /// Segments with a readable header, oldest first.
    pub(crate) segments: Vec<SurveyedSegment>,
    /// Damage, in log order.
    pub(crate) damage: Vec<LogProblem>,
    /// Bytes of a torn write after the tail of the last segment.
    pub(crate) torn_bytes: Option<u64>,
}

pub(crate) struct SurveyedSegment {
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
    // Segment files are gone but their recycled spares remain, so the log is not new.
    if sequences.is_empty() && directory.has_used_spares() {
        survey.damage.push(LogProblem {
            segment: directory.segment_path(1),
            offset: 0,
            what: SegmentFault::MissingSegment,
        });
    }
    let mut headers = Vec::with_capacity(sequences.len());
    for &sequence in &sequences {
        headers.push(read_header(&mut directory.reader(sequence)?, sequence)?);
    }
    for (index, &sequence) in sequences.iter().enumerate() {
        if index > 0 && sequences[index - 1] + 1 != sequence {
            survey.damage.push(LogProblem {
                segment: directory.segment_path(sequences[index - 1] + 1),
                offset: 0,
                what: SegmentFault::MissingSegment,
            });
        }
        let header = match &headers[index] {
            Ok(header) => *header,
            Err(fault) => {
                survey.damage.push(LogProblem {
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
    /// A successor exists, but its header is unusable.
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
        // The end of this segment cannot be judged without the successor's header, which is
        // reported as damage itself.
        Successor::Unknown => None,
        Successor::None => match classify_tail(&mut reader, &header, &tail)? {
            Ok(torn_bytes) => {
                survey.torn_bytes = torn_bytes;
                None
            }
            Err(fault) => Some(fault),
        },
    };
    if let Some(what) = fault {
        let segment = reader.path().to_owned();
        survey.damage.push(LogProblem {
            segment,
            offset: tail.offset,
            what,
        });
    }
    survey.segments.push(SurveyedSegment {
        header,
        tail,
        size: reader.size(),
    });
    Ok(())
}

fn read_header(
    reader: &mut SegmentReader,
    sequence: u64,
) -> Result<Result<SegmentHeader, SegmentFault>, Error> {
    let header = SegmentHeader::decode(reader.window(0, SEGMENT_HEADER_BYTES)?);
    Ok(header.and_then(|header| {
        if header.sequence != sequence {
            Err(SegmentFault::Sequence {
                named: sequence,
                found: header.sequence,
            })
        } else if header.first == 0 {
            Err(SegmentFault::Header)
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
) -> Result<Option<SegmentFault>, Error> {
    let (position, next_first) = (Position(tail.last + 1), Position(next.first));
    if position > next_first || (position == next_first && tail.hash != next.predecessor) {
        return Ok(Some(SegmentFault::WrongSuccessor { next: next_first }));
    }
    if position == next_first {
        return Ok(None);
    }
    if let Some(fault) = chain_fault(reader, header, tail)? {
        return Ok(Some(fault));
    }
    let short = reader.is_zero(tail.offset, FRAME_HEADER_BYTES)?;
    Ok(Some(if short {
        SegmentFault::ShortSegment {
            position,
            next: next_first,
        }
    } else {
        SegmentFault::Record { position }
    }))
}

/// An intact frame at the right offset that names another predecessor. No crash produces this,
/// because recovery wipes a torn tail before the log writes over it.
fn chain_fault(
    reader: &mut SegmentReader,
    header: &SegmentHeader,
    tail: &Tail,
) -> Result<Option<SegmentFault>, Error> {
    let found = reader.frame_at(tail.offset, header.key())?;
    Ok(found.map(|(frame, _)| SegmentFault::Chain {
        position: Position(frame.position),
    }))
}

/// Classifies the bytes after the tail of the last segment: none, a number of torn bytes, or a
/// fault.
fn classify_tail(
    reader: &mut SegmentReader,
    header: &SegmentHeader,
    tail: &Tail,
) -> Result<Result<Option<u64>, SegmentFault>, Error> {
    if let Some(fault) = chain_fault(reader, header, tail)? {
        return Ok(Err(fault));
    }
    let broken = tail.last + 1;
    let mut torn_end = None;
    let mut offset = tail.offset;
    while let Some((frame_offset, frame)) = reader.find_frame(offset, header.key(), broken)? {
        if frame.durable >= broken {
            return Ok(Err(SegmentFault::Record {
                position: Position(broken),
            }));
        }
        offset = frame_offset + frame.frame_bytes() as u64;
        torn_end = Some(offset);
    }
    if torn_end.is_none() && !reader.is_zero(tail.offset, TERMINATOR_BYTES)? {
        torn_end = Some(torn_end_of(reader, tail, broken)?);
    }
    Ok(Ok(torn_end.map(|end| end.min(reader.size()) - tail.offset)))
}

/// The end of the broken frame at the tail according to its length field, or the end of the visible
/// bytes.
fn torn_end_of(reader: &mut SegmentReader, tail: &Tail, broken: u64) -> Result<u64, Error> {
    let bytes = reader.window(tail.offset, TERMINATOR_BYTES)?;
    let claimed = FrameHeader::decode(bytes)
        .filter(|frame| frame.position == broken)
        .map_or(bytes.len(), |frame| frame.frame_bytes());
    Ok(tail.offset + claimed as u64)
}
