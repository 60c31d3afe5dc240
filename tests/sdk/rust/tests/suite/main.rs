//! The official Rust client, unmodified, against a server that this process starts.
//!
//! One binary, so that the client is linked once and one memory server serves every test. Each test
//! makes databases of its own. The client's connections live on the runtime that opened them, so
//! all tests share one runtime too, and are plain functions that enter it through `fixture::run`.

mod account;
mod batch;
mod binary_encoding;
mod catalogue;
mod change_feed;
mod charge;
mod container;
mod content_response;
mod database;
mod fault;
mod filter;
mod fixture;
mod id;
mod item;
mod one_key_query;
mod order_by;
mod overload;
mod partition_key;
mod patch;
mod physical_partition;
mod precondition;
mod query;
mod query_continuation;
mod query_error;
mod server;
mod session;
mod throughput;
mod ttl;
mod unique_key;
