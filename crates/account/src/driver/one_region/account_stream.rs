//! The account stream in the log of the engine's store. The position of a record in the log is its
//! sequence. While this region writes, the commit thread appends the records; otherwise the task
//! gives the engine the records of the write region. At level strong, where writes wait for
//! followers, new records also follow an answered pull unasked.

use std::borrow::Cow;

use bytes::Bytes;
use orrery_engine::Engine;
use orrery_partition::{
    Error, LogRecord, Position, SubscriptionRead, note_of, note_record, record_json_lines,
};
use orrery_regions::{
    Consistency, Lineage, LogRepair, RecordBody, RecordPageHeader, RegionId, ReplicaMessage,
    Sequence, SnapshotMetadata, StreamId, StreamRecord, VersionVector,
};

use super::OneRegionWrites;
use crate::codec::{decode_note, encode_note};
use crate::driver::Driver;
use crate::driver::account_effects::AccountStreamStorage;
use crate::driver::diverged_suffix::{READ_BYTES, SuffixRead, suffix_lines};
use crate::driver::shared_replica::is_data;
use crate::driver::start::StoredStream;

const UNASKED_PAGE_BYTES: usize = 1024 * 1024;

/// The account stream as the region has stored it: the log after the state, and the state's note.
pub(in crate::driver) fn stored_stream(engine: &Engine) -> Result<StoredStream<'static>, Error> {
    let applied = Sequence(engine.applied().0);
    let head = head_of(engine.note()?, applied);
    let mut log = engine.subscribe(engine.applied(), 0);
    let mut tail = Vec::new();
    let mut lineage = head.lineage.clone();
    let mut last = engine.applied();
    while let SubscriptionRead::Records(records) = log.records_after(last, usize::MAX)? {
        let Some((newest, _)) = records.last() else {
            break;
        };
        last = *newest;
        for (position, payload) in records {
            let record = stream_record(&lineage, position, payload);
            lineage.record(record.epoch, record.sequence);
            tail.push(record);
        }
    }
    Ok(StoredStream {
        base: head,
        log: Cow::Owned(tail),
        applied,
    })
}

/// The lineage and members in the state's last note, at the last applied record.
pub(super) fn head_of(note: Option<Bytes>, applied: Sequence) -> SnapshotMetadata {
    let head = note.and_then(|note| decode_note(&note));
    let head = head.map(|(head, _)| head).unwrap_or_default();
    SnapshotMetadata {
        sequence: applied,
        ..head
    }
}

impl AccountStreamStorage for Driver<OneRegionWrites> {
    fn appended(&self) -> Sequence {
        Sequence(self.engine.appended().0)
    }

    /// Appends records: through the store while it writes, otherwise as a follower.
    async fn append(&mut self, records: Vec<StreamRecord>) {
        if self.strategy.is_writing {
            let mut core = self.shared.lock();
            for record in records.iter().filter(|record| !is_data(record)) {
                core.add_note(record);
            }
            drop(core);
            self.shared.notify_waiters();
            return self.engine.wake_log();
        }
        // Readers must see a new version of the account no earlier than the record that makes it,
        // so each such record ends a piece.
        let mut piece = Vec::new();
        for record in records {
            let ends_piece = !is_data(&record);
            piece.push(self.payload(&record));
            if ends_piece {
                self.follow(std::mem::take(&mut piece)).await;
                self.publish();
            }
        }
        self.follow(piece).await;
    }

    fn read_page(
        &mut self,
        to: RegionId,
        head: RecordPageHeader,
        bytes_max: u64,
    ) -> Option<(RecordPageHeader, Vec<StreamRecord>)> {
        let head = self.beyond_sent(to, head);
        let after = Position(head.after.0);
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        match self.strategy.subscription.records_after(after, bytes_max) {
            Ok(SubscriptionRead::Records(records)) => Some((head, self.stream_records(records))),
            Ok(SubscriptionRead::Trimmed) => {
                // The replica answers the pull with [`ReplicaMessage::Trimmed`] once it knows the
                // new base.
                let now = self.shared.now();
                let mut core = self.shared.lock();
                core.replica.trimmed(head.after.next());
                if let Some(pull) = self.pages.last_pull(to) {
                    core.replica.receive(now, to, ReplicaMessage::Pull(pull));
                }
                None
            }
            // The replica has given the record its sequence and the store has not appended it yet;
            // the follower pulls again.
            Err(Error::Log(orrery_log::Error::Ahead { .. })) => None,
            Err(error) => {
                tracing::error!(%error, region = self.region.name(), "the log cannot be read for another region");
                None
            }
        }
    }

    async fn prepare_promise(&mut self) -> Result<(), Error> {
        // The engine stops writing before the promise is durable and the vote or the promotion of
        // another region leaves; otherwise two regions would write at a time.
        self.follow_role().await;
        self.engine.sync().await
    }

    /// Saves the diverged suffix before the copy of another state replaces the log.
    fn repair_log(&mut self, repair: LogRepair) {
        self.strategy.log_repair = None;
        let lines = self.diverged_lines(&repair);
        if self.save_diverged(lines) {
            self.strategy.log_repair = Some(repair);
        }
    }

    /// Whether this region has no diverged suffix, or has saved the one that it has: only then may a
    /// snapshot replace the state.
    fn may_fetch_snapshot(&self) -> bool {
        let found = self.shared.lock().replica.log_repair();
        found.is_none() || found == self.strategy.log_repair
    }
}

impl Driver<OneRegionWrites> {
    fn payload(&self, record: &StreamRecord) -> LogRecord {
        let payload = match &record.body {
            RecordBody::Data(payload) => payload.clone(),
            body => {
                let head = self.shared.lock().replica.metadata_at(record.sequence);
                note_record(encode_note(&head, body))
            }
        };
        (Position(record.sequence.0), payload)
    }

    pub(super) async fn follow(&mut self, records: Vec<LogRecord>) {
        let Some((last, _)) = records.last() else {
            return;
        };
        let last = Sequence(last.0);
        let limit = self.apply_limit(last);
        match self.engine.replicate(records, Position(limit.0)).await {
            Ok(reached) => {
                let now = self.shared.now();
                let mut core = self.shared.lock();
                core.replica.mark_durable(now, Sequence(reached.appended.0));
                core.replica.applied(Sequence(reached.applied.0));
            }
            Err(error) => self.break_down(&error.to_string()),
        }
    }

    /// The last record that the state may apply once the records up to `last` are durable.
    fn apply_limit(&self, last: Sequence) -> Sequence {
        match self.shared.level {
            Consistency::Strong => self.shared.lock().replica.commit().min(last),
            _ => last,
        }
    }

    /// At level strong: applies the committed records. True if there were any.
    pub(super) async fn apply_committed(&mut self) -> bool {
        if self.strategy.is_writing || self.broken.is_some() {
            return false;
        }
        let limit = self.shared.lock().replica.apply_limit();
        if limit.0 <= self.engine.applied().0 {
            return false;
        }
        let before = self.engine.applied();
        match self.engine.replicate(Vec::new(), Position(limit.0)).await {
            Ok(reached) => {
                let applied = Sequence(reached.applied.0);
                self.shared.lock().replica.applied(applied);
                self.publish();
                reached.applied > before
            }
            Err(error) => {
                self.break_down(&error.to_string());
                false
            }
        }
    }

    fn diverged_lines(&mut self, repair: &LogRepair) -> Result<Vec<String>, Error> {
        // A record that never reached the log was acknowledged to nobody.
        let upto = repair.last.min(Sequence(self.engine.appended().0));
        let subscription = &mut self.strategy.subscription;
        let read = |after: Sequence| {
            let read = subscription.records_after(Position(after.0), READ_BYTES)?;
            let SubscriptionRead::Records(records) = read else {
                let begins_after = Sequence(subscription.begins_after().0);
                return Ok(SuffixRead::Trimmed { begins_after });
            };
            let last = records.last().map_or(after, |(last, _)| Sequence(last.0));
            let mut lines = Vec::new();
            for (position, payload) in &records {
                lines.extend(record_json_lines(position.0, payload)?);
            }
            Ok(SuffixRead::Records { lines, last })
        };
        let from = repair.diverged_from;
        suffix_lines(self.region.name(), StreamId::Account, from, upto, read)
    }

    /// Moves the start of a page behind the records that are in flight already.
    fn beyond_sent(&self, to: RegionId, head: RecordPageHeader) -> RecordPageHeader {
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
    fn stream_records(&self, records: Vec<LogRecord>) -> Vec<StreamRecord> {
        let lineage = self.shared.lock().replica.lineage().clone();
        let records = records.into_iter();
        let records = records.map(|(at, payload)| stream_record(&lineage, at, payload));
        records.collect()
    }
}

/// A record of the log in the form in which it travels.
fn stream_record(lineage: &Lineage, at: Position, payload: Bytes) -> StreamRecord {
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
