//! The part of a region's task in the failover of single partitions: it carries out the decisions
//! of [`PartitionFailover`], and sends the other regions the key ranges that are down.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_engine::{AccessTable, Engine};
use orrery_regions::{MultiWriteReplica, RegionId, StreamRecord};

use super::hub_writer::propose;
use crate::codec::encode_move;
use crate::driver::shared_replica::SharedReplica;
use crate::partitions::{FailoverBoard, PartitionFailover, RegionView};
use crate::{LinkFrame, PartitionsFrame};

const PUBLISH_EVERY: Duration = Duration::from_millis(10);
const REPORT_EVERY: Duration = Duration::from_secs(1);

pub(super) struct PartitionFailoverTask {
    shared: Arc<SharedReplica>,
    board: Arc<FailoverBoard>,
    failover: PartitionFailover,
    /// The table that the store received last.
    table: Option<AccessTable>,
    last_report: Option<(PartitionsFrame, Instant)>,
    published: Option<Instant>,
}

impl PartitionFailoverTask {
    /// The task's state after the applied records of the account stream.
    pub(super) fn new(
        shared: Arc<SharedReplica>,
        board: Arc<FailoverBoard>,
        applied: &[StreamRecord],
    ) -> PartitionFailoverTask {
        PartitionFailoverTask {
            failover: PartitionFailover::new(shared.me, shared.now(), applied),
            shared,
            board,
            table: None,
            last_report: None,
            published: None,
        }
    }

    /// Records of the account stream have been applied. When this returns, the store has closed the
    /// keys that these records move: only then may the region report the records as applied.
    pub(super) async fn applied(
        &mut self,
        engine: &Engine,
        multi_write: &MultiWriteReplica,
        records: &[StreamRecord],
    ) {
        self.failover.follow(records);
        self.refresh(engine, multi_write).await;
    }

    /// Another engine replaces the old one. The new engine takes no writes until it receives a
    /// table.
    pub(super) fn attach(&mut self, engine: &Engine) {
        engine.close_all_keys();
        self.table = None;
    }

    /// The region continues with a new [`MultiWriteReplica`].
    pub(super) fn listen_anew(&mut self) {
        self.failover.listen_anew(self.shared.now());
    }

    /// Records another region's report.
    pub(super) fn take(&mut self, from: RegionId, frame: PartitionsFrame) {
        self.failover.record_report(from, frame);
    }

    /// The region is down: after its return it must not assume that nothing was moved.
    pub(super) async fn mark_down(&mut self, engine: &Engine) {
        self.failover.mark_down(self.shared.now());
        self.set(engine, AccessTable::closed()).await;
    }

    /// Gives the store its current access table, and publishes the status.
    pub(super) async fn refresh(&mut self, engine: &Engine, multi_write: &MultiWriteReplica) {
        let down = self.board.down();
        let table = with_view(&self.shared, multi_write, |view| {
            self.failover.refresh(view, down)
        });
        let has_changed = self.set(engine, table).await;
        // This runs after every group of writes, which is more often than any reader of the status
        // needs.
        if has_changed
            || self
                .published
                .is_none_or(|published| published.elapsed() >= PUBLISH_EVERY)
        {
            self.published = Some(Instant::now());
            let seen = with_view(&self.shared, multi_write, |view| self.failover.status(view));
            self.board.set_status(seen);
        }
    }

    /// True if the table is a new one.
    async fn set(&mut self, engine: &Engine, table: AccessTable) -> bool {
        let is_new = self.table.as_ref() != Some(&table);
        if is_new {
            self.table = Some(table.clone());
            engine.set_access(table).await;
        }
        is_new
    }

    /// The report for the other regions, unless they have received it recently.
    pub(super) fn pending_report(&mut self) -> Option<LinkFrame> {
        let frame = PartitionsFrame {
            down: self.board.failing(),
            opened: self.failover.opened(),
        };
        let is_recent = self
            .last_report
            .as_ref()
            .is_some_and(|(last_report, at)| *last_report == frame && at.elapsed() < REPORT_EVERY);
        if is_recent {
            return None;
        }
        self.last_report = Some((frame.clone(), Instant::now()));
        Some(LinkFrame::Partitions(frame))
    }

    /// Moves a partition if one must move and this region is the write region.
    pub(super) fn watch(&mut self, multi_write: &MultiWriteReplica) {
        let decided = with_view(&self.shared, multi_write, |view| self.failover.decide(view));
        let Some(range_move) = decided else {
            return;
        };
        match propose(&self.shared, encode_move(&range_move)) {
            Ok((sequence, _)) => {
                tracing::warn!(
                    container = range_move.keys.container,
                    to = range_move.owner.unwrap_or(self.shared.me).0,
                    "the writes of a partition go to another region"
                );
                self.failover.set_pending_move(sequence);
            }
            Err(failure) => tracing::debug!(%failure, "a partition cannot be moved now"),
        }
    }
}

/// Calls `look` with the region's current view, under the lock of the replica.
fn with_view<T>(
    shared: &SharedReplica,
    multi_write: &MultiWriteReplica,
    look: impl FnOnce(RegionView<'_>) -> T,
) -> T {
    let now = shared.now();
    let core = shared.lock();
    look(RegionView {
        now,
        replica: &core.replica,
        multi_write,
    })
}
