//! A lane admits a limited number of queries at one time, and hands each free place to the waiting
//! askers in turn.
//!
//! A query that finds the lane full waits in the line of its asker, and a place that becomes free
//! goes to the line whose turn it is, one line after the other. So a client that sends a thousand
//! queries to a container delays its own queries only; the first query of another client waits for
//! at most one query of each other asker.
//!
//! ```text
//!   asker 1   [a b c d e]          places go to:  a  f  h  b  g  c  d  e
//!   asker 2   [f g]
//!   asker 3   [h]
//! ```

use std::collections::VecDeque;
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// The client that asks for work, and the container that the work reads; each such pair has its own
/// line in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) container: u32,
    /// Of the share that the client borrows through.
    pub(crate) client: usize,
}

/// Clones are handles to the same lane.
#[derive(Debug, Clone)]
pub(crate) struct Lane(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    /// Nobody's line is empty. The first line is served next.
    lines: VecDeque<(Asker, VecDeque<Waiter>)>,
    waiting: usize,
    limits: LaneLimits,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct LaneLimits {
    pub(crate) places: usize,
    pub(crate) waiting_max: usize,
    /// Of one asker.
    pub(crate) line_max: usize,
}

/// The channel through which a lane hands a place to a waiting task or to a waiting thread.
#[derive(Debug)]
enum Waiter {
    Task(oneshot::Sender<Place>),
    Thread(SyncSender<Place>),
}

/// One place in a lane; dropping the place hands it to the next waiting query.
#[derive(Debug)]
pub(crate) struct Place {
    /// `None` in a place that no longer occupies the lane: dropping it hands nothing to a waiting
    /// query.
    lane: Option<Lane>,
}

/// The answer of a lane to an asker that requests a place.
#[derive(Debug)]
pub(crate) enum Entered<R> {
    Now(Place),
    /// The place comes here.
    Waiting(R),
    Refused(Refused),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Too many queries of this asker wait.
    LineFull,
    /// Too many queries of all wait.
    LaneFull,
}

impl Lane {
    pub(crate) fn new(limits: LaneLimits) -> Lane {
        Lane(Arc::new(Mutex::new(State {
            free: limits.places.max(1),
            lines: VecDeque::new(),
            waiting: 0,
            limits,
        })))
    }

    pub(crate) fn enter(&self, asker: Asker) -> Entered<oneshot::Receiver<Place>> {
        self.enter_with(asker, || {
            let (sender, receiver) = oneshot::channel();
            (Waiter::Task(sender), receiver)
        })
    }

    pub(crate) fn enter_thread(&self, asker: Asker) -> Entered<mpsc::Receiver<Place>> {
        self.enter_with(asker, || {
            let (sender, receiver) = mpsc::sync_channel(1);
            (Waiter::Thread(sender), receiver)
        })
    }

    fn enter_with<R>(&self, asker: Asker, waiter: impl FnOnce() -> (Waiter, R)) -> Entered<R> {
        let mut state = self.state();
        if state.free > 0 {
            state.free -= 1;
            return Entered::Now(Place {
                lane: Some(self.clone()),
            });
        }
        let limits = state.limits;
        if state.waiting >= limits.waiting_max {
            return Entered::Refused(Refused::LaneFull);
        }
        let known = state.lines.iter().position(|(of, _)| *of == asker);
        let line = match known {
            Some(line) => line,
            None => {
                state.lines.push_back((asker, VecDeque::new()));
                state.lines.len() - 1
            }
        };
        let Some((_, line)) = state.lines.get_mut(line) else {
            return Entered::Refused(Refused::LaneFull);
        };
        if line.len() >= limits.line_max {
            return Entered::Refused(Refused::LineFull);
        }
        let (waiter, receiver) = waiter();
        line.push_back(waiter);
        state.waiting += 1;
        Entered::Waiting(receiver)
    }

    /// How many wait for a place.
    pub(crate) fn waiting(&self) -> usize {
        self.state().waiting
    }

    fn next(&self) -> Option<Waiter> {
        let mut state = self.state();
        let Some((asker, mut line)) = state.lines.pop_front() else {
            state.free += 1;
            return None;
        };
        let waiter = line.pop_front();
        if !line.is_empty() {
            state.lines.push_back((asker, line));
        }
        state.waiting -= 1;
        waiter
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // Nothing in here can panic halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(lane) = self.lane.take() else {
            return;
        };
        while let Some(waiter) = lane.next() {
            let place = Place {
                lane: Some(lane.clone()),
            };
            let refused = match waiter {
                Waiter::Task(sender) => sender.send(place).err(),
                Waiter::Thread(sender) => match sender.try_send(place) {
                    Ok(()) => None,
                    Err(TrySendError::Full(place) | TrySendError::Disconnected(place)) => {
                        Some(place)
                    }
                },
            };
            let Some(mut place) = refused else {
                return;
            };
            // The waiter has gone: this loop hands the place to the next waiter, and `None` keeps
            // the drop of `place` from doing the same by recursion.
            place.lane = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LaneLimits = LaneLimits {
        places: 1,
        waiting_max: 8,
        line_max: 5,
    };

    fn asker(client: usize) -> Asker {
        Asker {
            container: 1,
            client,
        }
    }

    fn waiting(lane: &Lane, client: usize) -> oneshot::Receiver<Place> {
        match lane.enter(asker(client)) {
            Entered::Waiting(receiver) => receiver,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn places_go_round_those_who_ask() {
        let lane = Lane::new(LIMITS);
        let Entered::Now(place) = lane.enter(asker(1)) else {
            panic!("the lane is empty");
        };
        let mut waiting: Vec<_> = [1, 1, 1, 2, 2, 3]
            .into_iter()
            .map(|client| (client, waiting(&lane, client)))
            .collect();
        let mut place = Some(place);
        let mut order = Vec::new();
        while place.take().is_some() {
            let arrived = waiting.iter_mut().position(|(_, receiver)| {
                place = receiver.try_recv().ok();
                place.is_some()
            });
            order.extend(arrived.map(|arrived| waiting.remove(arrived).0));
        }
        assert_eq!(order, [1, 2, 3, 1, 2, 1]);
        assert_eq!(lane.waiting(), 0);
        assert!(matches!(lane.enter(asker(9)), Entered::Now(_)));
    }

    #[test]
    fn lines_and_lanes_are_bounded() {
        let lane = Lane::new(LIMITS);
        let place = lane.enter(asker(1));
        let mut kept = Vec::new();
        for _ in 0..5 {
            kept.push(waiting(&lane, 1));
        }
        let Entered::Refused(refused) = lane.enter(asker(1)) else {
            panic!("the line is full");
        };
        assert_eq!(refused, Refused::LineFull);
        for client in 2..5 {
            kept.push(waiting(&lane, client));
        }
        let Entered::Refused(refused) = lane.enter_thread(asker(9)) else {
            panic!("the lane is full");
        };
        assert_eq!(refused, Refused::LaneFull);
        // All waiters have gone before the place is dropped, so the place becomes free in the lane.
        drop(kept);
        drop(place);
        assert_eq!(lane.waiting(), 0);
        assert!(matches!(lane.enter(asker(9)), Entered::Now(_)));
    }

    #[test]
    fn threads_and_tasks_leave_all_places_free() {
        let limits = LaneLimits {
            places: 2,
            waiting_max: 1_000,
            line_max: 1_000,
        };
        let lane = Lane::new(limits);
        std::thread::scope(|scope| {
            for client in 0..8 {
                let lane = lane.clone();
                scope.spawn(move || {
                    for round in 0..1_000 {
                        match lane.enter_thread(asker(client)) {
                            // Some give up.
                            Entered::Waiting(receiver) if round % 7 != 0 => {
                                drop(receiver.recv().expect("a place"));
                            }
                            _ => {}
                        }
                    }
                });
            }
        });
        assert_eq!(lane.waiting(), 0);
        assert_eq!(lane.state().free, 2);
    }
}
