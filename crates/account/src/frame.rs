//! What travels over a link between two regions.

use bytes::Bytes;
use orrery_engine::KeyRange;
use orrery_model::Secret;
use orrery_regions::{MeshMessage, Message, Sequence};

#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// Of the account stream.
    Account(Message),
    /// Of the streams of regions that all write.
    Mesh(MeshMessage),
    Snapshot(SnapshotFrame),
    /// Where clients reach the region that sends this.
    Endpoint(String),
    /// What signs resource tokens, told by the write region.
    TokenSecret(Secret),
    /// Why the region that sends this takes no more records.
    Problem(String),
    /// How the partitions of the region that sends this are.
    Partitions(PartitionsFrame),
}

/// Where partitions fail over one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionsFrame {
    /// Keys that are down there.
    pub down: Vec<KeyRange>,
    /// Up to which record of the account stream it takes the writes that it was given.
    pub opened: Sequence,
}

/// A copy of a region's state, asked for piece by piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotFrame {
    /// Wants a copy; the number tells copies apart.
    Ask { copy: u64 },
    /// Position of the state and the note that belongs to it.
    Begins {
        copy: u64,
        position: u64,
        note: Bytes,
    },
    /// Wants this piece: they are numbered from 0.
    Next { copy: u64, piece: u64 },
    /// Entries of one space.
    Piece {
        copy: u64,
        piece: u64,
        space: u8,
        entries: Vec<(Bytes, Bytes)>,
    },
    /// There is no such piece: all are sent.
    Ends { copy: u64, pieces: u64 },
    /// The copy is not there any more; ask for another.
    Gone { copy: u64 },
}
