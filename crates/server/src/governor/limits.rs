//! The limits on what clients may use.

use std::time::Duration;

const MIB: usize = 1024 * 1024;

/// The limits of clients. The defaults suit a small machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The memory limit of all open requests and answers together.
    pub memory_bytes: usize,
    /// Connections of clients at one time.
    pub connections: usize,
    /// From the opening of a connection to the end of its first request's headers, and from the
    /// first byte of a later request to the end of its headers. Also how long a connection may be
    /// idle on which no request with a valid credential has come.
    pub header_time: Duration,
    /// How long a client may neither send its body nor read its answer at [`STALL_RATE`].
    pub stall_time: Duration,
    /// How long a connection may be idle on which a request with a valid credential has come.
    pub idle_time: Duration,
    /// The time from the headers of a request to its answer.
    pub request_time: Duration,
    /// Host names for listeners on loopback addresses, beside the names that are always allowed.
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
