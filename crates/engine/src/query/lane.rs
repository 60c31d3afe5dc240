//! A lane admits a limited number of queries at a time, and gives each free slot to the waiting
//! clients in turn.
//!
//! A query that finds the lane full waits in the queue of its client. A free slot goes to the next
//! queue in round-robin order. A client that sends a thousand queries to a container delays only
//! its own queries; the first query of another client waits for at most one query of each other
//! client.
//!
//! ```text
//!   client 1   [a b c d e]          slots go to:  a  f  h  b  g  c  d  e
//!   client 2   [f g]
//!   client 3   [h]
//! ```

use std::collections::VecDeque;
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// A client together with the container that its query reads; each such pair has its own queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaneClient {
    pub(crate) container: u32,
    /// Id of the memory share of the client.
    pub(crate) client: usize,
}

/// A handle to a lane; clones share the lane.
#[derive(Debug, Clone)]
pub(crate) struct Lane(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    /// Queues with waiting queries; no queue is empty. The first queue is served next.
    queues: VecDeque<(LaneClient, VecDeque<Waiter>)>,
    waiting: usize,
    limits: LaneLimits,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct LaneLimits {
    pub(crate) slots: usize,
    pub(crate) waiting_max: usize,
    /// Limit of waiting queries of one client.
    pub(crate) client_waiting_max: usize,
}

/// The channel through which a lane hands a slot to a waiting task or thread.
#[derive(Debug)]
enum Waiter {
    Task(oneshot::Sender<LaneSlot>),
    Thread(SyncSender<LaneSlot>),
}

/// One slot of a lane; dropping it hands the slot to the next waiting query.
#[derive(Debug)]
pub(crate) struct LaneSlot {
    /// `None` in a slot that no longer occupies the lane: dropping it hands nothing on.
    lane: Option<Lane>,
}

/// The reply of a lane to a client that requests a slot.
#[derive(Debug)]
pub(crate) enum LaneAdmission<R> {
    Now(LaneSlot),
    /// The receiver gets the slot later.
    Waiting(R),
    Refused(LaneRefusal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneRefusal {
    /// Too many queries of this client wait.
    ClientQueueFull,
    /// Too many queries wait in total.
    LaneFull,
}

impl Lane {
    pub(crate) fn new(limits: LaneLimits) -> Lane {
        Lane(Arc::new(Mutex::new(State {
            free: limits.slots.max(1),
            queues: VecDeque::new(),
            waiting: 0,
            limits,
        })))
    }

    pub(crate) fn enter(&self, client: LaneClient) -> LaneAdmission<oneshot::Receiver<LaneSlot>> {
        self.enter_with(client, || {
            let (sender, receiver) = oneshot::channel();
            (Waiter::Task(sender), receiver)
        })
    }

    pub(crate) fn enter_thread(
        &self,
        client: LaneClient,
    ) -> LaneAdmission<mpsc::Receiver<LaneSlot>> {
        self.enter_with(client, || {
            let (sender, receiver) = mpsc::sync_channel(1);
            (Waiter::Thread(sender), receiver)
        })
    }

    fn enter_with<R>(
        &self,
        client: LaneClient,
        waiter: impl FnOnce() -> (Waiter, R),
    ) -> LaneAdmission<R> {
        let mut state = self.state();
        // A free slot implies that no query waits, so the newcomer overtakes nobody.
        if state.free > 0 {
            state.free -= 1;
            return LaneAdmission::Now(LaneSlot {
                lane: Some(self.clone()),
            });
        }
        let limits = state.limits;
        if state.waiting >= limits.waiting_max {
            return LaneAdmission::Refused(LaneRefusal::LaneFull);
        }
        let known = state.queues.iter().position(|(of, _)| *of == client);
        let queue = match known {
            Some(queue) => queue,
            None => {
                state.queues.push_back((client, VecDeque::new()));
                state.queues.len() - 1
            }
        };
        let Some((_, queue)) = state.queues.get_mut(queue) else {
            return LaneAdmission::Refused(LaneRefusal::LaneFull);
        };
        if queue.len() >= limits.client_waiting_max {
            return LaneAdmission::Refused(LaneRefusal::ClientQueueFull);
        }
        let (waiter, receiver) = waiter();
        queue.push_back(waiter);
        state.waiting += 1;
        LaneAdmission::Waiting(receiver)
    }

    /// The number of waiting queries.
    pub(crate) fn waiting(&self) -> usize {
        self.state().waiting
    }

    fn next(&self) -> Option<Waiter> {
        let mut state = self.state();
        let Some((client, mut queue)) = state.queues.pop_front() else {
            // The slot is counted as free only without waiters; otherwise it moves directly to a
            // waiter, and a newcomer cannot take it in between.
            state.free += 1;
            return None;
        };
        let waiter = queue.pop_front();
        // The queue returns behind all others, which makes the order round-robin.
        if !queue.is_empty() {
            state.queues.push_back((client, queue));
        }
        state.waiting -= 1;
        waiter
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // No code under the lock can panic between two changes, so a poisoned lock is still
        // consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LaneSlot {
    fn drop(&mut self) {
        let Some(lane) = self.lane.take() else {
            return;
        };
        while let Some(waiter) = lane.next() {
            let slot = LaneSlot {
                lane: Some(lane.clone()),
            };
            let refused = match waiter {
                Waiter::Task(sender) => sender.send(slot).err(),
                Waiter::Thread(sender) => match sender.try_send(slot) {
                    Ok(()) => None,
                    Err(TrySendError::Full(slot) | TrySendError::Disconnected(slot)) => Some(slot),
                },
            };
            let Some(mut slot) = refused else {
                return;
            };
            // The waiter has gone. This loop hands the slot to the next waiter; `None` keeps the
            // drop of `slot` from doing the same by recursion.
            slot.lane = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LaneLimits = LaneLimits {
        slots: 1,
        waiting_max: 8,
        client_waiting_max: 5,
    };

    fn lane_client(client: usize) -> LaneClient {
        LaneClient {
            container: 1,
            client,
        }
    }

    fn waiting(lane: &Lane, client: usize) -> oneshot::Receiver<LaneSlot> {
        match lane.enter(lane_client(client)) {
            LaneAdmission::Waiting(receiver) => receiver,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn slots_alternate_between_clients() {
        let lane = Lane::new(LIMITS);
        let LaneAdmission::Now(slot) = lane.enter(lane_client(1)) else {
            panic!("the lane is empty");
        };
        let mut waiting: Vec<_> = [1, 1, 1, 2, 2, 3]
            .into_iter()
            .map(|client| (client, waiting(&lane, client)))
            .collect();
        let mut slot = Some(slot);
        let mut order = Vec::new();
        while slot.take().is_some() {
            let arrived = waiting.iter_mut().position(|(_, receiver)| {
                slot = receiver.try_recv().ok();
                slot.is_some()
            });
            order.extend(arrived.map(|arrived| waiting.remove(arrived).0));
        }
        assert_eq!(order, [1, 2, 3, 1, 2, 1]);
        assert_eq!(lane.waiting(), 0);
        assert!(matches!(lane.enter(lane_client(9)), LaneAdmission::Now(_)));
    }

    #[test]
    fn queues_are_bounded_per_client_and_per_lane() {
        let lane = Lane::new(LIMITS);
        let slot = lane.enter(lane_client(1));
        let mut kept = Vec::new();
        for _ in 0..5 {
            kept.push(waiting(&lane, 1));
        }
        let LaneAdmission::Refused(refused) = lane.enter(lane_client(1)) else {
            panic!("the queue is full");
        };
        assert_eq!(refused, LaneRefusal::ClientQueueFull);
        for client in 2..5 {
            kept.push(waiting(&lane, client));
        }
        let LaneAdmission::Refused(refused) = lane.enter_thread(lane_client(9)) else {
            panic!("the lane is full");
        };
        assert_eq!(refused, LaneRefusal::LaneFull);
        // All waiters have gone before the slot is dropped, so the lane counts the slot as free.
        drop(kept);
        drop(slot);
        assert_eq!(lane.waiting(), 0);
        assert!(matches!(lane.enter(lane_client(9)), LaneAdmission::Now(_)));
    }

    #[test]
    fn all_slots_are_free_in_the_end() {
        let limits = LaneLimits {
            slots: 2,
            waiting_max: 1_000,
            client_waiting_max: 1_000,
        };
        let lane = Lane::new(limits);
        std::thread::scope(|scope| {
            for client in 0..8 {
                let lane = lane.clone();
                scope.spawn(move || {
                    for round in 0..1_000 {
                        match lane.enter_thread(lane_client(client)) {
                            // Some give up.
                            LaneAdmission::Waiting(receiver) if round % 7 != 0 => {
                                drop(receiver.recv().expect("a slot"));
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
