//! The threads that run scripts, the queue in front of them and the watchdog behind them.
//!
//! The engine stops a script only between its instructions, not inside a long native function. When
//! a run is overdue by `abandon_time`, the watchdog answers in its place, takes the host away and
//! gives the slot to a new thread. The abandoned thread ends when its native function ends or
//! allocates. The number of abandoned threads is limited; above the limit a slot stays empty until
//! an abandoned thread returns. The watchdog also replaces threads whose priority a long run has
//! lowered.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::budget::Clock;
use crate::fiber::Fiber;
use crate::heap::Heap;
use crate::runtime::RuntimeShared;
use crate::sandbox::{self, Sandbox};
use crate::submission::{RunSlot, ScriptRun};
use crate::{ScriptError, run};

/// Stack beyond the script's own: a host call starts at any depth of the script. The thread itself
/// has as much, to answer abandoned runs.
const HOST_STACK_BYTES: usize = 4 << 20;

/// Maximal number of abandoned threads per thread of the pool.
const ABANDONED_PER_THREAD: usize = 4;

pub(crate) struct Pool {
    inner: Arc<PoolInner>,
}

/// Threads whose runs did not end in time, inside of a native function that nothing stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AbandonedThreads {
    /// Abandoned threads that have not returned yet.
    pub now: usize,
    pub ever: u64,
}

/// The state that the pool, its threads and the watchdog share.
struct PoolInner {
    shared: Arc<RuntimeShared>,
    state: Mutex<State>,
    work: Condvar,
    watch: Condvar,
}

/// The queue and the running threads, behind the lock of the pool.
#[derive(Default)]
struct State {
    queue: VecDeque<Arc<dyn ScriptRun>>,
    /// The present run of each busy thread.
    running: Vec<ActiveRun>,
    threads_named: u64,
    /// Threads that the watchdog must start.
    threads_wanted: usize,
    /// Threads that could not be started.
    threads_failed: usize,
    abandoned: usize,
    abandoned_ever: u64,
    stopping: bool,
}

/// The watchdog's record of a running script.
struct ActiveRun {
    thread: u64,
    run: Arc<dyn ScriptRun>,
    started: Option<Duration>,
    overdue_at: Option<Duration>,
    /// The watchdog sets this flag to tell the engine that the run was given up.
    given_up: Arc<AtomicBool>,
    /// Another thread has taken over this thread's slot.
    replaced: bool,
}

impl Pool {
    pub(crate) fn start(shared: &Arc<RuntimeShared>) -> Result<Pool, ScriptError> {
        let inner = Arc::new(PoolInner {
            shared: Arc::clone(shared),
            state: Mutex::default(),
            work: Condvar::new(),
            watch: Condvar::new(),
        });
        let pool = Pool {
            inner: Arc::clone(&inner),
        };
        for _ in 0..shared.options.threads.max(1) {
            inner.spawn_worker()?;
        }
        // Without a clock a run cannot be overdue, so no watchdog is needed.
        if matches!(shared.clock, Clock::Monotonic(_)) {
            thread::Builder::new()
                .name("script-watchdog".to_owned())
                .spawn(move || inner.watch())
                .map_err(|error| ScriptError::Engine(error.to_string()))?;
        }
        Ok(pool)
    }

    pub(crate) fn abandoned_threads(&self) -> AbandonedThreads {
        let state = self.inner.lock();
        AbandonedThreads {
            now: state.abandoned,
            ever: state.abandoned_ever,
        }
    }

    /// Queues a run. A full queue answers at once, on the caller's thread and without the lock.
    pub(crate) fn submit(&self, run: Arc<dyn ScriptRun>) {
        let mut state = self.inner.lock();
        if state.queue.len() >= self.inner.shared.options.queue_max {
            drop(state);
            run.answer(Err(ScriptError::Busy));
            return;
        }
        state.queue.push_back(run);
        drop(state);
        self.inner.work.notify_one();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.inner.lock();
        state.stopping = true;
        let waiting = std::mem::take(&mut state.queue);
        drop(state);
        self.inner.work.notify_all();
        self.inner.watch.notify_all();
        for run in waiting {
            run.answer(Err(ScriptError::Busy));
        }
    }
}

/// Whether a thread serves further runs.
#[derive(PartialEq, Eq)]
enum Next {
    Continue,
    Stop,
}

impl PoolInner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn_worker(self: &Arc<PoolInner>) -> Result<(), ScriptError> {
        let number = {
            let mut state = self.lock();
            state.threads_named += 1;
            state.threads_named
        };
        let inner = Arc::clone(self);
        thread::Builder::new()
            .name(format!("script-{number}"))
            .stack_size(HOST_STACK_BYTES)
            .spawn(move || inner.work(number))
            .map(|_| ())
            .map_err(|error| ScriptError::Engine(error.to_string()))
    }

    /// Serves runs until the pool stops or the thread is replaced.
    fn work(&self, thread: u64) {
        let mut fiber = Fiber::new(self.shared.options.stack_bytes + HOST_STACK_BYTES);
        while let Next::Continue =
            catch_unwind(AssertUnwindSafe(|| self.serve_on_fiber(thread, &mut fiber)))
                .unwrap_or(Next::Continue)
        {
            // A panic has destroyed the engine, and the run still waits for its reply.
            if let Some(running) = self.end(thread) {
                let message = "a script thread panicked".to_owned();
                running.run.answer(Err(ScriptError::Engine(message)));
            }
        }
    }

    /// Serves one run in an engine that can be abandoned.
    fn serve_on_fiber(&self, thread: u64, fiber: &mut Fiber) -> Next {
        let heap = Heap::new(self.shared.options.heap_bytes, self.shared.clock.clone());
        let slot = RunSlot::default();
        #[expect(unsafe_code, reason = "the engine may be left")]
        // SAFETY: `serve_one` creates and drops the engine. Neither the lock of the pool nor the
        // lock of a run is held where the engine allocates: host calls do not allocate in the
        // engine.
        let served = unsafe { fiber.run(&heap, || self.serve_one(thread, &heap, &slot)) };
        let next = match served {
            Ok(Some(next)) => next,
            Ok(None) => self.end_abandoned(thread, heap.abandon_error()),
            Err(error) => self.refuse_one(&ScriptError::Engine(error.to_string())),
        };
        // Frames of an abandoned engine keep handles to the heap, so the heap is never dropped and
        // its account must be closed here.
        heap.close_account();
        next
    }

    /// Answers an abandoned run.
    fn end_abandoned(&self, thread: u64, why: ScriptError) -> Next {
        let Some(running) = self.end(thread) else {
            return Next::Continue;
        };
        if let Some((started, now)) = running.started.zip(self.now()) {
            let elapsed = now.saturating_sub(started);
            running.run.with_host(&mut |host| host.ended(elapsed));
        }
        // The run may have lowered the priority of this thread, and that knowledge was lost with
        // the engine. So the thread is replaced where a watchdog can start another.
        let has_watchdog = self.now().is_some();
        if has_watchdog && !running.replaced {
            self.request_replacement();
        }
        running.run.answer(Err(why));
        if has_watchdog {
            Next::Stop
        } else {
            Next::Continue
        }
    }

    /// Prepares an engine, waits for a run and runs it. The engine is made first, so that its
    /// creation does not delay the run.
    fn serve_one(&self, thread: u64, heap: &Heap, slot: &RunSlot) -> Next {
        let shared = &self.shared;
        let stack_bytes = shared.options.stack_bytes;
        let (engine, context, bridge) = match sandbox::engine(shared, heap, stack_bytes) {
            Ok(made) => made,
            Err(error) => return self.refuse_one(&error),
        };
        let next = context.with(|ctx| {
            let sandbox = match Sandbox::new(ctx, bridge, shared) {
                Ok(sandbox) => sandbox,
                Err(error) => return self.refuse_one(&error),
            };
            let Some(run) = self.take(thread, heap.given_up()) else {
                return Next::Stop;
            };
            let run = slot.run.get_or_init(|| run);
            let result = run::run(shared, &sandbox, run, &slot.code);
            // The run leaves the table first, so that the watchdog cannot count this thread as
            // abandoned while it answers.
            let replaced = self.end(thread).is_some_and(|running| running.replaced);
            let lowered = sandbox.bridge.budget.has_lowered_priority();
            if lowered && !replaced {
                self.request_replacement();
            }
            run.answer(result);
            if replaced || lowered {
                Next::Stop
            } else {
                Next::Continue
            }
        });
        drop(context);
        drop(engine);
        next
    }

    /// Asks the watchdog for a replacement thread. A new thread inherits its creator's priority, so
    /// a thread of low priority cannot start its own successor.
    fn request_replacement(&self) {
        self.lock().threads_wanted += 1;
        self.watch.notify_one();
    }

    /// Answers the next run with the error that prevented the creation of an engine.
    fn refuse_one(&self, error: &ScriptError) -> Next {
        match self.take(0, &Arc::default()) {
            Some(run) => {
                self.end(0);
                run.answer(Err(error.clone()));
                Next::Continue
            }
            None => Next::Stop,
        }
    }

    /// Waits for a run and registers it as running, both under one lock: the watchdog sees every
    /// run.
    fn take(&self, thread: u64, given_up: &Arc<AtomicBool>) -> Option<Arc<dyn ScriptRun>> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            if let Some(run) = state.queue.pop_front() {
                let options = &self.shared.options;
                let started = self.now();
                state.running.push(ActiveRun {
                    thread,
                    run: Arc::clone(&run),
                    started,
                    overdue_at: started.map(|now| now + options.wall_time + options.abandon_time),
                    given_up: Arc::clone(given_up),
                    replaced: false,
                });
                return Some(run);
            }
            state = self
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Removes the run of a thread. A replaced thread is no longer abandoned then.
    fn end(&self, thread: u64) -> Option<ActiveRun> {
        let mut state = self.lock();
        let index = state
            .running
            .iter()
            .position(|running| running.thread == thread)?;
        let running = state.running.swap_remove(index);
        if running.replaced {
            state.abandoned -= 1;
        }
        Some(running)
    }

    fn now(&self) -> Option<Duration> {
        match &self.shared.clock {
            Clock::Monotonic(now) => Some(now()),
            Clock::Steps => None,
        }
    }

    /// The watchdog: starts wanted threads and gives up overdue runs.
    fn watch(self: &Arc<PoolInner>) {
        let period = (self.shared.options.abandon_time / 2).max(Duration::from_millis(10));
        let abandoned_max = self.shared.options.threads.max(1) * ABANDONED_PER_THREAD;
        let mut state = self.lock();
        while !state.stopping {
            let overdue = state.overdue(self.now().unwrap_or_default());
            let wanted = std::mem::take(&mut state.threads_wanted);
            drop(state);
            for _ in 0..wanted {
                if self.spawn_worker().is_err() {
                    self.lock().threads_failed += 1;
                }
            }
            for (thread, run) in overdue {
                // A run inside of a host call is not answered now: the call returns to an engine
                // that stops.
                if run.try_answer(Err(ScriptError::TimedOut))
                    && self.lock().give_up_thread(thread, abandoned_max)
                {
                    // Without a new thread the pool is smaller until the abandoned thread returns.
                    let _ = self.spawn_worker();
                }
            }
            state = self
                .watch
                .wait_timeout_while(self.lock(), period, |state| {
                    state.threads_wanted == 0 && !state.stopping
                })
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            // Threads that could not be started are tried again after a period.
            state.threads_wanted += std::mem::take(&mut state.threads_failed);
        }
    }
}

impl State {
    fn overdue(&self, now: Duration) -> Vec<(u64, Arc<dyn ScriptRun>)> {
        self.running
            .iter()
            .filter(|running| !running.replaced && running.overdue_at.is_some_and(|at| now >= at))
            .map(|running| (running.thread, Arc::clone(&running.run)))
            .collect()
    }

    /// Gives the slot of `thread` away; returns false when the thread has returned already or too
    /// many are abandoned.
    fn give_up_thread(&mut self, thread: u64, abandoned_max: usize) -> bool {
        let running = self
            .running
            .iter_mut()
            .find(|running| running.thread == thread);
        let Some(running) = running else {
            return false;
        };
        // The flag is set even if no thread can be replaced: the engine must stop in any case.
        running.given_up.store(true, Ordering::Relaxed);
        if self.abandoned >= abandoned_max {
            return false;
        }
        running.replaced = true;
        self.abandoned += 1;
        self.abandoned_ever += 1;
        true
    }
}
