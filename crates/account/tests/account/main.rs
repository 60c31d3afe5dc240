//! Accounts of several regions in one process, over real engines and links.

mod failover;
mod levels;
mod members;
mod replication;
mod support;
