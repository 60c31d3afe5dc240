//! A received copy takes the place of the region's state.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use orrery_engine::{Engine, ReplicationRole};

use super::Driver;
use super::snapshot_transfer::{ReceivedSnapshot, SnapshotRules, clear};
use super::task::WriteStrategy;

const DISCARD_RETRY: Duration = Duration::from_millis(100);

impl<S> Driver<S>
where
    Driver<S>: WriteStrategy,
{
    /// Replaces this region's state by a snapshot.
    pub(super) async fn install(&mut self, snapshot: ReceivedSnapshot) {
        let ReceivedSnapshot {
            installer,
            position,
            note,
        } = snapshot;
        // The replica may have changed since the snapshot began to arrive, so it is asked once
        // more.
        if !self.accepts(position, &note) {
            return;
        }
        let options = self.copy_options();
        let copy_directory = options.directory.clone();
        let opened = installer.finish();
        let opened =
            opened.and_then(|store| Engine::with_store(store, options, ReplicationRole::Follower));
        let copy = match opened {
            Ok(copy) => copy,
            Err(error) => {
                return tracing::error!(%error, "a copy of another region cannot be opened");
            }
        };
        let old_directory = self.directory.side(self.directory.metadata.side);
        // The copy is complete before a restart can open it: a crash before the switch leaves the
        // old state, and the region begins the transfer again.
        let completed = self.complete_copy(&copy).await;
        let switched = completed.and_then(|()| {
            let switched = self.directory.switch_side();
            switched.map_err(|error| error.to_string())
        });
        if let Err(cause) = switched {
            // The old state is complete and stays in use; the region requests another snapshot.
            tracing::error!(
                cause,
                region = self.region.name(),
                "a copy of another region is not put in place"
            );
            self.snapshot_transfers.discarding = Some(tokio::spawn(discard(copy, copy_directory)));
            return;
        }
        let old = std::mem::replace(&mut self.engine, Arc::clone(&copy));
        self.broken = None;
        // The strategy fences the copy before requests can reach it: no write may bypass the
        // replica.
        if let Err(error) = self.attach(&old, position, note).await {
            self.break_down(&error.to_string());
        }
        self.snapshot_transfers.stop_sending();
        // The state and its token version change together.
        self.region.set_engine(copy);
        self.publish();
        tracing::info!(
            region = self.region.name(),
            "copied the state of another region"
        );
        // Only after the switch may the directory of the old state be removed, because until then a
        // restart opens the old state.
        self.snapshot_transfers.discarding = Some(tokio::spawn(discard(old, old_directory)));
    }
}

/// Drops an engine once no request uses it, and removes its directory. The engine is not closed: a
/// close would write its whole state, for a directory that is removed anyway, and would never end
/// if the files are gone already.
async fn discard(mut engine: Arc<Engine>, directory: Option<PathBuf>) {
    loop {
        match Arc::try_unwrap(engine) {
            Ok(alone) => break drop(alone),
            Err(held) => engine = held,
        }
        tokio::time::sleep(DISCARD_RETRY).await;
    }
    if let Some(path) = &directory {
        clear(path);
    }
}
