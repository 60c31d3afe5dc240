//! Who gives the records of a store their places among those of other regions, and says when they may
//! be seen.
//!
//! Without one, a store is alone: what is durable is applied and acknowledged. With one, the committer
//! asks before it appends a group and again before it applies it. What is durable and may not be seen
//! yet is *under way* ([`crate::under_way`]): the next groups are decided over it. If it will not be
//! known here whether it may be seen, it stays behind the state, in the log and in memory; see
//! [`crate::pending`].

use bytes::Bytes;
use orrery_log::Position;
use orrery_model::Failure;

/// How it stands with records that are durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// They may be seen.
    Settled,
    /// Others must keep them first.
    Open,
    /// That will not be known here, because another region may have taken over.
    Lost,
}

/// Called on the committer's thread only.
pub trait Authority: Send + Sync {
    /// These records are to follow the position. Gives notes that go between, or why nothing may be
    /// appended; then nothing is, and whoever waits is told.
    fn number(&self, last: Position, records: &[Bytes]) -> Result<Vec<Bytes>, Failure>;

    /// Records up to here are durable. While they stay open, whoever implements this lets the store
    /// look again as soon as that changes.
    fn kept(&self, last: Position) -> Verdict;

    /// How it stands now with records of which it was told that they are durable.
    fn verdict(&self, last: Position) -> Verdict;

    /// Returns when it is known what becomes of the records up to here; open if there are notes to be
    /// appended first.
    fn settle(&self, last: Position) -> Verdict;

    /// Records that were open are not waited for any more: the store holds them back.
    fn held_back(&self);

    /// Readers see the records up to here.
    fn seen(&self, last: Position);
}
