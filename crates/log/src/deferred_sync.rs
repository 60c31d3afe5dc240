//! Syncs of records that no client waits for, on a thread of their own.
//!
//! A record that another region has acknowledged is durable there. Below bounded staleness readers
//! may see it here as soon as it is written: they do not wait for this disk, and the records of some
//! milliseconds share one sync. After a loss of power before that sync, this region asks for the
//! records again. Before the store answers a write of a client, it syncs the
//! record of that write and all earlier records.
//!
//! A sync covers the whole file, whichever handle requests it. So the thread syncs over a second
//! handle while the log appends through the first.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::{Disk, Error, Position};

/// Records that are written within this time share the next sync.
const GATHER: Duration = Duration::from_millis(5);

/// The end of the log.
pub struct SyncRequests {
    requests: Sender<SyncRequest>,
    synced: Arc<AtomicU64>,
    requested: Position,
}

/// The end of the thread that syncs.
pub struct DeferredSyncs {
    requests: Receiver<SyncRequest>,
    synced: Arc<AtomicU64>,
}

struct SyncRequest {
    segment: PathBuf,
    upto: Position,
}

/// Both ends; see [`LocalLog::with_deferred_syncs`](crate::LocalLog::with_deferred_syncs).
pub fn deferred_syncs() -> (SyncRequests, DeferredSyncs) {
    let (sender, requests) = channel();
    let synced = Arc::new(AtomicU64::new(0));
    let requester = SyncRequests {
        requests: sender,
        synced: Arc::clone(&synced),
        requested: Position::ZERO,
    };
    (requester, DeferredSyncs { requests, synced })
}

impl SyncRequests {
    /// Requests a sync of the segment whose last record is `upto`. The segments before it are synced
    /// already: the log syncs each one when it seals it.
    pub(crate) fn request(&mut self, segment: PathBuf, upto: Position) {
        if upto > self.requested {
            self.requested = upto;
            // A closing log syncs by itself, so a lost request is harmless.
            let _ = self.requests.send(SyncRequest { segment, upto });
        }
    }

    pub(crate) fn synced(&self) -> Position {
        Position(self.synced.load(Ordering::Acquire))
    }
}

impl DeferredSyncs {
    /// Carries out requests until the log is dropped. `on_sync` is called after each sync, and once
    /// with the first error, after which no sync is tried again.
    pub fn run(&self, disk: &Arc<dyn Disk>, on_sync: impl Fn(Result<(), Error>)) {
        while let Ok(mut request) = self.requests.recv() {
            thread::sleep(GATHER);
            while let Ok(later) = self.requests.try_recv() {
                request = later;
            }
            let SyncRequest { segment, upto } = request;
            if let Err(error) = sync(&**disk, &segment) {
                return on_sync(Err(Error::io("sync", &segment)(error)));
            }
            self.synced.fetch_max(upto.0, Ordering::AcqRel);
            on_sync(Ok(()));
        }
    }
}

fn sync(disk: &dyn Disk, segment: &Path) -> io::Result<()> {
    match disk.open_write(segment) {
        Ok(mut file) => file.sync(),
        // The log has sealed the segment, which syncs it, and has recycled it since.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
