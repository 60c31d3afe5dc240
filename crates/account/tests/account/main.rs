//! Accounts of several regions in one process, over real engines and links.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

mod failover;
mod levels;
mod members;
mod multi_write;
mod peers;
mod replication;
mod support;
