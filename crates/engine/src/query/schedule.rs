//! Shares the processors between queries.
//!
//! A query begins in the short lane, where most queries end. After 20 ms of work, a query moves to
//! the long lane, which has about one slot per processor. After a slice of work it goes behind
//! other waiting queries. Both lanes are fair between clients ([`Lane`]). However many expensive
//! queries one client sends, another client's query begins at once, and continues after at most one
//! slice of each other client.
//!
//! ```text
//!   short lane, 4 slots a processor      long lane, 1 slot a processor
//!   [ up to 20 ms ] ------------------>  [ 50 ms ] -> behind the others, if any wait -> ...
//! ```
//!
//! The engine does not divide the work of a query into tasks. The query calls
//! `PageSchedule::yield_and_check` again and again while it works, and that call waits for a slot
//! on the query's own thread. The number of waiting queries in the long lane is bounded, and with
//! it the threads and memory of waiting. A page of a stream that has waited long ends with the rows
//! it has, as at any time limit.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{available_parallelism, yield_now};
use std::time::{Duration, Instant};

use orrery_model::Failure;
use tokio::time::timeout;

use super::lane::{Lane, LaneAdmission, LaneClient, LaneLimits, LaneRefusal, LaneSlot};

/// Time that a query may work in the short lane.
const SHORT_WORK: Duration = Duration::from_millis(20);
/// Time that a query may work in the long lane while others wait.
const SLICE: Duration = Duration::from_millis(50);
/// Time after which a query yields its processor. The operating system may let a running thread
/// continue for several milliseconds while others are ready; threads that serve point operations
/// must not wait that long behind a query.
const YIELD_INTERVAL: Duration = Duration::from_micros(200);

const SHORT_SLOTS_PER_CORE: usize = 4;
const WAITING_MAX: usize = 10_000;
const WAITING_OF_ONE_MAX: usize = 1_000;
/// A query that waits in the long lane occupies one of the 512 blocking threads of the process.
const LONG_WAITING_MAX: usize = 200;
const LONG_WAITING_OF_ONE_MAX: usize = 32;
/// Time that a query waits for its first slot.
const PATIENCE: Duration = Duration::from_secs(30);
const RETRY_AFTER_MS: u64 = 500;

/// The lanes of one engine.
#[derive(Debug)]
pub(crate) struct QueryLanes {
    short: Lane,
    long: Lane,
    /// Limits pages that call user-defined functions, because each occupies a script thread.
    functions: Lane,
    refused: AtomicU64,
}

/// Waiting pages per lane, and refused pages since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryLaneCounts {
    pub waiting_short: usize,
    pub waiting_long: usize,
    pub refused: u64,
}

impl QueryLanes {
    pub(crate) fn new(script_threads: usize) -> QueryLanes {
        let cores = available_parallelism().map_or(2, usize::from).max(2);
        QueryLanes {
            short: Lane::new(LaneLimits {
                slots: SHORT_SLOTS_PER_CORE * cores,
                waiting_max: WAITING_MAX,
                client_waiting_max: WAITING_OF_ONE_MAX,
            }),
            long: Lane::new(LaneLimits {
                slots: cores,
                waiting_max: LONG_WAITING_MAX,
                client_waiting_max: LONG_WAITING_OF_ONE_MAX,
            }),
            functions: Lane::new(LaneLimits {
                slots: script_threads,
                waiting_max: WAITING_MAX,
                client_waiting_max: WAITING_OF_ONE_MAX,
            }),
            refused: AtomicU64::new(0),
        }
    }

    /// Waits for a slot in the short lane.
    pub(crate) async fn begin(&self, client: LaneClient) -> Result<LaneSlot, Failure> {
        self.enter(&self.short, client).await
    }

    /// Waits for a script thread. A query takes the script thread before its slot in the short
    /// lane, so that it occupies no slot while it waits.
    pub(crate) async fn begin_functions(&self, client: LaneClient) -> Result<LaneSlot, Failure> {
        self.enter(&self.functions, client).await
    }

    async fn enter(&self, lane: &Lane, client: LaneClient) -> Result<LaneSlot, Failure> {
        match lane.enter(client) {
            LaneAdmission::Now(slot) => Ok(slot),
            LaneAdmission::Waiting(receiver) => match timeout(PATIENCE, receiver).await {
                Ok(Ok(slot)) => Ok(slot),
                Ok(Err(_)) | Err(_) => Err(self.refuse(LaneRefusal::LaneFull)),
            },
            LaneAdmission::Refused(refused) => Err(self.refuse(refused)),
        }
    }

    pub(crate) fn counts(&self) -> QueryLaneCounts {
        QueryLaneCounts {
            waiting_short: self.short.waiting(),
            waiting_long: self.long.waiting(),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    fn refuse(&self, refused: LaneRefusal) -> Failure {
        self.refused.fetch_add(1, Ordering::Relaxed);
        match refused {
            LaneRefusal::ClientQueueFull => Failure::ClientLimitExceeded {
                message: "Too many of your queries of this container wait already. Send fewer at once, and \
                          try again."
                    .to_owned(),
                retry_after_ms: RETRY_AFTER_MS,
            },
            LaneRefusal::LaneFull => Failure::Unavailable(
                "Service is currently unavailable: too many queries wait. Try again in a moment.".to_owned(),
            ),
        }
    }
}

/// The lane slot of one page, and the time limit of that page.
#[derive(Debug)]
pub(crate) struct PageSchedule<'a> {
    begun: Instant,
    time_max: Duration,
    /// Absent for pages whose time is limited elsewhere.
    lanes: Option<&'a QueryLanes>,
    client: LaneClient,
    /// Becomes true when the client that asked for the page has disconnected.
    is_cancelled: Option<&'a AtomicBool>,
    /// Elapsed time of the page at its last yield.
    yielded: Cell<Duration>,
    current_lane: RefCell<CurrentLane>,
}

#[derive(Debug)]
enum CurrentLane {
    Short {
        _slot: Option<LaneSlot>,
    },
    Long {
        _slot: LaneSlot,
        since: Instant,
    },
    /// The long lane refused the page because too many queries wait there.
    Refused(Failure),
}

impl<'a> PageSchedule<'a> {
    /// The schedule of a page that holds a slot of the short lane.
    pub(crate) fn new(
        lanes: &'a QueryLanes,
        client: LaneClient,
        slot: LaneSlot,
        is_cancelled: &'a AtomicBool,
        time_max: Duration,
    ) -> PageSchedule<'a> {
        PageSchedule {
            begun: Instant::now(),
            time_max,
            lanes: Some(lanes),
            client,
            is_cancelled: Some(is_cancelled),
            yielded: Cell::default(),
            current_lane: RefCell::new(CurrentLane::Short { _slot: Some(slot) }),
        }
    }

    /// The schedule of a page without lanes, which has a time limit only.
    pub(crate) fn without_lane(time_max: Duration) -> PageSchedule<'static> {
        PageSchedule {
            begun: Instant::now(),
            time_max,
            lanes: None,
            client: LaneClient {
                container: 0,
                client: 0,
            },
            is_cancelled: None,
            yielded: Cell::default(),
            current_lane: RefCell::new(CurrentLane::Short { _slot: None }),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether the page must end. A page whose slice is used up waits inside this call.
    pub(crate) fn yield_and_check(&self) -> bool {
        if self
            .is_cancelled
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
        {
            return true;
        }
        let elapsed = self.begun.elapsed();
        if elapsed >= self.time_max {
            return true;
        }
        if elapsed.saturating_sub(self.yielded.get()) >= YIELD_INTERVAL {
            self.yielded.set(elapsed);
            yield_now();
        }
        let Some(lanes) = self.lanes else {
            return false;
        };
        let must_wait = match &*self.current_lane.borrow() {
            CurrentLane::Short { .. } => elapsed >= SHORT_WORK,
            CurrentLane::Long { since, .. } => since.elapsed() >= SLICE && lanes.long.waiting() > 0,
            CurrentLane::Refused(_) => return true,
        };
        must_wait && self.wait(lanes, self.time_max.saturating_sub(elapsed))
    }

    /// The refusal of the long lane; `None` for a page that ended for another reason, such as its
    /// time limit.
    pub(crate) fn refusal(&self) -> Option<Failure> {
        match &*self.current_lane.borrow() {
            CurrentLane::Refused(failure) => Some(failure.clone()),
            CurrentLane::Short { .. } | CurrentLane::Long { .. } => None,
        }
    }

    /// Waits for a slot in the long lane. Returns true if the page must end: its time ran out, or
    /// the lane refused it.
    fn wait(&self, lanes: &QueryLanes, time_left: Duration) -> bool {
        // The query joins its queue before it releases its slot. The lane hands a released slot at
        // once to a query that already waits.
        let entered = lanes.long.enter_thread(self.client);
        if let LaneAdmission::Refused(refused) = entered {
            // A refused query keeps a long slot that it already has; a query without one must end.
            let is_short = matches!(&*self.current_lane.borrow(), CurrentLane::Short { .. });
            if is_short {
                *self.current_lane.borrow_mut() = CurrentLane::Refused(lanes.refuse(refused));
            }
            return is_short;
        }
        *self.current_lane.borrow_mut() = CurrentLane::Short { _slot: None };
        let slot = match entered {
            LaneAdmission::Now(slot) => Some(slot),
            LaneAdmission::Waiting(receiver) => receiver.recv_timeout(time_left).ok(),
            LaneAdmission::Refused(_) => None,
        };
        let Some(slot) = slot else {
            return true;
        };
        *self.current_lane.borrow_mut() = CurrentLane::Long {
            _slot: slot,
            since: Instant::now(),
        };
        false
    }
}

/// Dropping this guard tells the page that its client has disconnected.
#[derive(Debug, Default)]
pub(crate) struct CancelGuard(Arc<AtomicBool>);

impl CancelGuard {
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane_client(client: usize) -> LaneClient {
        LaneClient {
            container: 1,
            client,
        }
    }

    /// Works until `is_done`, and checks the schedule as an evaluation does.
    fn work(schedule: &PageSchedule<'_>, is_done: impl Fn(u64) -> bool) -> Option<u64> {
        let mut rounds = 0;
        while !is_done(rounds) {
            if schedule.yield_and_check() {
                return None;
            }
            rounds += 1;
            std::hint::spin_loop();
        }
        Some(rounds)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn another_client_is_served_during_long_queries() {
        let lanes = Arc::new(QueryLanes::new(1));
        let is_ended = Arc::new(AtomicBool::new(false));
        let mut greedy = Vec::new();
        for _ in 0..8 {
            let slot = lanes.begin(lane_client(1)).await.unwrap();
            let (lanes, is_ended) = (Arc::clone(&lanes), Arc::clone(&is_ended));
            greedy.push(tokio::task::spawn_blocking(move || {
                let is_cancelled = AtomicBool::new(false);
                let limit = Duration::from_mins(2);
                let schedule =
                    PageSchedule::new(&lanes, lane_client(1), slot, &is_cancelled, limit);
                work(&schedule, |_| is_ended.load(Ordering::Relaxed))
            }));
        }
        // A query of several slices ends while all greedy queries still run.
        let slot = lanes.begin(lane_client(2)).await.unwrap();
        let honest = tokio::task::spawn_blocking({
            let lanes = Arc::clone(&lanes);
            move || {
                let is_cancelled = AtomicBool::new(false);
                let limit = Duration::from_mins(1);
                let schedule =
                    PageSchedule::new(&lanes, lane_client(2), slot, &is_cancelled, limit);
                let begun = Instant::now();
                work(&schedule, |_| begun.elapsed() > 4 * SLICE)
            }
        });
        assert!(honest.await.unwrap().is_some());
        assert!(greedy.iter().all(|page| !page.is_finished()));
        is_ended.store(true, Ordering::Relaxed);
        for page in greedy {
            assert!(page.await.unwrap().is_some());
        }
        assert_eq!(lanes.counts().waiting_long, 0);
        assert_eq!(lanes.counts().refused, 0);
    }

    #[tokio::test]
    async fn a_page_that_nobody_waits_for_ends() {
        let lanes = QueryLanes::new(1);
        let slot = lanes.begin(lane_client(1)).await.unwrap();
        let cancel_guard = CancelGuard::default();
        let flag = cancel_guard.flag();
        let schedule =
            PageSchedule::new(&lanes, lane_client(1), slot, &flag, Duration::from_mins(1));
        assert!(!schedule.yield_and_check());
        drop(cancel_guard);
        assert!(schedule.yield_and_check());
    }

    #[tokio::test]
    async fn pages_with_functions_alternate_between_clients() {
        let lanes = Arc::new(QueryLanes::new(1));
        let lane_client = |client| LaneClient {
            container: 1,
            client,
        };
        let first = lanes.begin_functions(lane_client(1)).await.expect("a slot");
        let (sender, mut begun) = tokio::sync::mpsc::unbounded_channel();
        // The greedy client enters three times before the other client enters once.
        for (waiting, client) in [1, 1, 1, 2].into_iter().enumerate() {
            let (lanes, sender) = (Arc::clone(&lanes), sender.clone());
            let other = Arc::clone(&lanes);
            tokio::spawn(async move {
                let slot = lanes.begin_functions(lane_client(client)).await;
                let _ = sender.send(client);
                drop(slot);
            });
            while other.functions.waiting() <= waiting {
                tokio::task::yield_now().await;
            }
        }
        drop(first);
        let mut order = Vec::new();
        for _ in 0..4 {
            order.extend(begun.recv().await);
        }
        assert_eq!(order, [1, 2, 1, 1]);
    }
}
