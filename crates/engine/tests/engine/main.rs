//! The engine from outside: what is promised of writes, reads, time and restarts.
//!
//! Time moves when a test moves it. One binary, because linking costs more than running.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

mod divided;
mod feed;
mod following;
mod greedy;
mod index_equals_scan;
mod living;
mod model;
mod multi;
mod partitions;
mod positions;
mod random;
mod recovery;
mod scripts;
mod shapes;
mod support;
mod throughput;
mod transactions;
mod ttl;
mod unique_keys;
