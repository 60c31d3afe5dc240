//! Threads that run scripts, the queue in front of them and the watchdog behind them.
//!
//! The engine stops a script between its instructions. A native function that loops for long is not stopped;
//! when a run is overdue by `abandon_time` the watchdog answers in its place, takes the host away from it and
//! puts a new thread in the seat. The lost thread ends when its native function does, or wants memory. Only a
//! limited number of threads may be lost at one time; after that a seat stays empty until a lost thread is
//! back. The watchdog also replaces threads whose priority a long run has lowered.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::aside::Aside;
use crate::budget::Clock;
use crate::heap::Heap;
use crate::runtime::Shared;
use crate::sandbox::{self, Sandbox};
use crate::slot::{Run, Seat};
use crate::{ScriptError, run};

/// Room beyond the scripts' own stack: a host call starts wherever the script is. The thread itself
/// has as much, to answer runs that had to be left.
const HOST_STACK_BYTES: usize = 4 << 20;

/// Lost threads at most, for each thread of the pool.
const LOST_PER_THREAD: usize = 4;

pub(crate) struct Pool {
    inner: Arc<Inner>,
}

/// Threads whose runs did not end in time, within a function of the engine that nothing stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LostThreads {
    /// Those that are not back yet.
    pub now: usize,
    pub ever: u64,
}

struct Inner {
    shared: Arc<Shared>,
    state: Mutex<State>,
    work: Condvar,
    watch: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Arc<dyn Run>>,
    /// The run of each thread that has one.
    running: Vec<Running>,
    threads_named: u64,
    /// Threads that the watchdog has to start.
    threads_wanted: usize,
    /// Threads that could not be started.
    threads_missing: usize,
    lost: usize,
    lost_ever: u64,
    stopping: bool,
}

struct Running {
    thread: u64,
    run: Arc<dyn Run>,
    started: Option<Duration>,
    overdue_at: Option<Duration>,
    /// The flag by which the watchdog tells the engine of this thread that it has given up the run.
    given_up: Arc<AtomicBool>,
    /// Another thread has this one's seat.
    replaced: bool,
}

impl Pool {
    pub(crate) fn start(shared: &Arc<Shared>) -> Result<Pool, ScriptError> {
        let inner = Arc::new(Inner {
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
        if matches!(shared.clock, Clock::Monotonic(_)) {
            thread::Builder::new()
                .name("script-watchdog".to_owned())
                .spawn(move || inner.watch())
                .map_err(|error| ScriptError::Engine(error.to_string()))?;
        }
        Ok(pool)
    }

    pub(crate) fn lost(&self) -> LostThreads {
        let state = self.inner.lock();
        LostThreads {
            now: state.lost,
            ever: state.lost_ever,
        }
    }

    pub(crate) fn submit(&self, run: Arc<dyn Run>) {
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

#[derive(PartialEq, Eq)]
enum Next {
    Continue,
    Stop,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn_worker(self: &Arc<Inner>) -> Result<(), ScriptError> {
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

    fn work(&self, thread: u64) {
        let mut aside = Aside::new(self.shared.options.stack_bytes + HOST_STACK_BYTES);
        while let Next::Continue =
            catch_unwind(AssertUnwindSafe(|| self.serve_aside(thread, &mut aside)))
                .unwrap_or(Next::Continue)
        {
            // After a panic the run it was in is answered; the engine it was in is gone.
            if let Some(running) = self.end(thread) {
                let message = "a script thread panicked".to_owned();
                running.run.answer(Err(ScriptError::Engine(message)));
            }
        }
    }

    /// Serves one run in an engine that can be left.
    fn serve_aside(&self, thread: u64, aside: &mut Aside) -> Next {
        let heap = Heap::new(self.shared.options.heap_bytes, self.shared.clock.clone());
        let seat = Seat::default();
        #[expect(unsafe_code, reason = "the engine may be left")]
        // SAFETY: the engine is made and dropped by `serve_one`. Neither the lock of the pool nor that
        // of a run is held where the engine asks for memory: hosts do not know it.
        let served = unsafe { aside.run(&heap, || self.serve_one(thread, &heap, &seat)) };
        let next = match served {
            Ok(Some(next)) => next,
            Ok(None) => self.end_left(thread, heap.why_left()),
            Err(error) => self.refuse_one(&ScriptError::Engine(error.to_string())),
        };
        // An engine that was left has handles to the heap, which is not dropped then.
        heap.close_account();
        next
    }

    /// Answers a run that had to be left.
    fn end_left(&self, thread: u64, why: ScriptError) -> Next {
        let Some(running) = self.end(thread) else {
            return Next::Continue;
        };
        if let Some((started, now)) = running.started.zip(self.now()) {
            let elapsed = now.saturating_sub(started);
            running.run.with_host(&mut |host| host.ended(elapsed));
        }
        // Whether it had lowered the priority of the thread is not known any more.
        let has_watchdog = self.now().is_some();
        if has_watchdog && !running.replaced {
            self.want_thread();
        }
        running.run.answer(Err(why));
        if has_watchdog {
            Next::Stop
        } else {
            Next::Continue
        }
    }

    /// Makes an engine, waits for a run, runs it.
    fn serve_one(&self, thread: u64, heap: &Heap, seat: &Seat) -> Next {
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
            let run = seat.run.get_or_init(|| run);
            let result = run::run(shared, &sandbox, run, &seat.code);
            let replaced = self.end(thread).is_some_and(|running| running.replaced);
            let lowered = sandbox.bridge.budget.has_lowered_priority();
            if lowered && !replaced {
                self.want_thread();
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

    /// Asks the watchdog for a thread in the place of this one: a new thread has the priority of
    /// whoever starts it.
    fn want_thread(&self) {
        self.lock().threads_wanted += 1;
        self.watch.notify_one();
    }

    /// Without an engine there is only this to say to whoever comes.
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

    fn take(&self, thread: u64, given_up: &Arc<AtomicBool>) -> Option<Arc<dyn Run>> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            if let Some(run) = state.queue.pop_front() {
                let options = &self.shared.options;
                let started = self.now();
                state.running.push(Running {
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

    fn end(&self, thread: u64) -> Option<Running> {
        let mut state = self.lock();
        let index = state
            .running
            .iter()
            .position(|running| running.thread == thread)?;
        let running = state.running.swap_remove(index);
        if running.replaced {
            state.lost -= 1;
        }
        Some(running)
    }

    fn now(&self) -> Option<Duration> {
        match &self.shared.clock {
            Clock::Monotonic(now) => Some(now()),
            Clock::Steps => None,
        }
    }

    fn watch(self: &Arc<Inner>) {
        let period = (self.shared.options.abandon_time / 2).max(Duration::from_millis(10));
        let lost_max = self.shared.options.threads.max(1) * LOST_PER_THREAD;
        let mut state = self.lock();
        while !state.stopping {
            let overdue = state.overdue(self.now().unwrap_or_default());
            let wanted = std::mem::take(&mut state.threads_wanted);
            drop(state);
            for _ in 0..wanted {
                if self.spawn_worker().is_err() {
                    self.lock().threads_missing += 1;
                }
            }
            for (thread, run) in overdue {
                // A host at work is waited for: it will come back to an engine that stops.
                if run.try_answer(Err(ScriptError::TimedOut)) && self.lock().lose(thread, lost_max)
                {
                    // Without a new thread the pool is smaller until the lost one is back.
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
            // Another try, now that some time has passed.
            state.threads_wanted += std::mem::take(&mut state.threads_missing);
        }
    }
}

impl State {
    fn overdue(&self, now: Duration) -> Vec<(u64, Arc<dyn Run>)> {
        self.running
            .iter()
            .filter(|running| !running.replaced && running.overdue_at.is_some_and(|at| now >= at))
            .map(|running| (running.thread, Arc::clone(&running.run)))
            .collect()
    }

    /// Gives the seat of `thread` away; false when it is back already or too many are lost.
    fn lose(&mut self, thread: u64, lost_max: usize) -> bool {
        let running = self
            .running
            .iter_mut()
            .find(|running| running.thread == thread);
        let Some(running) = running else {
            return false;
        };
        running.given_up.store(true, Ordering::Relaxed);
        if self.lost >= lost_max {
            return false;
        }
        running.replaced = true;
        self.lost += 1;
        self.lost_ever += 1;
        true
    }
}
