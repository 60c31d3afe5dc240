//! Copies of the state in an account with one write region. The note of a copy is the newest note of
//! the state: the lineage and the members at its last record.

use bytes::Bytes;
use orrery_engine::Engine;
use orrery_partition::{Error, Position, SnapshotStream};
use orrery_regions::{Millis, Sequence};

use super::account_stream::head_of;
use super::{OneRegionWrites, subscribe};
use crate::driver::Driver;
use crate::driver::account_effects::AccountStreamStorage;
use crate::driver::snapshot_transfer::SnapshotRules;

impl SnapshotRules for Driver<OneRegionWrites> {
    fn describe(&self, stream: &SnapshotStream) -> Result<Option<Bytes>, Error> {
        if self.strategy.log_repair.is_some() {
            return Ok(None);
        }
        Ok(Some(stream.note()?.unwrap_or_default()))
    }

    fn accepts(&mut self, position: Position, note: &Bytes) -> bool {
        let head = head_of(Some(note.clone()), Sequence(position.0));
        !self.strategy.is_writing
            && self.may_fetch_snapshot()
            && self.shared.lock().replica.accepts(&head)
    }

    fn request_snapshot(&mut self, _now: Millis) {
        if self.strategy.log_repair.is_some() {
            let source = self.shared.lock().replica.write_region();
            if let Some(source) = source.filter(|source| *source != self.shared.me) {
                self.fetch_snapshot(source);
            }
        }
    }

    async fn attach(
        &mut self,
        _old: &Engine,
        position: Position,
        note: Bytes,
    ) -> Result<(), Error> {
        self.strategy.subscription = subscribe(&self.engine, self.kept_bytes_max);
        self.replicate_log().await;
        self.strategy.log_repair = None;
        let head = head_of(Some(note), Sequence(position.0));
        let now = self.shared.now();
        self.shared.lock().replica.installed(now, head);
        Ok(())
    }
}
