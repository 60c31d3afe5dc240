//! The records of a store by the streams that they are of: its own, and those of other regions.
//!
//! The log has them mixed. A reader passes over it once, remembering of every stream where some of
//! its records stand, and reads on from the nearest of those.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_log::Position;
use orrery_regions::{Body, Progress, RegionId, Sequence, StreamId, StreamRecord};

use super::Multi;
use super::codec::decode_envelope;
use crate::record::stream_part;
use crate::{Error, Piece, Subscription};

/// Of so many records of a stream one is remembered.
const STRIDE: u64 = 32;
/// Bytes of the log that are passed over at a time.
const STEP_BYTES: usize = 1024 * 1024;

/// Gives out the records of streams, while the store keeps them for it.
pub struct StreamReader {
    subscription: Subscription,
    multi: Arc<Multi>,
    streams: BTreeMap<StreamId, Places>,
    /// Everything up to here was passed over.
    passed: Position,
}

/// Where records of one stream stand.
#[derive(Debug, Default)]
struct Places {
    /// The first that the log has.
    first: Sequence,
    last: Sequence,
    /// Every so many, in order.
    marks: Vec<(Sequence, Position)>,
}

/// An answer to the question for more records of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamPiece {
    /// In order and without a gap; none if there is nothing new.
    Records(Vec<StreamRecord>),
    /// The store does not have them any more. A copy of its state has what they did.
    Trimmed,
}

impl StreamReader {
    pub(crate) fn new(
        subscription: Subscription,
        multi: Arc<Multi>,
        from: Position,
    ) -> StreamReader {
        StreamReader {
            subscription,
            multi,
            streams: BTreeMap::new(),
            passed: from,
        }
    }

    /// Records of a stream after a sequence: at least one if there is one, and no further one once
    /// there are `bytes_max` bytes. Reads the disk when they are too old for memory.
    pub fn records_after(
        &mut self,
        stream: StreamId,
        after: Sequence,
        bytes_max: usize,
    ) -> Result<StreamPiece, Error> {
        self.pass()?;
        let Some(places) = self.streams.get(&stream) else {
            return Ok(self.nothing_of(stream, after));
        };
        if places.last <= after {
            return Ok(StreamPiece::Records(Vec::new()));
        }
        if after.next() < places.first {
            return Ok(StreamPiece::Trimmed);
        }
        let mark = places
            .marks
            .iter()
            .rev()
            .find(|(sequence, _)| *sequence <= after.next());
        let before = |(sequence, at): &(Sequence, Position)| {
            if *sequence <= after {
                *at
            } else {
                Position(at.0 - 1)
            }
        };
        let mut position = mark.map_or(Position::ZERO, before);
        let (mut records, mut bytes) = (Vec::new(), 0);
        let mut wanted = after.next();
        while position < self.passed && (records.is_empty() || bytes < bytes_max) {
            let step = bytes_max.clamp(1, STEP_BYTES);
            let read = match self.subscription.records_after(position, step)? {
                Piece::Records(read) => read,
                // What a mark stands at has left the log, but perhaps not what is wanted.
                Piece::Trimmed => {
                    let begins = self.subscription.begins_after();
                    if begins <= position {
                        return Ok(StreamPiece::Trimmed);
                    }
                    position = begins;
                    continue;
                }
            };
            let Some((last, _)) = read.last() else {
                break;
            };
            position = *last;
            for (_, payload) in read {
                if !records.is_empty() && bytes >= bytes_max {
                    break;
                }
                if let Some(record) = stream_record(&payload, stream, wanted)? {
                    bytes += payload.len();
                    wanted = wanted.next();
                    records.push(record);
                }
            }
        }
        if records.is_empty() {
            // There are some, but not the next one.
            return Ok(StreamPiece::Trimmed);
        }
        Ok(StreamPiece::Records(records))
    }

    /// Where the log begins for each stream: records up to here are only in snapshots. Streams that
    /// it has nothing of begin where they are applied, which is `applied`.
    pub fn bases(&mut self, applied: &Progress) -> Result<Progress, Error> {
        self.pass()?;
        let base = |(stream, sequence)| match self.streams.get(&stream) {
            Some(places) => (stream, Sequence(places.first.0.saturating_sub(1))),
            None => (stream, sequence),
        };
        Ok(applied.iter().map(base).collect())
    }

    /// All regions have this much: the store may forget the records behind it.
    pub fn acknowledge(&mut self, held: &Progress) -> Result<(), Error> {
        self.pass()?;
        let mut upto = self.passed;
        for (stream, places) in &self.streams {
            if let Some(place) = places.before(held.of(*stream)) {
                upto = upto.min(place);
            }
        }
        for places in self.streams.values_mut() {
            let behind = places.marks.partition_point(|(_, at)| *at <= upto);
            places.marks.drain(..behind.saturating_sub(1));
        }
        self.subscription.acknowledge(upto);
        Ok(())
    }

    /// Keeps the records of a stream after a sequence however much that is: nobody else has them.
    pub fn pin(&mut self, stream: StreamId, after: Sequence) -> Result<(), Error> {
        self.pass()?;
        let place = self.streams.get(&stream).map(|places| places.near(after));
        // What is written from now on is not known to others.
        self.subscription.pin(Some(place.unwrap_or(self.passed)));
        Ok(())
    }

    /// Calls `reply` when something after what was read is committed; see
    /// [`Subscription::when_committed`].
    pub fn when_committed(&self, reply: crate::Reply<Position>) {
        self.subscription.when_committed(self.passed, reply);
    }

    /// Passes over what was committed: [`StreamReader::when_committed`] then waits for what comes after.
    pub fn catch_up(&mut self) -> Result<(), Error> {
        self.pass()
    }

    /// The last record of a stream that was passed over; the state may not have it yet.
    pub fn last(&self, stream: StreamId) -> Sequence {
        let places = self.streams.get(&stream);
        places.map_or(Sequence::ZERO, |places| places.last)
    }

    /// Remembers where the records stand that were committed since it last did.
    fn pass(&mut self) -> Result<(), Error> {
        loop {
            let read = match self.subscription.records_after(self.passed, STEP_BYTES)? {
                Piece::Records(read) => read,
                // Trimmed while nobody looked: what is left begins further on.
                Piece::Trimmed => {
                    self.streams.clear();
                    self.passed = self.subscription.begins_after();
                    continue;
                }
            };
            let Some((last, _)) = read.last() else {
                return Ok(());
            };
            let last = *last;
            for (position, payload) in read {
                if let Some((stream, sequence)) = stream_of(&payload) {
                    self.streams
                        .entry(stream)
                        .or_default()
                        .note(sequence, position);
                }
            }
            self.passed = last;
        }
    }

    /// The log has no record of the stream: nothing is new, or all of it is gone.
    fn nothing_of(&self, stream: StreamId, after: Sequence) -> StreamPiece {
        let applied = self.multi.progress().of(stream);
        if applied > after {
            StreamPiece::Trimmed
        } else {
            StreamPiece::Records(Vec::new())
        }
    }
}

impl Places {
    /// A position from which on there are all records after a sequence; none if there are no such records.
    fn before(&self, after: Sequence) -> Option<Position> {
        (self.last > after).then(|| self.near(after))
    }

    /// A position before the records after a sequence, as near as is known.
    fn near(&self, after: Sequence) -> Position {
        let mut marks = self.marks.iter().rev();
        let mark = marks.find(|(sequence, _)| *sequence <= after);
        match (mark, self.marks.first()) {
            (Some((_, at)), _) => *at,
            (None, Some((_, first))) => Position(first.0 - 1),
            (None, None) => Position::ZERO,
        }
    }

    fn note(&mut self, sequence: Sequence, position: Position) {
        if self.first == Sequence::ZERO {
            self.first = sequence;
        }
        self.last = sequence;
        let is_due = self
            .marks
            .last()
            .is_none_or(|(marked, _)| sequence.0 >= marked.0 + STRIDE);
        if is_due {
            self.marks.push((sequence, position));
        }
    }
}

/// The stream and sequence of a record of the log, if it is of one.
fn stream_of(payload: &[u8]) -> Option<(StreamId, Sequence)> {
    let (stamp, ..) = decode_envelope(&mut stream_part(payload)?)?;
    Some((StreamId::Region(stamp.origin), stamp.sequence))
}

/// The stream record of a log record, if it is the one that is wanted.
fn stream_record(
    payload: &Bytes,
    stream: StreamId,
    wanted: Sequence,
) -> Result<Option<StreamRecord>, Error> {
    if stream_of(payload) != Some((stream, wanted)) {
        return Ok(None);
    }
    let damaged = || Error::Damaged("a stamped record does not decode".to_owned());
    let mut bytes = stream_part(payload).ok_or_else(damaged)?;
    let (stamp, epoch, deps) = decode_envelope(&mut bytes).ok_or_else(damaged)?;
    let origin: RegionId = stamp.origin;
    Ok(Some(StreamRecord {
        stream,
        origin,
        epoch,
        sequence: stamp.sequence,
        deps,
        body: Body::Data(payload.slice_ref(bytes)),
    }))
}
