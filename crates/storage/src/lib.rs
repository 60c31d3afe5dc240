//! Ordered bytes on the embedded engine: atomic batches, snapshots, ranges.
//!
//! This crate knows keys and values, not documents. No crate above it names the engine: a
//! [`Storage`] is either fjall on disk or a persistent map in memory, and both give the same
//! results. Batches are atomic but *not* durable by themselves: the commit log makes a write
//! durable, and after [`Storage::persist`] the log may be trimmed.

mod batch;
mod disk;
mod early_sync;
mod error;
mod journal;
mod memory;
mod missing_files;
mod runs;
mod storage;
mod value_cache;

pub use batch::{Batch, KeyspaceId};
pub use error::Error;
pub use storage::{Range, Snapshot, Storage, StorageOptions};
