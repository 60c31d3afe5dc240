//! How much is too much.

use std::time::Duration;

const MIB: usize = 1024 * 1024;

/// The defaults are those of a small machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Memory that all requests and their answers may take together.
    pub memory_bytes: usize,
    /// Connections of clients at one time.
    pub connections: usize,
    /// From the opening of a connection to the end of its first request's headers, and from the
    /// first byte of a later request to the end of its headers. Also how long a connection may be
    /// idle on which no request with a valid credential has come.
    pub header_time: Duration,
    /// How long a client may neither send its body nor read its answer, at [`STALL_RATE`].
    pub stall_time: Duration,
    /// How long a connection may be idle on which somebody has shown a credential.
    pub idle_time: Duration,
    /// From the headers of a request to its answer.
    pub request_time: Duration,
    /// Names by which listeners on loopback addresses may be called, beside those that are always allowed.
    pub allowed_hosts: Vec<String>,
}

/// Bytes a second below which a client counts as stalled.
pub(crate) const STALL_RATE: u64 = 1_024;

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory_bytes: 256 * MIB,
            connections: 512,
            header_time: Duration::from_secs(20),
            stall_time: Duration::from_secs(30),
            idle_time: Duration::from_hours(1),
            request_time: Duration::from_mins(1),
            allowed_hosts: Vec::new(),
        }
    }
}
