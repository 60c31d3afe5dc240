//! Answers to pulls. A pull without an answer waits a little for the next record, which then leaves
//! at once instead of with the next pull. At level strong, where writes wait for followers, new
//! records also follow an answered pull unasked.

use std::collections::BTreeMap;

use bytes::Bytes;
use orrery_partition::{Error, LogRecord, Position, SubscriptionRead, note_of};
use orrery_regions::{
    Consistency, Lineage, Millis, Pull, RecordBody, RecordPage, RecordPageHeader, RegionId,
    ReplicaMessage, Sequence, StreamId, StreamRecord, VersionVector,
};

use super::Driver;
use crate::LinkFrame;
use crate::codec::decode_note;

/// How long a pull waits. The limit is far below the time after which the follower repeats a pull.
const HELD_MS: u64 = 100;
/// The limit of bytes that follow one answer unasked.
const UNASKED_BYTES_MAX: usize = 8 * 1024 * 1024;
const UNASKED_PAGE_BYTES: usize = 1024 * 1024;

#[derive(Default)]
pub(super) struct PendingPulls {
    asked: BTreeMap<RegionId, LastPull>,
    held: BTreeMap<RegionId, HeldPull>,
}

/// The last pull of a region.
struct LastPull {
    pull: Pull,
    /// Whether a page has been sent since the pull.
    is_answered: bool,
    /// The last record that was sent to the region.
    sent: Sequence,
    /// The commit index that the region received last.
    commit_sent: Sequence,
    unasked_bytes: usize,
}

struct HeldPull {
    since: Millis,
    head: RecordPageHeader,
    pull: Pull,
}

impl PendingPulls {
    pub(super) fn asked(&mut self, by: RegionId, pull: Pull) {
        self.held.remove(&by);
        let before = self.asked.get(&by);
        let commit_sent = before.map_or(Sequence::ZERO, |before| before.commit_sent);
        let sent = match before {
            // The records up to the last sent one are still in flight.
            Some(before) if before.pull.after < pull.after => before.sent.max(pull.after),
            // The region repeats its pull, so the sent records were lost.
            _ => pull.after,
        };
        self.asked.insert(
            by,
            LastPull {
                pull,
                is_answered: false,
                sent,
                commit_sent,
                unasked_bytes: 0,
            },
        );
    }

    /// The last record that was sent to a region, if the region had not received it when it pulled.
    fn sent_beyond(&self, to: RegionId, after: Sequence) -> Option<Sequence> {
        let sent = self.asked.get(&to).map(|asked| asked.sent);
        sent.filter(|sent| *sent > after)
    }

    fn count_unasked(&mut self, to: RegionId, records: &[LogRecord]) {
        if let Some(asked) = self.asked.get_mut(&to) {
            asked.unasked_bytes += records.iter().map(|(_, data)| data.len()).sum::<usize>();
        }
    }

    /// Records that a page with this header, and records up to `upto`, is sent to a region.
    pub(super) fn answered(&mut self, to: RegionId, head: &RecordPageHeader, upto: Sequence) {
        if let Some(asked) = self.asked.get_mut(&to) {
            asked.is_answered = true;
            asked.sent = asked.sent.max(upto);
            asked.commit_sent = asked.commit_sent.max(head.commit);
        }
    }

    /// Whether the state of a region can follow as soon as the region receives this commit index.
    /// Then even a page without records is sent: with the next heartbeat the index would arrive too
    /// late for waiting readers.
    pub(super) fn needs_commit_index(&self, to: RegionId, commit: Sequence) -> bool {
        let asked = self.asked.get(&to);
        asked.is_some_and(|asked| asked.commit_sent < commit)
    }

    /// The regions with an answered pull that lack records, each with the last sent record and the
    /// time of its pull.
    fn to_continue(&self, appended: Sequence) -> Vec<(RegionId, Sequence, Millis)> {
        let lacks = |(to, asked): &(&RegionId, &LastPull)| {
            let may_follow = asked.is_answered && !self.held.contains_key(to);
            may_follow && asked.sent < appended && asked.unasked_bytes < UNASKED_BYTES_MAX
        };
        let lacking = self.asked.iter().filter(lacks);
        lacking
            .map(|(to, asked)| (*to, asked.sent, asked.pull.asked))
            .collect()
    }

    pub(super) fn hold(&mut self, by: RegionId, head: RecordPageHeader, since: Millis) -> bool {
        let Some(LastPull { pull, .. }) = self.asked.get(&by) else {
            return false;
        };
        let pull = *pull;
        self.held.insert(by, HeldPull { since, head, pull });
        true
    }

    /// The waiting pulls that have an answer now.
    pub(super) fn due(&mut self, appended: Sequence, commit: Sequence) -> Vec<(RegionId, Pull)> {
        let is_due = |held: &HeldPull| held.head.after < appended || held.head.commit < commit;
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

    /// The pulls that have waited for their full time, each with an empty page.
    pub(super) fn overdue(&mut self, now: Millis) -> Vec<(RegionId, RecordPage)> {
        let mut overdue = Vec::new();
        self.held.retain(|by, held| {
            let is_over = now.since(held.since) >= HELD_MS;
            if is_over {
                let page = RecordPage {
                    head: held.head,
                    records: Vec::new(),
                };
                overdue.push((*by, page));
            }
            !is_over
        });
        for (by, page) in &overdue {
            self.answered(*by, &page.head, page.head.after);
        }
        overdue
    }
}

impl Driver {
    pub(super) fn send_page(&mut self, to: RegionId, head: RecordPageHeader, bytes_max: u64) {
        let head = self.beyond_sent(to, head);
        let after = Position(head.after.0);
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let records = match self.subscription.records_after(after, bytes_max) {
            Ok(SubscriptionRead::Records(records)) => records,
            Ok(SubscriptionRead::Trimmed) => {
                // The replica answers the pull with [`ReplicaMessage::Trimmed`] once it knows the
                // new base.
                let now = self.shared.now();
                let mut core = self.shared.lock();
                core.replica.trimmed(head.after.next());
                if let Some(LastPull { pull, .. }) = self.pages.asked.get(&to) {
                    core.replica.receive(now, to, ReplicaMessage::Pull(*pull));
                }
                return;
            }
            // The replica has given the record its sequence and the store has not appended it yet;
            // the follower pulls again.
            Err(Error::Log(orrery_log::Error::Ahead { .. })) => return,
            Err(error) => {
                tracing::error!(%error, region = self.region.name(), "the log cannot be read for another region");
                return;
            }
        };
        let now = self.shared.now();
        // Below strong the state of a follower follows its log and needs no commit index.
        let needs_commit_index = self.shared.level == Consistency::Strong
            && self.pages.needs_commit_index(to, head.commit);
        if records.is_empty() && !needs_commit_index && self.pages.hold(to, head, now) {
            return;
        }
        self.send_records(to, head, records);
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

    fn send_records(&mut self, to: RegionId, head: RecordPageHeader, records: Vec<LogRecord>) {
        let upto = records
            .last()
            .map_or(head.after, |(last, _)| Sequence(last.0));
        self.pages.answered(to, &head, upto);
        let lineage = self.shared.lock().replica.lineage().clone();
        let records = records.into_iter();
        let records = records.map(|(at, payload)| stream_record(&lineage, at, payload));
        let page = RecordPage {
            head,
            records: records.collect(),
        };
        self.send(to, LinkFrame::Account(ReplicaMessage::Page(page)));
    }

    /// At level strong: sends records that follow the last answer.
    pub(super) fn send_unasked(&mut self) {
        if self.shared.level != Consistency::Strong {
            return;
        }
        let appended = Sequence(self.engine.appended().0);
        for (to, after, asked) in self.pages.to_continue(appended) {
            let now = self.shared.now();
            let head = self.shared.lock().replica.unasked_header(now, after, asked);
            let Some(head) = head else {
                continue;
            };
            // If the log cannot be read now, the follower gets these records with its next pull.
            let read = self
                .subscription
                .records_after(Position(after.0), UNASKED_PAGE_BYTES);
            if let Ok(SubscriptionRead::Records(records)) = read
                && !records.is_empty()
            {
                self.pages.count_unasked(to, &records);
                self.send_records(to, head, records);
            }
        }
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
