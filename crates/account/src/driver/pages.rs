//! Records for regions that ask. A question that has no answer yet waits a little for one: the next
//! record then leaves at once, not with the next question. At level strong, where writes wait for them,
//! records that come after an answer do not wait for the next question either: they follow it unasked.

use std::collections::BTreeMap;

use bytes::Bytes;
use orrery_partition::{CommittedRecord, Error, Piece, Position, note_of};
use orrery_regions::{
    Body, Level, Lineage, Message, Millis, Page, PageHead, Progress, Pull, RegionId, Sequence,
    StreamId, StreamRecord,
};

use super::Driver;
use crate::Frame;
use crate::codec::decode_note;

/// How long a question waits: whoever asks must not think that it was lost.
const HELD_MS: u64 = 100;
/// How much follows one answer unasked.
const UNASKED_BYTES_MAX: usize = 8 * 1024 * 1024;
const UNASKED_PAGE_BYTES: usize = 1024 * 1024;

#[derive(Default)]
pub(super) struct Pages {
    asked: BTreeMap<RegionId, Asked>,
    held: BTreeMap<RegionId, Held>,
}

/// The last question of a region.
struct Asked {
    pull: Pull,
    /// Whether a page has left for it since.
    is_answered: bool,
    /// What has left for the region.
    sent: Sequence,
    unasked_bytes: usize,
}

struct Held {
    since: Millis,
    head: PageHead,
    pull: Pull,
}

impl Pages {
    pub(super) fn asked(&mut self, by: RegionId, pull: Pull) {
        self.held.remove(&by);
        let sent = match self.asked.get(&by) {
            // It is on its way.
            Some(before) if before.pull.after < pull.after => before.sent.max(pull.after),
            // Whoever asks for the same again did not get it.
            _ => pull.after,
        };
        self.asked.insert(
            by,
            Asked {
                pull,
                is_answered: false,
                sent,
                unasked_bytes: 0,
            },
        );
    }

    /// What a region has been sent, if that is more than it had when it asked.
    fn sent_beyond(&self, to: RegionId, after: Sequence) -> Option<Sequence> {
        let sent = self.asked.get(&to).map(|asked| asked.sent);
        sent.filter(|sent| *sent > after)
    }

    fn count_unasked(&mut self, to: RegionId, records: &[CommittedRecord]) {
        if let Some(asked) = self.asked.get_mut(&to) {
            asked.unasked_bytes += records.iter().map(|(_, data)| data.len()).sum::<usize>();
        }
    }

    fn answered(&mut self, to: RegionId, upto: Sequence) {
        if let Some(asked) = self.asked.get_mut(&to) {
            asked.is_answered = true;
            asked.sent = asked.sent.max(upto);
        }
    }

    /// Regions whose question is answered and that lack records, with what they were sent and when
    /// they asked.
    fn to_continue(&self, kept: Sequence) -> Vec<(RegionId, Sequence, Millis)> {
        let lacks = |(to, asked): &(&RegionId, &Asked)| {
            let may_follow = asked.is_answered && !self.held.contains_key(to);
            may_follow && asked.sent < kept && asked.unasked_bytes < UNASKED_BYTES_MAX
        };
        let lacking = self.asked.iter().filter(lacks);
        lacking
            .map(|(to, asked)| (*to, asked.sent, asked.pull.asked))
            .collect()
    }

    pub(super) fn hold(&mut self, by: RegionId, head: PageHead, since: Millis) -> bool {
        let Some(Asked { pull, .. }) = self.asked.get(&by) else {
            return false;
        };
        let pull = *pull;
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
        for (by, page) in &overdue {
            self.answered(*by, page.head.after);
        }
        overdue
    }
}

impl Driver {
    pub(super) fn send_page(&mut self, to: RegionId, head: PageHead, bytes_max: u64) {
        let head = self.beyond_sent(to, head);
        let after = Position(head.after.0);
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let records = match self.subscription.records_after(after, bytes_max) {
            Ok(Piece::Records(records)) => records,
            Ok(Piece::Trimmed) => {
                // The question is then answered with that.
                let now = self.shared.now();
                let mut core = self.shared.lock();
                core.replica.trimmed(head.after.next());
                if let Some(Asked { pull, .. }) = self.pages.asked.get(&to) {
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
        self.send_records(to, head, records);
    }

    /// Leaves out what is on its way already.
    fn beyond_sent(&self, to: RegionId, head: PageHead) -> PageHead {
        let Some(after) = self.pages.sent_beyond(to, head.after) else {
            return head;
        };
        let core = self.shared.lock();
        let after_epoch = core.replica.lineage().epoch_at(after);
        PageHead {
            after,
            after_epoch,
            ..head
        }
    }

    fn send_records(&mut self, to: RegionId, head: PageHead, records: Vec<CommittedRecord>) {
        let upto = records
            .last()
            .map_or(head.after, |(last, _)| Sequence(last.0));
        self.pages.answered(to, upto);
        let lineage = self.shared.lock().replica.lineage().clone();
        let records = records.into_iter();
        let records = records.map(|(at, payload)| stream_record(&lineage, at, payload));
        let page = Page {
            head,
            records: records.collect(),
        };
        self.send(to, Frame::Account(Message::Page(page)));
    }

    /// At level strong: lets records follow the last answer.
    pub(super) fn send_unasked(&mut self) {
        if self.shared.level != Level::Strong {
            return;
        }
        let kept = Sequence(self.engine.kept().0);
        for (to, after, asked) in self.pages.to_continue(kept) {
            let now = self.shared.now();
            let head = self.shared.lock().replica.continuation(now, after, asked);
            let Some(head) = head else {
                continue;
            };
            // What cannot be read now is asked for.
            let read = self
                .subscription
                .records_after(Position(after.0), UNASKED_PAGE_BYTES);
            if let Ok(Piece::Records(records)) = read
                && !records.is_empty()
            {
                self.pages.count_unasked(to, &records);
                self.send_records(to, head, records);
            }
        }
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
