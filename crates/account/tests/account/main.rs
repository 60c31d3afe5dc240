//! Accounts of several regions in one process, over real engines and links.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

mod admission;
mod bounds;
mod failover;
mod faults;
mod levels;
mod members;
mod multi_bounded;
mod multi_write;
mod multi_write_copies;
mod multi_write_members;
mod multi_write_peers;
mod partitions;
mod peers;
mod promises;
mod replication;
mod support;
