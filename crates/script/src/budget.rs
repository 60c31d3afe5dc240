//! The time and step budget of a run.

use std::cell::Cell;
use std::sync::Arc;
use std::thread::yield_now;
use std::time::Duration;

use crate::ScriptOptions;
use crate::priority::lower_thread_priority;

/// The source of time.
#[derive(Clone)]
pub enum Clock {
    /// A monotonic clock.
    Monotonic(Arc<dyn Fn() -> Duration + Send + Sync>),
    /// No clock. Ten thousand jumps and calls of a script count as a millisecond, so that a script
    /// always stops at the same place.
    Steps,
}

/// Jumps and calls between two interrupts of the engine.
const STEPS_PER_INTERRUPT: u64 = 10_000;

/// The remaining time and steps of a run. The engine interrupts every ten thousand jumps and calls.
pub(crate) struct Budget {
    clock: Clock,
    wall_time: Duration,
    accept_time: Duration,
    interrupts_max: u64,
    started: Cell<Duration>,
    interrupts: Cell<u64>,
    exhausted: Cell<bool>,
    /// The run stopped itself, for example by `abort`.
    halted: Cell<bool>,
    priority: Cell<Priority>,
}

/// Whether a long run lowers its thread's priority, and whether the present run did so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Priority {
    Kept,
    Lowers,
    Lowered,
}

/// A run beyond this time counts as long.
const LONG: Duration = Duration::from_millis(50);

impl Budget {
    pub(crate) fn new(clock: Clock, options: &ScriptOptions) -> Budget {
        let budget = Budget {
            clock,
            wall_time: options.wall_time,
            accept_time: options.accept_time,
            interrupts_max: (options.steps_max / STEPS_PER_INTERRUPT).max(1),
            started: Cell::default(),
            interrupts: Cell::default(),
            exhausted: Cell::default(),
            halted: Cell::default(),
            priority: Cell::new(Priority::Kept),
        };
        budget.restart();
        budget
    }

    /// Restarts the budget for a new run or page.
    pub(crate) fn restart(&self) {
        self.interrupts.set(0);
        self.exhausted.set(false);
        self.halted.set(false);
        self.started.set(self.now());
    }

    /// Permits a long run to lower the priority of its thread. Threads of callers must keep theirs.
    pub(crate) fn allow_lower_priority(&self) {
        if matches!(self.clock, Clock::Monotonic(_)) {
            self.priority.set(Priority::Lowers);
        }
    }

    pub(crate) fn has_lowered_priority(&self) -> bool {
        self.priority.get() == Priority::Lowered
    }

    /// Whether the engine must stop. The engine's interrupt handler calls this.
    pub(crate) fn interrupt(&self) -> bool {
        self.interrupts.set(self.interrupts.get() + 1);
        if self.priority.get() == Priority::Lowers && self.elapsed() >= LONG {
            lower_thread_priority();
            self.priority.set(Priority::Lowered);
        }
        // The operating system may let even a thread of low priority run for milliseconds while
        // threads of other clients are ready, unless the thread yields.
        yield_now();
        self.halted.get() || self.is_exhausted()
    }

    /// Whether the run has used up its time or steps. The answer stays true, so that every later
    /// check agrees.
    pub(crate) fn is_exhausted(&self) -> bool {
        if !self.exhausted.get()
            && (self.interrupts.get() >= self.interrupts_max || self.elapsed() >= self.wall_time)
        {
            self.exhausted.set(true);
        }
        self.exhausted.get()
    }

    /// Whether the run may start another operation. This limit comes before the run's end, so that
    /// a script can finish in order.
    pub(crate) fn accepts(&self) -> bool {
        !self.halted.get() && self.elapsed() < self.accept_time
    }

    /// Stops the run at its next interrupt.
    pub(crate) fn halt(&self) {
        self.halted.set(true);
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.now().saturating_sub(self.started.get())
    }

    fn now(&self) -> Duration {
        match &self.clock {
            Clock::Monotonic(now) => now(),
            Clock::Steps => Duration::from_millis(self.interrupts.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_time() {
        let options = ScriptOptions {
            wall_time: Duration::from_millis(3),
            accept_time: Duration::from_millis(2),
            ..ScriptOptions::default()
        };
        let budget = Budget::new(Clock::Steps, &options);
        let stops: Vec<_> = (0..4)
            .map(|_| (budget.accepts(), budget.interrupt()))
            .collect();
        assert_eq!(
            stops,
            [(true, false), (true, false), (false, true), (false, true)]
        );
        budget.restart();
        assert!(budget.accepts() && !budget.interrupt());
        budget.halt();
        assert!(!budget.accepts() && budget.interrupt() && !budget.is_exhausted());
    }

    #[test]
    fn steps_run_out_without_time_passing() {
        let options = ScriptOptions {
            steps_max: 20_000,
            ..ScriptOptions::default()
        };
        let still = Clock::Monotonic(Arc::new(|| Duration::ZERO));
        let budget = Budget::new(still, &options);
        assert!(!budget.interrupt());
        assert!(budget.interrupt() && budget.is_exhausted());
    }
}
