//! The log of recent requests, for a person who watches the server.
//!
//! Requests cost nothing while no person watches: a request compares one number, and is logged only
//! within a minute of the last read of the log. The log has the newest thousand requests; a reader
//! that was away for longer sees a gap in the numbers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hyper::http::request::Parts;
use orrery_wire::{ErrorStatus, LoggedRequest};

use crate::reply::Reply;

const REQUESTS_MAX: usize = 1_000;
const WATCHED_AFTER_READ: Duration = Duration::from_mins(1);
/// The longest path or client name in the log. The sender chooses their lengths.
const TEXT_CHARACTERS_MAX: usize = 512;

/// The path of requests that read the log, which the log leaves out.
const READERS_PREFIX: &str = "/_orrery/";

pub(crate) struct RequestLog {
    started: Instant,
    /// Milliseconds after `started`. Requests that begin later are not logged.
    watched_until_ms: AtomicU64,
    recent: Mutex<RecentRequests>,
}

#[derive(Default)]
struct RecentRequests {
    /// The number of the next request.
    next: u64,
    requests: VecDeque<LoggedRequest>,
}

impl RequestLog {
    pub(crate) fn new(started: Instant) -> RequestLog {
        RequestLog {
            started,
            watched_until_ms: AtomicU64::new(0),
            recent: Mutex::default(),
        }
    }

    /// Logs a request, if a person is watching.
    pub(crate) fn record(&self, started: Instant, parts: &Parts, activity_id: &str, reply: &Reply) {
        if self.is_watched(started) && !parts.uri.path().starts_with(READERS_PREFIX) {
            self.store(entry(started.elapsed(), parts, activity_id, reply));
        }
    }

    /// The logged requests numbered `after` and later, and the number of the next request. A reader
    /// with a larger number than the next one has read the log of an earlier run of the server, and
    /// receives all requests.
    pub(crate) fn read(&self, now: Instant, after: u64) -> (u64, Vec<LoggedRequest>) {
        let until = millis(now.duration_since(self.started) + WATCHED_AFTER_READ);
        // `max`, since two readers may read in any order.
        self.watched_until_ms.fetch_max(until, Ordering::Relaxed);
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let after = if after > recent.next { 0 } else { after };
        let unseen = recent.requests.iter().filter(|entry| entry.number >= after);
        (recent.next, unseen.cloned().collect())
    }

    /// Whether a person has read the log within the last minute. Without a reader this is one
    /// atomic load.
    fn is_watched(&self, started: Instant) -> bool {
        let until = self.watched_until_ms.load(Ordering::Relaxed);
        until > 0 && millis(started.duration_since(self.started)) < until
    }

    fn store(&self, entry: LoggedRequest) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.requests.len() == REQUESTS_MAX {
            recent.requests.pop_front();
        }
        // Numbered under the lock, so that the queue is sorted by number.
        let number = recent.next;
        recent.next += 1;
        recent.requests.push_back(LoggedRequest { number, ..entry });
    }
}

/// The log entry of a request. It has the path without its query string, and no body.
fn entry(elapsed: Duration, parts: &Parts, activity_id: &str, reply: &Reply) -> LoggedRequest {
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
        partition: reply.partition_lsn.map(|partition_lsn| partition_lsn.range),
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

    fn record(log: &RequestLog, started: Instant) {
        let (parts, ()) = Request::get("/dbs?a=b").body(()).unwrap().into_parts();
        log.record(started, &parts, "id", &Reply::new(200, ""));
    }

    #[test]
    fn requests_are_logged_only_while_the_log_is_read() {
        let start = Instant::now();
        let log = RequestLog::new(start);
        record(&log, start);
        assert_eq!(log.read(start, 0).0, 0);
        record(&log, start + Duration::from_secs(59));
        record(&log, start + Duration::from_mins(1));
        let (next, logged) = log.read(start + Duration::from_secs(90), 0);
        assert_eq!((next, logged.len()), (1, 1));
        assert_eq!(logged[0].path, "/dbs");
        record(&log, start + Duration::from_secs(149));
        assert_eq!(log.read(start, 1).1.len(), 1);
    }

    /// The log contains no signatures, because a reader of the log must not be able to send signed
    /// requests.
    #[test]
    fn what_signs_a_request_is_not_written_down() {
        let start = Instant::now();
        let log = RequestLog::new(start);
        log.read(start, 0);
        let request = Request::get("/dbs?sig=c2VjcmV0").header("authorization", "c2VjcmV0");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        log.record(start, &parts, "id", &Reply::new(200, ""));
        let (_, logged) = log.read(start, 0);
        assert!(!format!("{logged:?}").contains("c2VjcmV0"), "{logged:?}");
    }

    #[test]
    fn the_newest_are_kept_and_numbers_show_the_gap() {
        let start = Instant::now();
        let log = RequestLog::new(start);
        log.read(start, 0);
        for _ in 0..REQUESTS_MAX + 5 {
            record(&log, start);
        }
        let (next, logged) = log.read(start, 0);
        assert_eq!((next, logged.len()), (1_005, REQUESTS_MAX));
        assert_eq!(logged[0].number, 5);
        assert_eq!(log.read(start, 1_004).1.len(), 1);
        assert_eq!(log.read(start, 1_005).1.len(), 0);
        assert_eq!(log.read(start, 1_006).1.len(), REQUESTS_MAX);
    }
}
