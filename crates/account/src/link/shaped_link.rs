//! One direction of the link between two regions, with the faults and delays that an operator
//! orders.
//!
//! ```text
//!  send -> [cut?] -> in flight for the time of the delay -> [paused?] -> the other region
//! ```
//!
//! Without a delay, the call that sends a frame takes it through all of these steps. With a delay,
//! a frame waits with its time of sending, and one task for each link releases the frames in order.
//! The task adds the current delay to that time, so a change of the delay also applies to frames in
//! flight and cannot make one frame overtake another.
//!
//! The pause acts at the far end: it stops frames in flight at once, and a step releases frames at
//! once.

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
use crate::LinkFrame;

/// The limit of bytes in flight on a delayed link; frames beyond it are dropped. Each request waits
/// for its answer, so live regions do not reach the limit.
const UNDER_WAY_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How long before its due time a delayed frame leaves the timer.
const TIMER_SLACK: Duration = Duration::from_millis(2);

/// Every real clock advances within this time.
const CLOCK_STEP: Duration = Duration::from_micros(100);

pub struct ShapedLink {
    state: Mutex<LinkState>,
    /// Wakes the task that releases delayed frames.
    changed: Arc<Notify>,
    /// Counts the dropped frames of all links of the region.
    dropped: Arc<AtomicU64>,
    runtime: Handle,
}

/// The settings and the counters of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkStats {
    pub delay: Duration,
    pub is_paused: bool,
    pub is_cut: bool,
    /// Whether the other region is reachable, apart from a cut.
    pub is_connected: bool,
    /// Frames that entered the link, and their approximate bytes.
    pub frames: u64,
    pub bytes: u64,
    /// Frames that did not arrive, including frames that did not enter the link.
    pub lost: u64,
}

struct LinkState {
    delay: Duration,
    is_cut: bool,
    gate: Gate,
    under_way: VecDeque<(Instant, LinkFrame)>,
    under_way_bytes: u64,
    has_pump: bool,
    sink: Sink,
    frames: u64,
    bytes: u64,
    lost: u64,
}

impl ShapedLink {
    pub(super) fn new(sink: Sink, dropped: Arc<AtomicU64>, runtime: Handle) -> ShapedLink {
        ShapedLink {
            state: Mutex::new(LinkState {
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

    /// Delays each frame by this time after its sending, including the frames in flight.
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

    /// Stops records and pieces of snapshots, including those in flight; other frames pass, so that
    /// the regions still receive each other's heartbeats.
    pub fn pause(&self) {
        self.lock().gate.pause();
    }

    /// Lets `records` records pass a paused link, now or when they arrive: the gate truncates a
    /// page after them.
    pub fn step(&self, records: u64) {
        self.change(|state| {
            let released = state.gate.step(records);
            state.deliver_all(released)
        });
    }

    /// Ends a pause and a cut; the delay remains.
    pub fn resume(&self) {
        self.change(|state| {
            state.is_cut = false;
            let released = state.gate.resume();
            state.deliver_all(released)
        });
    }

    /// Drops every frame from now on, including the frames in flight.
    pub fn cut(&self) {
        self.change(|state| {
            state.is_cut = true;
            state.gate.clear();
            state.sink.disconnect();
            state.under_way_bytes = 0;
            let lost = state.under_way.len() as u64;
            state.under_way.clear();
            lost
        });
    }

    pub fn report(&self) -> LinkStats {
        let state = self.lock();
        LinkStats {
            delay: state.delay,
            is_paused: state.gate.is_paused(),
            is_cut: state.is_cut,
            is_connected: state.sink.is_connected(),
            frames: state.frames,
            bytes: state.bytes,
            lost: state.lost,
        }
    }

    /// The send queue of a link to another process.
    pub(super) fn queue(&self) -> Option<Arc<Queue>> {
        match &self.lock().sink {
            Sink::Local { .. } => None,
            Sink::Remote { queue, .. } => Some(Arc::clone(queue)),
        }
    }

    /// Sets the number of the region at the far end.
    pub(super) fn set_region(&self, region: RegionId) {
        self.lock().sink.set_region(region);
    }

    pub(super) fn send(&self, frame: LinkFrame) {
        let bytes = bytes_of(&frame);
        let mut is_first = false;
        self.change(|state| {
            if state.is_cut {
                return 1;
            }
            // A frame skips the queue only while the queue is empty, so that it cannot overtake a
            // delayed frame.
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

    /// Changes the state and counts the frames that the change dropped.
    fn change(&self, change: impl FnOnce(&mut LinkState) -> u64) {
        let mut state = self.lock();
        let lost = change(&mut state);
        if lost > 0 {
            state.lost += lost;
            drop(state);
            self.dropped.fetch_add(lost, Ordering::Relaxed);
        }
    }

    /// Releases all frames that are due, and returns when the next frame is due.
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

    fn lock(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ShapedLink {
    fn drop(&mut self) {
        self.changed.notify_one();
    }
}

impl LinkState {
    fn count(&mut self, bytes: u64) {
        self.frames += 1;
        self.bytes += bytes;
    }

    /// Takes a frame at the far end; returns how many frames were dropped there.
    fn arrive(&mut self, frame: LinkFrame) -> u64 {
        let passing = self.gate.admit(frame);
        self.deliver_all(passing)
    }

    fn deliver_all(&mut self, frames: impl IntoIterator<Item = LinkFrame>) -> u64 {
        let lost = |frame| u64::from(!self.sink.deliver(frame));
        frames.into_iter().map(lost).sum()
    }
}

/// Releases delayed frames until the link is dropped. The weak reference lets the link be dropped
/// while the task sleeps.
async fn pump(shape: Weak<ShapedLink>, changed: Arc<Notify>) {
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

/// Timers of the runtime are late by up to two milliseconds, which is most of the delay between
/// regions in one building. So the timer ends a little early, and the task yields until the due
/// time.
async fn arrive_at(due: Instant) {
    let early = due.checked_sub(TIMER_SLACK).unwrap_or(due);
    sleep_until(early).await;
    let (begun, woken) = (std::time::Instant::now(), Instant::now());
    while Instant::now() < due {
        tokio::task::yield_now().await;
        let stands_still = begun.elapsed() > CLOCK_STEP && Instant::now() == woken;
        if stands_still {
            // A test has paused the clock, so only the timer can advance it.
            return sleep_until(due).await;
        }
    }
}
