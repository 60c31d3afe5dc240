//! What only a region of a multi-write account asks of its committer. Each is carried out between
//! two groups.

use std::sync::Arc;

use orrery_model::{Failure, Stamp};
use orrery_regions::{Progress, StreamRecord};
use orrery_storage::Storage;

use super::{AccessTable, AccountChange, AccountOutcome, Horizon, MergeError, SettleItem};
use crate::committer::Committer;
use crate::{Reply, Witness};

pub(crate) enum RegionCommand {
    /// Settles the conflict of an item.
    Settle(SettleItem, Reply<Result<Stamp, Failure>>),
    /// Takes records of other regions.
    Merge {
        records: Vec<StreamRecord>,
        witness: Arc<dyn Witness>,
        reply: Reply<Result<Progress, MergeError>>,
    },
    /// Applies a record of the account stream.
    Account {
        change: AccountChange,
        witness: Arc<dyn Witness>,
        reply: Reply<Result<AccountOutcome, MergeError>>,
    },
    /// Forgets some of the versions that can matter no more; tells whether more are left.
    Prune(Horizon, Reply<Result<bool, Failure>>),
    /// Takes writes of other keys from now on.
    Access(AccessTable, Reply<()>),
}

impl RegionCommand {
    /// Whether it ends in a record of this region. Records of others are taken also by a region that
    /// makes none for now.
    pub(crate) fn makes_records(&self) -> bool {
        matches!(self, RegionCommand::Settle(..))
    }

    pub(crate) fn carry_out(self, committer: &mut Committer, storage: &Storage) {
        match self {
            RegionCommand::Settle(settle, reply) => {
                let mut group = committer.group(storage);
                group.settle(&settle, reply);
                committer.finish_group(group);
            }
            RegionCommand::Merge {
                records,
                witness,
                reply,
            } => reply(committer.merge(records, &*witness)),
            RegionCommand::Account {
                change,
                witness,
                reply,
            } => reply(committer.account(&change, &*witness)),
            RegionCommand::Prune(horizon, reply) => reply(committer.prune(&horizon)),
            RegionCommand::Access(table, reply) => {
                if let Some(multi) = &committer.multi {
                    multi.access.set(table);
                }
                reply(());
            }
        }
    }

    /// Answers it where it is not carried out: `merges` are told why in words of their own.
    pub(crate) fn refuse(self, failure: &Failure, merges: MergeError) {
        match self {
            RegionCommand::Settle(_, reply) => reply(Err(failure.clone())),
            RegionCommand::Prune(_, reply) => reply(Err(failure.clone())),
            // Nothing is written any more.
            RegionCommand::Access(_, reply) => reply(()),
            RegionCommand::Merge { reply, .. } => reply(Err(merges)),
            RegionCommand::Account { reply, .. } => reply(Err(merges)),
        }
    }
}
