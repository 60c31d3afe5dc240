//! Records that have arrived and wait for what they depend on.
//!
//! Each stream arrives in order. Its first waiting record is applied when everything is applied
//! that its origin had applied when it made it. What waits is bounded in bytes for each stream and
//! is not durable: after a crash it is asked for again.

use std::collections::{BTreeMap, VecDeque};

use crate::puller::overlap;
use crate::{Progress, Sequence, StreamId, StreamRecord};

#[derive(Debug, Default)]
pub(super) struct Delivery {
    waiting: BTreeMap<StreamId, Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    records: VecDeque<StreamRecord>,
    bytes: u64,
}

impl Delivery {
    /// The last record of a stream that has arrived.
    pub(super) fn last(&self, stream: StreamId, applied: &Progress) -> Sequence {
        let waiting = self
            .waiting
            .get(&stream)
            .and_then(|waiting| waiting.records.back());
        waiting.map_or(applied.of(stream), |record| record.sequence)
    }

    pub(super) fn bytes(&self, stream: StreamId) -> u64 {
        self.waiting.get(&stream).map_or(0, |waiting| waiting.bytes)
    }

    /// Takes what continues the stream; anything else is dropped.
    pub(super) fn arrive(
        &mut self,
        stream: StreamId,
        after: Sequence,
        records: Vec<StreamRecord>,
        applied: &Progress,
    ) {
        let Some(had) = overlap(after, self.last(stream, applied)) else {
            return;
        };
        let waiting = self.waiting.entry(stream).or_default();
        for record in records.into_iter().skip(had) {
            waiting.bytes += record.bytes();
            waiting.records.push_back(record);
        }
    }

    /// A record that can be applied now.
    pub(super) fn next(&mut self, applied: &Progress) -> Option<StreamRecord> {
        self.waiting.values_mut().find_map(|waiting| {
            let first = waiting.records.front()?;
            if !applied.covers(&first.deps) {
                return None;
            }
            waiting.bytes -= first.bytes();
            waiting.records.pop_front()
        })
    }

    /// Drops what waits.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}
