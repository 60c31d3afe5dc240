//! Records that have arrived and wait for their dependencies.
//!
//! Each stream arrives in order. Its first waiting record is applied when this region has applied
//! everything that the record's origin had applied when it committed the record. The backlog of
//! each stream is bounded in bytes and is not durable: after a crash the region pulls it again.

use std::collections::{BTreeMap, VecDeque};

use crate::puller::overlap;
use crate::{Sequence, StreamId, StreamRecord, VersionVector};

#[derive(Debug, Default)]
pub(super) struct Delivery {
    waiting: BTreeMap<StreamId, StreamBacklog>,
}

#[derive(Debug, Default)]
struct StreamBacklog {
    records: VecDeque<StreamRecord>,
    bytes: u64,
}

impl Delivery {
    /// The last record of a stream that has arrived, applied or waiting.
    pub(super) fn last(&self, stream: StreamId, applied: &VersionVector) -> Sequence {
        let waiting = self
            .waiting
            .get(&stream)
            .and_then(|waiting| waiting.records.back());
        waiting.map_or(applied.of(stream), |record| record.sequence)
    }

    pub(super) fn bytes(&self, stream: StreamId) -> u64 {
        self.waiting.get(&stream).map_or(0, |waiting| waiting.bytes)
    }

    /// Queues the records that continue the stream and drops all others.
    pub(super) fn arrive(
        &mut self,
        stream: StreamId,
        after: Sequence,
        records: Vec<StreamRecord>,
        applied: &VersionVector,
    ) {
        let Some(already_present) = overlap(after, self.last(stream, applied)) else {
            return;
        };
        let waiting = self.waiting.entry(stream).or_default();
        for record in records.into_iter().skip(already_present) {
            waiting.bytes += record.bytes();
            waiting.records.push_back(record);
        }
    }

    /// The next record whose dependencies are applied.
    pub(super) fn next(&mut self, applied: &VersionVector) -> Option<StreamRecord> {
        self.waiting.values_mut().find_map(|waiting| {
            let first = waiting.records.front()?;
            if !applied.includes_all(&first.deps) {
                return None;
            }
            waiting.bytes -= first.bytes();
            waiting.records.pop_front()
        })
    }

    /// Drops the backlog of every stream.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}
