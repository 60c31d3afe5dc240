//! Bugs that a run plants to show that its checks find them.

/// A wrong behaviour below the store, which must lead to a [`crate::Violation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedBug {
    /// The disk reports a sync as done, and syncs nothing: acknowledged writes are lost.
    LyingSync,
    /// The newest segment of the log is missing after a crash.
    LostSegment,
    /// A batch of the state is not atomic: after a crash some maps have it and some do not.
    TornBatch,
}
