//! The commands of the committer, and the replies to refused commands.

use orrery_log::{CommitLog, Position};
use orrery_model::{Charge, Failure, OperationOutcome, PartitionLsn};

use crate::health::DiskSpace;
use crate::work::Work;
use crate::write::Write;
use crate::{Error, ItemTransaction};

/// Receives the answer on the committer's thread; it must not block.
pub type Reply<T> = Box<dyn FnOnce(T) + Send>;

/// Puts another log around the log of a store.
pub type LogWrapper = Box<dyn FnOnce(Box<dyn CommitLog>) -> Box<dyn CommitLog> + Send>;

/// How a transaction ended: a result for each operation, in order.
#[derive(Debug)]
pub struct TransactionOutcome {
    pub results: Vec<Result<OperationOutcome, Failure>>,
    /// The LSN of the partition that covers the transaction.
    pub partition_lsn: PartitionLsn,
    /// The charge of operations that were undone because a later operation was refused.
    pub undone: Charge,
}

pub(crate) enum Command {
    /// Decides a transaction on items over the groups in flight.
    Items(Box<ItemTransaction>, Reply<TransactionOutcome>),
    /// Decides a record of another kind over the applied state.
    Write(Write),
    /// Works on the applied state between two groups.
    Work(Work),
    /// Switches between following another store and deciding transactions.
    Follow(bool, Reply<()>),
    WrapLog(LogWrapper, Reply<()>),
    /// Makes every appended record durable.
    Sync(Reply<Result<(), Error>>),
    Stop(Reply<Result<(), Error>>),
    Event(Event),
}

/// What other threads tell the committer; nobody waits for an answer.
pub(crate) enum Event {
    /// The log may have notes to append, or a new commit status.
    Wake,
    /// The state up to this position survives a loss of power.
    Saved(Position),
    /// The state or the log could not be saved.
    Failed(Error),
    /// A log that refused a write may take writes again.
    RetryLog,
}

impl Command {
    /// Whether the command ends in a record of this store.
    pub(crate) fn makes_records(&self) -> bool {
        matches!(self, Command::Items(..) | Command::Write(_))
    }

    /// Whether the committer carries out the command with so little room on the disk. A removal
    /// frees room, and a record of the catalogue is small.
    pub(crate) fn fits(&self, room: DiskSpace) -> bool {
        if room == DiskSpace::Enough {
            return true;
        }
        let is_removal = match self {
            Command::Items(transaction, _) => !transaction.may_grow(),
            Command::Write(write) => write.is_small(),
            Command::Work(work) => match work.writes() {
                Some(is_removal) => is_removal,
                None => return true,
            },
            _ => return true,
        };
        is_removal && room == DiskSpace::DeletesOnly
    }

    /// Whether the command is decided or carried out over the applied state only, so that groups in
    /// flight come first.
    pub(crate) fn needs_applied_state(&self) -> bool {
        matches!(
            self,
            Command::Write(_) | Command::Work(_) | Command::WrapLog(..)
        )
    }

    /// Whether the committer abandons groups in flight before this command. The caller may be the
    /// task that receives acknowledgements, so waiting for acknowledgements would deadlock.
    pub(crate) fn ends_groups(&self) -> bool {
        matches!(self, Command::Follow(..) | Command::Stop(_))
    }

    /// Answers a command that the committer of a read-only store does not carry out.
    pub(crate) fn refuse_read_only(self, cause: &str) -> Option<Reply<Result<(), Error>>> {
        match self {
            Command::Stop(reply) => {
                reply(Err(Error::ReadOnly(cause.to_owned())));
                return Some(Box::new(|_| ()));
            }
            Command::Sync(reply) => reply(Err(Error::ReadOnly(cause.to_owned()))),
            Command::Work(work) => work.refuse_read_only(cause),
            other => other.refuse(&unavailable(cause)),
        }
        None
    }

    /// Answers a command that is not carried out.
    pub(crate) fn refuse(self, failure: &Failure) {
        match self {
            Command::Items(transaction, reply) => {
                let count = transaction.operations.len();
                let results = (0..count).map(|_| Err(failure.clone())).collect();
                reply(TransactionOutcome {
                    results,
                    partition_lsn: transaction.partition.partition_lsn(),
                    undone: Charge::ZERO,
                });
            }
            Command::Write(write) => write.refuse(failure),
            Command::Work(work) => work.refuse(failure),
            Command::Follow(_, reply) | Command::WrapLog(_, reply) => reply(()),
            Command::Sync(_) | Command::Stop(_) | Command::Event(_) => {}
        }
    }
}

pub(crate) fn unavailable(cause: &str) -> Failure {
    Failure::Unavailable(format!(
        "Service is currently unavailable for writes because the storage below it failed ({cause}). Reads \
         continue. The usual reason is a disk that is full or failing; correct it and start the server again."
    ))
}

/// The answer to a client whose write was not begun.
pub(crate) fn not_begun(cause: &str) -> Failure {
    Failure::Unavailable(format!(
        "Service is currently unavailable for writes: {cause}. Nothing of this one was written. Reads continue. Try \
         again in a moment."
    ))
}

pub(crate) fn uncommitted_failure() -> Failure {
    Failure::Unavailable(
        "Service is currently unavailable for writes: this region waits until the others confirm what it \
         wrote before. Try again in a moment."
            .to_owned(),
    )
}
