//! Snapshots in a multi-write account.
//!
//! A snapshot lacks the records that only this region has. Those records are in this region's log,
//! and the driver merges them into the snapshot with their old sequences before readers see it: so
//! no acknowledged record is lost, and other regions find in the new log what they still lack.
//! Until then the old state serves requests; after a crash in between the region starts with the
//! old state and begins the transfer again.

use std::sync::Arc;

use bytes::Bytes;
use orrery_engine::{Engine, EngineOptions, ReplicationRole, StreamRead};
use orrery_partition::{Error, Position, SnapshotStream};
use orrery_regions::{Millis, RegionId, Sequence, StreamId};

use super::EngineStreams;
use super::MultiWriteDriver;
use crate::LinkFrame;
use crate::codec::{decode_progress, encode_progress};
use crate::driver::region_directory::RegionDirectory;
use crate::driver::shared_replica::SharedReplica;
use crate::driver::snapshot_transfer::{
    ReceivedSnapshot, SnapshotExchange, SnapshotTransfers, discard_engine,
};

/// Bytes of own records that are merged in one batch.
const MERGE_BYTES: usize = 4 * 1024 * 1024;

impl SnapshotExchange for MultiWriteDriver {
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
        MultiWriteDriver::send(self, to, frame);
    }

    fn describe(&self, stream: &SnapshotStream) -> Result<Option<Bytes>, Error> {
        if self.directory.metadata.has_diverged {
            return Ok(None);
        }
        Ok(Some(encode_progress(&stream.progress()?)))
    }

    fn accepts(&mut self, _position: Position, note: &Bytes) -> bool {
        let Some(snapshot) = decode_progress(note) else {
            return false;
        };
        let (own, last) = (StreamId::Region(self.shared.me), self.own_last());
        if self.directory.metadata.has_diverged {
            // A diverged state is given up, so the snapshot must only have the part of this
            // region's stream that is in the history.
            return self.replica.is_fetching() && snapshot.includes(own, last);
        }
        let has = snapshot.of(own);
        let is_in_log = has >= last
            || matches!(
                self.reader.records_after(own, has, 1),
                Ok(StreamRead::Records(_))
            );
        if !is_in_log {
            tracing::warn!(
                region = self.region.name(),
                from = has.0,
                "a copy lacks records of this region that have left its log; another region has them"
            );
        }
        is_in_log && self.replica.accepts(&snapshot)
    }
}

impl MultiWriteDriver {
    /// Continues a transfer, and requests a snapshot if the state is not part of the history.
    pub(super) fn request_snapshot(&mut self, now: Millis) {
        if self.snapshot_transfers.is_receiving() {
            self.replica.still_fetching(now);
            return self.retry_snapshot(now);
        }
        if !self.needs_snapshot() {
            return;
        }
        let source = {
            let core = self.shared.lock();
            let members = core.replica.members();
            let source = core.replica.write_region();
            source.filter(|_| members.get(self.shared.me).is_some())
        };
        if let Some(source) = source.filter(|source| *source != self.shared.me) {
            self.replica.fetch(now, source);
        }
    }

    /// Whether the state is not part of the history, or lacks records that this region wrote as an
    /// earlier member, because the region has lost its directory.
    pub(super) fn needs_snapshot(&self) -> bool {
        let me = self.shared.me;
        let own = self.engine.version_vector().of(StreamId::Region(me));
        let end = self.shared.lock().replica.members().ends.get(&me).copied();
        self.directory.metadata.has_diverged || end.is_some_and(|end| own < end)
    }

    /// The last record of this region's stream that is part of the history.
    fn own_last(&self) -> Sequence {
        let me = self.shared.me;
        let last = self.engine.version_vector().of(StreamId::Region(me));
        if !self.directory.metadata.has_diverged {
            return last;
        }
        let end = self.shared.members().ends.get(&me).copied();
        end.map_or(last, |end| end.min(last))
    }

    /// Replaces this region's state by a snapshot.
    pub(super) async fn install(&mut self, snapshot: ReceivedSnapshot) {
        if !self.accepts(snapshot.position, &snapshot.note) {
            return;
        }
        let engine = match self.open_snapshot(snapshot, ReplicationRole::Follower) {
            Ok(engine) => engine,
            Err(error) => {
                return tracing::error!(%error, "a copy of another region cannot be opened");
            }
        };
        // The new engine takes no writes to keys until the failover state has reviewed them.
        if let Some(partitions) = &mut self.partitions {
            partitions.attach(&engine);
        }
        let mut brought = self.bring_own_records(&engine).await;
        if brought.is_ok() {
            // Writes of this region continue during the first, long merge. They stop here, so that
            // the second merge reaches the end of the stream.
            self.stop_writing().await;
            brought = self.bring_own_records(&engine).await;
        }
        let left = self.directory.side(self.directory.metadata.side);
        let put = brought.and_then(|()| {
            self.directory
                .switch_side()
                .map_err(|error| error.to_string())
        });
        if let Err(cause) = put {
            // The old state is complete and stays in use; the region requests another snapshot.
            tracing::error!(
                cause,
                region = self.region.name(),
                "a copy is not put in place"
            );
            let beside = self.directory.side(self.directory.metadata.side ^ 1);
            tokio::spawn(discard_engine(engine, beside));
            return;
        }
        let old = std::mem::replace(&mut self.engine, Arc::clone(&engine));
        // The old engine must not bring catalogue changes into the account stream any more.
        old.set_account_writer(None);
        match self.attach() {
            Ok(()) => self.broken = None,
            Err(error) => self.break_down(&error.to_string()),
        }
        self.snapshot_transfers.stop_sending();
        self.region.set_engine(engine);
        tracing::info!(
            region = self.region.name(),
            "copied the state of another region"
        );
        tokio::spawn(discard_engine(old, left));
    }

    /// Merges the records of this region's logs into a snapshot that lacks them.
    async fn bring_own_records(&mut self, engine: &Arc<Engine>) -> Result<(), String> {
        let applied = self.engine.version_vector().of(StreamId::Account);
        loop {
            let next = engine.version_vector().of(StreamId::Account).next();
            let Some(record) = self.log.get(next).filter(|_| next <= applied) else {
                break;
            };
            let change = self.catalogue_change(record);
            let outcome = engine.apply_account_record(next, change).await;
            outcome.map_err(|error| error.to_string())?;
        }
        let own = StreamId::Region(self.shared.me);
        let last = self.own_last();
        loop {
            let after = engine.version_vector().of(own);
            if after >= last {
                return Ok(());
            }
            let piece = self.reader.records_after(own, after, MERGE_BYTES);
            let records = match piece.map_err(|error| error.to_string())? {
                StreamRead::Records(records) if !records.is_empty() => records,
                StreamRead::Records(_) | StreamRead::Trimmed => {
                    return Err(format!(
                        "the log does not have record {} of this region, which a copy lacks",
                        after.next()
                    ));
                }
            };
            let merged = engine.merge_records(records).await;
            merged.map_err(|error| error.to_string())?;
        }
    }

    /// Continues with another engine.
    fn attach(&mut self) -> Result<(), Error> {
        let EngineStreams { reader, replica } = EngineStreams::open(
            &self.engine,
            &self.directory,
            &self.shared,
            self.kept_bytes_max,
        )?;
        (self.reader, self.replica) = (reader, replica);
        if let Some(partitions) = &mut self.partitions {
            partitions.listen_anew(&self.shared);
        }
        self.joining = None;
        self.waiting_pulls.clear();
        self.is_listening = Arc::default();
        self.follow_members();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use orrery_regions::VersionVector;

    use super::*;

    #[test]
    fn version_vectors_read_back() {
        let progress: VersionVector = [
            (StreamId::Account, Sequence(3)),
            (StreamId::Region(RegionId(2)), Sequence(9)),
        ]
        .into_iter()
        .collect();
        let note = encode_progress(&progress);
        assert_eq!(decode_progress(&note), Some(progress));
        assert_eq!(decode_progress(&note.slice(1..)), None);
    }
}
