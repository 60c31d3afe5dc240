//! What the owner of a log may choose.

use std::time::Duration;

use crate::Position;

#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Size at which a segment is sealed. A single commit larger than this still goes into one
    /// segment, which grows to hold it.
    pub segment_bytes: u64,
    pub durability: Durability,
    /// A record that the owner of the log knows to have been durable. A log that ends before this record
    /// has lost records: opening that log fails and changes none of its files.
    pub known: Position,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions {
            segment_bytes: 64 << 20,
            durability: Durability::Sync,
            known: Position::ZERO,
        }
    }
}

/// When a committed record survives the loss of power. It survives the end of the process in every
/// mode, because a commit always hands its bytes to the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Every commit syncs before it returns.
    Sync,
    /// The owner calls [`Log::sync`](crate::Log::sync) on a timer of this period.
    Interval(Duration),
    /// Only when a segment is sealed and when the log is closed.
    None,
}
