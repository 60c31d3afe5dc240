//! One direction between two regions, and what can be done to it.
//!
//! ```text
//!  send -> [cut?] -> under way, for as long as the delay -> [paused?] -> the other region
//! ```
//!
//! Without a delay a frame goes through all of it in the call that sends it. With one, frames wait
//! with the time they were sent, and one task for the link lets them go in their order: since the
//! delay is added when it is looked at, a change of it holds for what is under way too and cannot
//! make one frame overtake another.
//!
//! The pause is at the far end, so that it holds at once, and a step is seen at once.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use orrery_regions::RegionId;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::gate::Gate;
use super::load::bytes_of;
use super::remote::Queue;
use super::sink::Sink;
use crate::Frame;

/// What may be under way on a delayed link; beyond it frames are lost. Questions and answers take
/// turns, so this is not reached by regions that work.
const UNDER_WAY_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How early the wait for a delayed frame leaves the timer.
const TIMER_SLACK: Duration = Duration::from_millis(2);

/// Within this every clock moves.
const CLOCK_STEP: Duration = Duration::from_micros(100);

pub struct Shape {
    state: Mutex<State>,
    /// Wakes the task that lets delayed frames go.
    changed: Arc<Notify>,
    /// Of all links of the region.
    dropped: Arc<AtomicU64>,
    runtime: Handle,
}

/// What a link is made to do, and has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeReport {
    pub delay: Duration,
    pub is_paused: bool,
    pub is_cut: bool,
    /// Whether the other region is reached, apart from a cut.
    pub is_connected: bool,
    /// Frames that it took, and about how many bytes they had.
    pub frames: u64,
    pub bytes: u64,
    /// Frames that nobody got, those included that it did not take.
    pub lost: u64,
}

struct State {
    delay: Duration,
    is_cut: bool,
    gate: Gate,
    under_way: VecDeque<(Instant, Frame)>,
    under_way_bytes: u64,
    has_pump: bool,
    sink: Sink,
    frames: u64,
    bytes: u64,
    lost: u64,
}

impl Shape {
    pub(super) fn new(sink: Sink, dropped: Arc<AtomicU64>, runtime: Handle) -> Shape {
        Shape {
            state: Mutex::new(State {
                delay: Duration::ZERO,
                is_cut: false,
                gate: Gate::default(),
                under_way: VecDeque::new(),
                under_way_bytes: 0,
                has_pump: false,
                sink,
                frames: 0,
                bytes: 0,
                lost: 0,
            }),
            changed: Arc::default(),
            dropped,
            runtime,
        }
    }

    /// Each frame arrives so long after it was sent, those under way included.
    pub fn delay(self: &Arc<Self>, delay: Duration) {
        let mut state = self.lock();
        state.delay = delay;
        if !state.has_pump && !delay.is_zero() {
            state.has_pump = true;
            let pump = pump(Arc::downgrade(self), Arc::clone(&self.changed));
            self.runtime.spawn(pump);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Holds records and pieces of copies back, those under way included; everything else passes,
    /// so that the regions still hear of each other.
    pub fn pause(&self) {
        self.lock().gate.pause();
    }

    /// Lets so many records through a paused link, now or when they come: a page is cut after them.
    pub fn step(&self, records: u64) {
        self.change(|state| {
            let released = state.gate.step(records);
            state.deliver_all(released)
        });
    }

    /// Ends a pause and a cut; a delay stays.
    pub fn resume(&self) {
        self.change(|state| {
            state.is_cut = false;
            let released = state.gate.resume();
            state.deliver_all(released)
        });
    }

    /// Loses everything from now on, what is under way included.
    pub fn cut(&self) {
        self.change(|state| {
            state.is_cut = true;
            state.gate.clear();
            state.sink.sever();
            state.under_way_bytes = 0;
            let lost = state.under_way.len() as u64;
            state.under_way.clear();
            lost
        });
    }

    pub fn report(&self) -> ShapeReport {
        let state = self.lock();
        ShapeReport {
            delay: state.delay,
            is_paused: state.gate.is_paused(),
            is_cut: state.is_cut,
            is_connected: state.sink.is_connected(),
            frames: state.frames,
            bytes: state.bytes,
            lost: state.lost,
        }
    }

    /// Of a link to another process.
    pub(super) fn queue(&self) -> Option<Arc<Queue>> {
        match &self.lock().sink {
            Sink::Local { .. } => None,
            Sink::Remote { queue, .. } => Some(Arc::clone(queue)),
        }
    }

    /// The region at the other end is this one.
    pub(super) fn place(&self, region: RegionId) {
        self.lock().sink.place(region);
    }

    pub(super) fn send(&self, frame: Frame) {
        let bytes = bytes_of(&frame);
        let mut is_first = false;
        self.change(|state| {
            if state.is_cut {
                return 1;
            }
            if state.delay.is_zero() && state.under_way.is_empty() {
                state.count(bytes);
                return state.arrive(frame);
            }
            if state.under_way_bytes.saturating_add(bytes) > UNDER_WAY_BYTES_MAX {
                return 1;
            }
            state.count(bytes);
            state.under_way_bytes += bytes;
            is_first = state.under_way.is_empty();
            state.under_way.push_back((Instant::now(), frame));
            0
        });
        if is_first {
            self.changed.notify_one();
        }
    }

    /// Does something by which some frames may be lost.
    fn change(&self, change: impl FnOnce(&mut State) -> u64) {
        let mut state = self.lock();
        let lost = change(&mut state);
        if lost > 0 {
            state.lost += lost;
            drop(state);
            self.dropped.fetch_add(lost, Ordering::Relaxed);
        }
    }

    /// Lets everything go whose time has come; gives when the next frame is due.
    fn advance(&self) -> Option<Instant> {
        let mut next = None;
        self.change(|state| {
            let now = Instant::now();
            let mut lost = 0;
            while let Some((sent, _)) = state.under_way.front() {
                let due = *sent + state.delay;
                if due > now {
                    next = Some(due);
                    break;
                }
                if let Some((_, frame)) = state.under_way.pop_front() {
                    state.under_way_bytes -= bytes_of(&frame);
                    lost += state.arrive(frame);
                }
            }
            lost
        });
        next
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shape {
    fn drop(&mut self) {
        self.changed.notify_one();
    }
}

impl State {
    fn count(&mut self, bytes: u64) {
        self.frames += 1;
        self.bytes += bytes;
    }

    /// A frame is at the far end; gives how many were lost by it.
    fn arrive(&mut self, frame: Frame) -> u64 {
        let passing = self.gate.admit(frame);
        self.deliver_all(passing)
    }

    fn deliver_all(&mut self, frames: impl IntoIterator<Item = Frame>) -> u64 {
        let lost = |frame| u64::from(!self.sink.deliver(frame));
        frames.into_iter().map(lost).sum()
    }
}

/// Lets delayed frames go, until the link is no more.
async fn pump(shape: Weak<Shape>, changed: Arc<Notify>) {
    while let Some(next) = shape.upgrade().map(|shape| shape.advance()) {
        let Some(due) = next else {
            changed.notified().await;
            continue;
        };
        tokio::select! {
            () = arrive_at(due) => {}
            () = changed.notified() => {}
        }
    }
}

/// Timers of the runtime are late by up to two milliseconds, which would be most of what a region in
/// the same building adds. So they wake a little early, and the rest is waited out.
async fn arrive_at(due: Instant) {
    let early = due.checked_sub(TIMER_SLACK).unwrap_or(due);
    sleep_until(early).await;
    let (begun, woken) = (std::time::Instant::now(), Instant::now());
    while Instant::now() < due {
        tokio::task::yield_now().await;
        let stands_still = begun.elapsed() > CLOCK_STEP && Instant::now() == woken;
        if stands_still {
            // In tests that move the clock.
            return sleep_until(due).await;
        }
    }
}
