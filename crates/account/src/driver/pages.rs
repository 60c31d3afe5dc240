//! Records for regions that ask. A question that has no answer yet waits a little for one: the next
//! record then leaves at once, not with the next question.

use std::collections::BTreeMap;

use bytes::Bytes;
use orrery_partition::{Error, Piece, Position, note_of};
use orrery_regions::{
    Body, Lineage, Message, Millis, Page, PageHead, Progress, Pull, RegionId, Sequence, StreamId,
    StreamRecord,
};

use super::Driver;
use crate::Frame;
use crate::codec::decode_note;

/// How long a question waits: whoever asks must not think that it was lost.
const HELD_MS: u64 = 100;

#[derive(Default)]
pub(super) struct Pages {
    asked: BTreeMap<RegionId, Pull>,
    held: BTreeMap<RegionId, Held>,
}

struct Held {
    since: Millis,
    head: PageHead,
    pull: Pull,
}

impl Pages {
    pub(super) fn asked(&mut self, by: RegionId, pull: Pull) {
        self.held.remove(&by);
        self.asked.insert(by, pull);
    }

    pub(super) fn hold(&mut self, by: RegionId, head: PageHead, since: Millis) -> bool {
        let Some(pull) = self.asked.get(&by).copied() else {
            return false;
        };
        self.held.insert(by, Held { since, head, pull });
        true
    }

    /// Questions that have an answer now.
    pub(super) fn due(&mut self, kept: Sequence, commit: Sequence) -> Vec<(RegionId, Pull)> {
        let is_due = |held: &Held| held.head.after < kept || held.head.commit < commit;
        let due: Vec<RegionId> = self
            .held
            .iter()
            .filter(|(_, held)| is_due(held))
            .map(|(by, _)| *by)
            .collect();
        due.into_iter()
            .filter_map(|by| Some((by, self.held.remove(&by)?.pull)))
            .collect()
    }

    /// Questions that have waited long enough, with the answer that there is nothing.
    pub(super) fn overdue(&mut self, now: Millis) -> Vec<(RegionId, Page)> {
        let mut overdue = Vec::new();
        self.held.retain(|by, held| {
            let is_over = now.since(held.since) >= HELD_MS;
            if is_over {
                let page = Page {
                    head: held.head,
                    records: Vec::new(),
                };
                overdue.push((*by, page));
            }
            !is_over
        });
        overdue
    }
}

impl Driver {
    pub(super) fn send_page(&mut self, to: RegionId, head: PageHead, bytes_max: u64) {
        let after = Position(head.after.0);
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let records = match self.subscription.records_after(after, bytes_max) {
            Ok(Piece::Records(records)) => records,
            Ok(Piece::Trimmed) => {
                // The question is then answered with that.
                let now = self.shared.now();
                let mut core = self.shared.lock();
                core.replica.trimmed(head.after.next());
                if let Some(pull) = self.pages.asked.get(&to) {
                    core.replica.receive(now, to, Message::Pull(*pull));
                }
                return;
            }
            // It is numbered and about to be appended; the question comes again.
            Err(Error::Log(orrery_log::Error::Ahead { .. })) => return,
            Err(error) => {
                tracing::error!(%error, region = self.region.name(), "the log cannot be read for another region");
                return;
            }
        };
        let now = self.shared.now();
        if records.is_empty() && self.pages.hold(to, head, now) {
            return;
        }
        let lineage = self.shared.lock().replica.lineage().clone();
        let records = records.into_iter();
        let records = records.map(|(at, payload)| stream_record(&lineage, at, payload));
        let page = Page {
            head,
            records: records.collect(),
        };
        self.send(to, Frame::Account(Message::Page(page)));
    }
}

/// A record of the log as it travels.
pub(super) fn stream_record(lineage: &Lineage, at: Position, payload: Bytes) -> StreamRecord {
    let sequence = Sequence(at.0);
    let note = note_of(&payload).and_then(|text| decode_note(&text));
    let (epoch, body) = match note {
        Some((head, body)) => (head.lineage.epoch_at(sequence), body),
        None => (lineage.epoch_at(sequence), Body::Data(payload)),
    };
    StreamRecord {
        stream: StreamId::Account,
        origin: epoch.write_region().unwrap_or(RegionId(0)),
        epoch,
        sequence,
        deps: Progress::default(),
        body,
    }
}
