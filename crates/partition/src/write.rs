//! The commands that end in a record and are decided over the applied state: scripts, the catalogue,
//! expiry, splits and merges, corrections, conflicts.

use std::sync::Arc;

use orrery_model::{Failure, PartitionLsn};

use crate::command::Reply;
use crate::expiry::ExpiryCandidate;
use crate::group::CommitGroup;
use crate::multi_write::ConflictDecision;
use crate::record::KeyChange;
use crate::{Container, Correction, Partition, Repartitioning, ScriptCommit};

pub(crate) enum Write {
    Script(Box<ScriptCommit>, Reply<Result<PartitionLsn, Failure>>),
    Catalogue(Vec<KeyChange>, Reply<Result<(), Failure>>),
    /// Documents that may have expired: removes those that have, moves the entries of the others.
    Expire {
        /// `None` after the deletion of the container, when only expiry entries remain.
        container: Option<Arc<Container>>,
        due: Vec<ExpiryCandidate>,
        now_seconds: u64,
        reply: Reply<Result<(), Failure>>,
    },
    /// Supersedes physical partitions by others.
    Repartition(Box<Repartitioning>, Reply<Result<(), Failure>>),
    Correct {
        container: u32,
        partition: Arc<Partition>,
        correction: Correction,
        reply: Reply<Result<(), Failure>>,
    },
    /// Settles the conflict of an item between regions.
    Resolve(ConflictDecision, Reply<Result<PartitionLsn, Failure>>),
}

impl Write {
    /// Whether the record shares its group with no other: it changes which partition or which
    /// version the records around it belong to.
    pub(crate) fn is_alone(&self) -> bool {
        match self {
            Write::Repartition(..) | Write::Correct { .. } | Write::Resolve(..) => true,
            Write::Script(..) | Write::Catalogue(..) | Write::Expire { .. } => false,
        }
    }

    /// Whether the record is taken although the disk has little room.
    pub(crate) fn is_small(&self) -> bool {
        match self {
            Write::Catalogue(..) | Write::Expire { .. } | Write::Correct { .. } => true,
            Write::Script(..) | Write::Repartition(..) | Write::Resolve(..) => false,
        }
    }

    pub(crate) fn decide(self, group: &mut CommitGroup<'_>) {
        match self {
            Write::Script(commit, reply) => group.script(*commit, reply),
            Write::Catalogue(changes, reply) => group.catalogue(changes, reply),
            Write::Expire {
                container,
                due,
                now_seconds,
                reply,
            } => group.expire(container.as_ref(), &due, now_seconds, reply),
            Write::Repartition(repartitioning, reply) => {
                group.repartition(*repartitioning, reply);
            }
            Write::Correct {
                container,
                partition,
                correction,
                reply,
            } => group.correct(container, &partition, correction, reply),
            Write::Resolve(decision, reply) => group.resolve(&decision, reply),
        }
    }

    pub(crate) fn refuse(self, failure: &Failure) {
        let failure = failure.clone();
        match self {
            Write::Script(_, reply) | Write::Resolve(_, reply) => reply(Err(failure)),
            Write::Catalogue(_, reply)
            | Write::Expire { reply, .. }
            | Write::Repartition(_, reply)
            | Write::Correct { reply, .. } => reply(Err(failure)),
        }
    }
}
