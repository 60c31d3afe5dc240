//! The one thread that changes the state.
//!
//! ```text
//! waiting commands -> decide each over one overlay -> append their records -> one sync
//!                  -> one batch into the state -> publish LSNs -> answer all
//! ```
//!
//! While a group is being synced the next one gathers: that is the group commit, and no timer is
//! needed for it. The state changes only after the sync, so nobody reads what could be lost, and a
//! log that fails leaves the state as it was. After a failed append, sync or batch the committer
//! refuses every later write; reads do not pass through it and go on.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use bytes::Bytes;
use orrery_log::{Durability, Log, Position};
use orrery_model::{Failure, OperationOutcome, Stamp};
use orrery_storage::{Batch, Storage};

use crate::counters::{APPLIED_KEY, counters_key};
use crate::expiry::Due;
use crate::group::{Group, Touched};
use crate::overlay::Overlay;
use crate::record::{Change, Record};
use crate::scan::ScanRange;
use crate::spaces::{DOCUMENTS, META, UNIQUE};
use crate::{Container, Error, ItemTransaction};

/// A group is closed at this many commands or bytes, so that the first does not wait for the last.
const GROUP_COMMANDS_MAX: usize = 1024;
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Keys that the removal of a dropped container takes in one step between other work.
const PURGE_KEYS: usize = 2_000;

/// Receives the answer on the committer's thread; it must not block.
pub type Reply<T> = Box<dyn FnOnce(T) + Send>;

/// How a transaction ended: a result for each operation, in order.
#[derive(Debug)]
pub struct TransactionOutcome {
    pub results: Vec<Result<OperationOutcome, Failure>>,
    pub stamp: Stamp,
}

pub(crate) enum Command {
    Items(Box<ItemTransaction>, Reply<TransactionOutcome>),
    Catalogue(Vec<Change>, Reply<Result<(), Failure>>),
    /// Documents that may have expired: removes those that have, moves the entries of the others.
    Expire {
        /// None if the container is gone and only entries are left.
        container: Option<Arc<Container>>,
        due: Vec<Due>,
        now_seconds: u64,
        reply: Reply<Result<(), Failure>>,
    },
    /// Removes some of what a deleted container left; tells whether more is left.
    Purge {
        container: u32,
        reply: Reply<Result<bool, Failure>>,
    },
    /// The state up to this position is safe on disk.
    Saved(Position),
    Stop(Reply<Result<(), Error>>),
}

pub(crate) struct Committer {
    pub(crate) storage: Arc<Storage>,
    /// None keeps everything in memory.
    pub(crate) log: Option<Log>,
    pub(crate) durability: Durability,
    /// Where positions go whose state should be saved.
    pub(crate) checkpoints: Sender<Position>,
    pub(crate) checkpoint_asked: Position,
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
                if let Some(stop) = self.commit_group(&mut waiting) {
                    stop(self.close());
                    return;
                }
            }
        }
    }

    /// The next command; with interval durability, syncs whenever none comes for that long.
    fn wait(&mut self, commands: &Receiver<Command>) -> Option<Command> {
        let Durability::Interval(interval) = self.durability else {
            return commands.recv().ok();
        };
        let mut dirty = true;
        loop {
            let patience = if dirty {
                interval
            } else {
                Duration::from_secs(3600)
            };
            match commands.recv_timeout(patience) {
                Ok(command) => return Some(command),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(log) = &mut self.log
                        && let Err(error) = log.sync()
                    {
                        self.break_down(&error.into());
                    }
                    dirty = false;
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Carries out commands until the group is full or one must be alone. Gives the reply of `Stop`.
    fn commit_group(
        &mut self,
        waiting: &mut std::iter::Peekable<std::vec::IntoIter<Command>>,
    ) -> Option<Reply<Result<(), Error>>> {
        let storage = Arc::clone(&self.storage);
        let mut group = Group::new(&storage);
        let mut stop = None;
        for command in waiting.by_ref() {
            if let Some(cause) = &self.broken {
                stop = refuse(command, cause);
            } else {
                match command {
                    Command::Items(transaction, reply) => group.items(*transaction, reply),
                    Command::Catalogue(changes, reply) => group.catalogue(changes, reply),
                    Command::Expire {
                        container,
                        due,
                        now_seconds,
                        reply,
                    } => {
                        group.expire(container.as_ref(), &due, now_seconds, reply);
                    }
                    Command::Purge { container, reply } => reply(self.purge(container)),
                    Command::Saved(position) => self.trim(position),
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

    /// Makes a group durable, then visible, then answers it.
    fn finish_group(&mut self, group: Group<'_>) {
        let Group {
            overlay,
            touched,
            records,
            replies,
            ..
        } = group;
        let failure = match self.persist(&records, overlay, &touched) {
            Ok(()) => {
                for (partition, counters) in touched.values() {
                    partition.publish(*counters);
                }
                None
            }
            Err(error) => Some(self.break_down(&error)),
        };
        for reply in replies {
            reply(failure.clone());
        }
        self.ask_for_checkpoint();
    }

    fn persist(
        &mut self,
        records: &[Record],
        mut overlay: Overlay<'_>,
        touched: &Touched,
    ) -> Result<(), Error> {
        if let Some(log) = &mut self.log
            && !records.is_empty()
        {
            for record in records {
                log.append_with(|buffer| record.encode(buffer));
            }
            let position = log.commit()?;
            overlay.put(
                META,
                APPLIED_KEY.into(),
                Bytes::copy_from_slice(&position.0.to_le_bytes()),
            );
        }
        for ((container, range), (_, counters)) in touched {
            let key = counters_key(*container, *range);
            overlay.put(META, Bytes::copy_from_slice(&key), counters.encode());
        }
        Ok(self.storage.write(overlay.into_batch())?)
    }

    /// From here on this node only reads.
    fn break_down(&mut self, error: &Error) -> Failure {
        let cause = error.chain();
        tracing::error!(%cause, "writes are refused until the server is started again");
        let failure = unavailable(&cause);
        self.broken.get_or_insert(cause);
        failure
    }

    /// When a segment of the log is full, the state behind it should be saved so that the segment
    /// can be used again.
    fn ask_for_checkpoint(&mut self) {
        if let Some(sealed) = self.log.as_ref().and_then(Log::sealed)
            && sealed > self.checkpoint_asked
            && let Some(log) = &self.log
        {
            self.checkpoint_asked = log.last();
            // A checkpointer that is gone means the store is closing.
            let _ = self.checkpoints.send(log.last());
        }
    }

    fn trim(&mut self, saved: Position) {
        if let Some(log) = &mut self.log
            && let Err(error) = log.trim(saved)
        {
            self.break_down(&error.into());
        }
    }

    fn purge(&mut self, container: u32) -> Result<bool, Failure> {
        let range = ScanRange::of_container(container);
        let (from, to) = range.bounds();
        let snapshot = self.storage.snapshot();
        let mut batch = Batch::default();
        for space in [DOCUMENTS, UNIQUE] {
            for entry in snapshot.range(space, from, to).take(PURGE_KEYS) {
                let (key, _) = entry.map_err(|error| internal(&error.into()))?;
                batch.delete(space, key);
            }
        }
        let more = !batch.is_empty();
        match self.storage.write(batch) {
            Ok(()) => Ok(more),
            Err(error) => Err(self.break_down(&error.into())),
        }
    }

    fn close(self) -> Result<(), Error> {
        if let Some(log) = self.log {
            log.close()?;
        }
        Ok(self.storage.flush()?)
    }
}

/// Answers a command on a node that only reads.
fn refuse(command: Command, cause: &str) -> Option<Reply<Result<(), Error>>> {
    match command {
        Command::Items(transaction, reply) => {
            let count = transaction.operations.len();
            let results = (0..count).map(|_| Err(unavailable(cause))).collect();
            reply(TransactionOutcome {
                results,
                stamp: transaction.partition.stamp(),
            });
        }
        Command::Catalogue(_, reply) | Command::Expire { reply, .. } => {
            reply(Err(unavailable(cause)));
        }
        Command::Purge { reply, .. } => reply(Err(unavailable(cause))),
        Command::Saved(_) => {}
        Command::Stop(reply) => {
            reply(Err(Error::ReadOnly(cause.to_owned())));
            return Some(Box::new(|_| ()));
        }
    }
    None
}

fn unavailable(cause: &str) -> Failure {
    Failure::Unavailable(format!(
        "Service is currently unavailable for writes because the storage below it failed ({cause}). Reads \
         continue. Correct the cause and start the server again."
    ))
}

pub(crate) fn internal(error: &Error) -> Failure {
    Failure::Internal(error.chain())
}
