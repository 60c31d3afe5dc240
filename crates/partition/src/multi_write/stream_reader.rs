//! Reads the records of a store's log by stream: the region's own stream and those of other
//! regions.
//!
//! The log interleaves all streams. A reader scans the log once and remembers the positions of some
//! records of each stream; later reads start from the nearest remembered position.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_log::Position;
use orrery_regions::{RecordBody, RegionId, Sequence, StreamId, StreamRecord, VersionVector};

use super::MultiWriteRegion;
use super::codec::decode_envelope;
use crate::record::stream_part;
use crate::{Error, Subscription, SubscriptionRead};

/// One in this number of records of a stream has its position remembered.
const STRIDE: u64 = 32;
/// Bytes of the log that one scan step reads.
const STEP_BYTES: usize = 1024 * 1024;

/// Reads the records of streams. The store retains the records for this reader.
pub struct StreamReader {
    subscription: Subscription,
    multi: Arc<MultiWriteRegion>,
    streams: BTreeMap<StreamId, StreamIndex>,
    /// The end of the scanned part of the log.
    scanned_upto: Position,
}

/// The remembered positions of one stream.
#[derive(Debug, Default)]
struct StreamIndex {
    /// The first record in the log.
    first: Sequence,
    last: Sequence,
    /// The positions of some records, in order.
    marks: Vec<(Sequence, Position)>,
}

/// The result of reading a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamRead {
    /// Records in order, without gaps; empty if there are no new records.
    Records(Vec<StreamRecord>),
    /// The log no longer has these records. Their effect is in the state.
    Trimmed,
}

impl StreamReader {
    pub(crate) fn new(
        subscription: Subscription,
        multi: Arc<MultiWriteRegion>,
        from: Position,
    ) -> StreamReader {
        StreamReader {
            subscription,
            multi,
            streams: BTreeMap::new(),
            scanned_upto: from,
        }
    }

    /// Reads records of a stream after a sequence: at least one if one exists, and no further
    /// record once the records have `bytes_max` bytes. Reads the disk if the records are no longer
    /// in memory.
    pub fn records_after(
        &mut self,
        stream: StreamId,
        after: Sequence,
        bytes_max: usize,
    ) -> Result<StreamRead, Error> {
        self.scan()?;
        let Some(index) = self.streams.get(&stream) else {
            return Ok(self.nothing_of(stream, after));
        };
        if index.last <= after {
            return Ok(StreamRead::Records(Vec::new()));
        }
        if after.next() < index.first {
            return Ok(StreamRead::Trimmed);
        }
        let mark = index
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
        // A log record may belong to another stream, so a step may pass without a result.
        while position < self.scanned_upto && (records.is_empty() || bytes < bytes_max) {
            let step = bytes_max.clamp(1, STEP_BYTES);
            let read = match self.subscription.records_after(position, step)? {
                SubscriptionRead::Records(read) => read,
                // The log was trimmed beyond the remembered position, but the wanted record may
                // still exist.
                SubscriptionRead::Trimmed => {
                    let begins = self.subscription.begins_after();
                    if begins <= position {
                        return Ok(StreamRead::Trimmed);
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
            // The log has later records of the stream, but not the next one.
            return Ok(StreamRead::Trimmed);
        }
        Ok(StreamRead::Records(records))
    }

    /// The start of each stream in the log: earlier records exist only in snapshots. A stream
    /// without records in the log starts at its sequence in `applied`.
    pub fn bases(&mut self, applied: &VersionVector) -> Result<VersionVector, Error> {
        self.scan()?;
        let base = |(stream, sequence)| match self.streams.get(&stream) {
            Some(index) => (stream, Sequence(index.first.0.saturating_sub(1))),
            None => (stream, sequence),
        };
        Ok(applied.iter().map(base).collect())
    }

    /// Reports that all regions have the records up to `held`, so that the store may trim its log.
    pub fn acknowledge(&mut self, held: &VersionVector) -> Result<(), Error> {
        self.scan()?;
        // One position covers all streams, so the stream that is furthest behind determines it.
        let mut upto = self.scanned_upto;
        for (stream, index) in &self.streams {
            if let Some(position) = index.before(held.of(*stream)) {
                upto = upto.min(position);
            }
        }
        for index in self.streams.values_mut() {
            let behind = index.marks.partition_point(|(_, at)| *at <= upto);
            index.marks.drain(..behind.saturating_sub(1));
        }
        self.subscription.acknowledge(upto);
        Ok(())
    }

    /// Retains the records of a stream after a sequence without a size limit, because no other
    /// region has them.
    pub fn pin(&mut self, stream: StreamId, after: Sequence) -> Result<(), Error> {
        self.scan()?;
        let position = self.streams.get(&stream).map(|index| index.near(after));
        // Without a remembered position, the pin covers everything that is written from now on.
        self.subscription
            .pin(Some(position.unwrap_or(self.scanned_upto)));
        Ok(())
    }

    /// Calls `reply` when a record after the scanned part is committed; see
    /// [`Subscription::when_committed`].
    pub fn when_committed(&self, reply: crate::Reply<Position>) {
        self.subscription.when_committed(self.scanned_upto, reply);
    }

    /// Scans the committed part of the log, so that [`StreamReader::when_committed`] waits for
    /// later records.
    pub fn catch_up(&mut self) -> Result<(), Error> {
        self.scan()
    }

    /// The last scanned record of a stream. Its changes may still be missing in the state.
    pub fn last(&self, stream: StreamId) -> Sequence {
        let index = self.streams.get(&stream);
        index.map_or(Sequence::ZERO, |index| index.last)
    }

    /// Scans the records that were appended since the last scan.
    fn scan(&mut self) -> Result<(), Error> {
        loop {
            let read = match self
                .subscription
                .records_after(self.scanned_upto, STEP_BYTES)?
            {
                SubscriptionRead::Records(read) => read,
                // The log was trimmed beyond the scanned part: the scan restarts at its beginning.
                SubscriptionRead::Trimmed => {
                    self.streams.clear();
                    self.scanned_upto = self.subscription.begins_after();
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
            self.scanned_upto = last;
        }
    }

    /// The result for a stream without records in the log: nothing is new, or everything was
    /// trimmed.
    fn nothing_of(&self, stream: StreamId, after: Sequence) -> StreamRead {
        let applied = self.multi.progress().of(stream);
        if applied > after {
            StreamRead::Trimmed
        } else {
            StreamRead::Records(Vec::new())
        }
    }
}

impl StreamIndex {
    /// A position before all records after a sequence; `None` if no such record exists.
    fn before(&self, after: Sequence) -> Option<Position> {
        (self.last > after).then(|| self.near(after))
    }

    /// The nearest remembered position before the records after a sequence.
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

/// The stream and sequence of a log record, if it belongs to a stream.
fn stream_of(payload: &[u8]) -> Option<(StreamId, Sequence)> {
    let (version_id, ..) = decode_envelope(&mut stream_part(payload)?)?;
    Some((StreamId::Region(version_id.origin), version_id.sequence))
}

/// The stream record in a log record, if it is the wanted one.
fn stream_record(
    payload: &Bytes,
    stream: StreamId,
    wanted: Sequence,
) -> Result<Option<StreamRecord>, Error> {
    if stream_of(payload) != Some((stream, wanted)) {
        return Ok(None);
    }
    let damaged = || Error::Damaged("a record with a stream header does not decode".to_owned());
    let mut bytes = stream_part(payload).ok_or_else(damaged)?;
    let (version_id, epoch, deps) = decode_envelope(&mut bytes).ok_or_else(damaged)?;
    let origin: RegionId = version_id.origin;
    Ok(Some(StreamRecord {
        stream,
        origin,
        epoch,
        sequence: version_id.sequence,
        deps,
        body: RecordBody::Data(payload.slice_ref(bytes)),
    }))
}
