//! Replication between stores: sending records to a follower and receiving records from a leader.

use std::sync::Arc;

use orrery_log::{Cursor, Position};

use crate::command::{Command, Event, LogWrapper};
use crate::log_tail::LogRecord;
use crate::uncommitted::StorePositions;
use crate::work::Work;
use crate::{CommitObserver, Error, ReplicationError, Reply, SnapshotStream, Store, Subscription};

impl Store {
    /// The last record that the state contains.
    pub fn applied(&self) -> Position {
        self.log_tail.applied()
    }

    /// The last appended record: durable, or with [`crate::ApplyAfter::Written`] durable soon. The
    /// state may be behind this position where other regions must have records before readers.
    pub fn appended(&self) -> Position {
        self.log_tail.last()
    }

    /// The failure that stopped the store, if any. It stays until the store is opened again.
    pub fn problem(&self) -> Option<&str> {
        self.log_tail.problem()
    }

    /// Puts another log around the log of this store, for example one that other regions must agree
    /// on.
    pub fn submit_wrap_log(&self, wrap: LogWrapper, reply: Reply<()>) {
        self.send(Command::WrapLog(wrap, reply));
    }

    /// Lets the committer append the notes of its log, and ask the log which groups are committed.
    pub fn wake_log(&self) {
        self.send(Command::Event(Event::Wake));
    }

    /// Makes all records durable that were written before this call.
    pub fn submit_sync(&self, reply: Reply<Result<(), Error>>) {
        self.send(Command::Sync(reply));
    }

    /// Queues records of the leader. The committer appends them, and applies records to the state
    /// only up to `apply_upto`. The reply contains the appended and the applied position.
    pub fn submit_replicated(
        &self,
        records: Vec<LogRecord>,
        apply_upto: Position,
        observer: Arc<dyn CommitObserver>,
        reply: Reply<Result<StorePositions, ReplicationError>>,
    ) {
        self.send(Command::Work(Work::Replicate {
            records,
            apply_upto,
            observer,
            reply,
        }));
    }

    /// Starts sending records to a follower that has the records up to `after`. Unacknowledged
    /// records are retained up to `kept_bytes_max` bytes: in the log, or in memory if the store has
    /// no log.
    pub fn subscribe(&self, after: Position, kept_bytes_max: u64) -> Subscription {
        let location = self.log_location.as_ref();
        let cursor = location.map(|(disk, directory)| Cursor::new(Arc::clone(disk), directory));
        Subscription::new(Arc::clone(&self.log_tail), cursor, after, kept_bytes_max)
    }

    /// Switches the store between leading and following. Transactions that were queued before the
    /// switch complete first; a following store rejects later ones.
    pub fn submit_follow(&self, is_following: bool, reply: Reply<()>) {
        self.send(Command::Follow(is_following, reply));
    }

    /// A snapshot of the whole state, for a store that will follow this one.
    pub fn snapshot_stream(&self) -> Result<SnapshotStream, Error> {
        SnapshotStream::new(self.storage.snapshot())
    }
}
