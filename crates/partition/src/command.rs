//! What the committer is asked to do, and how it answers what it does not do.

use std::sync::Arc;

use orrery_log::Position;
use orrery_model::{Failure, OperationOutcome, Stamp};

use crate::committed::CommittedRecord;
use crate::expiry::Due;
use crate::health::Room;
use crate::multi::RegionCommand;
use crate::record::Change;
use crate::{
    Authority, Container, Correction, Error, ItemTransaction, LogicalPartition, MergeError,
    Partition, Reached, ReplicationError, Reshape, ScriptCommit, Uncounted, UncountedCrowd,
    Witness,
};

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
    Script(Box<ScriptCommit>, Reply<Result<Stamp, Failure>>),
    Catalogue(Vec<Change>, Reply<Result<(), Failure>>),
    /// Documents that may have expired: removes those that have, moves the entries of the others.
    Expire {
        /// None if the container is gone and only entries are left.
        container: Option<Arc<Container>>,
        due: Vec<Due>,
        now_seconds: u64,
        reply: Reply<Result<(), Failure>>,
    },
    /// Makes some documents follow the newest indexing policy; tells whether more are left.
    Reindex {
        container: u32,
        reply: Reply<Result<bool, Failure>>,
    },
    /// Removes some of what a deleted container left; tells whether more is left.
    Purge {
        container: u32,
        reply: Reply<Result<bool, Failure>>,
    },
    /// Lets physical partitions retire in favour of others.
    Reshape(Box<Reshape>, Reply<Result<(), Failure>>),
    /// Gives a partition as it is between two groups, to be counted.
    Uncounted {
        container: Arc<Container>,
        partition: Arc<Partition>,
        reply: Reply<Result<Uncounted, Failure>>,
    },
    Correct {
        container: u32,
        partition: Arc<Partition>,
        correction: Correction,
        reply: Reply<Result<(), Failure>>,
    },
    /// Keeps the bytes of a logical partition from now on, and gives it as it is, to be counted.
    Crowd {
        partition: Arc<Partition>,
        logical: LogicalPartition,
        bytes_max: u64,
        reply: Reply<Result<UncountedCrowd, Failure>>,
    },
    /// Removes some of the history that is older than its container keeps it.
    Forget {
        container: Arc<Container>,
        now_seconds: u64,
        reply: Reply<Result<bool, Failure>>,
    },
    /// Follows another store from now on, or makes records of its own.
    Follow(bool, Reply<()>),
    /// Takes records of another store, and lets the state follow no further than a position.
    Keep {
        records: Vec<CommittedRecord>,
        apply_upto: Position,
        witness: Arc<dyn Witness>,
        reply: Reply<Result<Reached, ReplicationError>>,
    },
    /// Asks somebody before records are appended and applied, from now on.
    Authority(Arc<dyn Authority>, Reply<()>),
    /// Appends notes that the authority has.
    Notes,
    /// Others may have what is under way.
    Look,
    /// What a region of a multi-write account asks.
    Region(RegionCommand),
    /// The state up to this position is safe on disk.
    Saved(Position),
    /// Makes everything durable that is written.
    Sync(Reply<Result<(), Error>>),
    /// The log up to this position was synced, as was asked.
    Synced(Position),
    /// The state, or the log, could not be saved.
    NotSaved(Error),
    /// Looks whether a log that refused a write would take it now.
    TryLog,
    Stop(Reply<Result<(), Error>>),
}

/// What groups that wait for other regions mean to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// It is decided over them.
    Nothing,
    /// It needs them in the state, and what it decides there before the next command.
    WaitsForThem,
    /// They are not waited for any more.
    EndsThem,
}

impl Command {
    /// Whether it ends in a record, if it is carried out.
    pub(crate) fn makes_records(&self) -> bool {
        match self {
            Command::Items(..)
            | Command::Script(..)
            | Command::Catalogue(..)
            | Command::Expire { .. }
            | Command::Reshape(..)
            | Command::Correct { .. } => true,
            Command::Region(command) => command.makes_records(),
            Command::Reindex { .. }
            | Command::Purge { .. }
            | Command::Uncounted { .. }
            | Command::Crowd { .. }
            | Command::Forget { .. }
            | Command::Follow(..)
            | Command::Keep { .. }
            | Command::Authority(..)
            | Command::Notes
            | Command::Look
            | Command::Saved(_)
            | Command::Sync(_)
            | Command::Synced(_)
            | Command::NotSaved(_)
            | Command::TryLog
            | Command::Stop(_) => false,
        }
    }

    /// Whether the committer still carries out this command with so little room on the disk. What removes
    /// something makes room, and what the catalogue gets is small.
    pub(crate) fn fits(&self, room: Room) -> bool {
        if room == Room::Enough {
            return true;
        }
        let is_removal = match self {
            Command::Items(transaction, _) => !transaction.may_grow(),
            Command::Catalogue(..)
            | Command::Expire { .. }
            | Command::Correct { .. }
            | Command::Purge { .. }
            | Command::Forget { .. } => true,
            Command::Reindex { .. } => false,
            other => return !other.makes_records(),
        };
        is_removal && room == Room::ForRemovals
    }

    /// What groups that are under way mean to it.
    pub(crate) fn beside(&self) -> Beside {
        match self {
            Command::Items(..)
            | Command::Notes
            | Command::Look
            | Command::Saved(_)
            | Command::Sync(_)
            | Command::Synced(_)
            | Command::NotSaved(_)
            | Command::TryLog => Beside::Nothing,
            // Whoever asks for it may be the one that has to hear what others keep.
            Command::Follow(..) | Command::Stop(_) => Beside::EndsThem,
            Command::Script(..)
            | Command::Catalogue(..)
            | Command::Expire { .. }
            | Command::Reshape(..)
            | Command::Correct { .. }
            | Command::Reindex { .. }
            | Command::Purge { .. }
            | Command::Uncounted { .. }
            | Command::Crowd { .. }
            | Command::Forget { .. }
            | Command::Keep { .. }
            | Command::Authority(..)
            | Command::Region(_) => Beside::WaitsForThem,
        }
    }
}

/// Answers a command on a node that only reads.
pub(crate) fn refuse(command: Command, cause: &str) -> Option<Reply<Result<(), Error>>> {
    match command {
        Command::Stop(reply) => {
            reply(Err(Error::ReadOnly(cause.to_owned())));
            Some(Box::new(|_| ()))
        }
        Command::Sync(reply) => {
            reply(Err(Error::ReadOnly(cause.to_owned())));
            None
        }
        Command::Keep { reply, .. } => {
            reply(Err(ReplicationError::ReadOnly(cause.to_owned())));
            None
        }
        Command::Region(command) => {
            command.refuse(&unavailable(cause), MergeError::ReadOnly(cause.to_owned()));
            None
        }
        other => {
            refuse_with(other, &unavailable(cause));
            None
        }
    }
}

/// Answers a command that is not carried out.
pub(crate) fn refuse_with(command: Command, failure: &Failure) {
    let failure = failure.clone();
    match command {
        Command::Items(transaction, reply) => {
            let count = transaction.operations.len();
            let results = (0..count).map(|_| Err(failure.clone())).collect();
            reply(TransactionOutcome {
                results,
                stamp: transaction.partition.stamp(),
            });
        }
        Command::Script(_, reply) => reply(Err(failure)),
        // A follower has no regions to take from: its writer does.
        Command::Region(command) => command.refuse(&failure, MergeError::NotMultiWrite),
        Command::Catalogue(_, reply)
        | Command::Expire { reply, .. }
        | Command::Reshape(_, reply)
        | Command::Correct { reply, .. } => reply(Err(failure)),
        Command::Purge { reply, .. }
        | Command::Reindex { reply, .. }
        | Command::Forget { reply, .. } => reply(Err(failure)),
        Command::Uncounted { reply, .. } => reply(Err(failure)),
        Command::Crowd { reply, .. } => reply(Err(failure)),
        Command::Follow(_, reply) | Command::Authority(_, reply) => reply(()),
        Command::Keep { .. }
        | Command::Notes
        | Command::Look
        | Command::Saved(_)
        | Command::Sync(_)
        | Command::Synced(_)
        | Command::NotSaved(_)
        | Command::TryLog
        | Command::Stop(_) => {}
    }
}

pub(crate) fn unavailable(cause: &str) -> Failure {
    Failure::Unavailable(format!(
        "Service is currently unavailable for writes because the storage below it failed ({cause}). Reads \
         continue. The usual reason is a disk that is full or failing; correct it and start the server again."
    ))
}

/// What a client hears whose write was not begun.
pub(crate) fn not_begun(cause: &str) -> Failure {
    Failure::Unavailable(format!(
        "Service is currently unavailable for writes: {cause}. Nothing of this one was written. Reads continue. Try \
         again in a moment."
    ))
}

pub(crate) fn held_back() -> Failure {
    Failure::Unavailable(
        "Service is currently unavailable for writes: this region waits until the others confirm what it \
         wrote before. Try again in a moment."
            .to_owned(),
    )
}
