//! Steps of work in the background that change the state and make no record: the removal of what a deleted
//! container left, of history that is old, and the walk that lets documents follow an indexing policy.

use std::sync::Arc;

use orrery_model::Failure;

use crate::Container;
use crate::command::unavailable;
use crate::committer::{Committer, internal};
use crate::purge::purge_step;
use crate::reindex::reindex_step;
use crate::retention::forget_step;

impl Committer {
    pub(crate) fn purge(&mut self, container: u32) -> Result<bool, Failure> {
        if let Some(cause) = &self.broken {
            return Err(unavailable(cause));
        }
        let from = self.purged.remove(&container).unwrap_or_default();
        let step = purge_step(&self.storage.snapshot(), container, from);
        let (batch, next) = step.map_err(|error| internal(&error))?;
        if let Err(error) = self.batches.write(|| self.storage.write(batch)) {
            return Err(self.break_down(&error.into()));
        }
        self.states.forget(container);
        self.tallies.forget(container);
        let more = next.is_some();
        self.purged.extend(next.map(|next| (container, next)));
        Ok(more)
    }

    pub(crate) fn forget(
        &mut self,
        container: &Container,
        now_seconds: u64,
    ) -> Result<bool, Failure> {
        if let Some(cause) = &self.broken {
            return Err(unavailable(cause));
        }
        let step = forget_step(&self.storage.snapshot(), container, now_seconds);
        let (batch, more) = step.map_err(|error| internal(&error))?;
        if !batch.is_empty()
            && let Err(error) = self.batches.write(|| self.storage.write(batch))
        {
            return Err(self.break_down(&error.into()));
        }
        Ok(more)
    }

    pub(crate) fn reindex(&mut self, container: u32) -> Result<bool, Failure> {
        if let Some(cause) = &self.broken {
            return Err(unavailable(cause));
        }
        let storage = Arc::clone(&self.storage);
        let step = reindex_step(&storage, &mut self.states, &mut self.tallies, container);
        let (batch, is_done) = step.map_err(|error| {
            self.states.forget(container);
            self.tallies.forget(container);
            internal(&error)
        })?;
        if let Err(error) = self.batches.write(|| self.storage.write(batch)) {
            return Err(self.break_down(&error.into()));
        }
        Ok(!is_done)
    }
}
