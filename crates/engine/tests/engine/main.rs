//! Tests the engine from outside: its promises about writes, reads, time and restarts.
//!
//! Time moves only when a test moves it. All tests form one binary, because linking costs more than
//! running.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

mod feed;
mod index_equals_scan;
mod model;
mod multi_write;
mod ordered_continuation;
mod partitions;
mod query_cache;
mod random;
mod recovery;
mod replication;
mod resource_limits;
mod resuming_whole;
mod scripts;
mod session_lsn;
mod split_simulation;
mod support;
mod throughput;
mod transactions;
mod ttl;
mod unique_keys;
mod write_access;
