//! The commit log: ordered records of bytes, durable before they are acknowledged.
//!
//! One log serves every partition of a data directory, so that waiting transactions of all of them
//! share one write and one sync. The log keeps its records in segment files that are filled with
//! zeros once and recycled afterwards: a commit in steady state overwrites bytes that the file
//! system has already placed, and its sync has no metadata to write.
//!
//! Cost of a commit of n records: one hash pass over the bytes, one write, one `fdatasync`.
//!
//! What it trusts: a record is taken for live only if its hash, keyed by the header of its segment,
//! is right and it names the hash of the record before it. Bytes of a segment's earlier life, a
//! lost sector or a flipped bit cannot continue that chain.
//!
//! What it does not know: documents, partitions, who else opens the directory, and when the state
//! behind it has been saved. The owner says the last with [`Log::trim`]. Every byte on disk is
//! described in `docs/format.md`.

mod cursor;
mod directory;
mod disk;
mod error;
mod frame;
mod log;
mod mark;
mod options;
mod position;
mod reader;
mod recovery;
mod segment;
mod survey;
mod verify;

pub use cursor::Cursor;
pub use disk::{Disk, DiskFile, SystemDisk};
pub use error::{Error, Fault};
pub use frame::{RECORD_BYTES_MAX, frame_bytes};
pub use log::Log;
pub use mark::{Mark, Marked};
pub use options::{Durability, LogOptions};
pub use position::Position;
pub use reader::Visitor;
pub use recovery::{Recovery, TornTail};
pub use verify::{Problem, VerifyReport, verify, verify_on};
