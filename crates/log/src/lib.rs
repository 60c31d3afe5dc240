//! The commit log: ordered records, durable before they are acknowledged.
//!
//! One log serves all partitions of a data directory, so that concurrent transactions of all
//! partitions share one write and one sync. The log stores records in segment files that are filled
//! with zeros once and recycled afterwards: a commit in steady state overwrites bytes whose blocks
//! the file system has already allocated, and its sync writes no metadata.
//!
//! Cost of a commit of n records: one hash pass over the bytes, one write, one `fdatasync`.
//!
//! Validity of a record: its hash, keyed by the header of its segment, is correct, and it contains
//! the hash of the record before it. Bytes of a segment's earlier life, a lost sector or a flipped
//! bit break this chain.
//!
//! The log knows nothing of documents, partitions, other processes with the same directory, and
//! checkpoints. The owner reports checkpoints with [`Log::trim`]. `docs/format.md` describes every
//! byte on disk.

mod commit_log;
mod cursor;
mod deferred_sync;
mod directory;
mod disk;
mod error;
mod frame;
mod local_log;
mod log;
mod memory_log;
mod options;
mod position;
mod reader;
mod recovery;
mod replicated_log;
mod segment;
mod survey;
mod verify;
mod watermark;

pub use commit_log::{AppendError, Appended, CommitLog, CommitStatus, EncodedRecords, RecordBatch};
pub use cursor::Cursor;
pub use deferred_sync::{DeferredSyncs, SyncRequests, deferred_syncs};
pub use disk::{Disk, DiskFile, SystemDisk};
pub use error::{Error, SegmentFault, error_chain};
pub use frame::{RECORD_BYTES_MAX, frame_bytes};
pub use local_log::LocalLog;
pub use log::Log;
pub use memory_log::MemoryLog;
pub use options::{Durability, LogOptions};
pub use position::Position;
pub use reader::Visitor;
pub use recovery::{Recovery, TornTail};
pub use replicated_log::{Note, ReplicatedLog, Replication};
pub use verify::{LogProblem, VerifyReport, verify, verify_on};
pub use watermark::{DurableWatermark, WatermarkReading};
