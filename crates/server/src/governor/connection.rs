//! What is known of one connection: a few numbers, which the connection writes and the sweep reads.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use orrery_memory::Loan;
use tokio::task::AbortHandle;

use super::clock::Clock;
use super::rules::{Acquaintance, Seen};

/// Fields that end in `_ms` are times of the [`Clock`]; 0 means that the field has no time.
pub(crate) struct Connection {
    pub(super) number: u64,
    clock: Arc<Clock>,
    opened_ms: u64,
    /// Requests whose headers are complete and whose answers the client has not yet taken.
    requests: AtomicU32,
    was_used: AtomicBool,
    /// Whether a request with a valid credential has come on the connection.
    is_trusted: AtomicBool,
    /// HTTP/2 has frames that belong to no request.
    is_multiplexed: AtomicBool,
    /// When the first byte of the next request came.
    head_since_ms: AtomicU64,
    idle_since_ms: AtomicU64,
    /// Since when the socket takes nothing.
    stalled_since_ms: AtomicU64,
    /// Answers that wait to be taken.
    answers: AtomicU32,
    /// Bytes of answers that were taken.
    taken: AtomicU64,
    /// Bytes that the socket took.
    written: AtomicU64,
    /// Bytes heard since a request began.
    heard: AtomicUsize,
    task: OnceLock<AbortHandle>,
    is_given_up: AtomicBool,
    _memory: Loan,
}

impl Connection {
    pub(super) fn new(number: u64, clock: &Arc<Clock>, memory: Loan) -> Connection {
        let now = clock.now_ms();
        Connection {
            number,
            clock: Arc::clone(clock),
            opened_ms: now,
            requests: AtomicU32::new(0),
            was_used: AtomicBool::new(false),
            is_trusted: AtomicBool::new(false),
            is_multiplexed: AtomicBool::new(false),
            head_since_ms: AtomicU64::new(0),
            idle_since_ms: AtomicU64::new(now),
            stalled_since_ms: AtomicU64::new(0),
            answers: AtomicU32::new(0),
            taken: AtomicU64::new(0),
            written: AtomicU64::new(0),
            heard: AtomicUsize::new(0),
            task: OnceLock::new(),
            is_given_up: AtomicBool::new(false),
            _memory: memory,
        }
    }

    /// Stores the task that serves the connection, for [`Connection::close`] to abort. Aborts it at
    /// once if the register closed the connection before the task was stored.
    pub(crate) fn runs_as(&self, task: AbortHandle) {
        // A connection runs once.
        let _ = self.task.set(task);
        if self.is_given_up.load(Ordering::Acquire) {
            self.close();
        }
    }

    pub(crate) fn close(&self) {
        self.is_given_up.store(true, Ordering::Release);
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    /// Counts received bytes as headers of the next request and returns their number so far. While
    /// a request is being answered, the call counts nothing and returns 0.
    pub(super) fn hear(&self, bytes: usize) -> usize {
        if self.requests.load(Ordering::Relaxed) > 0 {
            return 0;
        }
        if self.head_since_ms.load(Ordering::Relaxed) == 0 {
            self.head_since_ms
                .store(self.clock.now_ms(), Ordering::Relaxed);
        }
        self.heard.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    pub(super) fn wrote(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        if self.stalled_since_ms.load(Ordering::Relaxed) != 0 {
            self.stalled_since_ms.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn stalls(&self) {
        if self.stalled_since_ms.load(Ordering::Relaxed) == 0 {
            self.stalled_since_ms
                .store(self.clock.now_ms(), Ordering::Relaxed);
        }
    }

    /// The headers of a request are complete.
    pub(crate) fn begin(self: &Arc<Self>, is_multiplexed: bool) -> Open {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.head_since_ms.store(0, Ordering::Relaxed);
        self.heard.store(0, Ordering::Relaxed);
        if !self.was_used.load(Ordering::Relaxed) {
            self.was_used.store(true, Ordering::Relaxed);
            self.is_multiplexed.store(is_multiplexed, Ordering::Relaxed);
        }
        Open {
            connection: Arc::clone(self),
            is_answered: false,
        }
    }

    /// Records that a request with a valid credential has come on the connection.
    pub(crate) fn trust(&self) {
        if !self.is_trusted.load(Ordering::Relaxed) {
            self.is_trusted.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the client has not yet sent a byte.
    pub(super) fn is_silent(&self) -> bool {
        self.client() == Acquaintance::New && self.head_since_ms.load(Ordering::Relaxed) == 0
    }

    pub(super) fn client(&self) -> Acquaintance {
        if self.is_trusted.load(Ordering::Relaxed) {
            Acquaintance::Trusted
        } else if self.was_used.load(Ordering::Relaxed) {
            Acquaintance::Stranger
        } else {
            Acquaintance::New
        }
    }

    pub(super) fn seen(&self) -> Seen {
        let now = self.clock.now_ms();
        let since = |moment: &AtomicU64| {
            let moment = moment.load(Ordering::Relaxed);
            (moment != 0).then(|| now.saturating_sub(moment))
        };
        let is_multiplexed = self.is_multiplexed.load(Ordering::Relaxed);
        let counter = if is_multiplexed {
            &self.taken
        } else {
            &self.written
        };
        let is_stalled = self.stalled_since_ms.load(Ordering::Relaxed) != 0;
        Seen {
            age_ms: now.saturating_sub(self.opened_ms),
            client: self.client(),
            is_busy: self.requests.load(Ordering::Relaxed) > 0,
            head_ms: since(&self.head_since_ms).filter(|_| !is_multiplexed),
            idle_ms: since(&self.idle_since_ms).unwrap_or(0),
            is_unread: is_stalled || self.answers.load(Ordering::Relaxed) > 0,
            taken: counter.load(Ordering::Relaxed),
        }
    }
}

/// A request, from the end of its headers until the client has taken the answer or the connection
/// has dropped the request.
pub(crate) struct Open {
    connection: Arc<Connection>,
    is_answered: bool,
}

impl Open {
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Records that an answer waits for the client to read it.
    pub(crate) fn answered(&mut self) {
        self.is_answered = true;
        self.connection.answers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn took(&self, bytes: usize) {
        self.connection
            .taken
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let connection = &self.connection;
        if self.is_answered {
            connection.answers.fetch_sub(1, Ordering::Relaxed);
        }
        let now = connection.clock.now_ms();
        connection.idle_since_ms.store(now, Ordering::Relaxed);
        connection.requests.fetch_sub(1, Ordering::Relaxed);
    }
}
