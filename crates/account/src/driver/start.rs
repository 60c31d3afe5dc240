//! How a region starts: its replica continues from the engine and the log, then its task begins.

use std::borrow::Cow;
use std::path::Path;
use std::time::Instant;

use orrery_engine::Engine;
use orrery_partition::Error;
use orrery_regions::{
    AccountMode, Membership, Replica, ReplicaSettings, Restart, Sequence, SnapshotMetadata,
    StreamRecord,
};
use tokio::sync::watch;

use super::every_region::{self, AccountLog, EveryRegionWrites};
use super::one_region::{self, OneRegionWrites};
use super::region_directory::{RegionDirectory, RegionMetadata};
use super::shared_replica::millis_since;
use super::task::{Driver, DriverParts};

/// Bytes of log records that a region retains for disconnected regions.
const KEPT_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The same limit for an account in memory.
const KEPT_BYTES_MAX_IN_MEMORY: u64 = 256 * 1024 * 1024;

/// Where a region stores the account stream.
pub(crate) enum AccountStream {
    /// In the log of the engine's store: one region writes, and every record is of this stream.
    EngineLog,
    /// In a separate log, because the log of the store has the items of several streams.
    OwnLog(Box<AccountLog>),
}

/// The state with which a replica starts.
pub(crate) struct ReplicaStart {
    pub(crate) metadata: RegionMetadata,
    /// The members of the account, if this region founds it.
    pub(crate) founds: Option<Membership>,
    pub(crate) settings: ReplicaSettings,
    pub(crate) begun: Instant,
}

impl AccountStream {
    pub(crate) fn open(
        mode: AccountMode,
        directory: Option<&Path>,
    ) -> Result<AccountStream, Error> {
        if !mode.has_region_streams() {
            return Ok(AccountStream::EngineLog);
        }
        let log = AccountLog::open(directory)?;
        Ok(AccountStream::OwnLog(Box::new(log)))
    }

    /// The replica of the account stream in a region.
    pub(crate) fn replica(&self, engine: &Engine, start: ReplicaStart) -> Result<Replica, Error> {
        let now = millis_since(start.begun);
        let (id, settings) = (start.metadata.id, start.settings);
        if let Some(members) = start.founds {
            return Ok(Replica::bootstrap(id, settings, now, members));
        }
        let stored = match self {
            AccountStream::EngineLog => one_region::stored_stream(engine)?,
            AccountStream::OwnLog(log) => every_region::stored_stream(engine, log),
        };
        let restart = Restart {
            hard_state: start.metadata.hard_state,
            begins: Sequence::ZERO,
            base: stored.base,
            log: &*stored.log,
            applied: stored.applied,
        };
        Ok(Replica::new(id, settings, now, restart))
    }
}

/// The account stream as a region has stored it.
pub(super) struct StoredStream<'l> {
    pub(super) base: SnapshotMetadata,
    /// The records after the base.
    pub(super) log: Cow<'l, [StreamRecord]>,
    pub(super) applied: Sequence,
}

/// Starts the task of a region, which runs until `stop` changes.
pub(crate) fn spawn(
    stream: AccountStream,
    parts: DriverParts,
    stop: watch::Receiver<bool>,
) -> Result<(), Error> {
    match stream {
        AccountStream::EngineLog => {
            let strategy = OneRegionWrites::new(&parts);
            tokio::spawn(Driver::new(parts, strategy).run(stop));
        }
        AccountStream::OwnLog(log) => {
            let strategy = EveryRegionWrites::new(&parts, *log)?;
            tokio::spawn(Driver::new(parts, strategy).run(stop));
        }
    }
    Ok(())
}

/// Bytes of log records that a region retains for disconnected regions: the configured limit, or the
/// default.
pub(crate) fn kept_bytes_max(directory: &RegionDirectory, configured: Option<u64>) -> u64 {
    match (configured, directory.path()) {
        (Some(configured), _) => configured,
        (None, Some(_)) => KEPT_BYTES_MAX,
        (None, None) => KEPT_BYTES_MAX_IN_MEMORY,
    }
}
