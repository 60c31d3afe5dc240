//! Snapshots in a multi-write account.
//!
//! A snapshot lacks the records that only this region has. Those records are in this region's log,
//! and the driver merges them into the snapshot with their old sequences before readers see it: so
//! no acknowledged record is lost, and other regions find in the new log what they still lack.
//! Until then the old state serves requests; after a crash in between the region starts with the
//! old state and begins the transfer again.

use std::sync::Arc;

use bytes::Bytes;
use orrery_engine::{Engine, StreamRead};
use orrery_partition::{Error, Position, SnapshotStream};
use orrery_regions::{Millis, Sequence, StreamId};

use super::{EngineStreams, EveryRegionWrites};
use crate::codec::{decode_progress, encode_progress};
use crate::driver::Driver;
use crate::driver::snapshot_transfer::SnapshotRules;

/// Bytes of own records that are merged in one batch.
const MERGE_BYTES: usize = 4 * 1024 * 1024;

impl SnapshotRules for Driver<EveryRegionWrites> {
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
            return self.strategy.replica.is_fetching() && snapshot.includes(own, last);
        }
        let has = snapshot.of(own);
        let is_in_log = has >= last
            || matches!(
                self.strategy.reader.records_after(own, has, 1),
                Ok(StreamRead::Records(_))
            );
        if !is_in_log {
            tracing::warn!(
                region = self.region.name(),
                from = has.0,
                "a copy lacks records of this region that have left its log; another region has them"
            );
        }
        is_in_log && self.strategy.replica.accepts(&snapshot)
    }

    fn request_snapshot(&mut self, now: Millis) {
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
            self.strategy.replica.fetch(now, source);
        }
    }

    async fn complete_copy(&mut self, copy: &Arc<Engine>) -> Result<(), String> {
        // The copy takes no writes to keys until the failover state has reviewed them.
        if let Some(partitions) = &mut self.strategy.partitions {
            partitions.attach(copy);
        }
        self.bring_own_records(copy).await?;
        // Writes of this region continue during the first, long merge. They stop here, so that the
        // second merge reaches the end of the stream.
        self.stop_writing().await;
        self.bring_own_records(copy).await
    }

    async fn attach(
        &mut self,
        old: &Engine,
        _position: Position,
        _note: Bytes,
    ) -> Result<(), Error> {
        // The old engine must not bring catalogue changes into the account stream any more.
        old.set_account_writer(None);
        let EngineStreams { reader, replica } =
            EngineStreams::open(&self.engine, &self.shared, self.kept_bytes_max)?;
        (self.strategy.reader, self.strategy.replica) = (reader, replica);
        if let Some(partitions) = &mut self.strategy.partitions {
            partitions.listen_anew();
        }
        self.strategy.joining = None;
        self.strategy.waiting_pulls.clear();
        self.strategy.is_listening = Arc::default();
        self.follow_members();
        Ok(())
    }
}

impl Driver<EveryRegionWrites> {
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

    /// Merges the records of this region's logs into a snapshot that lacks them.
    async fn bring_own_records(&mut self, engine: &Arc<Engine>) -> Result<(), String> {
        let applied = self.engine.version_vector().of(StreamId::Account);
        loop {
            let next = engine.version_vector().of(StreamId::Account).next();
            let Some(record) = self.strategy.log.get(next).filter(|_| next <= applied) else {
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
            let piece = self.strategy.reader.records_after(own, after, MERGE_BYTES);
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
}

#[cfg(test)]
mod tests {
    use orrery_regions::{RegionId, VersionVector};

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
