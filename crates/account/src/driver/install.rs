//! Copies of the state where one region writes: which are accepted, and how one takes its place.

use std::sync::Arc;

use bytes::Bytes;
use orrery_engine::{Engine, EngineOptions, Role};
use orrery_partition::{Error, Position, SnapshotStream};
use orrery_regions::{Millis, RegionId, Sequence};

use super::copies::{Copied, Copier, Copies, retire};
use super::core::Shared;
use super::saved::Place;
use super::{Driver, head_of, subscribe};
use crate::Frame;

impl Copier for Driver {
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
        Driver::send(self, to, frame);
    }

    fn describe(&self, stream: &SnapshotStream) -> Result<Option<Bytes>, Error> {
        if self.rejoining.is_some() {
            return Ok(None);
        }
        Ok(Some(stream.note()?.unwrap_or_default()))
    }

    fn accepts(&mut self, position: Position, note: &Bytes) -> bool {
        let head = head_of(Some(note.clone()), Sequence(position.0));
        self.shared.lock().replica.accepts(&head)
    }
}

impl Driver {
    /// Asks again for what did not come, and for a copy where the history is another one.
    pub(super) fn ask_for_copy(&mut self, now: Millis) {
        if self.copies.is_taking() {
            return self.ask_again_for_copy(now);
        }
        if self.rejoining.is_some() {
            let source = self.shared.lock().replica.write_region();
            if let Some(source) = source.filter(|source| *source != self.shared.me) {
                self.fetch_copy(source);
            }
        }
    }

    /// Puts a copy in place of the own state.
    pub(super) async fn install(&mut self, copied: Copied) {
        let head = head_of(Some(copied.note.clone()), Sequence(copied.position.0));
        if !self.shared.lock().replica.accepts(&head) || self.is_writing {
            return;
        }
        let engine = match self.open_copy(copied, Role::Follower) {
            Ok(engine) => engine,
            Err(error) => {
                tracing::error!(%error, "a copy of another region cannot be opened");
                return;
            }
        };
        let left = self.place.side(self.place.kept.side);
        if let Err(error) = self.place.turn() {
            tracing::error!(%error, "a copy of another region cannot be put in place");
            return;
        }
        let old = std::mem::replace(&mut self.engine, Arc::clone(&engine));
        self.subscription = subscribe(&self.engine, &self.place, self.kept_bytes_max);
        self.watch_engine().await;
        self.rejoining = None;
        self.broken = None;
        self.copies.stop_giving();
        let now = self.shared.now();
        self.shared.lock().replica.installed(now, head);
        // A state and the version of its tokens change together.
        self.region.set_engine(engine);
        self.publish();
        tracing::info!(
            region = self.region.name(),
            "copied the state of another region"
        );
        tokio::spawn(retire(old, left));
    }
}
