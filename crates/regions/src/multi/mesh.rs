//! One region's part in the streams of a multi-write account: it writes its own, follows the others
//! from whoever has them, and knows what everybody has.
//!
//! A stream has one author and is never taken back, so there is nothing to vote on: records are
//! asked for, applied when what they depend on is applied, and kept with the progress in one batch.
//! The account stream runs beside it in a [`crate::Replica`] at level strong; records depend on the
//! part of it that their origin had applied, so a document never arrives before its container.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::delivery::Delivery;
use super::stability::Stability;
use crate::{
    Body, Epoch, Millis, Progress, Puller, RegionId, Sequence, SessionToken, StreamId, StreamRecord,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshSettings {
    pub retry_ms: u64,
    /// How often a region says what it has although nobody asks.
    pub beat_ms: u64,
    /// After so long without the author of a stream, others are asked for it.
    pub unresponsive_ms: u64,
    pub page_bytes_max: u64,
    /// Bytes of one stream that may wait for what they depend on.
    pub waiting_bytes_max: u64,
}

impl Default for MeshSettings {
    fn default() -> MeshSettings {
        MeshSettings {
            retry_ms: 400,
            beat_ms: 100,
            unresponsive_ms: 2_000,
            page_bytes_max: 4 * 1024 * 1024,
            waiting_bytes_max: 16 * 1024 * 1024,
        }
    }
}

/// What regions say to each other; each carries what its sender has, durably.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshMessage {
    Have(Progress),
    Pull {
        have: Progress,
        stream: StreamId,
        after: Sequence,
        asked: Millis,
        bytes_max: u64,
    },
    Page {
        have: Progress,
        stream: StreamId,
        after: Sequence,
        asked: Millis,
        records: Vec<StreamRecord>,
    },
    /// The records asked for are not in the log any more.
    Trimmed {
        have: Progress,
        stream: StreamId,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshEffect {
    Send {
        to: RegionId,
        message: MeshMessage,
    },
    /// Read records of the stream after `after` from the log, durable ones, and send them as a
    /// page; an empty one may be held back for a while.
    SendPage {
        to: RegionId,
        stream: StreamId,
        after: Sequence,
        asked: Millis,
        bytes_max: u64,
    },
    /// Fetch the state of this region with its progress; see [`Mesh::accepts`].
    FetchSnapshot {
        from: RegionId,
    },
}

#[derive(Debug)]
pub struct Mesh {
    me: RegionId,
    settings: MeshSettings,
    members: Vec<RegionId>,
    /// What is applied and durable, the own stream included.
    progress: Progress,
    delivery: Delivery,
    stability: Stability,
    pullers: BTreeMap<StreamId, Puller>,
    heard: BTreeMap<RegionId, Millis>,
    beaten: Option<Millis>,
    /// Where the log of each stream begins; before that only snapshots help.
    bases: Progress,
    /// Streams that end here, because their region was removed.
    ends: BTreeMap<StreamId, Option<Sequence>>,
    /// What the others had when they first knew of this region, while it may not write yet.
    joining: Option<(Sequence, BTreeMap<RegionId, Progress>)>,
    snapshot_asked: Option<Millis>,
    relay: usize,
    effects: Vec<MeshEffect>,
}

impl Mesh {
    /// A region as it comes up: with the progress that was kept in the state, and where its log
    /// begins for each stream.
    pub fn new(
        me: RegionId,
        settings: MeshSettings,
        members: Vec<RegionId>,
        progress: Progress,
        bases: Progress,
    ) -> Mesh {
        Mesh {
            me,
            settings,
            members,
            progress,
            delivery: Delivery::default(),
            stability: Stability::default(),
            pullers: BTreeMap::new(),
            heard: BTreeMap::new(),
            beaten: None,
            bases,
            ends: BTreeMap::new(),
            joining: None,
            snapshot_asked: None,
            relay: 0,
            effects: Vec::new(),
        }
    }

    /// A record of the own stream, after so many others of the same group, which is committed with
    /// one batch. [`Mesh::can_write`] must hold.
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
            body: Body::Data(data),
        }
    }

    /// A region that was added with the record `since` of the account stream must not write before
    /// every member knows of it, and before it has what each of them had then: until they count it,
    /// they may forget what it has not seen.
    pub fn join(&mut self, since: Sequence) {
        self.joining = Some((since, BTreeMap::new()));
    }

    /// Whether this region may write, or is still joining.
    pub fn can_write(&mut self) -> bool {
        let others = self.others();
        let Some((_, had)) = &self.joining else {
            return true;
        };
        let has = |other: &RegionId| had.get(other).is_some_and(|had| self.progress.covers(had));
        let is_ready = others.iter().all(has);
        if is_ready {
            self.joining = None;
        }
        is_ready
    }

    /// A record that can be applied now. It is to be appended to the log and applied to the state
    /// together with the progress, in one batch, and then reported with [`Mesh::applied`].
    pub fn take_ready(&mut self) -> Option<StreamRecord> {
        let may_apply = |record: &StreamRecord| match self.ends.get(&record.stream) {
            None => true,
            Some(None) => false,
            Some(Some(end)) => record.sequence <= *end,
        };
        self.delivery.next(&self.progress, may_apply)
    }

    /// A record of any stream is applied and durable, or the account stream is up to here.
    pub fn applied(&mut self, stream: StreamId, sequence: Sequence) {
        self.progress.advance(stream, sequence);
        self.stability.review(&self.progress);
    }

    pub fn receive(&mut self, now: Millis, from: RegionId, message: MeshMessage) {
        let (MeshMessage::Have(have)
        | MeshMessage::Pull { have, .. }
        | MeshMessage::Page { have, .. }
        | MeshMessage::Trimmed { have, .. }) = &message;
        if !self.members.contains(&from) {
            return;
        }
        self.heard.insert(from, now);
        self.stability.hear(from, have, &self.progress);
        if let Some((since, had)) = &mut self.joining
            && have.has(StreamId::Account, *since)
        {
            had.entry(from).or_insert_with(|| have.clone());
        }
        match message {
            MeshMessage::Have(_) => {}
            MeshMessage::Pull {
                stream,
                after,
                asked,
                bytes_max,
                ..
            } => {
                if after < self.bases.of(stream) {
                    let have = self.progress.clone();
                    let message = MeshMessage::Trimmed { have, stream };
                    self.effects.push(MeshEffect::Send { to: from, message });
                } else {
                    self.effects.push(MeshEffect::SendPage {
                        to: from,
                        stream,
                        after,
                        asked,
                        bytes_max,
                    });
                }
            }
            MeshMessage::Page {
                stream,
                after,
                asked,
                records,
                ..
            } => {
                self.pullers.entry(stream).or_default().answered(asked);
                self.delivery.arrive(stream, after, records, &self.progress);
            }
            MeshMessage::Trimmed { stream, .. } => {
                if self.snapshot_asked.is_none() && stream != StreamId::Region(self.me) {
                    self.snapshot_asked = Some(now);
                    self.effects.push(MeshEffect::FetchSnapshot { from });
                }
            }
        }
        self.pull(now);
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Millis) {
        let beat_ms = self.settings.beat_ms;
        if self
            .beaten
            .is_none_or(|beaten| now.since(beaten) >= beat_ms)
        {
            self.beaten = Some(now);
            for to in self.others() {
                let message = MeshMessage::Have(self.progress.clone());
                self.effects.push(MeshEffect::Send { to, message });
            }
        }
        let retry_ms = self.settings.retry_ms;
        if self
            .snapshot_asked
            .is_some_and(|asked| now.since(asked) >= retry_ms)
        {
            self.snapshot_asked = None;
        }
        self.pull(now);
    }

    pub fn take_effects(&mut self) -> Vec<MeshEffect> {
        std::mem::take(&mut self.effects)
    }

    /// Whether a snapshot with this progress may replace the state. It may lack only records of the
    /// own stream; these are applied again from the log, in order, after it is installed.
    pub fn accepts(&self, snapshot: &Progress) -> bool {
        let own = StreamId::Region(self.me);
        self.snapshot_asked.is_some()
            && self
                .progress
                .iter()
                .all(|(stream, sequence)| stream == own || snapshot.has(stream, sequence))
    }

    /// The state was replaced. Own records that the snapshot lacks are in it again.
    pub fn installed(&mut self, snapshot: &Progress) {
        let own = StreamId::Region(self.me);
        for (stream, sequence) in snapshot.iter().filter(|(stream, _)| *stream != own) {
            self.bases.advance(stream, sequence);
        }
        self.progress.merge(snapshot);
        self.delivery.clear();
        self.snapshot_asked = None;
        self.pullers.clear();
        self.stability.review(&self.progress);
    }

    /// Records of a stream up to here have left the log.
    pub fn trimmed(&mut self, stream: StreamId, upto: Sequence) {
        self.bases.advance(stream, upto);
    }

    /// What every member has: logs may be trimmed up to here. The own stream must not be trimmed
    /// further, or its end could be lost with this region.
    pub fn held(&self) -> Progress {
        let mut held = self.progress.clone();
        for region in self.others() {
            held = held.common(&self.stability.latest(region));
        }
        held
    }

    /// What every change that is applied here from now on will have seen: versions that are had
    /// here and stand behind this can be forgotten when they lose, tombstones always.
    pub fn horizon(&self) -> Progress {
        self.stability
            .horizon(&self.progress, self.others().into_iter())
    }

    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Whether a session may read here. A write under a token waits for this too, so that whoever
    /// sees it also sees what its author had seen.
    pub fn reached(&self, token: &SessionToken) -> Result<(), (StreamId, Sequence)> {
        let account = (StreamId::Account, token.global);
        let locals = token.locals.iter();
        let locals = locals.map(|(region, sequence)| (StreamId::Region(*region), *sequence));
        let wanted: Progress = locals.chain([account]).collect();
        self.progress.lacks(&wanted).map_or(Ok(()), Err)
    }

    /// How many records the others are known to lack of the own stream.
    pub fn lags(&self) -> Vec<(RegionId, u64)> {
        let own = StreamId::Region(self.me);
        let lag = |region| {
            let has = self.stability.latest(region).of(own);
            (region, self.progress.of(own).beyond(has))
        };
        self.others().into_iter().map(lag).collect()
    }

    /// The members changed. The stream of a region that is leaving stands still
    /// ([`Mesh::freeze`]) and then ends ([`Mesh::end`]) before it is left out here.
    pub fn set_members(&mut self, members: Vec<RegionId>) {
        for region in self
            .members
            .iter()
            .filter(|region| !members.contains(region))
        {
            self.stability.forget(*region);
        }
        self.members = members;
    }

    /// Applies no more of a region's stream for now: the first step of removing it, taken by every
    /// member when it applies the record that says so. A region that is being removed writes no
    /// more from there on.
    pub fn freeze(&mut self, region: RegionId) {
        self.ends.entry(StreamId::Region(region)).or_insert(None);
    }

    /// Where the stream of a region ends that every other member has frozen with the record
    /// `since` of the account stream: after the last record that any of them has. None until all
    /// are heard of.
    pub fn end_of(&self, region: RegionId, since: Sequence) -> Option<Sequence> {
        let stream = StreamId::Region(region);
        let mut end = self.progress.of(stream);
        for other in self.others().into_iter().filter(|other| *other != region) {
            let latest = self.stability.latest(other);
            if !latest.has(StreamId::Account, since) {
                return None;
            }
            end = end.max(latest.of(stream));
        }
        Some(end)
    }

    /// The stream ends with this record. In the region itself, later records of its own are false
    /// progress: they are to be kept aside, and the state replaced, before it is added again.
    pub fn end(&mut self, region: RegionId, at: Sequence) {
        self.ends.insert(StreamId::Region(region), Some(at));
        self.delivery.clear();
    }

    /// A region that left is a member again; its stream goes on after its end.
    pub fn resume(&mut self, region: RegionId) {
        self.ends.remove(&StreamId::Region(region));
    }

    fn others(&self) -> Vec<RegionId> {
        let members = self.members.iter().copied();
        members.filter(|region| *region != self.me).collect()
    }

    fn pull(&mut self, now: Millis) {
        if self.snapshot_asked.is_some() {
            return;
        }
        for author in self.authors() {
            let stream = StreamId::Region(author);
            let after = self.delivery.last(stream, &self.progress);
            let has_room = self.delivery.bytes(stream) < self.settings.waiting_bytes_max;
            let is_over = match self.ends.get(&stream) {
                None => false,
                Some(None) => true,
                Some(Some(end)) => after >= *end,
            };
            if is_over || !has_room {
                continue;
            }
            let Some(to) = self.source(now, author) else {
                continue;
            };
            let retry_ms = self.settings.retry_ms;
            if self.pullers.entry(stream).or_default().ask(now, retry_ms) {
                let message = MeshMessage::Pull {
                    have: self.progress.clone(),
                    stream,
                    after,
                    asked: now,
                    bytes_max: self.settings.page_bytes_max,
                };
                self.effects.push(MeshEffect::Send { to, message });
            }
        }
    }

    /// Regions whose streams are followed: members, and those whose end has not been reached.
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

    /// The author, or when it is silent a member that has more of the stream, in turn.
    fn source(&mut self, now: Millis, author: RegionId) -> Option<RegionId> {
        let is_there = |region: &RegionId| {
            let heard = self.heard.get(region);
            heard.is_some_and(|heard| now.since(*heard) < self.settings.unresponsive_ms)
        };
        if is_there(&author) {
            return Some(author);
        }
        let stream = StreamId::Region(author);
        let has = self.delivery.last(stream, &self.progress);
        let others = self.others();
        let ahead = |region: &RegionId| self.stability.latest(*region).of(stream) > has;
        let ahead: Vec<RegionId> = others.into_iter().filter(ahead).collect();
        self.relay = self.relay.wrapping_add(1);
        let index = self.relay.checked_rem(ahead.len());
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

    fn progress(entries: &[(StreamId, u64)]) -> Progress {
        let entries = entries.iter();
        entries
            .map(|(stream, sequence)| (*stream, Sequence(*sequence)))
            .collect()
    }

    fn mesh() -> Mesh {
        let members = vec![OWN, OTHER, LEAVING];
        let nothing = Progress::default();
        Mesh::new(
            OWN,
            MeshSettings::default(),
            members,
            nothing.clone(),
            nothing,
        )
    }

    fn page(stream: StreamId, count: u64) -> MeshMessage {
        let record = |sequence| StreamRecord {
            stream,
            origin: LEAVING,
            epoch: Epoch(1),
            sequence: Sequence(sequence),
            deps: Progress::default(),
            body: Body::Data(Bytes::new()),
        };
        MeshMessage::Page {
            have: Progress::default(),
            stream,
            after: Sequence::ZERO,
            asked: Millis(0),
            records: (1..=count).map(record).collect(),
        }
    }

    fn apply_all(mesh: &mut Mesh) -> u64 {
        let mut count = 0;
        while let Some(record) = mesh.take_ready() {
            mesh.applied(record.stream, record.sequence);
            count += 1;
        }
        count
    }

    #[test]
    fn a_stream_ends_where_the_members_agree() {
        let (mut mesh, stream) = (mesh(), StreamId::Region(LEAVING));
        mesh.receive(Millis(1), LEAVING, page(stream, 3));
        assert_eq!(apply_all(&mut mesh), 3);
        mesh.applied(StreamId::Account, Sequence(7));
        mesh.freeze(LEAVING);
        mesh.receive(Millis(2), LEAVING, page(stream, 9));
        assert_eq!(apply_all(&mut mesh), 0, "it is frozen");
        assert_eq!(
            mesh.end_of(LEAVING, Sequence(7)),
            None,
            "the other has not frozen it"
        );
        let early = progress(&[(StreamId::Account, 6), (stream, 8)]);
        mesh.receive(Millis(3), OTHER, MeshMessage::Have(early));
        assert_eq!(mesh.end_of(LEAVING, Sequence(7)), None);
        let frozen = progress(&[(StreamId::Account, 7), (stream, 5)]);
        mesh.receive(Millis(4), OTHER, MeshMessage::Have(frozen));
        // What the other said before it froze the stream counts as well.
        assert_eq!(mesh.end_of(LEAVING, Sequence(7)), Some(Sequence(8)));
        mesh.end(LEAVING, Sequence(8));
        mesh.receive(Millis(5), LEAVING, page(stream, 9));
        assert_eq!(apply_all(&mut mesh), 5, "up to its end and no further");
        mesh.resume(LEAVING);
        mesh.receive(Millis(6), LEAVING, page(stream, 9));
        assert_eq!(apply_all(&mut mesh), 1);
    }

    #[test]
    fn a_new_region_writes_when_it_is_counted_and_has_what_the_others_had() {
        let mut mesh = mesh();
        mesh.join(Sequence(4));
        let stream = StreamId::Region(OTHER);
        for (from, account, sequence) in [(OTHER, 3, 1), (LEAVING, 4, 1), (OTHER, 4, 2)] {
            assert!(!mesh.can_write());
            let have = progress(&[(StreamId::Account, account), (stream, sequence)]);
            mesh.receive(Millis(1), from, MeshMessage::Have(have));
        }
        mesh.applied(StreamId::Account, Sequence(4));
        mesh.applied(stream, Sequence(1));
        assert!(!mesh.can_write());
        mesh.applied(stream, Sequence(2));
        assert!(mesh.can_write());
    }

    #[test]
    fn groups_are_numbered_and_sessions_wait() {
        let mut mesh = mesh();
        let own = StreamId::Region(OWN);
        mesh.applied(own, Sequence(3));
        let record = mesh.write(Epoch(1), Bytes::new(), 2);
        assert_eq!(
            (record.sequence, record.deps.of(own)),
            (Sequence(6), Sequence(5))
        );
        let token = SessionToken {
            locals: [(OWN, Sequence(3)), (OTHER, Sequence(1))].into(),
            ..SessionToken::default()
        };
        let other = StreamId::Region(OTHER);
        assert_eq!(mesh.reached(&token), Err((other, Sequence(1))));
        mesh.applied(other, Sequence(1));
        assert_eq!(mesh.reached(&token), Ok(()));
        assert_eq!(mesh.lags(), [(OTHER, 3), (LEAVING, 3)]);
    }
}
