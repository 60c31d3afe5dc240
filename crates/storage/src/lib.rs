//! Ordered bytes on the embedded engine: atomic batches, snapshots, ranges.
//!
//! Knows keys and values, not documents. Nothing above this crate names the engine below it: a
//! [`Storage`] is either fjall on disk or a persistent map in memory, and both give the same
//! answers. Batches are atomic but *not* durable by themselves: the commit log is what makes a
//! write durable, and [`Storage::persist`] says how far the log may be trimmed.

mod ahead;
mod batch;
mod disk;
mod error;
mod established;
mod journal;
mod memory;
mod runs;
mod storage;
mod value_cache;

pub use batch::{Batch, Space};
pub use error::Error;
pub use storage::{Options, Range, Snapshot, Storage};
