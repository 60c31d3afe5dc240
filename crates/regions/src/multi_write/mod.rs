//! Accounts in which every region writes: one stream for each region, a record applied after the
//! records on which it depends, and one conflict rule that gives every region the same result.

mod delivery;
mod message;
mod replica;
mod siblings;
mod stability;
mod stream_end;
mod unique;

pub use message::{MultiWriteEffect, MultiWriteMessage, MultiWriteSettings};
pub use replica::MultiWriteReplica;
pub use siblings::{
    ConflictResolution, MergeOutcome, SiblingVersion, Siblings, VersionId, VersionKind,
};
pub use stream_end::StreamEnd;
pub use unique::unique_key_losers;
