//! What was asked lately, for a person who looks on.
//!
//! Nobody pays for it unless somebody looks: a request compares one number, and only within a minute
//! of the last look is it written down. The newest thousand are kept; a reader that was away longer
//! sees a gap in the numbers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hyper::http::request::Parts;
use orrery_wire::{ErrorStatus, LoggedRequest};

use crate::reply::Reply;

const REQUESTS_MAX: usize = 1_000;
const WATCHED_AFTER_LOOK: Duration = Duration::from_mins(1);
/// A path or the name of a client can be as long as the sender likes.
const TEXT_CHARACTERS_MAX: usize = 512;

/// Requests of those who look on are not what they look for.
const LOOKING_ON: &str = "/_orrery/";

pub(crate) struct RequestLog {
    begun: Instant,
    /// Milliseconds after `begun`; requests that begin later are not written down.
    watched_until_ms: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The number of the next request.
    next: u64,
    requests: VecDeque<LoggedRequest>,
}

impl RequestLog {
    pub(crate) fn new(begun: Instant) -> RequestLog {
        RequestLog {
            begun,
            watched_until_ms: AtomicU64::new(0),
            kept: Mutex::default(),
        }
    }

    /// Writes a request down, if somebody looks.
    pub(crate) fn note(&self, begun: Instant, parts: &Parts, activity_id: &str, reply: &Reply) {
        if self.is_watched(begun) && !parts.uri.path().starts_with(LOOKING_ON) {
            self.keep(line(begun.elapsed(), parts, activity_id, reply));
        }
    }

    /// The requests numbered `after` and later that are still there, and the number that comes next.
    /// A reader that knows more requests than there were has seen another run of the server, and
    /// gets everything.
    pub(crate) fn look(&self, now: Instant, after: u64) -> (u64, Vec<LoggedRequest>) {
        let until = millis(now.duration_since(self.begun) + WATCHED_AFTER_LOOK);
        self.watched_until_ms.fetch_max(until, Ordering::Relaxed);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let after = if after > kept.next { 0 } else { after };
        let unseen = kept.requests.iter().filter(|line| line.number >= after);
        (kept.next, unseen.cloned().collect())
    }

    fn is_watched(&self, begun: Instant) -> bool {
        let until = self.watched_until_ms.load(Ordering::Relaxed);
        until > 0 && millis(begun.duration_since(self.begun)) < until
    }

    fn keep(&self, line: LoggedRequest) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.requests.len() == REQUESTS_MAX {
            kept.requests.pop_front();
        }
        let number = kept.next;
        kept.next += 1;
        kept.requests.push_back(LoggedRequest { number, ..line });
    }
}

fn line(elapsed: Duration, parts: &Parts, activity_id: &str, reply: &Reply) -> LoggedRequest {
    let client = parts
        .headers
        .get(hyper::header::USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    LoggedRequest {
        number: 0,
        seconds_since_epoch: since_epoch.unwrap_or_default().as_secs_f64(),
        method: parts.method.to_string(),
        path: shortened(parts.uri.path()),
        status: reply.status,
        substatus: reply
            .failure
            .as_ref()
            .and_then(|failure| ErrorStatus::of(failure).substatus),
        charge: reply.charge,
        duration: elapsed,
        activity_id: activity_id.to_owned(),
        partition: reply.stamp.map(|stamp| stamp.range),
        client: client.map(shortened),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(TEXT_CHARACTERS_MAX).collect()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn note(log: &RequestLog, begun: Instant) {
        let (parts, ()) = Request::get("/dbs?a=b").body(()).unwrap().into_parts();
        log.note(begun, &parts, "id", &Reply::new(200, ""));
    }

    #[test]
    fn nothing_is_kept_while_nobody_looks() {
        let start = Instant::now();
        let log = RequestLog::new(start);
        note(&log, start);
        assert_eq!(log.look(start, 0).0, 0);
        note(&log, start + Duration::from_secs(59));
        note(&log, start + Duration::from_mins(1));
        let (next, seen) = log.look(start + Duration::from_secs(90), 0);
        assert_eq!((next, seen.len()), (1, 1));
        assert_eq!(seen[0].path, "/dbs");
        note(&log, start + Duration::from_secs(149));
        assert_eq!(log.look(start, 1).1.len(), 1);
    }

    /// The log contains no signatures, because a reader of the log must not be able to send signed
    /// requests.
    #[test]
    fn what_signs_a_request_is_not_written_down() {
        let start = Instant::now();
        let log = RequestLog::new(start);
        log.look(start, 0);
        let request = Request::get("/dbs?sig=c2VjcmV0").header("authorization", "c2VjcmV0");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        log.note(start, &parts, "id", &Reply::new(200, ""));
        let (_, seen) = log.look(start, 0);
        assert!(!format!("{seen:?}").contains("c2VjcmV0"), "{seen:?}");
    }

    #[test]
    fn the_newest_are_kept_and_numbers_show_the_gap() {
        let start = Instant::now();
        let log = RequestLog::new(start);
        log.look(start, 0);
        for _ in 0..REQUESTS_MAX + 5 {
            note(&log, start);
        }
        let (next, seen) = log.look(start, 0);
        assert_eq!((next, seen.len()), (1_005, REQUESTS_MAX));
        assert_eq!(seen[0].number, 5);
        assert_eq!(log.look(start, 1_004).1.len(), 1);
        assert_eq!(log.look(start, 1_005).1.len(), 0);
        assert_eq!(log.look(start, 1_006).1.len(), REQUESTS_MAX);
    }
}
