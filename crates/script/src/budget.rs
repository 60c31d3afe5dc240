//! How long a run may go on, and why it was stopped.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use crate::{ScriptOptions, priority};

/// Where time comes from.
#[derive(Clone)]
pub enum Clock {
    /// A clock that never goes back.
    Monotonic(Arc<dyn Fn() -> Duration + Send + Sync>),
    /// No clock at all: every ten thousand jumps and calls of a script count as a millisecond, so
    /// that the same script stops at the same place every time.
    Steps,
}

/// Jumps and calls between two questions of the engine.
const STEPS_PER_INTERRUPT: u64 = 10_000;

/// The time and the steps a run has left. The engine asks every ten thousand jumps and calls.
pub(crate) struct Budget {
    clock: Clock,
    wall_time: Duration,
    accept_time: Duration,
    interrupts_max: u64,
    started: Cell<Duration>,
    interrupts: Cell<u64>,
    exhausted: Cell<bool>,
    /// The run asked to be stopped.
    halted: Cell<bool>,
    priority: Cell<Priority>,
}

/// Whether long runs lower the priority of their thread, and whether this one did.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Priority {
    Kept,
    Lowers,
    Lowered,
}

/// A run that takes longer than this is a long one.
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

    pub(crate) fn restart(&self) {
        self.interrupts.set(0);
        self.exhausted.set(false);
        self.halted.set(false);
        self.started.set(self.now());
    }

    /// Lets a long run lower the priority of the thread that it is on.
    pub(crate) fn own_thread(&self) {
        if matches!(self.clock, Clock::Monotonic(_)) {
            self.priority.set(Priority::Lowers);
        }
    }

    pub(crate) fn has_lowered_priority(&self) -> bool {
        self.priority.get() == Priority::Lowered
    }

    /// Whether the engine must stop: called by its interrupt handler.
    pub(crate) fn interrupt(&self) -> bool {
        self.interrupts.set(self.interrupts.get() + 1);
        if self.priority.get() == Priority::Lowers && self.elapsed() >= LONG {
            priority::lower();
            self.priority.set(Priority::Lowered);
        }
        self.halted.get() || self.is_exhausted()
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        if !self.exhausted.get()
            && (self.interrupts.get() >= self.interrupts_max || self.elapsed() >= self.wall_time)
        {
            self.exhausted.set(true);
        }
        self.exhausted.get()
    }

    pub(crate) fn accepts(&self) -> bool {
        !self.halted.get() && self.elapsed() < self.accept_time
    }

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
