//! Copies of the state where every region writes.
//!
//! A copy lacks what only this region had written. That is in its own log, and is merged into the copy
//! with its old numbers before anybody sees it: so nothing that was acknowledged is lost, and others
//! find in the new log what they do not have yet. Until then requests are served from the old state; a
//! process that ends in between comes up with that and begins anew.

use std::sync::Arc;

use bytes::Bytes;
use orrery_engine::{Engine, EngineOptions, Role, StreamPiece};
use orrery_partition::{Error, Position, SnapshotStream};
use orrery_regions::{Millis, RegionId, Sequence, StreamId};

use super::MultiDriver;
use super::copies::{Copied, Copier, Copies, retire};
use super::core::Shared;
use super::multi::Attached;
use super::saved::Place;
use crate::Frame;
use crate::codec::{decode_progress, encode_progress};

/// Bytes of own records that are merged together.
const MERGE_BYTES: usize = 4 * 1024 * 1024;

impl Copier for MultiDriver {
    fn copies(&mut self) -> &mut Copies {
        &mut self.copies
    }

    fn shared(&self) -> &Shared {
        &self.shared
    }

    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn options(&self) -> &EngineOptions {
        &self.options
    }

    fn place(&self) -> &Place {
        &self.place
    }

    fn send(&self, to: RegionId, frame: Frame) {
        MultiDriver::send(self, to, frame);
    }

    fn describe(&self, stream: &SnapshotStream) -> Result<Option<Bytes>, Error> {
        if self.place.kept.is_astray {
            return Ok(None);
        }
        Ok(Some(encode_progress(&stream.progress()?)))
    }

    fn accepts(&mut self, _position: Position, note: &Bytes) -> bool {
        let Some(snapshot) = decode_progress(note) else {
            return false;
        };
        let (own, last) = (StreamId::Region(self.shared.me), self.own_last());
        if self.place.kept.is_astray {
            // Of what is here only the own part that all others have matters.
            return self.mesh.is_fetching() && snapshot.has(own, last);
        }
        let has = snapshot.of(own);
        let is_in_log = has >= last
            || matches!(
                self.reader.records_after(own, has, 1),
                Ok(StreamPiece::Records(_))
            );
        if !is_in_log {
            tracing::warn!(
                region = self.region.name(),
                from = has.0,
                "a copy lacks records of this region that have left its log; another region has them"
            );
        }
        is_in_log && self.mesh.accepts(&snapshot)
    }
}

impl MultiDriver {
    /// Goes on with a copy, and asks for one if the state is not that of the history.
    pub(super) fn ask_for_copy(&mut self, now: Millis) {
        if self.copies.is_taking() {
            self.mesh.still_fetching(now);
            return self.ask_again_for_copy(now);
        }
        if !self.needs_copy() {
            return;
        }
        let source = {
            let core = self.shared.lock();
            let members = core.replica.members();
            let source = core.replica.write_region();
            source.filter(|_| members.get(self.shared.me).is_some())
        };
        if let Some(source) = source.filter(|source| *source != self.shared.me) {
            self.mesh.fetch(now, source);
        }
    }

    /// Whether the state is not that of the history, or lacks what this region wrote when it was there
    /// before, because it lost its directory.
    pub(super) fn needs_copy(&self) -> bool {
        let me = self.shared.me;
        let own = self.engine.progress().of(StreamId::Region(me));
        let end = self.shared.lock().replica.members().ends.get(&me).copied();
        self.place.kept.is_astray || end.is_some_and(|end| own < end)
    }

    /// The last record of the own stream that is part of the history.
    fn own_last(&self) -> Sequence {
        let me = self.shared.me;
        let last = self.engine.progress().of(StreamId::Region(me));
        if !self.place.kept.is_astray {
            return last;
        }
        let end = self.shared.members().ends.get(&me).copied();
        end.map_or(last, |end| end.min(last))
    }

    /// Puts a copy in place of the own state.
    pub(super) async fn install(&mut self, copied: Copied) {
        if !self.accepts(copied.position, &copied.note) {
            return;
        }
        let engine = match self.open_copy(copied, Role::Follower) {
            Ok(engine) => engine,
            Err(error) => {
                return tracing::error!(%error, "a copy of another region cannot be opened");
            }
        };
        if let Some(partitions) = &mut self.partitions {
            partitions.attach(&engine);
        }
        let mut brought = self.bring_own_records(&engine).await;
        if brought.is_ok() {
            // What was written meanwhile is the last that the old state takes.
            self.stop_writing().await;
            brought = self.bring_own_records(&engine).await;
        }
        let left = self.place.side(self.place.kept.side);
        let put = brought.and_then(|()| self.place.turn().map_err(|error| error.to_string()));
        if let Err(cause) = put {
            // The old state is whole and goes on; another copy is asked for.
            tracing::error!(
                cause,
                region = self.region.name(),
                "a copy is not put in place"
            );
            let beside = self.place.side(self.place.kept.side ^ 1);
            tokio::spawn(retire(engine, beside));
            return;
        }
        let old = std::mem::replace(&mut self.engine, Arc::clone(&engine));
        old.set_account_writer(None);
        match self.attach() {
            Ok(()) => self.broken = None,
            Err(error) => self.break_down(&error.to_string()),
        }
        self.copies.stop_giving();
        self.region.set_engine(engine);
        tracing::info!(
            region = self.region.name(),
            "copied the state of another region"
        );
        tokio::spawn(retire(old, left));
    }

    /// Brings what this region has in its logs into a copy that lacks it.
    async fn bring_own_records(&mut self, engine: &Arc<Engine>) -> Result<(), String> {
        let applied = self.engine.progress().of(StreamId::Account);
        loop {
            let next = engine.progress().of(StreamId::Account).next();
            let Some(record) = self.log.get(next).filter(|_| next <= applied) else {
                break;
            };
            let change = self.catalogue_change(record);
            let outcome = engine.apply_account(next, change).await;
            outcome.map_err(|error| error.to_string())?;
        }
        let own = StreamId::Region(self.shared.me);
        let last = self.own_last();
        loop {
            let after = engine.progress().of(own);
            if after >= last {
                return Ok(());
            }
            let piece = self.reader.records_after(own, after, MERGE_BYTES);
            let records = match piece.map_err(|error| error.to_string())? {
                StreamPiece::Records(records) if !records.is_empty() => records,
                StreamPiece::Records(_) | StreamPiece::Trimmed => {
                    return Err(format!(
                        "the log does not have record {} of this region, which a copy lacks",
                        after.next()
                    ));
                }
            };
            let merged = engine.merge(records).await;
            merged.map_err(|error| error.to_string())?;
        }
    }

    /// Follows another engine from here on.
    fn attach(&mut self) -> Result<(), Error> {
        let Attached { reader, mesh } =
            Attached::to(&self.engine, &self.place, &self.shared, self.kept_bytes_max)?;
        (self.reader, self.mesh) = (reader, mesh);
        if let Some(partitions) = &mut self.partitions {
            partitions.listen_anew(&self.shared);
        }
        self.joining = None;
        self.held.clear();
        self.is_listening = Arc::default();
        self.follow_members();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use orrery_regions::Progress;

    use super::*;

    #[test]
    fn what_a_state_has_reads_back() {
        let progress: Progress = [
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
