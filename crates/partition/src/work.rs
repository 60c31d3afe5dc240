//! The commands that work on the applied state between two groups: steps of background walks,
//! counts, and records of other stores.

use std::sync::Arc;

use bytes::Bytes;
use orrery_log::{Position, frame_bytes};
use orrery_model::Failure;
use orrery_regions::{RecordBody, StreamRecord, VersionVector};

use crate::command::{Reply, unavailable};
use crate::committer::Committer;
use crate::log_tail::LogRecord;
use crate::multi_write::{AccessTable, AccountChange, AccountOutcome, Horizon, MergeError};
use crate::oversized_partition::OversizedPartition;
use crate::{
    CommitObserver, Container, LogicalPartition, OversizedRecount, Partition, PartitionRecount,
    ReplicationError, StorePositions,
};

pub(crate) enum Work {
    /// Makes some documents follow the newest indexing policy; replies whether more are left.
    Reindex {
        container: u32,
        reply: Reply<Result<bool, Failure>>,
    },
    /// Removes some rows of a deleted container; replies whether more are left.
    Purge {
        container: u32,
        reply: Reply<Result<bool, Failure>>,
    },
    /// Removes some history beyond the retention of its container; replies whether more is left.
    TrimHistory {
        container: Arc<Container>,
        now_seconds: u64,
        reply: Reply<Result<bool, Failure>>,
    },
    /// Forgets some versions that no later write can conflict with; replies whether more are left.
    Prune(Horizon, Reply<Result<bool, Failure>>),
    /// Gives a partition as it is between two groups, to be counted.
    Recount {
        container: Arc<Container>,
        partition: Arc<Partition>,
        reply: Reply<Result<PartitionRecount, Failure>>,
    },
    /// Starts the byte count of a logical partition, and replies with a snapshot for the first count.
    TrackOversized {
        partition: Arc<Partition>,
        logical: LogicalPartition,
        bytes_max: u64,
        reply: Reply<Result<OversizedRecount, Failure>>,
    },
    /// Replaces the access table.
    Access(AccessTable, Reply<()>),
    /// Takes records of another store, and lets the state follow no further than a position.
    Replicate {
        records: Vec<LogRecord>,
        apply_upto: Position,
        observer: Arc<dyn CommitObserver>,
        reply: Reply<Result<StorePositions, ReplicationError>>,
    },
    /// Takes records of other regions.
    Merge {
        records: Vec<StreamRecord>,
        observer: Arc<dyn CommitObserver>,
        reply: Reply<Result<VersionVector, MergeError>>,
    },
    /// Applies a record of the account stream.
    Account {
        change: AccountChange,
        observer: Arc<dyn CommitObserver>,
        reply: Reply<Result<AccountOutcome, MergeError>>,
    },
}

impl Work {
    /// `None` if the work writes nothing that a full disk could refuse; otherwise whether it removes
    /// data.
    pub(crate) fn writes(&self) -> Option<bool> {
        match self {
            Work::Purge { .. } | Work::TrimHistory { .. } => Some(true),
            Work::Reindex { .. } => Some(false),
            _ => None,
        }
    }

    /// The approximate bytes of copied records in the log.
    pub(crate) fn copied_bytes(&self) -> usize {
        let frame = |bytes: &Bytes| frame_bytes(bytes.len());
        match self {
            Work::Replicate { records, .. } => {
                records.iter().map(|(_, record)| frame(record)).sum()
            }
            Work::Merge { records, .. } => {
                let bytes = |record: &StreamRecord| match &record.body {
                    RecordBody::Data(data) => frame(data),
                    _ => 0,
                };
                records.iter().map(bytes).sum()
            }
            _ => 0,
        }
    }

    pub(crate) fn carry_out(self, committer: &mut Committer) {
        match self {
            Work::Reindex { container, reply } => reply(committer.reindex(container)),
            Work::Purge { container, reply } => reply(committer.purge(container)),
            Work::TrimHistory {
                container,
                now_seconds,
                reply,
            } => reply(committer.trim_history(&container, now_seconds)),
            Work::Prune(horizon, reply) => reply(committer.prune(&horizon)),
            Work::Recount {
                container,
                partition,
                reply,
            } => {
                let snapshot = committer.storage.snapshot();
                reply(Ok(PartitionRecount::new(snapshot, &container, &partition)));
            }
            Work::TrackOversized {
                partition,
                logical,
                bytes_max,
                reply,
            } => {
                let oversized = Arc::new(OversizedPartition::new(&logical, bytes_max));
                // The count begins before the snapshot is taken, on the thread that writes: every
                // write is in exactly one of them.
                let holder = partition.holder(logical.key_position());
                holder.oversized.add(Arc::clone(&oversized));
                reply(Ok(OversizedRecount {
                    snapshot: committer.storage.snapshot(),
                    partition: oversized,
                }));
            }
            Work::Access(table, reply) => {
                if let Some(multi) = &committer.multi {
                    multi.access.set(table);
                }
                reply(());
            }
            Work::Replicate {
                records,
                apply_upto,
                observer,
                reply,
            } => reply(committer.replicate(records, apply_upto, &*observer)),
            Work::Merge {
                records,
                observer,
                reply,
            } => reply(committer.merge(records, &*observer)),
            Work::Account {
                change,
                observer,
                reply,
            } => reply(committer.account(&change, &*observer)),
        }
    }

    pub(crate) fn refuse_read_only(self, cause: &str) {
        match self {
            Work::Replicate { reply, .. } => {
                reply(Err(ReplicationError::ReadOnly(cause.to_owned())));
            }
            Work::Merge { reply, .. } => reply(Err(MergeError::ReadOnly(cause.to_owned()))),
            Work::Account { reply, .. } => reply(Err(MergeError::ReadOnly(cause.to_owned()))),
            other => other.refuse(&unavailable(cause)),
        }
    }

    pub(crate) fn refuse(self, failure: &Failure) {
        let failure = failure.clone();
        match self {
            Work::Reindex { reply, .. }
            | Work::Purge { reply, .. }
            | Work::TrimHistory { reply, .. }
            | Work::Prune(_, reply) => reply(Err(failure)),
            Work::Recount { reply, .. } => reply(Err(failure)),
            Work::TrackOversized { reply, .. } => reply(Err(failure)),
            // A read-only store writes nothing, so the table has no effect.
            Work::Access(_, reply) => reply(()),
            Work::Replicate { reply, .. } => {
                reply(Err(ReplicationError::ReadOnly(failure.to_string())));
            }
            Work::Merge { reply, .. } => reply(Err(MergeError::NotMultiWrite)),
            Work::Account { reply, .. } => reply(Err(MergeError::NotMultiWrite)),
        }
    }
}
