//! Pages from the log of the engine's store. At level strong, where writes wait for followers, new
//! records also follow an answered pull unasked.

use bytes::Bytes;
use orrery_partition::{LogRecord, Position, SubscriptionRead, note_of};
use orrery_regions::{
    Consistency, Lineage, RecordBody, RecordPageHeader, RegionId, Sequence, StreamId, StreamRecord,
    VersionVector,
};

use super::OneRegionWrites;
use crate::codec::decode_note;
use crate::driver::Driver;
use crate::driver::account_effects::AccountStreamStorage;

const UNASKED_PAGE_BYTES: usize = 1024 * 1024;

impl Driver<OneRegionWrites> {
    /// Moves the start of a page behind the records that are in flight already.
    pub(super) fn beyond_sent(&self, to: RegionId, head: RecordPageHeader) -> RecordPageHeader {
        let Some(after) = self.pages.sent_beyond(to, head.after) else {
            return head;
        };
        let core = self.shared.lock();
        let after_epoch = core.replica.lineage().epoch_at(after);
        RecordPageHeader {
            after,
            after_epoch,
            ..head
        }
    }

    /// At level strong: sends records that follow the last answer.
    pub(super) fn send_unasked(&mut self) {
        if self.shared.level != Consistency::Strong {
            return;
        }
        for (to, after, asked) in self.pages.to_continue(self.appended()) {
            let now = self.shared.now();
            let head = self.shared.lock().replica.unasked_header(now, after, asked);
            let Some(head) = head else {
                continue;
            };
            // If the log cannot be read now, the follower gets these records with its next pull.
            let read = self
                .strategy
                .subscription
                .records_after(Position(after.0), UNASKED_PAGE_BYTES);
            if let Ok(SubscriptionRead::Records(records)) = read
                && !records.is_empty()
            {
                self.pages.count_unasked(to, &records);
                let records = self.stream_records(records);
                self.send_records(to, head, records);
            }
        }
    }

    /// Records of the log in the form in which they travel.
    pub(super) fn stream_records(&self, records: Vec<LogRecord>) -> Vec<StreamRecord> {
        let lineage = self.shared.lock().replica.lineage().clone();
        let records = records.into_iter();
        let records = records.map(|(at, payload)| stream_record(&lineage, at, payload));
        records.collect()
    }
}

/// A record of the log in the form in which it travels.
pub(super) fn stream_record(lineage: &Lineage, at: Position, payload: Bytes) -> StreamRecord {
    let sequence = Sequence(at.0);
    let note = note_of(&payload).and_then(|text| decode_note(&text));
    let (epoch, body) = match note {
        Some((head, body)) => (head.lineage.epoch_at(sequence), body),
        None => (lineage.epoch_at(sequence), RecordBody::Data(payload)),
    };
    StreamRecord {
        stream: StreamId::Account,
        origin: epoch.write_region().unwrap_or(RegionId(0)),
        epoch,
        sequence,
        deps: VersionVector::default(),
        body,
    }
}
