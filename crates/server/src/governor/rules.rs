//! Decides whether a connection has exceeded one of its time limits.

use std::time::Duration;

use super::Limits;
use super::limits::STALL_RATE;

/// Why connections are closed, or not even opened.
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
    /// Its headers need more memory than there is.
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
pub(super) enum Acquaintance {
    /// The client has not sent a request.
    #[default]
    New,
    Stranger,
    /// A request of the client had a valid credential.
    Trusted,
}

/// A connection at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) age_ms: u64,
    pub(super) client: Acquaintance,
    /// A request is being answered.
    pub(super) is_busy: bool,
    /// For how long the headers of the next request have been coming.
    pub(super) head_ms: Option<u64>,
    pub(super) idle_ms: u64,
    /// Whether bytes of an answer wait for the client to read them.
    pub(super) is_unread: bool,
    /// Bytes of answers that the client has read since it connected.
    pub(super) taken: u64,
}

/// The age of a connection when bytes began to wait for the client or when its rate was last
/// measured, and how many bytes the client had read by then.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mark {
    age_ms: u64,
    taken: u64,
}

/// The reason to close a connection now, if there is one. The caller passes the same `mark` in
/// every call for a connection.
pub(super) fn judge(seen: &Seen, mark: &mut Mark, limits: &Limits) -> Option<Reason> {
    let header_ms = millis(limits.header_time);
    if reads_too_slowly(seen, mark, millis(limits.stall_time)) {
        return Some(Reason::Unread);
    }
    if seen.is_busy || seen.is_unread {
        return None;
    }
    let head_ms = match seen.client {
        Acquaintance::New => Some(seen.age_ms),
        Acquaintance::Stranger | Acquaintance::Trusted => seen.head_ms,
    };
    if head_ms.is_some_and(|time| time > header_ms) {
        return Some(Reason::Header);
    }
    let idle_max = match seen.client {
        Acquaintance::Trusted => millis(limits.idle_time),
        Acquaintance::New | Acquaintance::Stranger => header_ms,
    };
    (seen.idle_ms > idle_max).then_some(Reason::Idle)
}

fn reads_too_slowly(seen: &Seen, mark: &mut Mark, stall_ms: u64) -> bool {
    let now = Mark {
        age_ms: seen.age_ms,
        taken: seen.taken,
    };
    if !seen.is_unread {
        *mark = now;
        return false;
    }
    let time_ms = seen.age_ms.saturating_sub(mark.age_ms);
    if time_ms <= stall_ms {
        return false;
    }
    let is_slow = seen.taken.saturating_sub(mark.taken) < time_ms * STALL_RATE / 1_000;
    *mark = now;
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
        let fresh = Seen::default();
        let used = Seen {
            client: Acquaintance::Stranger,
            age_ms: 10_000_000,
            ..Seen::default()
        };
        let trusted = Seen {
            client: Acquaintance::Trusted,
            ..used
        };
        for (seen, age_ms, head_ms, idle_ms, expected) in [
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
            let seen = Seen {
                age_ms: seen.age_ms.max(age_ms),
                head_ms,
                idle_ms,
                ..seen
            };
            let found = judge(&seen, &mut Mark::default(), &LIMITS);
            assert_eq!(found, expected, "{seen:?}");
            let busy = Seen {
                is_busy: true,
                ..seen
            };
            assert_eq!(judge(&busy, &mut Mark::default(), &LIMITS), None);
        }
    }

    #[test]
    fn whoever_does_not_read_is_given_up() {
        for (rate, expected) in [(0, true), (STALL_RATE - 1, true), (STALL_RATE, false)] {
            let mut mark = Mark::default();
            let is_closed = (0..200).any(|second| {
                let seen = Seen {
                    age_ms: second * 1_000,
                    client: Acquaintance::Stranger,
                    is_busy: true,
                    is_unread: second >= 5,
                    taken: second * rate,
                    ..Seen::default()
                };
                judge(&seen, &mut mark, &LIMITS) == Some(Reason::Unread)
            });
            assert_eq!(is_closed, expected, "{rate} bytes a second");
        }
    }

    #[test]
    fn time_without_anything_to_read_does_not_count() {
        let mut mark = Mark::default();
        for second in 0..10_000 {
            let seen = Seen {
                age_ms: second * 1_000,
                client: Acquaintance::Stranger,
                is_busy: true,
                is_unread: second % 30 != 0,
                ..Seen::default()
            };
            assert_eq!(judge(&seen, &mut mark, &LIMITS), None, "{second}");
        }
    }
}
