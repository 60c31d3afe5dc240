//! The task of one region: it receives messages and clock ticks, calls the replica, and carries out
//! the replica's effects in order.
//!
//! ```text
//!  links ------> receive -+                      +-> send, pages from the log
//!  clock ------> tick ----+-> Replica -> effects -+-> append and apply in the engine
//!  commit thread -> write, durable, applied       +-> save the promise, snapshots, false progress
//! ```
//!
//! The loop, the effects of the account stream's replica, copies of the state and the published
//! state are the same in every account. A [`WriteStrategy`] adds what depends on the regions that
//! take writes.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use orrery_engine::{Engine, EngineOptions};
use orrery_regions::{Millis, RegionId, ReplicaEffect, ReplicaMessage};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, sleep_until};

use super::account_effects::AccountStreamStorage;
use super::diverged_suffix::DivergedSuffix;
use super::pages::PendingPulls;
use super::peer_announcer::PeerAnnouncer;
use super::region_directory::RegionDirectory;
use super::shared_replica::SharedReplica;
use super::snapshot_transfer::{SnapshotRules, SnapshotTransfers};
use crate::link::{Inbox, Links};
use crate::partitions::FailoverBoard;
use crate::replication::RegionReplication;
use crate::{LinkFrame, Region};

const TICK: Duration = Duration::from_millis(20);
/// A store that refuses writes for longer than this makes the region step down, if there is another
/// one.
const REFUSAL_PATIENCE: Duration = Duration::from_secs(3);

/// The task of a region; `S` is the state that its strategy needs.
pub(crate) struct Driver<S> {
    pub(super) shared: Arc<SharedReplica>,
    pub(super) region: Arc<Region>,
    pub(super) published: Arc<RegionReplication>,
    pub(super) engine: Arc<Engine>,
    pub(super) options: EngineOptions,
    links: Links,
    inbox: Inbox,
    pub(super) directory: RegionDirectory,
    /// Bytes of log records that the region retains for disconnected regions.
    pub(super) kept_bytes_max: u64,
    /// Pulls for the account stream.
    pub(super) pages: PendingPulls,
    announcer: PeerAnnouncer,
    pub(super) snapshot_transfers: SnapshotTransfers,
    pub(super) diverged_suffix: Arc<Mutex<DivergedSuffix>>,
    /// When the task looks for work even if nothing wakes it before.
    pub(super) look_again_at: Option<Instant>,
    /// The failure that stopped the replication of this region.
    pub(super) broken: Option<String>,
    pub(super) strategy: S,
}

/// The parts of a region that its task needs.
pub(crate) struct DriverParts {
    pub(crate) shared: Arc<SharedReplica>,
    pub(crate) region: Arc<Region>,
    pub(crate) published: Arc<RegionReplication>,
    pub(crate) links: (Links, Inbox),
    pub(crate) options: EngineOptions,
    pub(crate) directory: RegionDirectory,
    pub(crate) diverged_suffix: Arc<Mutex<DivergedSuffix>>,
    /// Bytes of log records that the region retains for disconnected regions.
    pub(crate) kept_bytes_max: u64,
    /// Present in an account with failover per partition.
    pub(crate) board: Option<Arc<FailoverBoard>>,
    /// Whether the region starts for the first time.
    pub(crate) is_new: bool,
}

/// The steps of a region's task that depend on the regions that take writes.
pub(super) trait WriteStrategy: AccountStreamStorage + SnapshotRules {
    /// Prepares the region before its first message.
    async fn begin(&mut self);

    /// The last step of the task.
    fn end(&mut self) {}

    /// The clock has advanced.
    async fn tick_strategy(&mut self, _now: Millis) {}

    /// Handles a frame about the streams of the regions or about their partitions.
    fn receive_stream_frame(&mut self, _from: RegionId, _frame: LinkFrame) {}

    /// Follows an operator's order that takes the region down or up. False if the region carries
    /// out nothing now.
    async fn follow_presence(&mut self) -> bool;

    /// Takes the effects of the account stream's replica.
    async fn take_effects(&mut self) -> Vec<ReplicaEffect>;

    /// Lets the state follow the committed records, after their effects. True if it has advanced.
    async fn advance_state(&mut self) -> bool;

    /// Sends waiting regions their pages, after the state has applied every committed record.
    async fn complete_round(&mut self);

    /// Publishes the strategy's part of the region's state.
    fn publish_strategy(&mut self);
}

impl<S> Driver<S> {
    pub(super) fn new(parts: DriverParts, strategy: S) -> Driver<S> {
        let DriverParts {
            shared,
            region,
            published,
            links: (links, inbox),
            options,
            directory,
            diverged_suffix,
            kept_bytes_max,
            board: _,
            is_new: _,
        } = parts;
        Driver {
            shared,
            engine: region.engine(),
            region,
            published,
            options,
            links,
            inbox,
            directory,
            kept_bytes_max,
            pages: PendingPulls::default(),
            announcer: PeerAnnouncer::default(),
            snapshot_transfers: SnapshotTransfers::default(),
            diverged_suffix,
            look_again_at: None,
            broken: None,
            strategy,
        }
    }

    pub(super) fn send(&self, to: RegionId, frame: LinkFrame) {
        if !self.shared.is_down() {
            self.links.send(to, frame);
        }
    }

    /// Refuses further records after a failure, whose cause operators see.
    pub(super) fn break_down(&mut self, cause: &str) {
        if self.broken.is_none() {
            tracing::error!(
                cause,
                region = self.region.name(),
                "a region takes no more records"
            );
            self.broken = Some(cause.to_owned());
        }
    }
}

impl<S> Driver<S>
where
    Driver<S>: WriteStrategy,
{
    /// Runs until `stop` changes.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        self.begin().await;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.settle().await;
        loop {
            let look_again_at = self.look_again_at.take();
            let look_again = sleep_until(look_again_at.unwrap_or_else(Instant::now).into());
            tokio::select! {
                biased;
                _ = stop.changed() => break,
                // Ticks come first, so that a busy region still sends its heartbeats.
                _ = ticks.tick() => self.tick().await,
                frame = self.inbox.recv() => match frame {
                    Some((from, frame)) => self.take(from, frame).await,
                    None => break,
                },
                () = look_again, if look_again_at.is_some() => {}
                () = self.shared.woken() => {}
            }
            while let Ok((from, frame)) = self.inbox.try_recv() {
                self.take(from, frame).await;
            }
            self.settle().await;
        }
        self.end();
    }

    async fn tick(&mut self) {
        if self.shared.is_down() {
            return;
        }
        let now = self.shared.now();
        self.shared.lock().replica.tick(now);
        self.announcer.tick(&self.shared, &self.region, &self.links);
        self.tick_copy(now);
        for (to, page) in self.pages.overdue(now) {
            self.send(to, LinkFrame::Account(ReplicaMessage::Page(page)));
        }
        self.tick_strategy(now).await;
    }

    async fn take(&mut self, from: RegionId, frame: LinkFrame) {
        if self.shared.is_down() {
            self.shared.record_epoch_while_down(&frame);
            return;
        }
        match frame {
            LinkFrame::Account(message) => {
                if let ReplicaMessage::Pull(pull) = &message {
                    self.pages.asked(from, *pull);
                }
                let now = self.shared.now();
                self.shared.lock().replica.receive(now, from, message);
                // The effects are carried out before the next message: the replica relies on no
                // message between an effect (such as a cut of the log) and the call that answers the
                // effect.
                self.settle().await;
            }
            LinkFrame::Snapshot(frame) => {
                if let Some(snapshot) = self.take_snapshot_frame(from, frame) {
                    self.install(snapshot).await;
                }
            }
            LinkFrame::Endpoint(url) => self.published.set_endpoint_of(from, &url),
            LinkFrame::Problem(cause) => self.published.set_problem_of(from, cause),
            LinkFrame::TokenSecret(secret) => self.published.hear_token_secret(from, secret),
            frame @ (LinkFrame::MultiWrite(_) | LinkFrame::Partitions(_)) => {
                self.receive_stream_frame(from, frame);
            }
        }
    }

    /// Carries out effects until there are none, and notifies the waiters.
    async fn settle(&mut self) {
        if !self.follow_presence().await {
            return self.publish();
        }
        // The loop ends when a round has neither effects nor progress: applied records may have
        // effects, and effects may commit records.
        loop {
            let effects = self.take_effects().await;
            let is_quiet = effects.is_empty();
            // In order, one after the other: a message may depend on the hard state or on the records
            // that an earlier effect makes durable.
            for effect in effects {
                self.carry_out(effect).await;
            }
            if !self.advance_state().await && is_quiet {
                break;
            }
        }
        self.answer_waiting_pulls().await;
        self.complete_round().await;
        self.publish();
        self.shared.notify_waiters();
    }

    /// Publishes the state of the region for requests and operators.
    pub(super) fn publish(&mut self) {
        self.publish_strategy();
        let refusal = self.engine.refusal_of(REFUSAL_PATIENCE);
        if self.broken.is_none()
            && let Some(cause) = self.engine.problem().map(str::to_owned)
        {
            self.break_down(&cause);
        }
        let mut core = self.shared.lock();
        core.report_broken(self.broken.as_ref().or(refusal.as_ref()));
        self.published.publish(&core.replica);
    }
}
