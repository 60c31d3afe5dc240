//! The frames that travel over a link between two regions.

use bytes::Bytes;
use orrery_engine::KeyRange;
use orrery_model::Secret;
use orrery_regions::{MultiWriteMessage, ReplicaMessage, Sequence};

#[derive(Debug, Clone, PartialEq)]
pub enum LinkFrame {
    /// A message about the account stream.
    Account(ReplicaMessage),
    /// A message about the region streams of a multi-write account.
    MultiWrite(MultiWriteMessage),
    Snapshot(SnapshotFrame),
    /// The URL at which clients reach the sender.
    Endpoint(String),
    /// The secret that signs resource tokens, sent by the write region.
    TokenSecret(Secret),
    /// The failure that stopped the sender's replication.
    Problem(String),
    /// The state of the sender's partitions.
    Partitions(PartitionsFrame),
}

/// The state of one region in an account with failover per partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionsFrame {
    /// Key ranges that are down in the sender.
    pub down: Vec<KeyRange>,
    /// The last ownership record of the account stream that the sender has carried out.
    pub opened: Sequence,
}

/// The transfer of a region's state; the receiver requests one piece at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotFrame {
    /// Requests a snapshot; `copy` distinguishes snapshots.
    Ask { copy: u64 },
    /// The position of the state, and the replication metadata at that position.
    Metadata {
        copy: u64,
        position: u64,
        note: Bytes,
    },
    /// Requests a piece; pieces are numbered from 0.
    Next { copy: u64, piece: u64 },
    /// Entries of one key space.
    Piece {
        copy: u64,
        piece: u64,
        space: u8,
        entries: Vec<(Bytes, Bytes)>,
    },
    /// The requested piece does not exist: the transfer is complete.
    Ends { copy: u64, pieces: u64 },
    /// The sender no longer has this snapshot; the receiver must request another one.
    NotFound { copy: u64 },
}
