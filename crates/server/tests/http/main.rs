//! What a client sees on the wire, row by row: a real server, plain HTTP/1.1, signed requests.  The
//! expectations follow the protocol. Where Orrery differs on purpose, COMPAT.md documents the
//! difference and the test expects Orrery's answer.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

mod account_listener;
mod addressing;
mod authentication;
mod authority;
mod batch;
mod bodies;
mod bounds;
mod bounds_http2;
mod bounds_tls;
mod bulk;
mod changes;
mod classification;
mod conflicts;
mod connection;
mod connections;
mod containers;
mod direct;
mod direct_addresses;
mod direct_bounds;
mod direct_client;
mod explorer;
mod feeds;
mod headers;
mod hostile;
mod http2;
mod ids;
mod isolation;
mod items;
mod keys;
mod management;
mod many_containers;
mod multi_write;
mod no_key;
mod not_built;
mod not_found;
mod offers;
mod patch;
mod preconditions;
mod query_reports;
mod random_requests;
mod ranges;
mod region_world;
mod regions;
mod request_log;
mod resource_tokens;
mod responses;
mod resuming;
mod scripts;
mod sessions;
mod signature;
mod sizes;
mod splits;
mod support;
mod throughput;
mod triggers;
mod ttl;
mod unique_keys;
mod users;
