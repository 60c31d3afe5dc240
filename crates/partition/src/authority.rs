//! Who gives the records of a store their places among those of other regions, and says when they may
//! be seen.
//!
//! Without one, a store is alone: what is durable is applied and acknowledged. With one, the committer
//! asks before it appends a group and again before it applies it. What is durable and may not be seen
//! yet stays behind the state, in the log and in memory; see [`crate::pending`].

use bytes::Bytes;
use orrery_log::Position;
use orrery_model::Failure;

/// Called on the committer's thread only.
pub trait Authority: Send + Sync {
    /// These records are to follow the position. Gives notes that go between, or why nothing may be
    /// appended; then nothing is, and whoever waits is told.
    fn number(&self, last: Position, records: &[Bytes]) -> Result<Vec<Bytes>, Failure>;

    /// Records up to here are durable. Returns when they may be seen; false if that will not be known
    /// here, because another region may have taken over.
    fn settle(&self, last: Position) -> bool;

    /// Readers see the records up to here.
    fn seen(&self, last: Position);
}
