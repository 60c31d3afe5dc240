//! Who belongs to an account in which every region writes, as one of its regions follows it: when it may
//! write, whose streams end where, and what becomes of records that are not part of the history.
//!
//! ```text
//!  added    learner --- copied, has what all had ---> full, writes
//!  planned  full -> leaving: writes no more --- all have what it wrote ---> left
//!  forced   full -> lost: nobody takes its records --- all agree which they have ---> left
//! ```
//!
//! The hub makes the last step of each as soon as it can, also one that was not the hub when it began.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use orrery_engine::{Role, StreamPiece};
use orrery_partition::tell_stream_record;
use orrery_regions::{Membership, RegionId, Sequence, Standing, StreamEnd, StreamId, StreamRecord};

use super::MultiDriver;

/// Bytes of records that are told at a time.
const TELL_BYTES: usize = 1024 * 1024;

impl MultiDriver {
    /// What must be done before a record with these members is applied. False if it cannot be.
    pub(super) async fn prepare_members(&mut self, members: &Membership) -> bool {
        let own = StreamId::Region(self.shared.me);
        if !members.is_full(self.shared.me) {
            self.stop_writing().await;
            // Whoever hears that it has applied the record hears of everything it ever wrote.
            self.mesh.applied(own, self.engine.progress().of(own));
        }
        let known = self.shared.lock().replica.head().members.ends;
        let progress = self.engine.progress();
        let ends = members.ends.iter();
        let beyond: Vec<(RegionId, Sequence)> = ends
            .filter(|(region, end)| known.get(region) != Some(end))
            .filter(|(region, end)| progress.of(StreamId::Region(**region)) > **end)
            .map(|(region, end)| (*region, *end))
            .collect();
        beyond.is_empty() || self.put_aside(&beyond)
    }

    /// Takes up what the applied part of the account stream says.
    pub(super) fn follow_members(&mut self) {
        let head = self.shared.lock().replica.head();
        let records = self.log.records();
        let applied = |what: &dyn Fn(&Membership) -> bool| since(records, head.sequence, what);
        let me = self.shared.me;
        let ends = stream_ends(&head.members, |region| {
            applied(&|members| members.get(region).is_some())
        });
        self.mesh.set_members(head.members.all().collect(), ends);
        self.engine.set_epoch(head.lineage.newest());
        if head.members.get(me).is_none() {
            self.joining = None;
            return;
        }
        let added = applied(&|members| members.get(me).is_some());
        // Nobody had forgotten anything before the first members were there.
        let is_founder = added <= Sequence(1);
        let is_joining = !is_founder && self.place.kept.joined != added;
        if is_joining && self.joining != Some(added) {
            self.joining = Some(added);
            self.mesh.join(added);
        }
    }

    /// Whether this region takes writes, as far as its place in the account goes.
    pub(super) fn may_write(&mut self) -> bool {
        // Only what is applied counts: what it says of this region has been taken up.
        let members = self.shared.lock().replica.head().members;
        let is_whole = !self.needs_copy() && self.broken.is_none();
        if !is_whole || !members.is_full(self.shared.me) || !self.mesh.can_write() {
            return false;
        }
        if let Some(joined) = self.joining.take()
            && let Err(error) = self.place.set_joined(joined)
        {
            self.joining = Some(joined);
            self.break_down(&error.to_string());
            return false;
        }
        true
    }

    /// Makes the engine take writes or refuse them, as the members say.
    pub(super) async fn follow_role(&mut self) {
        let may_write = self.may_write();
        match self.engine.role() {
            Role::Writer if !may_write => self.stop_writing().await,
            Role::Follower if may_write => {
                if let Err(failure) = self.engine.promote().await {
                    self.break_down(&failure.to_string());
                }
            }
            Role::Writer | Role::Follower => {}
        }
    }

    /// Writes that were under way have ended when this returns.
    pub(super) async fn stop_writing(&mut self) {
        self.region.set_can_write(false);
        if self.engine.role() == Role::Follower {
            return;
        }
        self.engine.set_hub(false);
        // A change of the catalogue that waits for this task would be waited for in turn.
        self.shared.lock().proposals.clear();
        if let Err(failure) = self.engine.demote().await {
            self.break_down(&failure.to_string());
        }
    }

    /// As the hub: lets go of regions whose streams have ended, and sees which new ones are copied.
    pub(super) fn review_members(&mut self) {
        let now = self.shared.now();
        let mut core = self.shared.lock();
        if !core.replica.is_write_region() {
            core.copied.clear();
            self.arrivals.clear();
            return;
        }
        let head = core.replica.head();
        let full: Vec<RegionId> = head.members.full().collect();
        let records = self.log.records();
        for member in &head.members.regions {
            let id = member.id;
            let has_standing = |members: &Membership| {
                let known = members.get(id).map(|known| known.standing);
                known == Some(member.standing)
            };
            let since = || since(records, head.sequence, &has_standing);
            let last = match member.standing {
                Standing::Leaving => self.mesh.last_of(id, since(), &full),
                Standing::Lost => self.mesh.end_of(id, since(), &full),
                Standing::Learner => {
                    let had = self.arrivals.entry(id);
                    let had = had.or_insert_with(|| self.mesh.progress().clone());
                    let is_copied = self.mesh.has(id, had);
                    if is_copied && !core.copied.contains(&id) {
                        core.copied.push(id);
                    }
                    None
                }
                Standing::Full => {
                    core.copied.retain(|copied| *copied != id);
                    self.arrivals.remove(&id);
                    None
                }
            };
            // Another change may be under way: then it is tried again.
            if let Some(last) = last
                && let Ok(record) = core.replica.end_region(now, id, last)
            {
                core.appending.push(record);
                drop(core);
                return self.shared.wake();
            }
        }
    }

    /// Keeps what the history does not have, for people, before the state that has it is replaced.
    fn put_aside(&mut self, ends: &[(RegionId, Sequence)]) -> bool {
        let mut lines = Vec::new();
        for (region, end) in ends {
            match self.tell_after(StreamId::Region(*region), *end) {
                Ok(told) => lines.extend(told),
                Err(error) => {
                    self.break_down(&error.to_string());
                    return false;
                }
            }
        }
        let count = lines.len();
        let kept = self.false_progress.lock();
        let mut kept = kept.unwrap_or_else(PoisonError::into_inner);
        let is_kept = kept.add(lines);
        drop(kept);
        if let Err(error) = is_kept.and_then(|()| self.place.set_astray()) {
            self.break_down(&error.to_string());
            return false;
        }
        tracing::warn!(
            region = self.region.name(),
            changes = count,
            "this region had acknowledged what the history does not have; it is kept as false progress"
        );
        true
    }

    fn tell_after(
        &mut self,
        stream: StreamId,
        end: Sequence,
    ) -> Result<Vec<String>, orrery_partition::Error> {
        let mut lines = Vec::new();
        let mut after = end;
        loop {
            let records = match self.reader.records_after(stream, after, TELL_BYTES)? {
                StreamPiece::Records(records) => records,
                StreamPiece::Trimmed => {
                    let upto = self.engine.progress().of(stream);
                    tracing::error!(
                        region = self.region.name(),
                        %stream,
                        "records that are not part of the history are not in the log any more"
                    );
                    lines.push(format!(
                        r#"{{"stream":"{stream}","operation":"unknown","after":{after},"upto":{upto}}}"#
                    ));
                    return Ok(lines);
                }
            };
            let Some(last) = records.last() else {
                return Ok(lines);
            };
            after = last.sequence;
            for record in &records {
                lines.extend(tell_stream_record(record)?);
            }
        }
    }
}

/// Where the streams stop of regions that leave or have left; `added` tells with which record one was
/// added again.
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
        if member.standing == Standing::Lost {
            ends.insert(member.id, StreamEnd::Frozen);
        }
    }
    ends
}

/// The record, up to one of them, from which on this has held of the members.
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
    use orrery_regions::{Body, Epoch, Progress};

    use super::*;

    fn record(sequence: u64, members: &Membership) -> StreamRecord {
        StreamRecord {
            stream: StreamId::Account,
            origin: RegionId(0),
            epoch: Epoch(256),
            sequence: Sequence(sequence),
            deps: Progress::default(),
            body: Body::Members(members.clone()),
        }
    }

    #[test]
    fn streams_stand_still_end_and_go_on() {
        let (b, last) = (RegionId(1), Sequence(7));
        let mut members = Membership::new([(RegionId(0), "a"), (b, "b")]);
        members.multi_write = true;
        let lost = members.with_leaving(b, Standing::Lost).unwrap();
        let left = lost.with_end(b, last).unwrap();
        let again = left.with_learner(b, "b").unwrap();
        let full = again.with_full(b).unwrap();
        let log: Vec<_> = (1..)
            .zip([&members, &lost, &left, &again, &full])
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
            (5, &full, Some(goes_on)),
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
