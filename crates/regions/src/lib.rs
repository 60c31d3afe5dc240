//! Replication between regions as pure state machines: streams, epochs, quorums, sessions and
//! conflicts.
//!
//! This crate does no I/O, reads no clock and starts no thread: times and messages come in as
//! values, and messages to send and records to persist go out as values. A driver connects it to
//! the store and to links; `docs/architecture/regions.md` defines the driver's duties and their order. The
//! simulation in `tests/` is such a driver with a world that loses, duplicates and delays messages
//! and crashes nodes.
//!
//! Two kinds of streams carry all replication. The *account stream* has one author at a time, the
//! write region of an epoch ([`Replica`]). In a multi-write account every region writes a *region
//! stream* of items; a region applies a record after the records on which it depends
//! ([`MultiWriteReplica`]), and a rule that is independent of the order of arrival resolves
//! conflicts ([`Siblings`]).
//!
//! The account stream has one numbering across epochs, instead of one for each write region. So the
//! commit index, a lag and a session token of a single-write account are plain numbers, and a
//! region that writes again after another one leaves no gap in a numbering of its own.

mod effect;
mod ids;
mod level;
mod lineage;
mod log_summary;
mod membership;
mod message;
mod multi_write;
mod puller;
mod read_gate;
mod record;
mod replica;
mod token;
mod version_vector;
mod write_gate;

pub use effect::{HardState, LogRepair, ReadOutcome, ReplicaEffect};
pub use ids::{Epoch, Millis, RegionId, Sequence, StreamId};
pub use level::{Consistency, ReplicaSettings, StalenessBound};
pub use lineage::Lineage;
pub use log_summary::SnapshotMetadata;
pub use membership::{AccountMode, Member, MemberStatus, Membership, MembershipError};
pub use message::{
    ElectionCause, Heartbeat, Pull, PullRefusal, ReadIndexRefusal, RecordPage, RecordPageHeader,
    ReplicaMessage, ReplicaPosition, RequestVote, VoteOutcome,
};
pub use multi_write::{
    ConflictResolution, MergeOutcome, MultiWriteEffect, MultiWriteMessage, MultiWriteReplica,
    MultiWriteSettings, SiblingVersion, Siblings, StreamEnd, VersionId, VersionKind,
    unique_key_losers,
};
pub use puller::Puller;
pub use read_gate::{ReadContext, ReadVerdict, may_read};
pub use record::{EpochStart, RecordBody, StreamRecord};
pub use replica::{Force, HandOverError, Lag, PromotionError, Replica, Restart};
pub use token::{SessionToken, TokenVerdict, TokenVersion};
pub use version_vector::VersionVector;
pub use write_gate::{FollowerState, WriteRefusal, acknowledge_limit, majority_durable, may_begin};
