//! Snapshots in an account with one write region: which are accepted, and how one replaces the
//! state.

use std::sync::Arc;

use bytes::Bytes;
use orrery_engine::{Engine, EngineOptions, ReplicationRole};
use orrery_partition::{Error, Position, SnapshotStream};
use orrery_regions::{Millis, RegionId, Sequence};

use crate::LinkFrame;
use crate::driver::region_directory::RegionDirectory;
use crate::driver::shared_replica::SharedReplica;
use crate::driver::snapshot_transfer::{
    ReceivedSnapshot, SnapshotExchange, SnapshotTransfers, discard_engine,
};
use crate::driver::{Driver, head_of, subscribe};

impl SnapshotExchange for Driver {
    fn snapshot_transfers(&mut self) -> &mut SnapshotTransfers {
        &mut self.snapshot_transfers
    }

    fn shared(&self) -> &SharedReplica {
        &self.shared
    }

    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn options(&self) -> &EngineOptions {
        &self.options
    }

    fn directory(&self) -> &RegionDirectory {
        &self.directory
    }

    fn send(&self, to: RegionId, frame: LinkFrame) {
        Driver::send(self, to, frame);
    }

    fn describe(&self, stream: &SnapshotStream) -> Result<Option<Bytes>, Error> {
        if self.log_repair.is_some() {
            return Ok(None);
        }
        Ok(Some(stream.note()?.unwrap_or_default()))
    }

    fn accepts(&mut self, position: Position, note: &Bytes) -> bool {
        let head = head_of(Some(note.clone()), Sequence(position.0));
        self.is_diverged_suffix_saved() && self.shared.lock().replica.accepts(&head)
    }
}

impl Driver {
    /// Repeats unanswered snapshot requests, and requests a snapshot during log repair.
    pub(in crate::driver) fn request_snapshot(&mut self, now: Millis) {
        if self.snapshot_transfers.is_receiving() {
            return self.retry_snapshot(now);
        }
        if self.log_repair.is_some() {
            let source = self.shared.lock().replica.write_region();
            if let Some(source) = source.filter(|source| *source != self.shared.me) {
                self.fetch_snapshot(source);
            }
        }
    }

    /// Replaces this region's state by a snapshot.
    pub(in crate::driver) async fn install(&mut self, snapshot: ReceivedSnapshot) {
        let head = head_of(Some(snapshot.note.clone()), Sequence(snapshot.position.0));
        // The replica may have changed since the snapshot began to arrive, so it is asked once
        // more.
        if !self.accepts(snapshot.position, &snapshot.note) || self.is_writing {
            return;
        }
        let engine = match self.open_snapshot(snapshot, ReplicationRole::Follower) {
            Ok(engine) => engine,
            Err(error) => {
                tracing::error!(%error, "a copy of another region cannot be opened");
                return;
            }
        };
        let left = self.directory.side(self.directory.metadata.side);
        // From here on a restart opens the new state. Only then may the old engine be dropped and
        // its directory removed.
        if let Err(error) = self.directory.switch_side() {
            tracing::error!(%error, "a copy of another region cannot be put in place");
            return;
        }
        let old = std::mem::replace(&mut self.engine, Arc::clone(&engine));
        self.subscription = subscribe(&self.engine, &self.directory, self.kept_bytes_max);
        // The gate is set before the new engine serves requests: no write may bypass it.
        self.watch_engine().await;
        self.log_repair = None;
        self.broken = None;
        self.snapshot_transfers.stop_sending();
        let now = self.shared.now();
        self.shared.lock().replica.installed(now, head);
        // The state and its token version change together.
        self.region.set_engine(engine);
        self.publish();
        tracing::info!(
            region = self.region.name(),
            "copied the state of another region"
        );
        tokio::spawn(discard_engine(old, left));
    }
}
