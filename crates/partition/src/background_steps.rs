//! Background steps that change the state without a log record: the purge of a deleted container,
//! the trimming of old history, and the reindexing walk after a change of the indexing policy.

use std::sync::Arc;

use orrery_model::Failure;

use crate::Container;
use crate::command::unavailable;
use crate::committer::{Committer, internal};
use crate::purge::purge_step;
use crate::reindex::reindex_step;
use crate::retention::trim_history_step;

impl Committer {
    pub(crate) fn purge(&mut self, container: u32) -> Result<bool, Failure> {
        if let Some(cause) = &self.read_only_cause {
            return Err(unavailable(cause));
        }
        // The cursor is taken out and stored again only after the batch: a step that fails begins
        // anew.
        let from = self.purge_cursors.remove(&container).unwrap_or_default();
        let step = purge_step(&self.storage.snapshot(), container, from);
        let (batch, next) = step.map_err(|error| internal(&error))?;
        if let Err(error) = self.batches.write(|| self.storage.write(batch)) {
            return Err(self.enter_read_only(&error.into()));
        }
        // The caches must not keep rows of a container whose rows are being deleted.
        self.states.forget(container);
        self.statistics.forget(container);
        let more = next.is_some();
        self.purge_cursors
            .extend(next.map(|next| (container, next)));
        Ok(more)
    }

    pub(crate) fn trim_history(
        &mut self,
        container: &Container,
        now_seconds: u64,
    ) -> Result<bool, Failure> {
        if let Some(cause) = &self.read_only_cause {
            return Err(unavailable(cause));
        }
        let step = trim_history_step(&self.storage.snapshot(), container, now_seconds);
        let (batch, more) = step.map_err(|error| internal(&error))?;
        if !batch.is_empty()
            && let Err(error) = self.batches.write(|| self.storage.write(batch))
        {
            return Err(self.enter_read_only(&error.into()));
        }
        Ok(more)
    }

    pub(crate) fn reindex(&mut self, container: u32) -> Result<bool, Failure> {
        if let Some(cause) = &self.read_only_cause {
            return Err(unavailable(cause));
        }
        let storage = Arc::clone(&self.storage);
        let step = reindex_step(&storage, &mut self.states, &mut self.statistics, container);
        let (batch, is_done) = step.map_err(|error| {
            // A failed step may have changed the caches before its batch was complete, so both are
            // read again from the state.
            self.states.forget(container);
            self.statistics.forget(container);
            internal(&error)
        })?;
        if let Err(error) = self.batches.write(|| self.storage.write(batch)) {
            return Err(self.enter_read_only(&error.into()));
        }
        Ok(!is_done)
    }
}
