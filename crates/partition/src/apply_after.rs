//! The time at which readers see records of other regions.

/// When the state gets records of other regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApplyAfter {
    /// When they are durable here.
    #[default]
    Durable,
    /// When the log has the records without a sync. The region of origin has made them durable.
    Written,
    /// When a caller names a position: records of the log beyond it stay out of the state.
    Committed,
}
