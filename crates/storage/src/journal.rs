//! Syncs the journal of the engine in small steps on a background thread.
//!
//! The engine does not sync its journal with every batch. It syncs the journal when it writes a
//! memtable out and when a caller asks for durability, and it accepts no batch during that sync.
//! Everything since the previous sync then goes to the disk at once: at some thousand writes a
//! second that is tens of megabytes, and commits stall for tens of milliseconds. This thread syncs
//! most of those bytes early ([`crate::early_sync`]) while the engine accepts batches.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use crate::early_sync::sync_newest;

/// File extension of the journals in the directory of the engine.
pub(crate) const EXTENSION: &str = "jnl";
/// Bytes between two early syncs. A disk writes this much in about a millisecond.
const STEP_BYTES: u64 = 1024 * 1024;

pub(crate) struct JournalSyncs {
    directory: PathBuf,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// Bytes that the engine has written to the journal since the last early sync began.
    written: AtomicU64,
    is_over: AtomicBool,
}

impl JournalSyncs {
    /// Starts the thread for the engine in this directory.
    pub(crate) fn start(directory: &Path) -> io::Result<JournalSyncs> {
        let shared = Arc::<Shared>::default();
        let told = Arc::clone(&shared);
        let directory = directory.to_owned();
        let watched = directory.clone();
        let builder = thread::Builder::new().name("orrery-journal".to_owned());
        let thread = builder.spawn(move || run(&watched, &told))?;
        Ok(JournalSyncs {
            directory,
            shared,
            thread: Some(thread),
        })
    }

    /// Syncs the newest journal now, so that the engine's own sync finds few dirty bytes.
    pub(crate) fn sync(&self) {
        sync_newest(&self.directory, EXTENSION);
    }

    /// Counts about `bytes` more in the journal, and wakes the thread once the count reaches
    /// `STEP_BYTES`.
    pub(crate) fn written(&self, bytes: u64) {
        let before = self.shared.written.fetch_add(bytes, Ordering::Relaxed);
        // Only the writer that crosses the threshold wakes the thread; the other writers pay no
        // system call.
        if before < STEP_BYTES
            && before + bytes >= STEP_BYTES
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
    }
}

impl Drop for JournalSyncs {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The join cannot deadlock: the thread holds no lock while it syncs. A panic of the
            // thread loses only early syncs, which carry no guarantee.
            let _ = thread.join();
        }
    }
}

fn run(directory: &Path, shared: &Shared) {
    while !shared.is_over.load(Ordering::Acquire) {
        if shared.written.load(Ordering::Relaxed) < STEP_BYTES {
            thread::park();
            continue;
        }
        // The counter is cleared before the sync. Bytes written during the sync may or may not be
        // part of it, so they must count towards the next step.
        shared.written.store(0, Ordering::Relaxed);
        // Older journals are already durable: the engine syncs a journal before it starts the next
        // one.
        sync_newest(directory, EXTENSION);
    }
}

#[cfg(test)]
mod tests {
    use fjall::{Database, KeyspaceCreateOptions};

    use super::*;
    use crate::early_sync::newest;

    #[test]
    fn the_journal_of_the_engine_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::builder(directory.path()).open().unwrap();
        let keyspace = database.keyspace("a", KeyspaceCreateOptions::default);
        keyspace.unwrap().insert("k", "v").unwrap();
        assert!(newest(directory.path(), EXTENSION).unwrap().is_some());
    }

    #[test]
    fn a_step_is_synced_and_less_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let syncs = JournalSyncs::start(directory.path()).unwrap();
        let left = || syncs.shared.written.load(Ordering::Relaxed);
        syncs.written(STEP_BYTES - 1);
        syncs.written(1);
        while left() >= STEP_BYTES {
            thread::yield_now();
        }
        syncs.written(7);
        assert_eq!(left(), 7);
    }
}
