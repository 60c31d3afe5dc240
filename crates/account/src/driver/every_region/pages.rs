//! Answers to pulls in a multi-write account. A pull without an answer waits for records; records
//! that follow a page closely gather for a moment, so that a single write does not cost a page and
//! a merge of its own.

use std::time::{Duration, Instant};

use orrery_engine::StreamRead;
use orrery_regions::{Millis, MultiWriteMessage, RegionId, Sequence, StreamId, StreamRecord};

use super::EveryRegionWrites;
use crate::LinkFrame;
use crate::driver::Driver;

/// The pause between a page and the next page of few records. Every page costs the receiving region
/// a sync and a batch, and a client that writes item after item would otherwise fill each page with
/// one record.
pub(super) const GATHER: Duration = Duration::from_millis(2);
/// How long a pull waits for records.
const HELD_MS: u64 = 100;
/// A page with this many records leaves at once.
const GATHERED_RECORDS: u64 = 64;

#[derive(Debug, Clone, Copy)]
pub(super) struct HeldStreamPull {
    pub(super) since: Millis,
    pub(super) after: Sequence,
    pub(super) asked: Millis,
    pub(super) bytes_max: u64,
}

impl Driver<EveryRegionWrites> {
    /// Answers a pull, or stores the pull until there are records.
    fn answer_stream_pull(&mut self, to: RegionId, stream: StreamId, held: HeldStreamPull) {
        let bytes_max = usize::try_from(held.bytes_max).unwrap_or(usize::MAX);
        match self
            .strategy
            .reader
            .records_after(stream, held.after, bytes_max)
        {
            Ok(StreamRead::Records(records)) if records.is_empty() => {
                self.strategy.waiting_pulls.insert((to, stream), held);
            }
            Ok(StreamRead::Records(records)) => {
                self.strategy.last_page_sent = Instant::now();
                self.send_stream_records(to, stream, held, records);
            }
            Ok(StreamRead::Trimmed) => {
                self.strategy.replica.trimmed(stream, held.after.next());
                let have = self.strategy.replica.progress().clone();
                let after = held.after;
                let message = MultiWriteMessage::Trimmed {
                    have,
                    stream,
                    after,
                };
                self.send(to, LinkFrame::MultiWrite(message));
            }
            Err(error) => {
                tracing::error!(%error, region = self.region.name(), "the log cannot be read for another region");
            }
        }
    }

    fn send_stream_records(
        &self,
        to: RegionId,
        stream: StreamId,
        held: HeldStreamPull,
        records: Vec<StreamRecord>,
    ) {
        let message = MultiWriteMessage::Page {
            have: self.strategy.replica.progress().clone(),
            stream,
            after: held.after,
            asked: held.asked,
            records,
        };
        self.send(to, LinkFrame::MultiWrite(message));
    }

    /// Answers the stored pulls that have waited for their full time, each with an empty page.
    pub(super) fn answer_overdue_stream_pulls(&mut self, now: Millis) {
        let is_over = |held: &HeldStreamPull| now.since(held.since) >= HELD_MS;
        let over: Vec<_> = self
            .strategy
            .waiting_pulls
            .extract_if(.., |_, held| is_over(held))
            .collect();
        for ((to, stream), held) in over {
            self.send_stream_records(to, stream, held, Vec::new());
        }
    }

    /// Answers the stored pulls for which there are records now.
    pub(super) fn answer_waiting_stream_pulls(&mut self) {
        if let Err(error) = self.strategy.reader.catch_up() {
            return self.break_down(&error.to_string());
        }
        let is_recent = self.strategy.last_page_sent.elapsed() < GATHER;
        let wanted = if is_recent { GATHERED_RECORDS } else { 1 };
        // A record may leave as soon as it is durable, before this region has applied it.
        let progress = self.engine.version_vector();
        let has_more = |stream: StreamId, held: &HeldStreamPull| {
            let last = progress.of(stream).max(self.strategy.reader.last(stream));
            last.beyond(held.after) >= wanted
        };
        let due: Vec<_> = self
            .strategy
            .waiting_pulls
            .extract_if(.., |(_, stream), held| has_more(*stream, held))
            .collect();
        for ((to, stream), held) in due {
            self.answer_stream_pull(to, stream, held);
        }
    }
}
