//! The one thread that changes the state.
//!
//! ```text
//! waiting commands -> decide each over one overlay -> append their records -> one sync
//!                  -> one batch into the state -> publish LSNs -> answer all
//! ```
//!
//! Where other regions must keep a group before it may be seen, it is under way after the sync
//! ([`crate::under_way`]), and the next one is decided over it.
//!
//! While a group is being synced the next one gathers: that is the group commit, and no timer is
//! needed for it. The state changes only after the sync, so nobody reads what could be lost, and a
//! log that fails leaves the state as it was. After a failed append, sync or batch the committer
//! refuses every later write; reads do not pass through it and go on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_log::{Durability, Log, Position};
use orrery_model::Failure;
use orrery_storage::Storage;

use crate::command::{
    Beside, Command, Reply, held_back, not_begun, refuse, refuse_with, unavailable,
};
use crate::committed::{Committed, CommittedRecord, Needs};
use crate::counters::counters_key;
use crate::crowd::Crowd;
use crate::group::Group;
use crate::health::Health;
use crate::index_state::IndexStates;
use crate::known::Batches;
use crate::late_sync::LateSyncs;
use crate::multi::{Multi, Stamps, put_progress};
use crate::note::{note_record, put_note};
use crate::overlay::{Base, Overlay};
use crate::purge::Purged;
use crate::record::Record;
use crate::replay::put_applied;
use crate::spaces::META;
use crate::statistics::Tallies;
use crate::under_way::{Decision, UnderWay};
use crate::watches::Watches;
use crate::{Authority, Error, Uncounted, UncountedCrowd, Verdict};

/// A group is closed at this many commands or bytes, so that the first does not wait for the last.
const GROUP_COMMANDS_MAX: usize = 1024;
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Why a group is not in the log.
enum Stop {
    /// From here on nothing is.
    Broken(Error),
    /// Whoever asked for it is told this.
    Refused(Failure),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        match error {
            Error::Log(orrery_log::Error::NotWritten { .. }) => {
                Stop::Refused(not_begun(&error.chain()))
            }
            error => Stop::Broken(error),
        }
    }
}

/// A group, or what is left of it, in the log.
#[derive(Default)]
pub(crate) struct Appended {
    /// Its last record, if it has any.
    pub(crate) last: Option<Position>,
    /// Its records, where they may have to be held back.
    pub(crate) payloads: Vec<Bytes>,
    is_open: bool,
}

pub(crate) struct Committer {
    pub(crate) storage: Arc<Storage>,
    pub(crate) batches: Arc<Batches>,
    /// None keeps everything in memory.
    pub(crate) log: Option<Log>,
    pub(crate) health: Arc<Health>,
    pub(crate) durability: Durability,
    /// Set if records of other regions are seen before they are durable.
    pub(crate) late_syncs: Option<LateSyncs>,
    /// Since when something is committed that no sync has covered.
    pub(crate) unsynced_since: Option<Instant>,
    /// Where positions go whose state should be saved.
    pub(crate) checkpoints: Sender<Position>,
    pub(crate) checkpoint_asked: Position,
    pub(crate) watches: Arc<Watches>,
    /// How the documents of each container are indexed.
    pub(crate) states: IndexStates,
    /// What is counted of their indexes.
    pub(crate) tallies: Tallies,
    /// Containers that are being removed.
    pub(crate) purged: BTreeMap<u32, Purged>,
    /// What others may know of the records.
    pub(crate) committed: Arc<Committed>,
    /// Whether its records are those of another store.
    pub(crate) is_following: bool,
    pub(crate) authority: Option<Arc<dyn Authority>>,
    /// Groups that others must keep before they are applied.
    pub(crate) under_way: UnderWay,
    /// Records that are durable and that the state does not have, and nobody here waits for.
    pub(crate) pending: VecDeque<CommittedRecord>,
    /// Set in a region of a multi-write account.
    pub(crate) multi: Option<Arc<Multi>>,
    /// How far the forgetting of versions has come.
    pub(crate) pruned: Option<Bytes>,
    /// Whether the log refused the last write before any byte of that write was in the log.
    pub(crate) is_refusing: bool,
    pub(crate) broken: Option<String>,
}

impl Committer {
    pub(crate) fn run(mut self, commands: &Receiver<Command>) {
        while let Some(first) = self.wait(commands) {
            let mut waiting = vec![first];
            while waiting.len() < GROUP_COMMANDS_MAX
                && let Ok(command) = commands.try_recv()
            {
                waiting.push(command);
            }
            let mut waiting = waiting.into_iter().peekable();
            while waiting.peek().is_some() {
                self.advance();
                self.make_room();
                if let Some(stop) = self.commit_group(&mut waiting) {
                    stop(self.close());
                    return;
                }
            }
        }
    }

    /// The next command. With interval durability, syncs in between what has waited for so long,
    /// however many commands there are. Looks after what is under way.
    fn wait(&mut self, commands: &Receiver<Command>) -> Option<Command> {
        loop {
            let patience = self.until_sync();
            let patience = patience.into_iter().chain(self.under_way.patience()).min();
            let Some(patience) = patience else {
                return commands.recv().ok();
            };
            let received = if patience.is_zero() {
                Err(RecvTimeoutError::Timeout)
            } else {
                commands.recv_timeout(patience)
            };
            match received {
                Ok(command) => return Some(command),
                Err(RecvTimeoutError::Timeout) => {
                    if self.until_sync().is_some_and(|left| left.is_zero()) {
                        // Whoever writes next hears of a failure.
                        let _ = self.sync();
                    }
                    self.advance();
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// How long the next sync of the log may take to come; none if it needs none.
    fn until_sync(&self) -> Option<Duration> {
        let Durability::Interval(interval) = self.durability else {
            return None;
        };
        let since = self.unsynced_since?;
        Some(interval.saturating_sub(since.elapsed()))
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.unsynced_since = None;
        let synced = self.log.as_mut().map_or(Ok(()), Log::sync);
        if let Some(log) = &self.log {
            self.health.set_durable(log.durable());
        }
        synced.map_err(|error| {
            let error = error.into();
            self.break_down(&error);
            error
        })
    }

    /// Carries out commands until the group is full or one must be alone. Gives the reply of `Stop`.
    fn commit_group(
        &mut self,
        waiting: &mut std::iter::Peekable<std::vec::IntoIter<Command>>,
    ) -> Option<Reply<Result<(), Error>>> {
        let storage = Arc::clone(&self.storage);
        let mut group = self.group(&storage);
        let mut stop = None;
        for command in waiting.by_ref() {
            match command.beside() {
                Beside::Nothing => {}
                Beside::WaitsForThem => {
                    if !self.under_way.is_empty() {
                        group.is_waited_for = true;
                        self.finish_group(group);
                        group = self.group(&storage);
                    }
                    group.is_waited_for = true;
                }
                Beside::EndsThem => {
                    self.finish_group(group);
                    self.end_under_way();
                    group = self.group(&storage);
                }
            }
            if let Some(cause) = &self.broken {
                stop = refuse(command, cause);
            } else if self.is_following && command.makes_records() {
                refuse_with(command, &Failure::WriteForbidden);
            } else if !self.pending.is_empty() && command.makes_records() {
                refuse_with(command, &held_back());
            } else if !command.fits(self.health.room()) {
                refuse_with(command, &not_begun(&self.health.no_room()));
            } else {
                match command {
                    Command::Items(transaction, reply) => group.items(*transaction, reply),
                    Command::Script(commit, reply) => group.script(*commit, reply),
                    Command::Catalogue(changes, reply) => group.catalogue(changes, reply),
                    Command::Expire {
                        container,
                        due,
                        now_seconds,
                        reply,
                    } => {
                        group.expire(container.as_ref(), &due, now_seconds, reply);
                    }
                    Command::Purge { container, reply } => {
                        // It removes what is in the state; what is decided must be there first.
                        self.finish_group(group);
                        reply(self.purge(container));
                        group = self.group(&storage);
                    }
                    Command::Reindex { container, reply } => {
                        self.finish_group(group);
                        reply(self.reindex(container));
                        group = self.group(&storage);
                    }
                    Command::Reshape(reshape, reply) => {
                        self.finish_group(group);
                        group = self.group(&storage);
                        group.reshape(*reshape, reply);
                        self.finish_group(group);
                        group = self.group(&storage);
                    }
                    Command::Uncounted {
                        container,
                        partition,
                        reply,
                    } => {
                        self.finish_group(group);
                        let snapshot = storage.snapshot();
                        reply(Ok(Uncounted::new(snapshot, &container, &partition)));
                        group = self.group(&storage);
                    }
                    Command::Crowd {
                        partition,
                        logical,
                        bytes_max,
                        reply,
                    } => {
                        self.finish_group(group);
                        let crowd = Arc::new(Crowd::new(&logical, bytes_max));
                        let holder = partition.holder(logical.place());
                        holder.crowds.add(Arc::clone(&crowd));
                        let snapshot = storage.snapshot();
                        reply(Ok(UncountedCrowd { snapshot, crowd }));
                        group = self.group(&storage);
                    }
                    Command::Correct {
                        container,
                        partition,
                        correction,
                        reply,
                    } => {
                        self.finish_group(group);
                        group = self.group(&storage);
                        group.correct(container, &partition, correction, reply);
                        self.finish_group(group);
                        group = self.group(&storage);
                    }
                    Command::Forget {
                        container,
                        now_seconds,
                        reply,
                    } => {
                        self.finish_group(group);
                        reply(self.forget(&container, now_seconds));
                        group = self.group(&storage);
                    }
                    Command::Follow(is_following, reply) => {
                        self.finish_group(group);
                        self.is_following = is_following;
                        reply(());
                        group = self.group(&storage);
                    }
                    Command::Keep {
                        records,
                        apply_upto,
                        witness,
                        reply,
                    } => {
                        self.finish_group(group);
                        reply(self.keep_back(records, apply_upto, &*witness));
                        group = self.group(&storage);
                    }
                    Command::Authority(authority, reply) => {
                        self.finish_group(group);
                        self.authority = Some(authority);
                        reply(());
                        group = self.group(&storage);
                    }
                    Command::Notes => {
                        // Whoever follows, or holds records back, is given notes in their order.
                        group.has_notes = !self.is_following && self.pending.is_empty();
                    }
                    // Whoever was under way was looked after before the group began.
                    Command::Look => {}
                    Command::Region(command) => {
                        self.finish_group(group);
                        command.carry_out(self, &storage);
                        group = self.group(&storage);
                    }
                    Command::Saved(position) => self.trim(position),
                    Command::Sync(reply) => reply(self.sync()),
                    Command::Synced(upto) => self.synced_late(upto),
                    Command::NotSaved(error) => {
                        self.break_down(&error);
                    }
                    Command::TryLog => self.try_log(),
                    Command::Stop(reply) => stop = Some(reply),
                }
            }
            if stop.is_some() || group.bytes() >= GROUP_BYTES_MAX {
                break;
            }
        }
        self.finish_group(group);
        stop
    }

    pub(crate) fn group<'a>(&mut self, storage: &'a Storage) -> Group<'a> {
        let states = std::mem::take(&mut self.states);
        let stamps = self.multi.as_ref().map(|multi| multi.stamps());
        let mut overlay = Overlay::new(storage).with_rows(self.multi.as_ref());
        overlay.beneath = self.under_way.lend();
        let mut group = Group::new(overlay, states, Arc::clone(&self.watches), stamps)
            .in_region(self.multi.as_ref());
        // The next stamps follow those that are published.
        group.is_waited_for = self.multi.is_some();
        group
    }

    /// Makes a group durable, then visible, then answers it; or leaves it under way.
    pub(crate) fn finish_group(&mut self, group: Group<'_>) {
        let is_empty = group.is_empty();
        let Group {
            mut overlay,
            states,
            touched,
            records,
            replies,
            has_notes,
            is_waited_for,
            stamps,
            ..
        } = group;
        self.states = states;
        let progress = stamps.and_then(Stamps::moved);
        if let Some(progress) = &progress {
            put_progress(&mut overlay, progress);
        }
        let appended = if is_empty {
            Ok(Appended::default())
        } else {
            self.append_group(&records, has_notes, &mut overlay)
        };
        if let Ok(Appended {
            last: Some(last), ..
        }) = appended
        {
            put_applied(&mut overlay, last);
        }
        for ((container, range), (_, counters)) in &touched {
            let key = counters_key(*container, *range);
            overlay.put(META, Bytes::copy_from_slice(&key), counters.encode());
        }
        let (beneath, decided) = overlay.detach();
        self.under_way.give_back(beneath);
        let decision = Decision {
            decided,
            touched,
            records,
            progress,
            replies,
        };
        match appended {
            Ok(_) if is_empty => {}
            Ok(appended) if !appended.is_open && self.under_way.is_empty() => {
                self.see(appended.last, decision);
            }
            Ok(appended) => {
                let before = self.last();
                self.under_way.push(before, appended, decision);
            }
            Err(stop) => {
                let failure = match stop {
                    Stop::Broken(error) => self.break_down(&error),
                    Stop::Refused(failure) => failure,
                };
                // They hold what the records would have done.
                self.states = IndexStates::default();
                decision.answer(Some(&failure));
            }
        }
        if is_waited_for {
            self.settle_under_way();
        }
        self.ask_for_checkpoint();
    }

    /// Makes what was decided visible up to a record, and answers.
    pub(crate) fn see(&mut self, last: Option<Position>, decision: Decision) {
        let Decision {
            decided,
            touched,
            records,
            progress,
            replies,
        } = decision;
        let storage = Arc::clone(&self.storage);
        let written = decided
            .into_batch(&Base::State(&storage), &mut self.tallies)
            .and_then(|batch| Ok(self.batches.write(|| storage.write(batch))?));
        if let Err(error) = written {
            let failure = self.break_down(&error);
            for reply in replies {
                reply(Some(failure.clone()));
            }
            return;
        }
        if let Some(last) = last {
            self.committed.apply(last);
        }
        for (partition, counters) in touched.values() {
            partition.publish(*counters);
        }
        for record in &records {
            self.watches.mark(record.item_changes());
        }
        if let (Some(multi), Some(progress)) = (&self.multi, progress) {
            multi.publish(progress);
        }
        if let Some(authority) = self.authority.as_ref().filter(|_| !records.is_empty()) {
            authority.seen(self.committed.applied());
        }
        for reply in replies {
            reply(None);
        }
    }

    fn append_group(
        &mut self,
        records: &[Record],
        has_notes: bool,
        overlay: &mut Overlay<'_>,
    ) -> Result<Appended, Stop> {
        match self.authority.clone() {
            Some(authority) => self.append_numbered(&*authority, records, has_notes, overlay),
            None => Ok(Appended {
                last: self.append_alone(records)?,
                ..Appended::default()
            }),
        }
    }

    fn append_alone(&mut self, records: &[Record]) -> Result<Option<Position>, Error> {
        if records.is_empty() {
            return Ok(None);
        }
        let encoders = records.iter();
        let encoders = encoders.map(|record| |buffer: &mut Vec<u8>| record.encode(buffer));
        let last = self.append(encoders)?;
        let payloads = if self.committed.is_followed() {
            records.iter().map(Record::payload).collect()
        } else {
            Vec::new()
        };
        self.committed.keep(last, payloads);
        Ok(Some(last))
    }

    /// Appends records where the authority has given them their places, after its notes.
    fn append_numbered(
        &mut self,
        authority: &dyn Authority,
        records: &[Record],
        has_notes: bool,
        overlay: &mut Overlay<'_>,
    ) -> Result<Appended, Stop> {
        if records.is_empty() && !has_notes {
            return Ok(Appended::default());
        }
        if !self.pending.is_empty() {
            // What stands before them is not in the state.
            return Err(Stop::Refused(held_back()));
        }
        let mut payloads: Vec<Bytes> = records.iter().map(Record::payload).collect();
        // The log must have room before the authority numbers the records, because the authority
        // cannot take back positions that it has given.
        self.make_room_for(&payloads)?;
        let notes = authority.number(self.last(), &payloads);
        let notes = notes.map_err(Stop::Refused)?;
        if let Some(newest) = notes.last() {
            put_note(overlay, newest.clone());
        }
        payloads.splice(0..0, notes.into_iter().map(note_record));
        if payloads.is_empty() {
            return Ok(Appended::default());
        }
        let last = self.append_payloads(&payloads)?;
        self.committed.keep(last, payloads.clone());
        Ok(Appended {
            last: Some(last),
            payloads,
            is_open: authority.kept(last) != Verdict::Settled,
        })
    }

    /// Commits records to the log; without a log they are only counted. Gives the last position.
    pub(crate) fn append(
        &mut self,
        encoders: impl ExactSizeIterator<Item = impl FnOnce(&mut Vec<u8>)>,
    ) -> Result<Position, Error> {
        let Some(log) = &mut self.log else {
            return Ok(Position(self.last().0 + encoders.len() as u64));
        };
        for encode in encoders {
            log.append_with(encode);
        }
        let committed = log.commit();
        self.health.set_durable(log.durable());
        let position = self.told(committed)?;
        if self.health.durable() < position {
            self.unsynced_since.get_or_insert_with(Instant::now);
        }
        Ok(position)
    }

    /// The last record that is written, and unless it is another region's also durable.
    pub(crate) fn last(&self) -> Position {
        self.committed.last()
    }

    /// From here on this node only reads. What fails later fails because of what failed first.
    pub(crate) fn break_down(&mut self, error: &Error) -> Failure {
        let first = self.broken.get_or_insert_with(|| {
            let cause = error.chain();
            tracing::error!(%cause, "writes are refused until the server is started again");
            cause
        });
        self.committed.fail(first);
        unavailable(first)
    }

    /// When a segment of the log is full, the state behind it should be saved so that the segment
    /// can be used again.
    pub(crate) fn ask_for_checkpoint(&mut self) {
        if let Some(sealed) = self.log.as_ref().and_then(Log::sealed)
            && sealed > self.checkpoint_asked
            && let Some(log) = &self.log
        {
            self.checkpoint_asked = log.last();
            // A checkpointer that is gone means the store is closing.
            let _ = self.checkpoints.send(self.committed.applied());
        }
    }

    /// Records are needed until the state behind them is saved, and a while longer by followers.
    fn trim(&mut self, saved: Position) {
        let Some(log) = &mut self.log else {
            return;
        };
        let needs = self.committed.needs();
        let affordable = |needs: &&Needs| log.bytes_since(needs.acknowledged) <= needs.bytes_max;
        let wanted = needs.iter().filter(affordable);
        let wanted = wanted.map(|needs| needs.acknowledged);
        let needed = wanted
            .chain(needs.iter().filter_map(|needs| needs.pinned))
            .min();
        let upto = needed.map_or(saved, |needed| needed.min(saved));
        match log.trim(upto) {
            Ok(()) => {}
            // The next checkpoint trims again.
            Err(error @ orrery_log::Error::NotWritten { .. }) => {
                let cause = Error::from(error).chain();
                tracing::warn!(%cause, "a segment of the log could not be taken back yet");
            }
            Err(error) => {
                self.break_down(&error.into());
            }
        }
    }

    fn close(self) -> Result<(), Error> {
        if let Some(log) = self.log {
            let last = log.last();
            log.close()?;
            self.health.set_durable(last);
        }
        Ok(self.storage.flush()?)
    }
}

pub(crate) fn internal(error: &Error) -> Failure {
    Failure::Internal(error.chain())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::spaces::NAMES;

    #[test]
    fn the_first_failure_is_the_one_that_is_told() {
        let committer = Committer {
            storage: Arc::new(Storage::in_memory(&NAMES)),
            batches: Arc::default(),
            log: None,
            health: Arc::default(),
            durability: Durability::None,
            late_syncs: None,
            unsynced_since: None,
            checkpoints: channel().0,
            checkpoint_asked: Position(0),
            watches: Arc::default(),
            states: IndexStates::default(),
            tallies: Tallies::default(),
            purged: BTreeMap::new(),
            committed: Arc::new(Committed::new(Position(0), Position(0), false)),
            is_following: false,
            authority: None,
            under_way: UnderWay::default(),
            pending: VecDeque::new(),
            multi: None,
            pruned: None,
            is_refusing: false,
            broken: None,
        };
        let (commands, waiting) = channel();
        let (answer, answers) = channel();
        for cause in ["first", "second"] {
            let error = Error::Damaged(cause.to_owned());
            commands.send(Command::NotSaved(error)).unwrap();
        }
        let reply = Box::new(move |result| answer.send(result).unwrap());
        commands
            .send(Command::Catalogue(Vec::new(), reply))
            .unwrap();
        drop(commands);
        committer.run(&waiting);
        let Err(Failure::Unavailable(text)) = answers.recv().unwrap() else {
            panic!("a write was taken");
        };
        assert!(text.contains("first") && !text.contains("second"), "{text}");
    }
}
