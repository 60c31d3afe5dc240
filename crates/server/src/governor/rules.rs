//! Decides whether a connection has exceeded one of its time limits.

use std::time::Duration;

use super::Limits;
use super::limits::STALL_RATE;

/// The reasons why a connection is closed, or not opened at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// All places are taken, or no memory is left, and no connection could be closed in favour of
    /// the new one.
    Full,
    /// The register closed the connection in favour of a new one.
    Replaced,
    /// The client did not send complete headers of a request within the time limit.
    Header,
    Idle,
    /// The client does not read its answers.
    Unread,
    /// The headers need more memory than is left.
    Memory,
}

impl Reason {
    pub(crate) const ALL: [Reason; 6] = [
        Reason::Full,
        Reason::Replaced,
        Reason::Header,
        Reason::Idle,
        Reason::Unread,
        Reason::Memory,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Reason::Full => "full",
            Reason::Replaced => "replaced",
            Reason::Header => "header",
            Reason::Idle => "idle",
            Reason::Unread => "unread",
            Reason::Memory => "memory",
        }
    }
}

/// What the requests of a connection have shown of its client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Authentication {
    /// The client has not sent a request.
    #[default]
    New,
    Unauthenticated,
    /// A request of the client had a valid credential.
    Authenticated,
}

/// The state of a connection at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ConnectionStatus {
    pub(super) age_ms: u64,
    pub(super) client: Authentication,
    /// Whether a request of the connection is open.
    pub(super) is_busy: bool,
    /// The time since the first byte of the next request's headers.
    pub(super) head_ms: Option<u64>,
    pub(super) idle_ms: u64,
    /// Whether bytes of an answer wait for the client to read them.
    pub(super) is_unread: bool,
    /// Bytes of answers that the client has read since it connected.
    pub(super) read_bytes: u64,
}

/// A point of the measurement of a client's reading rate: the age of the connection when bytes
/// began to wait or when the rate was last measured, and the bytes that the client had read by
/// then.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReadProgress {
    age_ms: u64,
    read_bytes: u64,
}

/// Decides whether to close a connection now, and returns the reason. The caller passes the same
/// `progress` in every call for one connection.
pub(super) fn judge(
    status: &ConnectionStatus,
    progress: &mut ReadProgress,
    limits: &Limits,
) -> Option<Reason> {
    let header_ms = millis(limits.header_time);
    if reads_too_slowly(status, progress, millis(limits.stall_time)) {
        return Some(Reason::Unread);
    }
    // A request that runs long is limited by its own timeout, not by the idle time.
    if status.is_busy || status.is_unread {
        return None;
    }
    let head_ms = match status.client {
        // A new client has one time limit for connecting, the handshake and its first headers
        // together.
        Authentication::New => Some(status.age_ms),
        Authentication::Unauthenticated | Authentication::Authenticated => status.head_ms,
    };
    if head_ms.is_some_and(|time| time > header_ms) {
        return Some(Reason::Header);
    }
    // Only a client with a credential may occupy a connection for long.
    let idle_max = match status.client {
        Authentication::Authenticated => millis(limits.idle_time),
        Authentication::New | Authentication::Unauthenticated => header_ms,
    };
    (status.idle_ms > idle_max).then_some(Reason::Idle)
}

/// Whether the client has read fewer bytes than the least rate demands, over at least `stall_ms`.
fn reads_too_slowly(status: &ConnectionStatus, progress: &mut ReadProgress, stall_ms: u64) -> bool {
    let now = ReadProgress {
        age_ms: status.age_ms,
        read_bytes: status.read_bytes,
    };
    if !status.is_unread {
        // No bytes wait, so the measurement begins anew with the next answer.
        *progress = now;
        return false;
    }
    let time_ms = status.age_ms.saturating_sub(progress.age_ms);
    if time_ms <= stall_ms {
        return false;
    }
    let is_slow =
        status.read_bytes.saturating_sub(progress.read_bytes) < time_ms * STALL_RATE / 1_000;
    *progress = now;
    is_slow
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        memory_bytes: 0,
        connections: 0,
        header_time: Duration::from_secs(20),
        stall_time: Duration::from_secs(30),
        idle_time: Duration::from_hours(1),
        request_time: Duration::from_mins(1),
        allowed_hosts: Vec::new(),
    };

    #[test]
    fn connections_without_a_request_end() {
        let fresh = ConnectionStatus::default();
        let used = ConnectionStatus {
            client: Authentication::Unauthenticated,
            age_ms: 10_000_000,
            ..ConnectionStatus::default()
        };
        let trusted = ConnectionStatus {
            client: Authentication::Authenticated,
            ..used
        };
        for (status, age_ms, head_ms, idle_ms, expected) in [
            (fresh, 20_000, Some(20_000), 20_000, None),
            (fresh, 20_001, None, 20_001, Some(Reason::Header)),
            (fresh, 20_001, Some(1), 20_001, Some(Reason::Header)),
            (used, 0, None, 20_000, None),
            (used, 0, None, 20_001, Some(Reason::Idle)),
            (used, 0, Some(20_001), 0, Some(Reason::Header)),
            (trusted, 0, None, 3_600_000, None),
            (trusted, 0, None, 3_600_001, Some(Reason::Idle)),
            (trusted, 0, Some(20_001), 30_000, Some(Reason::Header)),
        ] {
            let status = ConnectionStatus {
                age_ms: status.age_ms.max(age_ms),
                head_ms,
                idle_ms,
                ..status
            };
            let found = judge(&status, &mut ReadProgress::default(), &LIMITS);
            assert_eq!(found, expected, "{status:?}");
            let busy = ConnectionStatus {
                is_busy: true,
                ..status
            };
            assert_eq!(judge(&busy, &mut ReadProgress::default(), &LIMITS), None);
        }
    }

    #[test]
    fn clients_that_do_not_read_are_disconnected() {
        for (rate, expected) in [(0, true), (STALL_RATE - 1, true), (STALL_RATE, false)] {
            let mut progress = ReadProgress::default();
            let is_closed = (0..200).any(|second| {
                let status = ConnectionStatus {
                    age_ms: second * 1_000,
                    client: Authentication::Unauthenticated,
                    is_busy: true,
                    is_unread: second >= 5,
                    read_bytes: second * rate,
                    ..ConnectionStatus::default()
                };
                judge(&status, &mut progress, &LIMITS) == Some(Reason::Unread)
            });
            assert_eq!(is_closed, expected, "{rate} bytes a second");
        }
    }

    #[test]
    fn time_without_anything_to_read_does_not_count() {
        let mut progress = ReadProgress::default();
        for second in 0..10_000 {
            let status = ConnectionStatus {
                age_ms: second * 1_000,
                client: Authentication::Unauthenticated,
                is_busy: true,
                is_unread: second % 30 != 0,
                ..ConnectionStatus::default()
            };
            assert_eq!(judge(&status, &mut progress, &LIMITS), None, "{second}");
        }
    }
}
