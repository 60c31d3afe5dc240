//! How queries share the processors.
//!
//! A query begins in the lane of short queries, where most of them end. A query that has worked for
//! a while goes on in the lane of long queries, which has about as many places as the machine has
//! processors; when that query has used up its slice and other queries wait there, it goes behind
//! them. Both lanes are fair between askers ([`Lane`]). So however many expensive queries one
//! client sends, the query of another begins at once, and goes on after at most one slice of each
//! other asker.
//!
//! ```text
//!   short lane, 4 places a processor     long lane, 1 place a processor
//!   [ up to 20 ms ] ------------------>  [ 50 ms ] -> behind the others, if there are any -> ...
//! ```
//!
//! The engine does not cut the work of a query into pieces for this: a query calls `Pace::is_over`
//! again and again while it works, and that call waits for the place of the query, on the thread of
//! the query. What waits for the long lane is bounded, and so are the threads and the memory that
//! waiting takes. A page of a stream that has waited long ends with the rows it has, as at any time
//! limit.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use orrery_model::Failure;
use tokio::time::timeout;

use super::lane::{Asker, Entered, Lane, LaneLimits, Place, Refused};

/// How long a query works in the lane of short queries.
const SHORT_WORK: Duration = Duration::from_millis(20);
/// How long a query works in the lane of long queries while others wait.
const SLICE: Duration = Duration::from_millis(50);

const SHORT_PLACES_PER_CORE: usize = 4;
const WAITING_MAX: usize = 10_000;
const WAITING_OF_ONE_MAX: usize = 1_000;
/// Each waiting query keeps one of the 512 blocking threads that the whole process shares.
const LONG_WAITING_MAX: usize = 200;
const LONG_WAITING_OF_ONE_MAX: usize = 32;
/// How long a query waits for its begin.
const PATIENCE: Duration = Duration::from_secs(30);
const RETRY_AFTER_MS: u64 = 500;

/// The lanes of an engine.
#[derive(Debug)]
pub(crate) struct QueryLanes {
    short: Lane,
    long: Lane,
    /// Of pages that call functions of the container: each takes a thread of the scripts.
    functions: Lane,
    refused: AtomicU64,
}

/// How many pages of queries and feeds wait, and how many were not taken since the start.
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
                places: SHORT_PLACES_PER_CORE * cores,
                waiting_max: WAITING_MAX,
                line_max: WAITING_OF_ONE_MAX,
            }),
            long: Lane::new(LaneLimits {
                places: cores,
                waiting_max: LONG_WAITING_MAX,
                line_max: LONG_WAITING_OF_ONE_MAX,
            }),
            functions: Lane::new(LaneLimits {
                places: script_threads,
                waiting_max: WAITING_MAX,
                line_max: WAITING_OF_ONE_MAX,
            }),
            refused: AtomicU64::new(0),
        }
    }

    /// A place to begin in.
    pub(crate) async fn begin(&self, asker: Asker) -> Result<Place, Failure> {
        self.enter(&self.short, asker).await
    }

    /// Waits for a script thread. A query asks for that thread before it asks for a place to begin
    /// in, so that it occupies no place of the short lane while it waits.
    pub(crate) async fn begin_functions(&self, asker: Asker) -> Result<Place, Failure> {
        self.enter(&self.functions, asker).await
    }

    async fn enter(&self, lane: &Lane, asker: Asker) -> Result<Place, Failure> {
        match lane.enter(asker) {
            Entered::Now(place) => Ok(place),
            Entered::Waiting(receiver) => match timeout(PATIENCE, receiver).await {
                Ok(Ok(place)) => Ok(place),
                Ok(Err(_)) | Err(_) => Err(self.refuse(Refused::LaneFull)),
            },
            Entered::Refused(refused) => Err(self.refuse(refused)),
        }
    }

    pub(crate) fn counts(&self) -> QueryLaneCounts {
        QueryLaneCounts {
            waiting_short: self.short.waiting(),
            waiting_long: self.long.waiting(),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    fn refuse(&self, refused: Refused) -> Failure {
        self.refused.fetch_add(1, Ordering::Relaxed);
        match refused {
            Refused::LineFull => Failure::TooMuchHeld {
                message: "Too many of your queries of this container wait already. Send fewer at once, and \
                          try again."
                    .to_owned(),
                retry_after_ms: RETRY_AFTER_MS,
            },
            Refused::LaneFull => Failure::Unavailable(
                "Service is currently unavailable: too many queries wait. Try again in a moment.".to_owned(),
            ),
        }
    }
}

/// The lane in which one page works, and the time that the page may take.
#[derive(Debug)]
pub(crate) struct Pace<'a> {
    begun: Instant,
    time_max: Duration,
    /// None for pages that are given their time elsewhere.
    lanes: Option<&'a QueryLanes>,
    asker: Asker,
    /// True after the client that asked for the page has gone.
    is_left: Option<&'a AtomicBool>,
    at: RefCell<At>,
}

#[derive(Debug)]
enum At {
    Short {
        _place: Option<Place>,
    },
    Long {
        _place: Place,
        since: Instant,
    },
    /// Too many wait for the lane of long queries.
    Refused(Failure),
}

impl<'a> Pace<'a> {
    /// Of a page that began in the lane of short queries.
    pub(crate) fn new(
        lanes: &'a QueryLanes,
        asker: Asker,
        place: Place,
        is_left: &'a AtomicBool,
        time_max: Duration,
    ) -> Pace<'a> {
        Pace {
            begun: Instant::now(),
            time_max,
            lanes: Some(lanes),
            asker,
            is_left: Some(is_left),
            at: RefCell::new(At::Short {
                _place: Some(place),
            }),
        }
    }

    /// The pace of a page that never waits for a place in a lane, and has a time limit only.
    pub(crate) fn alone(time_max: Duration) -> Pace<'static> {
        Pace {
            begun: Instant::now(),
            time_max,
            lanes: None,
            asker: Asker {
                container: 0,
                client: 0,
            },
            is_left: None,
            at: RefCell::new(At::Short { _place: None }),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether the page must end. A page whose slice is used up waits in here.
    pub(crate) fn is_over(&self) -> bool {
        if self
            .is_left
            .is_some_and(|left| left.load(Ordering::Relaxed))
        {
            return true;
        }
        let elapsed = self.begun.elapsed();
        if elapsed >= self.time_max {
            return true;
        }
        let Some(lanes) = self.lanes else {
            return false;
        };
        let must_wait = match &*self.at.borrow() {
            At::Short { .. } => elapsed >= SHORT_WORK,
            At::Long { since, .. } => since.elapsed() >= SLICE && lanes.long.waiting() > 0,
            At::Refused(_) => return true,
        };
        must_wait && self.wait(lanes, self.time_max.saturating_sub(elapsed))
    }

    /// Why the lane of long queries refused the page; `None` for a page that ended for another
    /// reason, such as its time.
    pub(crate) fn refusal(&self) -> Option<Failure> {
        match &*self.at.borrow() {
            At::Refused(failure) => Some(failure.clone()),
            At::Short { .. } | At::Long { .. } => None,
        }
    }

    /// Waits for a place in the lane of long queries. True if the page must end, because its time
    /// was over before it got a place, or because the lane refused it.
    fn wait(&self, lanes: &QueryLanes, patience: Duration) -> bool {
        // The query joins its line before it gives up its place, because the lane hands a place
        // that is given up at once to a query that already waits.
        let entered = lanes.long.enter_thread(self.asker);
        if let Entered::Refused(refused) = entered {
            // A query that the lane refuses keeps the long place that it has; one without a long
            // place must end.
            let is_short = matches!(&*self.at.borrow(), At::Short { .. });
            if is_short {
                *self.at.borrow_mut() = At::Refused(lanes.refuse(refused));
            }
            return is_short;
        }
        *self.at.borrow_mut() = At::Short { _place: None };
        let place = match entered {
            Entered::Now(place) => Some(place),
            Entered::Waiting(receiver) => receiver.recv_timeout(patience).ok(),
            Entered::Refused(_) => None,
        };
        let Some(place) = place else {
            return true;
        };
        *self.at.borrow_mut() = At::Long {
            _place: place,
            since: Instant::now(),
        };
        false
    }
}

/// Dropping this guard tells the page that the client that asked for it has gone.
#[derive(Debug, Default)]
pub(crate) struct Leaving(Arc<AtomicBool>);

impl Leaving {
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(client: usize) -> Asker {
        Asker {
            container: 1,
            client,
        }
    }

    /// Works until `is_done`, asking for the time as an evaluation does.
    fn work(pace: &Pace<'_>, is_done: impl Fn(u64) -> bool) -> Option<u64> {
        let mut rounds = 0;
        while !is_done(rounds) {
            if pace.is_over() {
                return None;
            }
            rounds += 1;
            std::hint::spin_loop();
        }
        Some(rounds)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn another_asker_works_while_the_long_ones_go_on() {
        let lanes = Arc::new(QueryLanes::new(1));
        let is_ended = Arc::new(AtomicBool::new(false));
        let mut greedy = Vec::new();
        for _ in 0..8 {
            let place = lanes.begin(asker(1)).await.unwrap();
            let (lanes, is_ended) = (Arc::clone(&lanes), Arc::clone(&is_ended));
            greedy.push(tokio::task::spawn_blocking(move || {
                let is_left = AtomicBool::new(false);
                let limit = Duration::from_mins(2);
                let pace = Pace::new(&lanes, asker(1), place, &is_left, limit);
                work(&pace, |_| is_ended.load(Ordering::Relaxed))
            }));
        }
        // A query that needs several slices ends, and none of the greedy ones has.
        let place = lanes.begin(asker(2)).await.unwrap();
        let honest = tokio::task::spawn_blocking({
            let lanes = Arc::clone(&lanes);
            move || {
                let is_left = AtomicBool::new(false);
                let limit = Duration::from_mins(1);
                let pace = Pace::new(&lanes, asker(2), place, &is_left, limit);
                let begun = Instant::now();
                work(&pace, |_| begun.elapsed() > 4 * SLICE)
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
        let place = lanes.begin(asker(1)).await.unwrap();
        let leaving = Leaving::default();
        let flag = leaving.flag();
        let pace = Pace::new(&lanes, asker(1), place, &flag, Duration::from_mins(1));
        assert!(!pace.is_over());
        drop(leaving);
        assert!(pace.is_over());
    }

    #[tokio::test]
    async fn pages_with_functions_take_turns_between_those_who_ask() {
        let lanes = Arc::new(QueryLanes::new(1));
        let asker = |client| Asker {
            container: 1,
            client,
        };
        let first = lanes.begin_functions(asker(1)).await.expect("a place");
        let (sender, mut begun) = tokio::sync::mpsc::unbounded_channel();
        // The greedy client asks three times before the other one asks once.
        for (waiting, client) in [1, 1, 1, 2].into_iter().enumerate() {
            let (lanes, sender) = (Arc::clone(&lanes), sender.clone());
            let other = Arc::clone(&lanes);
            tokio::spawn(async move {
                let place = lanes.begin_functions(asker(client)).await;
                let _ = sender.send(client);
                drop(place);
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
