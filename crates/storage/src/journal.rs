//! Syncs what the engine has written to its journal, a step at a time and in the background.
//!
//! The engine never syncs its journal with a batch, but it does when it writes a memtable out and
//! when somebody asks for it, and no batch gets in meanwhile. Everything since the last time then
//! goes to the disk at once: at some thousand writes a second that is tens of megabytes, and tens of
//! milliseconds in which nothing is committed. So most of it is taken away before ([`crate::ahead`]),
//! while batches go on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use crate::ahead::sync_newest;

/// Of the journals in the directory of the engine.
pub(crate) const EXTENSION: &str = "jnl";
/// Takes a disk about a millisecond.
const STEP_BYTES: u64 = 1024 * 1024;

pub(crate) struct JournalSyncs {
    directory: PathBuf,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// Bytes that were written since the last sync began.
    written: AtomicU64,
    is_over: AtomicBool,
}

impl JournalSyncs {
    /// Of the engine in this directory.
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

    /// Leaves little of the journal to whoever syncs it next.
    pub(crate) fn sync(&self) {
        sync_newest(&self.directory, EXTENSION);
    }

    /// The journal has grown by about so much.
    pub(crate) fn written(&self, bytes: u64) {
        let before = self.shared.written.fetch_add(bytes, Ordering::Relaxed);
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
            // It holds nothing that anybody waits for.
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
        shared.written.store(0, Ordering::Relaxed);
        // The engine has synced those before it.
        sync_newest(directory, EXTENSION);
    }
}

#[cfg(test)]
mod tests {
    use fjall::{Database, KeyspaceCreateOptions};

    use super::*;
    use crate::ahead::newest;

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
