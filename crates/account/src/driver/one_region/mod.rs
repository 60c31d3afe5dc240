//! The strategy of an account with one write region.
//!
//! While the region writes, its store makes the records and asks the replica for their sequences
//! ([`StreamReplication`]); otherwise the task gives the engine the write region's records. The
//! task makes the engine the writer only when the replica leads and the state has applied the whole
//! log. It demotes the engine before any message leaves that could make another region the write
//! region.

mod account_stream;
mod copies;
mod role;
mod stream_replication;

use std::sync::Arc;
use std::time::Instant;

use orrery_engine::Engine;
use orrery_log::{CommitLog, ReplicatedLog};
use orrery_partition::{Position, Subscription};
use orrery_regions::{LogRepair, ReplicaEffect};

pub(super) use self::account_stream::stored_stream;
use self::stream_replication::StreamReplication;
pub(crate) use self::stream_replication::refusal;
use super::Driver;
use super::task::{DriverParts, WriteStrategy};

pub(super) struct OneRegionWrites {
    subscription: Subscription,
    /// Whether the engine is the writer.
    is_writing: bool,
    /// When the region returned, while it has no confirmation since then that it still is the write
    /// region.
    unconfirmed_since: Option<Instant>,
    was_down: bool,
    /// Since when the region does not know whether the account promoted another region.
    unverified_since: Option<Instant>,
    /// The divergence of the log, while the region waits for a snapshot.
    log_repair: Option<LogRepair>,
}

impl OneRegionWrites {
    pub(super) fn new(parts: &DriverParts) -> OneRegionWrites {
        let is_new = parts.is_new;
        parts.published.set_returning(!is_new);
        OneRegionWrites {
            subscription: subscribe(&parts.region.engine(), parts.kept_bytes_max),
            is_writing: false,
            unconfirmed_since: (!is_new).then(Instant::now),
            was_down: false,
            unverified_since: (!is_new).then(Instant::now),
            log_repair: None,
        }
    }
}

impl WriteStrategy for Driver<OneRegionWrites> {
    async fn begin(&mut self) {
        self.replicate_log().await;
    }

    /// A region that is down still carries out effects, but sends nothing.
    async fn follow_presence(&mut self) -> bool {
        self.notice_absence().await;
        true
    }

    async fn take_effects(&mut self) -> Vec<ReplicaEffect> {
        self.request_commit_check();
        // The role follows the replica before its effects are carried out: the engine stops writing
        // before a promise or a vote leaves.
        self.follow_role().await;
        self.shared.lock().replica.take_effects()
    }

    async fn advance_state(&mut self) -> bool {
        self.apply_committed().await
    }

    async fn complete_round(&mut self) {
        self.send_unasked();
    }

    fn publish_strategy(&mut self) {
        let may_have_diverged = self.may_have_diverged();
        self.published.set_returning(may_have_diverged);
        let trim = self.shared.lock().replica.trim_limit();
        self.strategy.subscription.acknowledge(Position(trim.0));
    }
}

impl Driver<OneRegionWrites> {
    /// Makes the log of the engine's store ask this region's replica about each append and commit.
    async fn replicate_log(&mut self) {
        let replication = StreamReplication(Arc::clone(&self.shared));
        let wrap = |log| Box::new(ReplicatedLog::new(log, replication)) as Box<dyn CommitLog>;
        self.engine.wrap_log(Box::new(wrap)).await;
    }

    /// Makes the store check its groups if the outcome of the oldest one is decided.
    fn request_commit_check(&self) {
        let now = self.shared.now();
        let mut core = self.shared.lock();
        if core.needs_commit_check(now) {
            core.is_commit_check_requested = true;
            drop(core);
            self.engine.wake_log();
        }
    }
}

fn subscribe(engine: &Engine, kept_bytes_max: u64) -> Subscription {
    engine.subscribe(Position::ZERO, kept_bytes_max)
}
