//! Both ends of one store following another: giving records out, and taking them.

use std::sync::Arc;

use orrery_log::{Cursor, Position};

use crate::command::Command;
use crate::committed::CommittedRecord;
use crate::pending::Reached;
use crate::{
    Authority, Error, ReplicationError, Reply, SnapshotStream, Store, Subscription, Witness,
};

impl Store {
    /// The last record that the state has.
    pub fn committed(&self) -> Position {
        self.committed.applied()
    }

    /// The last record that is kept: durable, or with [`crate::Seen::Written`] about to be. The state may be
    /// behind it where an [`Authority`] decides.
    pub fn kept(&self) -> Position {
        self.committed.last()
    }

    /// Why it takes no more records, if something failed. It stays so until it is opened again.
    pub fn problem(&self) -> Option<&str> {
        self.committed.problem()
    }

    /// From now on this is asked before records are appended and before they are applied.
    pub fn submit_authority(&self, authority: Arc<dyn Authority>, reply: Reply<()>) {
        self.send(Command::Authority(authority, reply));
    }

    /// Lets the committer ask its authority for notes although nobody writes.
    pub fn submit_notes(&self) {
        self.send(Command::Notes);
    }

    /// Lets the committer look whether others have what is under way.
    pub fn submit_look(&self) {
        self.send(Command::Look);
    }

    /// Makes everything durable that was written before.
    pub fn submit_sync(&self, reply: Reply<Result<(), Error>>) {
        self.send(Command::Sync(reply));
    }

    /// Queues records of the store that this one follows, which are kept, and lets the state
    /// follow no further than a position. The reply says how far both are then.
    pub fn submit_kept(
        &self,
        records: Vec<CommittedRecord>,
        apply_upto: Position,
        witness: Arc<dyn Witness>,
        reply: Reply<Result<Reached, ReplicationError>>,
    ) {
        self.send(Command::Keep {
            records,
            apply_upto,
            witness,
            reply,
        });
    }

    /// Begins to give records out to somebody who has those up to `after`. What it has not
    /// acknowledged is kept while it is no more than `kept_bytes_max`: in the log, or in memory if
    /// there is no log.
    pub fn subscribe(&self, after: Position, kept_bytes_max: u64) -> Subscription {
        let place = self.log_place.as_ref();
        let cursor = place.map(|(disk, directory)| Cursor::new(Arc::clone(disk), directory));
        Subscription::new(Arc::clone(&self.committed), cursor, after, kept_bytes_max)
    }

    /// Turns a store that makes records into one that follows another, or back. Transactions that
    /// were queued before end first; later ones are refused on a store that follows.
    pub fn submit_follow(&self, is_following: bool, reply: Reply<()>) {
        self.send(Command::Follow(is_following, reply));
    }

    /// The whole state as it is now, for a store that is to follow this one.
    pub fn snapshot_stream(&self) -> Result<SnapshotStream, Error> {
        SnapshotStream::new(self.storage.snapshot())
    }
}
