//! A store without threads: its caller takes every step, and says what time it is.
//!
//! A simulation opens a store this way over a state in memory and a simulated disk. The order of
//! commands, commits, checkpoints and crashes then follows from the choices of the simulation alone.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use orrery_log::{Disk, Log, LogOptions, Position};
use orrery_storage::{Snapshot, Storage};

use crate::command::{Command, Event};
use crate::committer::{Committer, Step, receive};
use crate::keyspaces::NAMES;
use crate::replay::{applied_position, replay};
use crate::store::StoreParts;
use crate::{Durability, Error, Store, StoreOptions};

/// The steps of a store that has no threads.
pub struct StoreSteps {
    /// `None` after the store was closed.
    committer: Option<Committer>,
    commands: Receiver<Command>,
    checkpoint_requests: Receiver<Position>,
    storage: Arc<Storage>,
    queue: VecDeque<Command>,
}

/// What a step of the committer leaves to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    /// Another step may have work.
    Worked,
    /// No step has work until a command arrives or this time has passed.
    Idle(Option<Duration>),
    /// The store is closed.
    Closed,
}

impl Store {
    /// The empty state of a store in memory.
    pub fn empty_state() -> Storage {
        Storage::in_memory(&NAMES)
    }

    /// Opens a store over the state in `storage` and the log in `log_directory` of `disk`, and starts
    /// no thread. `segment_bytes` is small where a simulation should fill many segments.
    pub fn open_in_steps(
        storage: Storage,
        disk: &Arc<dyn Disk>,
        log_directory: &Path,
        segment_bytes: u64,
        options: &StoreOptions,
    ) -> Result<(Store, StoreSteps), Error> {
        let applied = applied_position(&storage)?;
        let log_options = LogOptions {
            segment_bytes,
            durability: options.durability,
            // With durability `sync` the state is never ahead of the durable log.
            known_durable: match options.durability {
                Durability::Sync => applied,
                Durability::Interval(_) | Durability::None => Position::ZERO,
            },
        };
        let (log, _) = Log::open_after(Arc::clone(disk), log_directory, log_options, applied)?;
        replay(&storage, &log)?;
        let log = Some((log, Arc::clone(disk)));
        let log_directory = Some(log_directory.to_owned());
        let (store, parts) =
            Store::assemble(storage, log, log_directory, VecDeque::new(), options)?;
        let StoreParts {
            committer,
            commands,
            checkpoint_requests,
            ..
        } = parts;
        let steps = StoreSteps {
            committer: Some(committer),
            commands,
            checkpoint_requests,
            storage: Arc::clone(&store.storage),
            queue: VecDeque::new(),
        };
        Ok((store, steps))
    }

    /// Queues the end of the store. The reply gets the result of the step that ends the store.
    pub fn submit_close(&self, reply: crate::Reply<Result<(), Error>>) {
        self.send(Command::Stop(reply));
    }
}

impl StoreSteps {
    /// One step of the committer over the commands that have arrived.
    pub fn step(&mut self, now: Instant) -> StepOutcome {
        let Some(committer) = &mut self.committer else {
            return StepOutcome::Closed;
        };
        receive(&self.commands, &mut self.queue);
        match committer.step(&mut self.queue, now) {
            Step::Next => StepOutcome::Worked,
            Step::Wait(patience) => StepOutcome::Idle(patience),
            Step::Stop(reply) => {
                if let Some(committer) = self.committer.take() {
                    reply(committer.close());
                }
                StepOutcome::Closed
            }
        }
    }

    /// Saves the state if the committer has asked for it; returns whether it did.
    pub fn checkpoint(&mut self) -> bool {
        let Some(position) = self.checkpoint_requests.try_iter().last() else {
            return false;
        };
        let event = match self.storage.persist() {
            Ok(()) => Event::Saved(position),
            Err(error) => Event::Failed(error.into()),
        };
        self.queue.push_back(Command::Event(event));
        true
    }

    /// The state after the last step, as a crash may leave it.
    pub fn state(&self) -> Snapshot {
        self.storage.snapshot()
    }

    /// Lets the committer try again what a full disk has refused.
    pub fn retry_log(&mut self) {
        self.queue.push_back(Command::Event(Event::RetryLog));
    }
}
