//! The committer: the one writer of the state, as a pipeline of steps.
//!
//! ```text
//!   commands -> decide each over one overlay -> append their records to the log (durable)
//!            -> the log says that they are committed -> one batch into the state
//!            -> publish counters and LSNs -> answer all
//! ```
//!
//! A step never waits for a command or for another region: [`Committer::step`] does the possible
//! work and returns the time until its next work. The commit thread calls steps in a loop. While the
//! thread syncs a group, the next commands gather in the channel: this is the group commit, and the
//! group commit needs no timer.
//!
//! The state changes only after the log has made the records durable and committed. So readers see
//! no record that a crash could remove, and a failed append leaves the state unchanged. In the log of
//! one store a durable record is committed. In a replicated log, groups wait in flight
//! ([`crate::in_flight_groups`]), and the commit thread decides the next groups over them.
//!
//! After a failed append, sync or batch the committer refuses every later write. Reads do not use
//! the commit thread, so reads continue.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_log::{AppendError, CommitLog, CommitStatus, MemoryLog, Position};
use orrery_model::Failure;
use orrery_storage::Storage;

use crate::Error;
use crate::command::{Command, Event, Reply, not_begun, unavailable, uncommitted_failure};
use crate::counters::{APPLIED_KEY, counters_key};
use crate::group::CommitGroup;
use crate::health::Health;
use crate::in_flight_groups::{GroupDecision, InFlightGroups};
use crate::index_state::IndexStateCache;
use crate::keyspaces::META;
use crate::log_tail::{LogRecord, LogTail, ReplicationSlot};
use crate::multi_write::{MultiWriteRegion, VersionIdAllocator, put_progress};
use crate::note::NOTE_KEY;
use crate::overlay::{Base, Overlay};
use crate::planner_facts::BatchCounter;
use crate::purge::PurgeCursor;
use crate::record::{Record, Records};
use crate::replay::applied_row;
use crate::statistics::StatisticsCache;
use crate::watches::Watches;
use crate::write::Write;

/// A group is closed at this many commands or bytes, so that the first does not wait for the last.
pub(crate) const GROUP_COMMANDS_MAX: usize = 1024;
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The pause before the committer asks a busy log again.
const BUSY_PAUSE: Duration = Duration::from_millis(1);
/// How long a decided group waits for a busy log.
const BUSY_PATIENCE: Duration = Duration::from_secs(5);

/// The next action of the commit thread after a step.
pub(crate) enum Step {
    /// Another step has work to do.
    Next,
    /// No step has work to do until a command arrives or this time has passed.
    Wait(Option<Duration>),
    /// The store closes; the reply gets the result of [`Committer::close`].
    Stop(Reply<Result<(), Error>>),
}

/// A decided group whose append the log has put off.
pub(crate) struct UnappendedGroup {
    decision: GroupDecision,
    has_notes: bool,
    since: Instant,
}

pub(crate) struct Committer {
    pub(crate) storage: Arc<Storage>,
    pub(crate) batches: Arc<BatchCounter>,
    pub(crate) log: Box<dyn CommitLog>,
    pub(crate) health: Arc<Health>,
    /// Receives the positions whose state should be saved.
    pub(crate) checkpoints: Sender<Position>,
    pub(crate) checkpoint_asked: Position,
    pub(crate) watches: Arc<Watches>,
    /// How the documents of each container are indexed.
    pub(crate) states: IndexStateCache,
    pub(crate) statistics: StatisticsCache,
    /// Containers that are being removed.
    pub(crate) purge_cursors: BTreeMap<u32, PurgeCursor>,
    /// The end of the log as readers of the log see it.
    pub(crate) log_tail: Arc<LogTail>,
    /// Whether this store takes records of another store and refuses transactions.
    pub(crate) is_following: bool,
    /// A decided group that a busy log has not appended yet. No other group may pass this group,
    /// because later groups would be decided over its changes.
    pub(crate) unappended: Option<UnappendedGroup>,
    /// Groups in the log that are not committed yet.
    pub(crate) in_flight: InFlightGroups,
    /// Whether the next command is decided only when no group is in flight.
    pub(crate) must_drain: bool,
    /// Records that are durable and not in the state, and that no client waits for.
    pub(crate) uncommitted: VecDeque<LogRecord>,
    /// Set in a region of a multi-write account.
    pub(crate) multi: Option<Arc<MultiWriteRegion>>,
    /// How far the pruning of versions has come.
    pub(crate) prune_cursor: Option<Bytes>,
    /// The time since which records of another store wait for room on the disk.
    pub(crate) no_room_since: Option<Instant>,
    /// Whether the log refused the last write before any byte of that write was in the log.
    pub(crate) is_refusing: bool,
    pub(crate) read_only_cause: Option<String>,
}

/// Fills the queue with commands that have arrived. Those that arrived during the last sync form the
/// next group.
pub(crate) fn receive(commands: &Receiver<Command>, queue: &mut VecDeque<Command>) {
    while queue.len() < GROUP_COMMANDS_MAX
        && let Ok(command) = commands.try_recv()
    {
        queue.push_back(command);
    }
}

impl Committer {
    /// Calls steps until [`Store::close`](crate::Store::close) or until every sender is dropped.
    pub(crate) fn run(mut self, commands: &Receiver<Command>) {
        let mut queue = VecDeque::new();
        loop {
            receive(commands, &mut queue);
            let received = match self.step(&mut queue, Instant::now()) {
                Step::Next => continue,
                Step::Stop(reply) => {
                    reply(self.close());
                    return;
                }
                Step::Wait(None) => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Step::Wait(Some(patience)) => commands.recv_timeout(patience),
            };
            match received {
                Ok(command) => queue.push_back(command),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Does what can be done now: applies committed groups, then decides and appends one group of
    /// the queued commands.
    pub(crate) fn step(&mut self, queue: &mut VecDeque<Command>, now: Instant) -> Step {
        let until_sync = self.tick(now);
        self.apply_committed_groups();
        if let Some(group) = self.unappended.take() {
            self.append_again(group, now);
        }
        if self.unappended.is_some() {
            if !queue.iter().any(Command::ends_groups) {
                return Step::Wait(Some(BUSY_PAUSE));
            }
            // This store ends its term as the writer, so the log never becomes ready for the group.
            self.refuse_unappended(&Failure::WriteForbidden);
        }
        if self.in_flight.is_full() || self.must_drain && !self.in_flight.is_empty() {
            if queue.iter().any(Command::ends_groups) {
                self.abandon_in_flight();
                return Step::Next;
            }
            // The commit of the groups in flight may depend on a note, for example of a new epoch.
            if self.log.has_notes() && self.append_notes(now) {
                return Step::Next;
            }
            return Step::Wait(self.in_flight.patience());
        }
        self.must_drain = false;
        if queue.is_empty() {
            return Step::Wait(
                until_sync
                    .into_iter()
                    .chain(self.in_flight.patience())
                    .min(),
            );
        }
        self.commit_group(queue, now)
    }

    /// Syncs the log if a sync is due, and returns the time until the next sync.
    fn tick(&mut self, now: Instant) -> Option<Duration> {
        let ticked = self.log.tick(now);
        self.health.set_durable(self.log.durable());
        ticked.unwrap_or_else(|error| {
            // The reply to the next write contains the cause.
            self.enter_read_only(&error.into());
            None
        })
    }

    fn sync(&mut self) -> Result<(), Error> {
        let synced = self.log.sync();
        self.health.set_durable(self.log.durable());
        synced.map_err(|error| {
            let error = error.into();
            self.enter_read_only(&error);
            error
        })
    }

    /// Executes queued commands until the group is full, a command must wait, or the queue is empty.
    fn commit_group(&mut self, queue: &mut VecDeque<Command>, now: Instant) -> Step {
        let storage = Arc::clone(&self.storage);
        let mut group = self.group(&storage);
        let mut next = Step::Next;
        while let Some(command) = queue.pop_front() {
            // The group is appended before the switch, while this store may still write.
            if command.ends_groups() {
                self.finish_group(group, now);
                self.end_in_flight();
                group = self.group(&storage);
            }
            let is_blocked = command.needs_applied_state() && !self.in_flight.is_empty();
            if is_blocked || self.unappended.is_some() {
                self.must_drain = true;
                queue.push_front(command);
                break;
            }
            let Some(command) = self.admit(command, &mut next) else {
                if matches!(next, Step::Stop(_)) {
                    break;
                }
                continue;
            };
            match command {
                Command::Items(transaction, reply) => group.items(*transaction, reply),
                Command::Write(write) if !write.is_alone() => {
                    group.must_apply = true;
                    write.decide(&mut group);
                }
                Command::Event(Event::Wake) => {
                    // A follower, or a store with uncommitted records, receives notes as records from
                    // the leader and must not append its own.
                    let takes_notes = !self.is_following && self.uncommitted.is_empty();
                    group.has_notes |= takes_notes && self.log.has_notes();
                }
                Command::Event(event) => self.take_event(event),
                Command::Sync(reply) => reply(self.sync()),
                Command::Stop(reply) => {
                    next = Step::Stop(reply);
                    break;
                }
                between => {
                    self.finish_group(group, now);
                    let waits = self.between_groups(between, now);
                    // The next group borrows the caches of the committer, so it begins only after
                    // the command has used them.
                    group = self.group(&storage);
                    if let Some((command, wait)) = waits {
                        queue.push_front(command);
                        next = wait;
                        break;
                    }
                }
            }
            if group.bytes() >= GROUP_BYTES_MAX {
                break;
            }
        }
        self.finish_group(group, now);
        next
    }

    /// Refuses a command that the present status of the store forbids; returns every other command.
    fn admit(&mut self, command: Command, next: &mut Step) -> Option<Command> {
        if let Some(cause) = &self.read_only_cause {
            if let Some(stop) = command.refuse_read_only(cause) {
                *next = Step::Stop(stop);
            }
        } else if self.is_following && command.makes_records() {
            command.refuse(&Failure::WriteForbidden);
        } else if !self.uncommitted.is_empty() && command.makes_records() {
            command.refuse(&uncommitted_failure());
        } else if !command.fits(self.health.disk_space()) {
            command.refuse(&not_begun(&self.health.no_room()));
        } else {
            return Some(command);
        }
        None
    }

    /// Executes a command between two groups, over a state that contains every earlier group. While
    /// a group is in flight, or while the disk has no room for the command, returns the command and
    /// the next step.
    fn between_groups(&mut self, command: Command, now: Instant) -> Option<(Command, Step)> {
        if self.unappended.is_some() || !self.in_flight.is_empty() {
            self.must_drain = true;
            return Some((command, Step::Next));
        }
        match command {
            Command::Write(write) => self.write_alone(write, now),
            Command::Work(work) => {
                let bytes = work.copied_bytes();
                if bytes > 0
                    && let Some(pause) = self.pause_for_room(bytes, now)
                {
                    return Some((Command::Work(work), Step::Wait(Some(pause))));
                }
                work.carry_out(self);
            }
            Command::Follow(is_following, reply) => {
                self.is_following = is_following;
                reply(());
            }
            Command::WrapLog(wrap, reply) => {
                let log = std::mem::replace(&mut self.log, Box::new(MemoryLog::default()));
                self.log = wrap(log);
                reply(());
            }
            Command::Items(..) | Command::Sync(_) | Command::Stop(_) | Command::Event(_) => {}
        }
        None
    }

    fn write_alone(&mut self, write: Write, now: Instant) {
        let storage = Arc::clone(&self.storage);
        let mut group = self.group(&storage);
        group.must_apply = true;
        write.decide(&mut group);
        self.finish_group(group, now);
    }

    fn take_event(&mut self, event: Event) {
        match event {
            Event::Wake => {}
            Event::Saved(position) => self.trim(position),
            Event::Failed(error) => {
                self.enter_read_only(&error);
            }
            Event::RetryLog => self.retry_log(),
        }
    }

    /// Begins a group. The group borrows the index cache and the in-flight overlay of the committer
    /// until [`Committer::finish_group`].
    pub(crate) fn group<'a>(&mut self, storage: &'a Storage) -> CommitGroup<'a> {
        let states = std::mem::take(&mut self.states);
        let version_ids = self.multi.as_ref().map(|multi| multi.version_ids());
        let mut overlay = Overlay::new(storage).with_versions_filter(self.multi.as_ref());
        overlay.in_flight = self.in_flight.lend();
        let mut group = CommitGroup::new(overlay, states, Arc::clone(&self.watches), version_ids)
            .in_region(self.multi.as_ref());
        // The allocator starts from the published version vector, which changes when a group is
        // applied. So a multi-write store applies each group before it decides the next one.
        group.must_apply = self.multi.is_some();
        group
    }

    /// Appends what a group has decided. A committed group is applied and answered at once; any
    /// other is in flight.
    pub(crate) fn finish_group(&mut self, group: CommitGroup<'_>, now: Instant) {
        let is_empty = group.is_empty();
        let CommitGroup {
            mut overlay,
            states,
            counter_updates,
            records,
            replies,
            has_notes,
            must_apply,
            version_ids,
            ..
        } = group;
        self.states = states;
        let progress = version_ids.and_then(VersionIdAllocator::into_version_vector);
        if let Some(progress) = &progress {
            put_progress(&mut overlay, progress);
        }
        for ((container, range), (_, counters)) in &counter_updates {
            let key = counters_key(*container, *range);
            overlay.put(META, Bytes::copy_from_slice(&key), counters.encode());
        }
        let (in_flight, changes) = overlay.detach();
        self.in_flight.give_back(in_flight);
        self.must_drain |= must_apply;
        if is_empty {
            return;
        }
        let decision = GroupDecision {
            changes,
            counter_updates,
            records,
            progress,
            replies,
        };
        self.append_decided(decision, has_notes, now, now);
        self.ask_for_checkpoint();
    }

    fn append_again(&mut self, group: UnappendedGroup, now: Instant) {
        let UnappendedGroup {
            decision,
            has_notes,
            since,
        } = group;
        self.append_decided(decision, has_notes, since, now);
    }

    /// Appends the records of a group that was decided at `since`.
    fn append_decided(
        &mut self,
        mut decision: GroupDecision,
        has_notes: bool,
        since: Instant,
        now: Instant,
    ) {
        let before = self.last();
        if decision.records.is_empty() && !has_notes {
            return self.finish_appended(before, None, Vec::new(), decision);
        }
        if !self.uncommitted.is_empty() {
            // Uncommitted records precede this group, and the group was decided without their changes.
            return self.refuse_decided(decision, &uncommitted_failure());
        }
        let appended = self.log.append(&Records(&decision.records));
        self.health.set_durable(self.log.durable());
        let appended = match appended {
            // After the patience the client gets a timeout: no byte of the group is in the log.
            Err(AppendError::Busy) if now.saturating_duration_since(since) < BUSY_PATIENCE => {
                self.unappended = Some(UnappendedGroup {
                    decision,
                    has_notes,
                    since,
                });
                return;
            }
            Err(error) => {
                let failure = self.append_failure(error);
                return self.refuse_decided(decision, &failure);
            }
            Ok(appended) => appended,
        };
        self.note_log_accepts();
        if appended.last == before {
            return self.finish_appended(before, None, Vec::new(), decision);
        }
        // The applied position is in the batch of the group, so a restart replays exactly the records
        // after the state.
        let changes = &mut decision.changes;
        if let Some(note) = appended.note {
            changes.put(META, NOTE_KEY.into(), note);
        }
        changes.put(META, APPLIED_KEY.into(), applied_row(appended.last));
        let payloads = appended.payloads.unwrap_or_else(|| {
            if self.log_tail.is_followed() {
                decision.records.iter().map(Record::payload).collect()
            } else {
                Vec::new()
            }
        });
        self.log_tail.append(appended.last, payloads.clone());
        self.log.on_readable(appended.last);
        self.finish_appended(before, Some(appended.last), payloads, decision);
    }

    fn finish_appended(
        &mut self,
        before: Position,
        last: Option<Position>,
        payloads: Vec<Bytes>,
        decision: GroupDecision,
    ) {
        let is_committed =
            last.is_none_or(|last| self.log.commit_status(last) == CommitStatus::Committed);
        // A group without records may have read the changes of groups in flight, so its reply comes
        // after these groups as well.
        if is_committed && self.in_flight.is_empty() {
            self.apply_group(last, decision);
        } else {
            self.in_flight.push(before, last, payloads, decision);
        }
    }

    fn append_failure(&mut self, error: AppendError) -> Failure {
        match error {
            AppendError::Busy => Failure::Timeout,
            AppendError::NotOwner => Failure::WriteForbidden,
            AppendError::Throttled { retry_after_ms } => {
                Failure::TooManyRequests { retry_after_ms }
            }
            AppendError::Log(error) => self.log_failure(error),
        }
    }

    /// Answers a group that is not in the log.
    fn refuse_decided(&mut self, decision: GroupDecision, failure: &Failure) {
        // The index cache contains the effects of the refused records.
        self.states = IndexStateCache::default();
        decision.answer(Some(failure));
    }

    fn refuse_unappended(&mut self, failure: &Failure) {
        if let Some(group) = self.unappended.take() {
            self.refuse_decided(group.decision, failure);
        }
    }

    /// Appends the notes of the log although no command makes records. Returns whether anything was
    /// appended.
    fn append_notes(&mut self, now: Instant) -> bool {
        let before = self.last();
        let storage = Arc::clone(&self.storage);
        let mut group = self.group(&storage);
        group.has_notes = true;
        self.finish_group(group, now);
        self.last() > before
    }

    /// Writes the changes of a committed group to the state and answers its clients. The reply comes
    /// last: a client with a reply reads its own write on every connection to this store.
    pub(crate) fn apply_group(&mut self, last: Option<Position>, decision: GroupDecision) {
        let GroupDecision {
            changes,
            counter_updates,
            records,
            progress,
            replies,
        } = decision;
        let storage = Arc::clone(&self.storage);
        let written = changes
            .into_batch(&Base::State(&storage), &mut self.statistics)
            .and_then(|batch| Ok(self.batches.write(|| storage.write(batch))?));
        if let Err(error) = written {
            let failure = self.enter_read_only(&error);
            for reply in replies {
                reply(Some(failure.clone()));
            }
            return;
        }
        if let Some(last) = last {
            self.log_tail.apply(last);
        }
        for (partition, counters) in counter_updates.values() {
            partition.publish(*counters);
        }
        for record in &records {
            self.watches.mark(record.item_changes());
        }
        if let (Some(multi), Some(progress)) = (&self.multi, progress) {
            multi.publish(progress);
        }
        if !records.is_empty() {
            self.log.on_applied(self.log_tail.applied());
        }
        for reply in replies {
            reply(None);
        }
    }

    /// The last record in the log.
    pub(crate) fn last(&self) -> Position {
        self.log_tail.last()
    }

    /// Refuses every later write. Only the first cause is stored: later errors follow from it.
    pub(crate) fn enter_read_only(&mut self, error: &Error) -> Failure {
        let first = self.read_only_cause.get_or_insert_with(|| {
            let cause = error.chain();
            tracing::error!(%cause, "writes are refused until the server is started again");
            cause
        });
        self.log_tail.fail(first);
        unavailable(first)
    }

    /// Requests a checkpoint after a log segment has become full: the log can reuse the segment only
    /// after the state contains its records durably.
    pub(crate) fn ask_for_checkpoint(&mut self) {
        if self.log.sealed() > Some(self.checkpoint_asked) {
            self.checkpoint_asked = self.log.last();
            // The checkpoint thread ends only when the store closes.
            let _ = self.checkpoints.send(self.log_tail.applied());
        }
    }

    /// Trims the log after a checkpoint. Records stay while a replication slot needs them: a slot
    /// beyond its byte limit no longer counts, a pinned slot always counts.
    fn trim(&mut self, saved: Position) {
        let slots = self.log_tail.slots();
        let log = &mut self.log;
        let affordable =
            |slot: &&ReplicationSlot| log.bytes_since(slot.acknowledged) <= slot.bytes_max;
        let wanted = slots.iter().filter(affordable);
        let wanted = wanted.map(|slot| slot.acknowledged);
        let needed = wanted
            .chain(slots.iter().filter_map(|slot| slot.pinned))
            .min();
        let upto = needed.map_or(saved, |needed| needed.min(saved));
        match log.trim(upto) {
            Ok(()) => {}
            // The next checkpoint trims again.
            Err(error @ orrery_log::Error::NotWritten { .. }) => {
                let cause = error.chain();
                tracing::warn!(%cause, "a segment of the log could not be taken back yet");
            }
            Err(error) => {
                self.enter_read_only(&error.into());
            }
        }
    }

    pub(crate) fn close(self) -> Result<(), Error> {
        let last = self.log.close()?;
        self.health.set_durable(last);
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
    use crate::keyspaces::NAMES;

    #[test]
    fn the_first_failure_is_the_one_that_is_reported() {
        let committer = Committer {
            storage: Arc::new(Storage::in_memory(&NAMES)),
            batches: Arc::default(),
            log: Box::new(MemoryLog::default()),
            health: Arc::default(),
            checkpoints: channel().0,
            checkpoint_asked: Position(0),
            watches: Arc::default(),
            states: IndexStateCache::default(),
            statistics: StatisticsCache::default(),
            purge_cursors: BTreeMap::new(),
            log_tail: Arc::new(LogTail::new(Position(0), Position(0), false)),
            is_following: false,
            unappended: None,
            must_drain: false,
            no_room_since: None,
            in_flight: InFlightGroups::default(),
            uncommitted: VecDeque::new(),
            multi: None,
            prune_cursor: None,
            is_refusing: false,
            read_only_cause: None,
        };
        let (commands, waiting) = channel();
        let (answer, answers) = channel();
        for cause in ["first", "second"] {
            let error = Error::Damaged(cause.to_owned());
            commands.send(Command::Event(Event::Failed(error))).unwrap();
        }
        let reply = Box::new(move |result| answer.send(result).unwrap());
        commands
            .send(Command::Write(Write::Catalogue(Vec::new(), reply)))
            .unwrap();
        drop(commands);
        committer.run(&waiting);
        let Err(Failure::Unavailable(text)) = answers.recv().unwrap() else {
            panic!("a write was taken");
        };
        assert!(text.contains("first") && !text.contains("second"), "{text}");
    }
}
