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
use super::mesh_message::{MeshEffect, MeshMessage, MeshSettings};
use super::stability::Stability;
use super::stream_end::StreamEnd;
use crate::{
    Body, Epoch, Millis, Progress, Puller, RegionId, Sequence, SessionToken, StreamId, StreamRecord,
};

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
    /// Of regions that are leaving, have left, or had left.
    ends: BTreeMap<StreamId, StreamEnd>,
    /// What the others had when they first knew of this region, while it may not write yet.
    joining: Option<(Sequence, BTreeMap<RegionId, Progress>)>,
    snapshot_asked: Option<Millis>,
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
        let Some((_, had)) = &self.joining else {
            return true;
        };
        let is_lost = |region: &RegionId| {
            self.ends.get(&StreamId::Region(*region)) == Some(&StreamEnd::Frozen)
        };
        let others: Vec<RegionId> = self.others();
        let mut others = others.iter().filter(|region| !is_lost(region));
        let has = |other: &RegionId| had.get(other).is_some_and(|had| self.progress.covers(had));
        let is_ready = others.all(has);
        if is_ready {
            self.joining = None;
        }
        is_ready
    }

    /// Records that can be applied now one after the other, up to about so many bytes. They are to be
    /// appended to the log and applied to the state together with the progress, in one batch, and then
    /// reported with [`Mesh::applied`].
    pub fn take_ready(&mut self, bytes_max: u64) -> Vec<StreamRecord> {
        let (mut records, mut bytes) = (Vec::new(), 0);
        if self.is_fetching() {
            // A copy that is under way would lack them.
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
                    let message = MeshMessage::Trimmed {
                        have,
                        stream,
                        after,
                    };
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
                mut records,
                ..
            } => {
                let puller = self.pullers.entry(stream).or_default();
                puller.answered(asked);
                if stream == StreamId::Region(from) {
                    puller.is_heard();
                }
                if let Some(end) = self.ends.get(&stream) {
                    let taken = records.iter().take_while(|record| end.takes(record));
                    records.truncate(taken.count());
                }
                self.delivery.arrive(stream, after, records, &self.progress);
            }
            MeshMessage::Trimmed { stream, after, .. } => {
                // What was asked for may have come meanwhile from somebody else.
                let is_missing = self.delivery.last(stream, &self.progress) <= after;
                if stream != StreamId::Region(self.me) && is_missing {
                    self.fetch(now, from);
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

    /// Asks for the state of another region, unless one is on its way.
    pub fn fetch(&mut self, now: Millis, from: RegionId) {
        if self.snapshot_asked.is_none() {
            self.snapshot_asked = Some(now);
            self.effects.push(MeshEffect::FetchSnapshot { from });
        }
    }

    /// The copy that was asked for goes on: nothing else is asked for meanwhile.
    pub fn still_fetching(&mut self, now: Millis) {
        self.snapshot_asked = Some(now);
    }

    /// Whether the state of another region is on its way.
    pub fn is_fetching(&self) -> bool {
        self.snapshot_asked.is_some()
    }

    /// Whether a snapshot with this progress may replace the state. It may lack only records of the
    /// own stream and of the account stream, which are applied again from the logs of this region
    /// before anybody sees the new state; then a new [`Mesh`] goes on with it. It must not have what a
    /// region wrote that is being removed or was.
    pub fn accepts(&self, snapshot: &Progress) -> bool {
        let own = StreamId::Region(self.me);
        let is_in_logs = |stream: StreamId| stream == own || stream == StreamId::Account;
        let mut progress = self.progress.iter();
        let mut ends = self.ends.iter();
        self.is_fetching()
            && progress
                .all(|(stream, sequence)| is_in_logs(stream) || snapshot.has(stream, sequence))
            && ends.all(|(stream, end)| end.admits(*stream, self.progress.of(*stream), snapshot))
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

    /// What at least one other member has of the own stream. What comes after it must not leave the log:
    /// this region could not be copied any more.
    pub fn shared(&self) -> Sequence {
        let own = StreamId::Region(self.me);
        let others = self.others().into_iter();
        let shared = others
            .map(|region| self.stability.latest(region).of(own))
            .max();
        shared.unwrap_or(self.progress.of(own))
    }

    /// What every change that is applied here from now on will have seen: versions that are had
    /// here and stand behind this can be forgotten when they lose, tombstones always.
    pub fn horizon(&self) -> Progress {
        let is_missing = |(stream, end): (&StreamId, &StreamEnd)| match end {
            StreamEnd::Frozen | StreamEnd::GoesOn { .. } => false,
            StreamEnd::At(end) => !self.progress.has(*stream, *end),
        };
        // The rest of a stream whose region nobody counts any more has seen nobody knows what.
        if self.ends.iter().any(is_missing) {
            return Progress::default();
        }
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

    /// What a region said that it has; what it said of its own stream, it said with or after the rest.
    pub fn latest(&self, region: RegionId) -> Progress {
        self.stability.latest(region)
    }

    /// When something of a region was last heard.
    pub fn heard(&self, region: RegionId) -> Option<Millis> {
        self.heard.get(&region).copied()
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

    /// The members changed, and where the streams end of those that leave or have left. A region that
    /// is leaving stays a member until its stream ends.
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
            // What waits may be beyond an end.
            self.delivery.clear();
            self.pullers.clear();
        }
    }

    /// Where the stream of a region ends that these others have frozen with the record `since` of the
    /// account stream: after the last record that any of them has. None until all are heard of.
    pub fn end_of(
        &self,
        region: RegionId,
        since: Sequence,
        others: &[RegionId],
    ) -> Option<Sequence> {
        let stream = StreamId::Region(region);
        let mut end = self.progress.of(stream);
        for other in others.iter().filter(|other| **other != self.me) {
            let latest = self.stability.latest(*other);
            if !latest.has(StreamId::Account, since) {
                return None;
            }
            end = end.max(latest.of(stream));
        }
        Some(end)
    }

    /// The last record of a region that writes no more from the record `since` of the account stream
    /// on. None until it has said so, and until these others have everything that it wrote.
    pub fn last_of(
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
            (*other == self.me && self.progress.has(stream, last)) || latest.has(stream, last)
        };
        let is_over = latest.has(StreamId::Account, since) && others.iter().all(has_all);
        is_over.then_some(last)
    }

    /// Whether another region is known to have this much.
    pub fn has(&self, region: RegionId, progress: &Progress) -> bool {
        self.stability.latest(region).covers(progress)
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

    /// The author, or when it is silent or does not hear this region a member that has more of the stream, in
    /// turn.
    fn source(&self, now: Millis, author: RegionId) -> Option<RegionId> {
        let is_there = |region: &RegionId| {
            let heard = self.heard.get(region);
            heard.is_some_and(|heard| now.since(*heard) < self.settings.unresponsive_ms)
        };
        let stream = StreamId::Region(author);
        let puller = self.pullers.get(&stream).cloned().unwrap_or_default();
        if is_there(&author) && !puller.is_in_vain() {
            return Some(author);
        }
        let has = self.delivery.last(stream, &self.progress);
        let others = self.others();
        let ahead = |region: &RegionId| self.stability.latest(*region).of(stream) > has;
        let ahead: Vec<RegionId> = others.into_iter().filter(ahead).collect();
        let index = puller.turn_of(ahead.len());
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
        let records = mesh.take_ready(u64::MAX);
        for record in &records {
            mesh.applied(record.stream, record.sequence);
        }
        records.len() as u64
    }

    #[test]
    fn a_stream_ends_where_the_members_agree() {
        let (mut mesh, stream) = (mesh(), StreamId::Region(LEAVING));
        let members = vec![OWN, OTHER, LEAVING];
        let voters = [OWN, OTHER];
        mesh.receive(Millis(1), LEAVING, page(stream, 3));
        assert_eq!(apply_all(&mut mesh), 3);
        mesh.applied(StreamId::Account, Sequence(7));
        mesh.set_members(members.clone(), [(LEAVING, StreamEnd::Frozen)].into());
        mesh.receive(Millis(2), LEAVING, page(stream, 9));
        assert_eq!(apply_all(&mut mesh), 0, "it is frozen");
        let end = |mesh: &Mesh| mesh.end_of(LEAVING, Sequence(7), &voters);
        assert_eq!(end(&mesh), None, "the other has not frozen it");
        let early = progress(&[(StreamId::Account, 6), (stream, 8)]);
        mesh.receive(Millis(3), OTHER, MeshMessage::Have(early));
        assert_eq!(end(&mesh), None);
        let frozen = progress(&[(StreamId::Account, 7), (stream, 5)]);
        mesh.receive(Millis(4), OTHER, MeshMessage::Have(frozen));
        // What the other said before it froze the stream counts as well.
        assert_eq!(end(&mesh), Some(Sequence(8)));
        let ends = [(LEAVING, StreamEnd::At(Sequence(8)))];
        mesh.set_members(voters.to_vec(), ends.into());
        assert_eq!(mesh.horizon(), Progress::default(), "the rest may come");
        mesh.receive(Millis(5), OTHER, page(stream, 9));
        assert_eq!(apply_all(&mut mesh), 5, "up to its end and no further");
        assert_ne!(mesh.horizon(), Progress::default());
    }

    #[test]
    fn a_region_has_left_when_all_have_what_it_wrote() {
        let (mut mesh, stream) = (mesh(), StreamId::Region(LEAVING));
        let voters = [OWN, OTHER];
        let last = |mesh: &Mesh| mesh.last_of(LEAVING, Sequence(7), &voters);
        let writes = progress(&[(StreamId::Account, 6), (stream, 2)]);
        mesh.receive(Millis(1), LEAVING, MeshMessage::Have(writes));
        mesh.receive(Millis(1), LEAVING, page(stream, 3));
        assert_eq!((apply_all(&mut mesh), last(&mesh)), (3, None));
        let over = progress(&[(StreamId::Account, 7), (stream, 3)]);
        mesh.receive(Millis(2), LEAVING, MeshMessage::Have(over.clone()));
        assert_eq!(last(&mesh), None, "the other lacks it");
        mesh.receive(Millis(3), OTHER, MeshMessage::Have(over));
        assert_eq!(last(&mesh), Some(Sequence(3)));
    }

    #[test]
    fn nothing_is_applied_while_a_copy_comes_and_it_may_lack_what_is_in_the_logs() {
        let (mut mesh, own, other) = (mesh(), StreamId::Region(OWN), StreamId::Region(OTHER));
        mesh.applied(own, Sequence(5));
        mesh.applied(StreamId::Account, Sequence(4));
        mesh.applied(other, Sequence(2));
        mesh.receive(Millis(1), LEAVING, page(StreamId::Region(LEAVING), 1));
        assert!(!mesh.accepts(&progress(&[(other, 2)])), "nobody asked");
        mesh.fetch(Millis(1), OTHER);
        assert_eq!(mesh.take_ready(u64::MAX), []);
        for (has, is_accepted) in [(1, false), (2, true)] {
            assert_eq!(mesh.accepts(&progress(&[(other, has)])), is_accepted);
        }
        let ends = [(LEAVING, StreamEnd::Frozen)];
        mesh.set_members(vec![OWN, OTHER, LEAVING], ends.into());
        let lost = progress(&[(other, 2), (StreamId::Region(LEAVING), 1)]);
        assert!(
            !mesh.accepts(&lost),
            "nobody may have that but the lost one"
        );
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
    fn an_author_that_does_not_hear_is_not_the_only_one_to_ask() {
        let (mut mesh, stream) = (mesh(), StreamId::Region(LEAVING));
        let retry_ms = MeshSettings::default().retry_ms;
        let mut asks = |round: u64, answer: Option<MeshMessage>| {
            let now = Millis(round * retry_ms);
            let has = MeshMessage::Have(progress(&[(stream, 3)]));
            mesh.receive(now, LEAVING, answer.unwrap_or(has.clone()));
            mesh.receive(now, OTHER, has);
            let asked = mesh
                .take_effects()
                .into_iter()
                .find_map(|effect| match effect {
                    MeshEffect::Send {
                        to,
                        message: MeshMessage::Pull { stream: of, .. },
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
