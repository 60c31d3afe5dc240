//! The members of a multi-write account, as one of its regions follows them: when the region may
//! write, which streams end at which record, and how the region saves records that are not part of
//! the history.
//!
//! ```text
//!  added    learner --- has the hub's progress at its addition ---> voter, writes
//!  planned  voter -> leaving: writes no more --- all have its whole stream ---> removed
//!  forced   voter -> lost: nobody takes its records --- all agree on its last record ---> removed
//! ```
//!
//! The hub makes the last step of each change as soon as it can, even a hub that did not begin the
//! change.

use std::collections::BTreeMap;

use orrery_engine::{ReplicationRole, StreamRead};
use orrery_partition::{Error, stream_record_json_lines};
use orrery_regions::{
    MemberStatus, Membership, RegionId, Sequence, StreamEnd, StreamId, StreamRecord,
};

use super::EveryRegionWrites;
use crate::driver::Driver;
use crate::driver::diverged_suffix::{READ_BYTES, SuffixRead, suffix_lines};

impl Driver<EveryRegionWrites> {
    /// Prepares for a record with these members before the record is applied. False after a
    /// failure.
    pub(super) async fn prepare_members(&mut self, members: &Membership) -> bool {
        let own = StreamId::Region(self.shared.me);
        if !members.is_voter(self.shared.me) {
            self.stop_writing().await;
            // The progress in which this region reports the record as applied must include its
            // whole stream: the hub ends the stream there.
            self.strategy
                .replica
                .applied(own, self.engine.version_vector().of(own));
        }
        let known = self.shared.lock().replica.metadata().members.ends;
        let progress = self.engine.version_vector();
        let ends = members.ends.iter();
        let beyond: Vec<(RegionId, Sequence)> = ends
            .filter(|(region, end)| known.get(region) != Some(end))
            .filter(|(region, end)| progress.of(StreamId::Region(**region)) > **end)
            .map(|(region, end)| (*region, *end))
            // The diverged records are saved before the record is applied, because afterwards a
            // snapshot may replace the state that has them.
            .collect();
        beyond.is_empty() || self.keep_diverged_suffix(&beyond)
    }

    /// Carries out the applied membership of the account stream.
    pub(super) fn follow_members(&mut self) {
        let head = self.shared.lock().replica.metadata();
        let records = self.strategy.log.records();
        let applied = |what: &dyn Fn(&Membership) -> bool| since(records, head.sequence, what);
        let me = self.shared.me;
        let ends = stream_ends(&head.members, |region| {
            applied(&|members| members.get(region).is_some())
        });
        self.strategy
            .replica
            .set_members(head.members.all().collect(), ends);
        self.engine.set_epoch(head.lineage.newest());
        if head.members.get(me).is_none() {
            self.strategy.joining = None;
            return;
        }
        let added = applied(&|members| members.get(me).is_some());
        // Before the first members existed, no region could have forgotten a version.
        let is_founder = added <= Sequence(1);
        let is_joining = !is_founder && self.directory.metadata.joined != added;
        if is_joining && self.strategy.joining != Some(added) {
            self.strategy.joining = Some(added);
            self.strategy.replica.join(added);
        }
    }

    /// Whether this region takes writes, according to its membership and its state.
    pub(super) fn may_write(&mut self) -> bool {
        // Only the applied members count, because `follow_members` has carried those out.
        let members = self.shared.lock().replica.metadata().members;
        let is_whole = !self.needs_snapshot() && self.broken.is_none();
        if !is_whole || !members.is_voter(self.shared.me) || !self.strategy.replica.can_write() {
            return false;
        }
        // The join is saved before the first write: after a restart the region must not wait for
        // the other members again.
        if let Some(joined) = self.strategy.joining.take()
            && let Err(error) = self.directory.set_joined(joined)
        {
            self.strategy.joining = Some(joined);
            self.break_down(&error.to_string());
            return false;
        }
        true
    }

    /// Makes the engine take or refuse writes, according to `may_write`.
    pub(super) async fn follow_role(&mut self) {
        let may_write = self.may_write();
        match self.engine.role() {
            ReplicationRole::Writer if !may_write => self.stop_writing().await,
            ReplicationRole::Follower if may_write => {
                if let Err(failure) = self.engine.promote().await {
                    self.break_down(&failure.to_string());
                }
            }
            ReplicationRole::Writer | ReplicationRole::Follower => {}
        }
    }

    /// Stops the writes; writes in progress have ended when this returns.
    pub(super) async fn stop_writing(&mut self) {
        self.published.set_can_write(false);
        if self.engine.role() == ReplicationRole::Follower {
            return;
        }
        self.engine.set_hub(false);
        // `demote` waits for a catalogue change that waits for its outcome, which only this task
        // delivers. So the pending proposals are dropped first.
        self.shared.lock().proposals.clear();
        if let Err(failure) = self.engine.demote().await {
            self.break_down(&failure.to_string());
        }
    }

    /// As the hub: completes the removal of regions whose streams have ended, and finds the new
    /// regions that have copied.
    pub(super) fn review_members(&mut self) {
        let now = self.shared.now();
        let mut core = self.shared.lock();
        if !core.replica.is_write_region() {
            core.copied.clear();
            self.strategy.progress_at_addition.clear();
            return;
        }
        let head = core.replica.metadata();
        let voters: Vec<RegionId> = head.members.voters().collect();
        let records = self.strategy.log.records();
        for member in &head.members.regions {
            let id = member.id;
            let has_standing = |members: &Membership| {
                let known = members.get(id).map(|known| known.status);
                known == Some(member.status)
            };
            let since = || since(records, head.sequence, &has_standing);
            let last = match member.status {
                MemberStatus::Leaving => {
                    self.strategy
                        .replica
                        .leaving_stream_end(id, since(), &voters)
                }
                MemberStatus::Lost => self.strategy.replica.lost_stream_end(id, since(), &voters),
                MemberStatus::Learner => {
                    let progress = self.strategy.progress_at_addition.entry(id);
                    let progress =
                        progress.or_insert_with(|| self.strategy.replica.progress().clone());
                    let is_copied = self.strategy.replica.has(id, progress);
                    if is_copied && !core.copied.contains(&id) {
                        core.copied.push(id);
                    }
                    None
                }
                MemberStatus::Voter => {
                    core.copied.retain(|copied| *copied != id);
                    self.strategy.progress_at_addition.remove(&id);
                    None
                }
            };
            // If another membership change is in progress, this one is tried again later.
            if let Some(last) = last
                && let Ok(record) = core.replica.end_region(now, id, last)
            {
                core.appending.push(record);
                drop(core);
                return self.shared.wake();
            }
        }
    }

    /// Saves the diverged records for operators before the state that has them is replaced.
    fn keep_diverged_suffix(&mut self, ends: &[(RegionId, Sequence)]) -> bool {
        let lines = ends.iter().map(|(region, end)| {
            let stream = StreamId::Region(*region);
            self.diverged_lines(stream, *end)
        });
        let lines: Result<Vec<Vec<String>>, Error> = lines.collect();
        if !self.save_diverged(lines.map(|lines| lines.concat())) {
            return false;
        }
        // The lines are durable before the state is marked as diverged: a marked state may be
        // replaced after a restart.
        if let Err(error) = self.directory.set_diverged() {
            self.break_down(&error.to_string());
            return false;
        }
        true
    }

    fn diverged_lines(&mut self, stream: StreamId, end: Sequence) -> Result<Vec<String>, Error> {
        let progress = self.engine.version_vector();
        let reader = &mut self.strategy.reader;
        // The log may have records of the stream that the state has not applied.
        reader.catch_up()?;
        let upto = progress.of(stream).max(reader.last(stream));
        let read = |after| {
            let StreamRead::Records(records) = reader.records_after(stream, after, READ_BYTES)?
            else {
                let begins_after = reader.bases(&progress)?.of(stream);
                return Ok(SuffixRead::Trimmed { begins_after });
            };
            let last = records.last().map_or(after, |last| last.sequence);
            let mut lines = Vec::new();
            for record in &records {
                lines.extend(stream_record_json_lines(record)?);
            }
            Ok(SuffixRead::Records { lines, last })
        };
        suffix_lines(self.region.name(), stream, end, upto, read)
    }
}

/// The stream ends of regions that leave or have left; `added` returns the record that added a
/// region again.
fn stream_ends(
    members: &Membership,
    added: impl Fn(RegionId) -> Sequence,
) -> BTreeMap<RegionId, StreamEnd> {
    let mut ends = BTreeMap::new();
    for (region, last) in &members.ends {
        let end = match members.get(*region) {
            None => StreamEnd::At(*last),
            Some(_) => StreamEnd::GoesOn {
                after: *last,
                since: added(*region),
            },
        };
        ends.insert(*region, end);
    }
    for member in &members.regions {
        if member.status == MemberStatus::Lost {
            ends.insert(member.id, StreamEnd::Frozen);
        }
    }
    ends
}

/// The first record, up to `upto`, since which a condition has been true of the members without
/// interruption.
fn since(
    records: &[StreamRecord],
    upto: Sequence,
    holds: &dyn Fn(&Membership) -> bool,
) -> Sequence {
    let mut since = None;
    for record in records.iter().take_while(|record| record.sequence <= upto) {
        if let Some(members) = record.members() {
            since = since.or(Some(record.sequence)).filter(|_| holds(members));
        }
    }
    since.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use orrery_regions::{AccountMode, Epoch, RecordBody, VersionVector};

    use super::*;

    fn record(sequence: u64, members: &Membership) -> StreamRecord {
        StreamRecord {
            stream: StreamId::Account,
            origin: RegionId(0),
            epoch: Epoch(256),
            sequence: Sequence(sequence),
            deps: VersionVector::default(),
            body: RecordBody::Members(members.clone()),
        }
    }

    #[test]
    fn stream_ends_follow_the_membership() {
        let (b, last) = (RegionId(1), Sequence(7));
        let mut members = Membership::new([(RegionId(0), "a"), (b, "b")]);
        members.mode = AccountMode::EveryRegionWrites;
        let lost = members.with_leaving(b, MemberStatus::Lost).unwrap();
        let left = lost.with_end(b, last).unwrap();
        let again = left.with_learner(b, "b").unwrap();
        let voting = again.with_voter(b).unwrap();
        let log: Vec<_> = (1..)
            .zip([&members, &lost, &left, &again, &voting])
            .map(|(sequence, members)| record(sequence, members))
            .collect();
        let goes_on = StreamEnd::GoesOn {
            after: last,
            since: Sequence(4),
        };
        for (upto, members, expected) in [
            (1, &members, None),
            (2, &lost, Some(StreamEnd::Frozen)),
            (3, &left, Some(StreamEnd::At(last))),
            (4, &again, Some(goes_on)),
            (5, &voting, Some(goes_on)),
        ] {
            let added = |region| {
                since(&log, Sequence(upto), &|members| {
                    members.get(region).is_some()
                })
            };
            let ends = stream_ends(members, added);
            assert_eq!(ends.get(&b).copied(), expected, "{upto}");
        }
    }
}
