//! Records for regions that ask, where every region writes. A question that has no answer yet waits for one; what
//! comes soon after a page gathers for a moment, so that not every write is sent and merged alone.

use std::time::{Duration, Instant};

use orrery_engine::StreamPiece;
use orrery_regions::{MeshMessage, Millis, RegionId, Sequence, StreamId, StreamRecord};

use super::MultiDriver;
use crate::Frame;

/// A page of few records leaves so long after the one before it: every page costs the other region a
/// sync and a batch, and a client that writes one item after the other would otherwise fill each with
/// one record.
pub(super) const GATHER: Duration = Duration::from_millis(2);
/// So many are not few.
const GATHERED_RECORDS: u64 = 64;

#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) since: Millis,
    pub(super) after: Sequence,
    pub(super) asked: Millis,
    pub(super) bytes_max: u64,
}

impl MultiDriver {
    /// Answers a question for records, or lets it wait for more.
    pub(super) fn answer(&mut self, to: RegionId, stream: StreamId, held: Held) {
        let bytes_max = usize::try_from(held.bytes_max).unwrap_or(usize::MAX);
        match self.reader.records_after(stream, held.after, bytes_max) {
            Ok(StreamPiece::Records(records)) if records.is_empty() => {
                self.held.insert((to, stream), held);
            }
            Ok(StreamPiece::Records(records)) => {
                self.given = Instant::now();
                self.send_records(to, stream, held, records);
            }
            Ok(StreamPiece::Trimmed) => {
                self.mesh.trimmed(stream, held.after.next());
                let have = self.mesh.progress().clone();
                let after = held.after;
                let message = MeshMessage::Trimmed {
                    have,
                    stream,
                    after,
                };
                self.send(to, Frame::Mesh(message));
            }
            Err(error) => {
                tracing::error!(%error, region = self.region.name(), "the log cannot be read for another region");
            }
        }
    }

    pub(super) fn send_records(
        &self,
        to: RegionId,
        stream: StreamId,
        held: Held,
        records: Vec<StreamRecord>,
    ) {
        let message = MeshMessage::Page {
            have: self.mesh.progress().clone(),
            stream,
            after: held.after,
            asked: held.asked,
            records,
        };
        self.send(to, Frame::Mesh(message));
    }

    /// Looks whether questions that wait have an answer.
    pub(super) fn answer_held(&mut self) {
        if let Err(error) = self.reader.catch_up() {
            return self.break_down(&error.to_string());
        }
        let is_recent = self.given.elapsed() < GATHER;
        let wanted = if is_recent { GATHERED_RECORDS } else { 1 };
        // A record leaves when it is durable; that it is applied here is not waited for.
        let progress = self.engine.progress();
        let has_more = |stream: StreamId, held: &Held| {
            let last = progress.of(stream).max(self.reader.last(stream));
            last.beyond(held.after) >= wanted
        };
        let due: Vec<_> = self
            .held
            .extract_if(.., |(_, stream), held| has_more(*stream, held))
            .collect();
        for ((to, stream), held) in due {
            self.answer(to, stream, held);
        }
    }
}
