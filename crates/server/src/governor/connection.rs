//! The state of one connection: a few numbers that the connection writes and the sweep reads.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orrery_memory::Loan;
use tokio::task::{AbortHandle, JoinHandle};

use super::clock::Clock;
use super::rules::{Authentication, ConnectionStatus};

/// Fields that end in `_ms` are times of the [`Clock`]; 0 means that the field has no time.
pub(crate) struct Connection {
    pub(super) number: u64,
    clock: Arc<Clock>,
    opened_ms: u64,
    /// Requests whose headers are complete and whose answers the client has not yet taken.
    requests: AtomicU32,
    was_used: AtomicBool,
    /// Whether a request with a valid credential has come on the connection.
    is_authenticated: AtomicBool,
    /// Whether a request that a key of the account signed has come on the connection.
    has_key: AtomicBool,
    /// Whether the connection speaks HTTP/2, which has frames that belong to no request.
    is_multiplexed: AtomicBool,
    /// Whether the connection carries frames of direct mode, whose reader borrows for them itself.
    has_frames: AtomicBool,
    /// The time of the first byte of the next request.
    head_since_ms: AtomicU64,
    idle_since_ms: AtomicU64,
    /// The time since which the socket accepts no bytes.
    stalled_since_ms: AtomicU64,
    /// Answers that the client has not read completely.
    answers: AtomicU32,
    /// Bytes of answers that hyper has written to the connection.
    written_to_client: AtomicU64,
    /// Bytes that the socket accepted.
    written: AtomicU64,
    /// Bytes received since the begin of the present request headers.
    head_bytes: AtomicUsize,
    task: Mutex<Option<AbortHandle>>,
    is_closed: AtomicBool,
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
            is_authenticated: AtomicBool::new(false),
            has_key: AtomicBool::new(false),
            is_multiplexed: AtomicBool::new(false),
            has_frames: AtomicBool::new(false),
            head_since_ms: AtomicU64::new(0),
            idle_since_ms: AtomicU64::new(now),
            stalled_since_ms: AtomicU64::new(0),
            answers: AtomicU32::new(0),
            written_to_client: AtomicU64::new(0),
            written: AtomicU64::new(0),
            head_bytes: AtomicUsize::new(0),
            task: Mutex::default(),
            is_closed: AtomicBool::new(false),
            _memory: memory,
        }
    }

    /// Starts the task that serves the connection from now on, in place of an earlier task. The
    /// lock is held while the task starts, so that an earlier task that starts a later one cannot
    /// be stored after it. The task is aborted at once if the register has closed the connection.
    pub(crate) fn run(&self, spawn: impl FnOnce() -> JoinHandle<()>) {
        let mut task = self.task();
        let started = task.insert(spawn().abort_handle());
        // `close` may have run before the task was stored, and would have found none to abort.
        if self.is_closed.load(Ordering::Acquire) {
            started.abort();
        }
    }

    /// Aborts the task that serves the connection, which closes its socket.
    pub(crate) fn close(&self) {
        // The flag is set first: a `run` that stores its task after this lock sees the flag.
        self.is_closed.store(true, Ordering::Release);
        if let Some(task) = &*self.task() {
            task.abort();
        }
    }

    fn task(&self) -> MutexGuard<'_, Option<AbortHandle>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts received bytes as headers of the next request and returns their number so far. While
    /// a request is being answered, the call counts nothing and returns 0.
    pub(super) fn count_head_bytes(&self, bytes: usize) -> usize {
        // Bytes during a request are its body, which has limits of its own.
        if self.requests.load(Ordering::Relaxed) > 0 {
            return 0;
        }
        if self.head_since_ms.load(Ordering::Relaxed) == 0 {
            self.head_since_ms
                .store(self.clock.now_ms(), Ordering::Relaxed);
        }
        if self.has_frames.load(Ordering::Relaxed) {
            return 0;
        }
        self.head_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    /// Records that the connection carries frames of direct mode.
    pub(crate) fn carries_frames(&self) {
        self.is_multiplexed.store(true, Ordering::Relaxed);
        self.has_frames.store(true, Ordering::Relaxed);
    }

    /// Counts bytes that the socket accepted.
    pub(super) fn wrote(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        // A load before the store: most writes find no stall, and an unchanged cache line stays
        // shared.
        if self.stalled_since_ms.load(Ordering::Relaxed) != 0 {
            self.stalled_since_ms.store(0, Ordering::Relaxed);
        }
    }

    /// Records that the socket accepts no bytes. Only the first call of a stall sets the time.
    pub(super) fn stalls(&self) {
        if self.stalled_since_ms.load(Ordering::Relaxed) == 0 {
            self.stalled_since_ms
                .store(self.clock.now_ms(), Ordering::Relaxed);
        }
    }

    /// Opens a request whose headers are complete.
    pub(crate) fn begin(self: &Arc<Self>, is_multiplexed: bool) -> OpenRequest {
        self.requests.fetch_add(1, Ordering::Relaxed);
        // The next byte begins the headers of another request.
        self.head_since_ms.store(0, Ordering::Relaxed);
        self.head_bytes.store(0, Ordering::Relaxed);
        if !self.was_used.load(Ordering::Relaxed) {
            // The protocol of a connection never changes, so the first request decides.
            self.was_used.store(true, Ordering::Relaxed);
            self.is_multiplexed.store(is_multiplexed, Ordering::Relaxed);
        }
        OpenRequest {
            connection: Arc::clone(self),
            is_answered: false,
        }
    }

    /// Records that a request with a valid credential has come on the connection.
    pub(crate) fn mark_authenticated(&self) {
        if !self.is_authenticated.load(Ordering::Relaxed) {
            self.is_authenticated.store(true, Ordering::Relaxed);
        }
    }

    /// Records that a key of the account signed a request of the connection.
    pub(crate) fn mark_key_shown(&self) {
        if !self.has_key.load(Ordering::Relaxed) {
            self.has_key.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a request that a key of the account signed has come on the connection.
    pub(crate) fn has_key(&self) -> bool {
        self.has_key.load(Ordering::Relaxed)
    }

    /// Whether the client has not yet sent a byte.
    pub(super) fn is_silent(&self) -> bool {
        self.authentication() == Authentication::New
            && self.head_since_ms.load(Ordering::Relaxed) == 0
    }

    pub(super) fn authentication(&self) -> Authentication {
        if self.is_authenticated.load(Ordering::Relaxed) {
            Authentication::Authenticated
        } else if self.was_used.load(Ordering::Relaxed) {
            Authentication::Unauthenticated
        } else {
            Authentication::New
        }
    }

    /// The state for the sweep. The fields are read one by one, so they may differ by a few events,
    /// which the time limits tolerate.
    pub(super) fn status(&self) -> ConnectionStatus {
        let now = self.clock.now_ms();
        let since = |time: &AtomicU64| {
            let time = time.load(Ordering::Relaxed);
            (time != 0).then(|| now.saturating_sub(time))
        };
        let is_multiplexed = self.is_multiplexed.load(Ordering::Relaxed);
        // With HTTP/2 the socket carries control frames too, so only bytes of answers show that the
        // client reads.
        let counter = if is_multiplexed {
            &self.written_to_client
        } else {
            &self.written
        };
        let is_stalled = self.stalled_since_ms.load(Ordering::Relaxed) != 0;
        // Before `idle_since_ms`: whoever sees that the last request has ended (`Release` in the
        // drop of `OpenRequest`) then sees the idle time that this request has set, or a later one.
        let is_busy = self.requests.load(Ordering::Acquire) > 0;
        ConnectionStatus {
            age_ms: now.saturating_sub(self.opened_ms),
            client: self.authentication(),
            is_busy,
            // With HTTP/2 other frames than headers count as head bytes, so this limit does not
            // apply.
            head_ms: since(&self.head_since_ms).filter(|_| !is_multiplexed),
            idle_ms: since(&self.idle_since_ms).unwrap_or(0),
            is_unread: is_stalled || self.answers.load(Ordering::Relaxed) > 0,
            read_bytes: counter.load(Ordering::Relaxed),
        }
    }
}

/// A request, from the end of its headers until the client has taken the answer or the connection
/// has dropped the request.
pub(crate) struct OpenRequest {
    connection: Arc<Connection>,
    is_answered: bool,
}

impl OpenRequest {
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Records that an answer waits for the client to read it.
    pub(crate) fn answered(&mut self) {
        self.is_answered = true;
        self.connection.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts bytes of the answer that hyper wrote to the connection.
    pub(crate) fn count_written(&self, bytes: usize) {
        self.connection
            .written_to_client
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let connection = &self.connection;
        if self.is_answered {
            connection.answers.fetch_sub(1, Ordering::Relaxed);
        }
        // `idle_since_ms` is set before the request count falls: a sweep in between must not see an
        // idle connection with an old idle time. `Release` keeps this order for the sweep, which
        // reads the count with `Acquire` in `status`.
        let now = connection.clock.now_ms();
        connection.idle_since_ms.store(now, Ordering::Relaxed);
        connection.requests.fetch_sub(1, Ordering::Release);
    }
}
