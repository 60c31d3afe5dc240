//! The threads of a store: the commit thread calls steps of the committer, the checkpoint thread
//! saves the state, and the thread of deferred syncs syncs copies of records.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

use orrery_log::{DeferredSyncs, Disk, Position};
use orrery_storage::Storage;

use crate::command::{Command, Event};
use crate::committer::Committer;
use crate::log_tail::LogTail;
use crate::{Error, OnPanic};

/// Threads that are joined when the store is dropped.
pub(crate) struct Threads(pub(crate) Vec<JoinHandle<()>>);

impl Drop for Threads {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // A panicked thread has reported its panic before its end, so the result is ignored.
            let _ = thread.join();
        }
    }
}

pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .expect("the operating system gives a thread at start")
}

pub(crate) fn spawn_committer(
    committer: Committer,
    commands: Receiver<Command>,
    log_tail: Arc<LogTail>,
    on_panic: OnPanic,
) -> JoinHandle<()> {
    spawn("orrery-commit", move || {
        let ran = catch_unwind(AssertUnwindSafe(|| committer.run(&commands)));
        if let Err(panic) = ran {
            let cause = panic_text("commit", &*panic);
            log_tail.fail(&cause);
            on_panic.act(&cause);
            refuse_all(&commands, &cause);
        }
    })
}

pub(crate) fn spawn_checkpoint(
    storage: Arc<Storage>,
    positions: Receiver<Position>,
    commands: Weak<Sender<Command>>,
    on_panic: OnPanic,
) -> JoinHandle<()> {
    spawn("orrery-checkpoint", move || {
        let run = || checkpoint(&storage, &positions, &commands);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            let cause = panic_text("checkpoint", &*panic);
            on_panic.act(&cause);
            tell(&commands, Event::Failed(Error::ReadOnly(cause)));
        }
    })
}

/// Starts the thread that syncs copies of other regions' records.
pub(crate) fn spawn_deferred_syncs(
    syncs: DeferredSyncs,
    disk: Arc<dyn Disk>,
    commands: Weak<Sender<Command>>,
) -> JoinHandle<()> {
    spawn("orrery-late-sync", move || {
        syncs.run(&disk, |synced| {
            let event = match synced {
                // The committer reads the durable position again.
                Ok(()) => Event::Wake,
                Err(error) => Event::Failed(error.into()),
            };
            tell(&commands, event);
        });
    })
}

/// Saves the state whenever asked, and tells the committer that the log may forget it.
fn checkpoint(storage: &Storage, positions: &Receiver<Position>, commands: &Weak<Sender<Command>>) {
    while let Ok(mut position) = positions.recv() {
        while let Ok(later) = positions.try_recv() {
            position = later;
        }
        let event = match storage.persist() {
            Ok(()) => Event::Saved(position),
            Err(error) => Event::Failed(error.into()),
        };
        if !tell(commands, event) {
            return;
        }
    }
}

/// Returns false if the store is closing; a store that is closing saves its state itself.
fn tell(commands: &Weak<Sender<Command>>, event: Event) -> bool {
    let sent = commands
        .upgrade()
        .map(|commands| commands.send(Command::Event(event)));
    matches!(sent, Some(Ok(())))
}

/// The message for the owner of the store after a thread has panicked.
fn panic_text(thread: &str, panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!(
        "the {thread} thread of the store panicked: {}",
        text.unwrap_or("no message")
    )
}

/// Refuses every later command, because the committer has panicked and carries out none.
fn refuse_all(commands: &Receiver<Command>, cause: &str) {
    while let Ok(command) = commands.recv() {
        command.refuse_read_only(cause);
    }
}
