//! One region's part in the streams of a multi-write account: it writes its own stream, pulls the
//! streams of the other regions, and tracks the progress of every region.
//!
//! A stream has one author and is never cut, so there is nothing to vote on: a region pulls
//! records, applies them after their dependencies, and saves them with the progress in one batch.
//! The account stream runs beside them in a [`crate::Replica`] at level strong. A record depends on
//! the part of the account stream that its origin had applied, so a document never arrives before
//! its container.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::delivery::Delivery;
use super::message::{MultiWriteEffect, MultiWriteMessage, MultiWriteSettings};
use super::stability::Stability;
use super::stream_end::StreamEnd;
use crate::{
    Epoch, Millis, Puller, RecordBody, RegionId, Sequence, SessionToken, StreamId, StreamRecord,
    VersionVector,
};

#[derive(Debug)]
pub struct MultiWriteReplica {
    me: RegionId,
    settings: MultiWriteSettings,
    members: Vec<RegionId>,
    /// The applied and durable records of every stream, this region's own stream included.
    progress: VersionVector,
    delivery: Delivery,
    stability: Stability,
    pullers: BTreeMap<StreamId, Puller>,
    heard_at: BTreeMap<RegionId, Millis>,
    heartbeat_sent: Option<Millis>,
    /// Where the log of each stream begins; earlier records come only with a snapshot.
    bases: VersionVector,
    /// The ends of the streams of regions that are leaving, have left, or were added again.
    ends: BTreeMap<StreamId, StreamEnd>,
    /// While this region joins and may not write: the record that added it, and the progress of
    /// each other region when that region first had the record.
    joining: Option<(Sequence, BTreeMap<RegionId, VersionVector>)>,
    snapshot_requested_at: Option<Millis>,
    effects: Vec<MultiWriteEffect>,
}

impl MultiWriteReplica {
    /// A region after a restart: `progress` is saved in its state, and `bases` are the first
    /// records of its logs.
    pub fn new(
        me: RegionId,
        settings: MultiWriteSettings,
        members: Vec<RegionId>,
        progress: VersionVector,
        bases: VersionVector,
    ) -> MultiWriteReplica {
        MultiWriteReplica {
            me,
            settings,
            members,
            progress,
            delivery: Delivery::default(),
            stability: Stability::default(),
            pullers: BTreeMap::new(),
            heard_at: BTreeMap::new(),
            heartbeat_sent: None,
            bases,
            ends: BTreeMap::new(),
            joining: None,
            snapshot_requested_at: None,
            effects: Vec::new(),
        }
    }

    /// A record of this region's stream, after `ahead` other records of the same group; one batch
    /// commits the whole group. [`MultiWriteReplica::can_write`] must hold.
    pub fn write(&self, epoch: Epoch, data: Bytes, ahead: u64) -> StreamRecord {
        let stream = StreamId::Region(self.me);
        let before = Sequence(self.progress.of(stream).0 + ahead);
        let mut deps = self.progress.clone();
        deps.advance(stream, before);
        StreamRecord {
            stream,
            origin: self.me,
            epoch,
            sequence: before.next(),
            deps,
            body: RecordBody::Data(data),
        }
    }

    /// Makes a region that was added with the record `since` of the account stream wait with its
    /// first write. Until the other members count a new region, they may forget versions that it
    /// has not seen. So it waits until every member has the record `since`, and until it has
    /// applied everything that each member had then.
    pub fn join(&mut self, since: Sequence) {
        self.joining = Some((since, BTreeMap::new()));
    }

    /// Whether this region may write, or is still joining.
    pub fn can_write(&mut self) -> bool {
        let Some((_, required)) = &self.joining else {
            return true;
        };
        // A lost region never answers, so the new region does not wait for its progress.
        let is_lost = |region: &RegionId| {
            self.ends.get(&StreamId::Region(*region)) == Some(&StreamEnd::Frozen)
        };
        let others: Vec<RegionId> = self.others();
        let mut others = others.iter().filter(|region| !is_lost(region));
        let has = |other: &RegionId| {
            required
                .get(other)
                .is_some_and(|required| self.progress.includes_all(required))
        };
        let is_ready = others.all(has);
        if is_ready {
            self.joining = None;
        }
        is_ready
    }

    /// The records that can be applied now in a row, up to about `bytes_max` bytes. The driver
    /// appends them to the log and applies them to the state together with the progress, in one
    /// batch, and then calls [`MultiWriteReplica::applied`] for each.
    pub fn take_ready(&mut self, bytes_max: u64) -> Vec<StreamRecord> {
        let (mut records, mut bytes) = (Vec::new(), 0);
        if self.is_fetching() {
            // A snapshot in flight was cut before these records and would replace the state without
            // them.
            return records;
        }
        let mut ahead = self.progress.clone();
        while bytes < bytes_max
            && let Some(record) = self.delivery.next(&ahead)
        {
            ahead.advance(record.stream, record.sequence);
            bytes += record.bytes();
            records.push(record);
        }
        records
    }

    /// A record of a stream is applied and durable; for the account stream, all records up to it.
    pub fn applied(&mut self, stream: StreamId, sequence: Sequence) {
        self.progress.advance(stream, sequence);
        self.stability.review(&self.progress);
    }

    pub fn receive(&mut self, now: Millis, from: RegionId, message: MultiWriteMessage) {
        let (MultiWriteMessage::Have(have)
        | MultiWriteMessage::Pull { have, .. }
        | MultiWriteMessage::Page { have, .. }
        | MultiWriteMessage::Trimmed { have, .. }) = &message;
        // Only members count for the horizon, so the progress of any other region is dropped.
        if !self.members.contains(&from) {
            return;
        }
        self.heard_at.insert(from, now);
        self.stability.hear(from, have, &self.progress);
        if let Some((since, required)) = &mut self.joining
            && have.includes(StreamId::Account, *since)
        {
            required.entry(from).or_insert_with(|| have.clone());
        }
        match message {
            MultiWriteMessage::Have(_) => {}
            MultiWriteMessage::Pull {
                stream,
                after,
                asked,
                bytes_max,
                ..
            } => {
                if after < self.bases.of(stream) {
                    let have = self.progress.clone();
                    let message = MultiWriteMessage::Trimmed {
                        have,
                        stream,
                        after,
                    };
                    self.effects
                        .push(MultiWriteEffect::Send { to: from, message });
                } else {
                    self.effects.push(MultiWriteEffect::SendPage {
                        to: from,
                        stream,
                        after,
                        asked,
                        bytes_max,
                    });
                }
            }
            MultiWriteMessage::Page {
                stream,
                after,
                asked,
                mut records,
                ..
            } => {
                let puller = self.pullers.entry(stream).or_default();
                puller.answered(asked);
                if stream == StreamId::Region(from) {
                    puller.reset_unanswered();
                }
                if let Some(end) = self.ends.get(&stream) {
                    let taken = records.iter().take_while(|record| end.takes(record));
                    records.truncate(taken.count());
                }
                self.delivery.arrive(stream, after, records, &self.progress);
            }
            MultiWriteMessage::Trimmed { stream, after, .. } => {
                // Another member may have sent these records meanwhile.
                let is_missing = self.delivery.last(stream, &self.progress) <= after;
                if stream != StreamId::Region(self.me) && is_missing {
                    self.fetch(now, from);
                }
            }
        }
        self.pull(now);
    }

    /// Handles the passing of time.
    pub fn tick(&mut self, now: Millis) {
        let beat_ms = self.settings.heartbeat_ms;
        if self
            .heartbeat_sent
            .is_none_or(|heartbeat_sent| now.since(heartbeat_sent) >= beat_ms)
        {
            self.heartbeat_sent = Some(now);
            for to in self.others() {
                let message = MultiWriteMessage::Have(self.progress.clone());
                self.effects.push(MultiWriteEffect::Send { to, message });
            }
        }
        let retry_ms = self.settings.retry_ms;
        if self
            .snapshot_requested_at
            .is_some_and(|asked| now.since(asked) >= retry_ms)
        {
            self.snapshot_requested_at = None;
        }
        self.pull(now);
    }

    pub fn take_effects(&mut self) -> Vec<MultiWriteEffect> {
        std::mem::take(&mut self.effects)
    }

    /// Requests a snapshot of another region, unless one is in flight.
    pub fn fetch(&mut self, now: Millis, from: RegionId) {
        if self.snapshot_requested_at.is_none() {
            self.snapshot_requested_at = Some(now);
            self.effects.push(MultiWriteEffect::FetchSnapshot { from });
        }
    }

    /// The requested snapshot is still arriving: the region sends no pulls meanwhile.
    pub fn still_fetching(&mut self, now: Millis) {
        self.snapshot_requested_at = Some(now);
    }

    /// Whether a snapshot of another region is in flight.
    pub fn is_fetching(&self) -> bool {
        self.snapshot_requested_at.is_some()
    }

    /// Whether a snapshot with this progress may replace the state. The snapshot may lack only
    /// records of this region's own stream and of the account stream: the region applies those
    /// again from its logs before readers see the new state, and a new [`MultiWriteReplica`] starts
    /// from the result. The snapshot must not have records beyond the end of a removed region's
    /// stream.
    pub fn accepts(&self, snapshot: &VersionVector) -> bool {
        let own = StreamId::Region(self.me);
        let is_in_logs = |stream: StreamId| stream == own || stream == StreamId::Account;
        let mut progress = self.progress.iter();
        let mut ends = self.ends.iter();
        self.is_fetching()
            && progress
                .all(|(stream, sequence)| is_in_logs(stream) || snapshot.includes(stream, sequence))
            && ends.all(|(stream, end)| end.admits(*stream, self.progress.of(*stream), snapshot))
    }

    /// The log of a stream was trimmed up to this record.
    pub fn trimmed(&mut self, stream: StreamId, upto: Sequence) {
        self.bases.advance(stream, upto);
    }

    /// The progress that every member has; it limits the trimming of logs. This region's own stream
    /// must not be trimmed further, or the end of the stream could be lost with this region.
    pub fn stable_prefix(&self) -> VersionVector {
        let mut held = self.progress.clone();
        for region in self.others() {
            held = held.common(&self.stability.latest(region));
        }
        held
    }

    /// The last record of this region's stream that at least one other member has. Later records
    /// must stay in the log: a snapshot of another member would lack them.
    pub fn shared(&self) -> Sequence {
        let own = StreamId::Region(self.me);
        let others = self.others().into_iter();
        let shared = others
            .map(|region| self.stability.latest(region).of(own))
            .max();
        shared.unwrap_or(self.progress.of(own))
    }

    /// The progress that every change applied from now on includes in its dependencies. Behind this
    /// horizon, a losing version that this region has can be forgotten, and so can a tombstone.
    pub fn horizon(&self) -> VersionVector {
        let is_missing = |(stream, end): (&StreamId, &StreamEnd)| match end {
            StreamEnd::Frozen | StreamEnd::GoesOn { .. } => false,
            StreamEnd::At(end) => !self.progress.includes(*stream, *end),
        };
        // The author of such a stream is no member any more, so no progress bounds the dependencies
        // of its remaining records.
        if self.ends.iter().any(is_missing) {
            return VersionVector::default();
        }
        self.stability
            .horizon(&self.progress, self.others().into_iter())
    }

    pub fn progress(&self) -> &VersionVector {
        &self.progress
    }

    /// Whether this region may serve a read of a session with this token. A write under a token
    /// waits for the same progress, so that every reader of the write also sees what its author had
    /// seen.
    pub fn reached(&self, token: &SessionToken) -> Result<(), (StreamId, Sequence)> {
        let account = (StreamId::Account, token.global);
        let locals = token.locals.iter();
        let locals = locals.map(|(region, sequence)| (StreamId::Region(*region), *sequence));
        let wanted: VersionVector = locals.chain([account]).collect();
        self.progress.first_missing(&wanted).map_or(Ok(()), Err)
    }

    /// The newest progress that a region has sent.
    pub fn latest(&self, region: RegionId) -> VersionVector {
        self.stability.latest(region)
    }

    /// When the last message of a region arrived.
    pub fn heard_at(&self, region: RegionId) -> Option<Millis> {
        self.heard_at.get(&region).copied()
    }

    /// How many records of this region's stream each other region lacks, as far as this region
    /// knows.
    pub fn lags(&self) -> Vec<(RegionId, u64)> {
        let own = StreamId::Region(self.me);
        let lag = |region| {
            let has = self.stability.latest(region).of(own);
            (region, self.progress.of(own).beyond(has))
        };
        self.others().into_iter().map(lag).collect()
    }

    /// Sets the members, and the stream ends of regions that are leaving or have left. A region
    /// that is leaving stays a member until its stream ends.
    pub fn set_members(&mut self, members: Vec<RegionId>, ends: BTreeMap<RegionId, StreamEnd>) {
        let left = self.members.iter();
        for region in left.filter(|region| !members.contains(region)) {
            self.stability.forget(*region);
        }
        self.members = members;
        let ends = ends.into_iter();
        let ends: BTreeMap<StreamId, StreamEnd> = ends
            .map(|(region, end)| (StreamId::Region(region), end))
            .collect();
        if ends != self.ends {
            self.ends = ends;
            // Waiting records may lie beyond an end that is new.
            self.delivery.clear();
            self.pullers.clear();
        }
    }

    /// Where the stream of a lost region ends, after these others have frozen it with the record
    /// `since` of the account stream: the last record that any of them has. None until each of
    /// these regions has sent its progress with the record `since`.
    pub fn lost_stream_end(
        &self,
        region: RegionId,
        since: Sequence,
        others: &[RegionId],
    ) -> Option<Sequence> {
        let stream = StreamId::Region(region);
        let mut end = self.progress.of(stream);
        for other in others.iter().filter(|other| **other != self.me) {
            let latest = self.stability.latest(*other);
            if !latest.includes(StreamId::Account, since) {
                return None;
            }
            end = end.max(latest.of(stream));
        }
        Some(end)
    }

    /// The last record of a region that stopped writing with the record `since` of the account
    /// stream. None until the region has confirmed `since`, and until these others have the
    /// region's whole stream.
    pub fn leaving_stream_end(
        &self,
        region: RegionId,
        since: Sequence,
        others: &[RegionId],
    ) -> Option<Sequence> {
        let stream = StreamId::Region(region);
        let latest = self.stability.latest(region);
        let last = latest.of(stream);
        let has_all = |other: &RegionId| {
            let latest = self.stability.latest(*other);
            (*other == self.me && self.progress.includes(stream, last))
                || latest.includes(stream, last)
        };
        let is_over = latest.includes(StreamId::Account, since) && others.iter().all(has_all);
        is_over.then_some(last)
    }

    /// Whether another region has this progress, as far as this region knows.
    pub fn has(&self, region: RegionId, progress: &VersionVector) -> bool {
        self.stability.latest(region).includes_all(progress)
    }

    fn others(&self) -> Vec<RegionId> {
        let members = self.members.iter().copied();
        members.filter(|region| *region != self.me).collect()
    }

    fn pull(&mut self, now: Millis) {
        if self.is_fetching() {
            return;
        }
        for author in self.authors() {
            let stream = StreamId::Region(author);
            let after = self.delivery.last(stream, &self.progress);
            let has_room = self.delivery.bytes(stream) < self.settings.waiting_bytes_max;
            let end = self.ends.get(&stream);
            if end.is_some_and(|end| end.is_over(after)) || !has_room {
                continue;
            }
            let retry_ms = self.settings.retry_ms;
            let puller = self.pullers.get(&stream);
            if puller.is_some_and(|puller| !puller.is_due(now, retry_ms)) {
                continue;
            }
            let Some(to) = self.source(now, author) else {
                continue;
            };
            if self.pullers.entry(stream).or_default().ask(now, retry_ms) {
                let message = MultiWriteMessage::Pull {
                    have: self.progress.clone(),
                    stream,
                    after,
                    asked: now,
                    bytes_max: self.settings.page_bytes_max,
                };
                self.effects.push(MultiWriteEffect::Send { to, message });
            }
        }
    }

    /// The regions whose streams this region pulls: the members, and removed regions whose stream
    /// end is not reached.
    fn authors(&self) -> Vec<RegionId> {
        let mut authors = self.others();
        for stream in self.ends.keys() {
            if let StreamId::Region(region) = stream
                && *region != self.me
                && !authors.contains(region)
            {
                authors.push(*region);
            }
        }
        authors
    }

    /// The source of a stream: its author, or a member that has more of the stream, in turn, when
    /// the author is silent or answers no pull.
    fn source(&self, now: Millis, author: RegionId) -> Option<RegionId> {
        let is_reachable = |region: &RegionId| {
            let heard_at = self.heard_at.get(region);
            heard_at.is_some_and(|heard_at| now.since(*heard_at) < self.settings.unresponsive_ms)
        };
        let stream = StreamId::Region(author);
        let puller = self.pullers.get(&stream).cloned().unwrap_or_default();
        if is_reachable(&author) && !puller.is_source_unresponsive() {
            return Some(author);
        }
        let has = self.delivery.last(stream, &self.progress);
        let others = self.others();
        let ahead = |region: &RegionId| self.stability.latest(*region).of(stream) > has;
        let ahead: Vec<RegionId> = others.into_iter().filter(ahead).collect();
        let index = puller.index_in_turn(ahead.len());
        let relay = index.and_then(|index| ahead.get(index).copied());
        relay.or_else(|| self.members.contains(&author).then_some(author))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: RegionId = RegionId(0);
    const OTHER: RegionId = RegionId(1);
    const LEAVING: RegionId = RegionId(2);

    fn progress(entries: &[(StreamId, u64)]) -> VersionVector {
        let entries = entries.iter();
        entries
            .map(|(stream, sequence)| (*stream, Sequence(*sequence)))
            .collect()
    }

    fn replica() -> MultiWriteReplica {
        let members = vec![OWN, OTHER, LEAVING];
        let nothing = VersionVector::default();
        MultiWriteReplica::new(
            OWN,
            MultiWriteSettings::default(),
            members,
            nothing.clone(),
            nothing,
        )
    }

    fn page(stream: StreamId, count: u64) -> MultiWriteMessage {
        let record = |sequence| StreamRecord {
            stream,
            origin: LEAVING,
            epoch: Epoch(1),
            sequence: Sequence(sequence),
            deps: VersionVector::default(),
            body: RecordBody::Data(Bytes::new()),
        };
        MultiWriteMessage::Page {
            have: VersionVector::default(),
            stream,
            after: Sequence::ZERO,
            asked: Millis(0),
            records: (1..=count).map(record).collect(),
        }
    }

    fn apply_all(replica: &mut MultiWriteReplica) -> u64 {
        let records = replica.take_ready(u64::MAX);
        for record in &records {
            replica.applied(record.stream, record.sequence);
        }
        records.len() as u64
    }

    #[test]
    fn a_stream_ends_where_the_members_agree() {
        let (mut replica, stream) = (replica(), StreamId::Region(LEAVING));
        let members = vec![OWN, OTHER, LEAVING];
        let voters = [OWN, OTHER];
        replica.receive(Millis(1), LEAVING, page(stream, 3));
        assert_eq!(apply_all(&mut replica), 3);
        replica.applied(StreamId::Account, Sequence(7));
        replica.set_members(members.clone(), [(LEAVING, StreamEnd::Frozen)].into());
        replica.receive(Millis(2), LEAVING, page(stream, 9));
        assert_eq!(apply_all(&mut replica), 0, "it is frozen");
        let end =
            |replica: &MultiWriteReplica| replica.lost_stream_end(LEAVING, Sequence(7), &voters);
        assert_eq!(end(&replica), None, "the other has not frozen it");
        let early = progress(&[(StreamId::Account, 6), (stream, 8)]);
        replica.receive(Millis(3), OTHER, MultiWriteMessage::Have(early));
        assert_eq!(end(&replica), None);
        let frozen = progress(&[(StreamId::Account, 7), (stream, 5)]);
        replica.receive(Millis(4), OTHER, MultiWriteMessage::Have(frozen));
        // The progress that the other region sent before it froze the stream counts as well.
        assert_eq!(end(&replica), Some(Sequence(8)));
        let ends = [(LEAVING, StreamEnd::At(Sequence(8)))];
        replica.set_members(voters.to_vec(), ends.into());
        assert_eq!(
            replica.horizon(),
            VersionVector::default(),
            "the rest may come"
        );
        replica.receive(Millis(5), OTHER, page(stream, 9));
        assert_eq!(apply_all(&mut replica), 5, "up to its end and no further");
        assert_ne!(replica.horizon(), VersionVector::default());
    }

    #[test]
    fn a_region_has_left_when_all_have_what_it_wrote() {
        let (mut replica, stream) = (replica(), StreamId::Region(LEAVING));
        let voters = [OWN, OTHER];
        let last =
            |replica: &MultiWriteReplica| replica.leaving_stream_end(LEAVING, Sequence(7), &voters);
        let writes = progress(&[(StreamId::Account, 6), (stream, 2)]);
        replica.receive(Millis(1), LEAVING, MultiWriteMessage::Have(writes));
        replica.receive(Millis(1), LEAVING, page(stream, 3));
        assert_eq!((apply_all(&mut replica), last(&replica)), (3, None));
        let over = progress(&[(StreamId::Account, 7), (stream, 3)]);
        replica.receive(Millis(2), LEAVING, MultiWriteMessage::Have(over.clone()));
        assert_eq!(last(&replica), None, "the other lacks it");
        replica.receive(Millis(3), OTHER, MultiWriteMessage::Have(over));
        assert_eq!(last(&replica), Some(Sequence(3)));
    }

    #[test]
    fn nothing_is_applied_while_a_copy_comes_and_it_may_lack_what_is_in_the_logs() {
        let (mut replica, own, other) = (replica(), StreamId::Region(OWN), StreamId::Region(OTHER));
        replica.applied(own, Sequence(5));
        replica.applied(StreamId::Account, Sequence(4));
        replica.applied(other, Sequence(2));
        replica.receive(Millis(1), LEAVING, page(StreamId::Region(LEAVING), 1));
        assert!(!replica.accepts(&progress(&[(other, 2)])), "nobody asked");
        replica.fetch(Millis(1), OTHER);
        assert_eq!(replica.take_ready(u64::MAX), []);
        for (has, is_accepted) in [(1, false), (2, true)] {
            assert_eq!(replica.accepts(&progress(&[(other, has)])), is_accepted);
        }
        let ends = [(LEAVING, StreamEnd::Frozen)];
        replica.set_members(vec![OWN, OTHER, LEAVING], ends.into());
        let lost = progress(&[(other, 2), (StreamId::Region(LEAVING), 1)]);
        assert!(
            !replica.accepts(&lost),
            "nobody may have that but the lost one"
        );
    }

    #[test]
    fn a_new_region_writes_when_it_is_counted_and_has_what_the_others_had() {
        let mut replica = replica();
        replica.join(Sequence(4));
        let stream = StreamId::Region(OTHER);
        for (from, account, sequence) in [(OTHER, 3, 1), (LEAVING, 4, 1), (OTHER, 4, 2)] {
            assert!(!replica.can_write());
            let have = progress(&[(StreamId::Account, account), (stream, sequence)]);
            replica.receive(Millis(1), from, MultiWriteMessage::Have(have));
        }
        replica.applied(StreamId::Account, Sequence(4));
        replica.applied(stream, Sequence(1));
        assert!(!replica.can_write());
        replica.applied(stream, Sequence(2));
        assert!(replica.can_write());
    }

    #[test]
    fn an_author_that_does_not_hear_is_not_the_only_one_to_ask() {
        let (mut replica, stream) = (replica(), StreamId::Region(LEAVING));
        let retry_ms = MultiWriteSettings::default().retry_ms;
        let mut asks = |round: u64, answer: Option<MultiWriteMessage>| {
            let now = Millis(round * retry_ms);
            let has = MultiWriteMessage::Have(progress(&[(stream, 3)]));
            replica.receive(now, LEAVING, answer.unwrap_or(has.clone()));
            replica.receive(now, OTHER, has);
            let asked = replica
                .take_effects()
                .into_iter()
                .find_map(|effect| match effect {
                    MultiWriteEffect::Send {
                        to,
                        message: MultiWriteMessage::Pull { stream: of, .. },
                    } if of == stream => Some(to),
                    _ => None,
                });
            asked.unwrap()
        };
        let asked: Vec<RegionId> = (1..=3).map(|round| asks(round, None)).collect();
        assert_eq!(asked, [LEAVING; 3], "questions may be lost");
        let asked: Vec<RegionId> = (4..=7).map(|round| asks(round, None)).collect();
        assert!(
            asked.contains(&OTHER) && asked.contains(&LEAVING),
            "{asked:?}"
        );
        assert_eq!(asks(8, Some(page(stream, 0))), LEAVING);
        assert_eq!(asks(9, None), LEAVING, "it answers again");
    }

    #[test]
    fn groups_are_numbered_and_sessions_wait() {
        let mut replica = replica();
        let own = StreamId::Region(OWN);
        replica.applied(own, Sequence(3));
        let record = replica.write(Epoch(1), Bytes::new(), 2);
        assert_eq!(
            (record.sequence, record.deps.of(own)),
            (Sequence(6), Sequence(5))
        );
        let token = SessionToken {
            locals: [(OWN, Sequence(3)), (OTHER, Sequence(1))].into(),
            ..SessionToken::default()
        };
        let other = StreamId::Region(OTHER);
        assert_eq!(replica.reached(&token), Err((other, Sequence(1))));
        replica.applied(other, Sequence(1));
        assert_eq!(replica.reached(&token), Ok(()));
        assert_eq!(replica.lags(), [(OTHER, 3), (LEAVING, 3)]);
    }
}
