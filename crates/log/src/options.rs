//! Settings that the owner of a log chooses.

use std::time::Duration;

use crate::Position;

#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Size at which a segment is sealed. A commit larger than this goes into one segment, which
    /// grows.
    pub segment_bytes: u64,
    pub durability: Durability,
    /// A durable position that the owner remembers. If the log ends before this position, it has
    /// lost records: opening fails and changes no file.
    pub known_durable: Position,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions {
            segment_bytes: 64 << 20,
            durability: Durability::Sync,
            known_durable: Position::ZERO,
        }
    }
}

/// The time at which a committed record becomes durable against power loss. In every mode a
/// committed record survives the end of the process, because a commit hands its bytes to the
/// operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Every commit syncs before it returns.
    Sync,
    /// The owner calls [`Log::sync`](crate::Log::sync) on a timer of this period.
    Interval(Duration),
    /// Only when a segment is sealed and when the log is closed.
    None,
}
