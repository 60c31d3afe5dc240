//! The state of a region that its driver publishes. Requests read it without the lock of the
//! replica.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use orrery_model::Secret;
use orrery_regions::{AccountMode, RegionId, Replica, StalenessBound, TokenVersion};

use crate::driver::{SharedReplica, StalenessView};
use crate::endpoints::Endpoints;

const SERVING: u8 = 0;
pub(crate) const REMOVED: u8 = 1;

/// The state of a region in an account of several regions, as requests and operators see it.
pub(crate) struct RegionReplication {
    pub(crate) shared: Arc<SharedReplica>,
    pub(crate) endpoints: Arc<Endpoints>,
    pub(crate) bound: StalenessBound,
    pub(crate) version: AtomicI64,
    /// The token version of the state that a snapshot replaced last.
    pub(crate) replaced_version: AtomicI64,
    pub(crate) membership: AtomicU8,
    pub(crate) is_write_region: AtomicBool,
    pub(crate) is_returning: AtomicBool,
    /// Reads that wait for the records of their session.
    pub(crate) read_waits: AtomicUsize,
    /// Writes that wait for the records of their author, or for the region to begin.
    pub(crate) write_waits: AtomicUsize,
    /// Present in a multi-write account.
    pub(crate) multi_write: Option<MultiWrite>,
    pub(crate) readable: AtomicUsize,
}

pub(crate) struct MultiWrite {
    pub(crate) can_write: AtomicBool,
    /// A token version together with the regions that its tokens name: clients refuse two tokens of
    /// one version with different regions.
    pub(crate) topology: RwLock<(i64, Arc<[RegionId]>)>,
    /// The staleness at bounded staleness; none if the account has no other region.
    staleness: RwLock<Option<StalenessView>>,
}

impl RegionReplication {
    pub(crate) fn new(
        shared: Arc<SharedReplica>,
        endpoints: Arc<Endpoints>,
        bound: StalenessBound,
        mode: AccountMode,
    ) -> RegionReplication {
        RegionReplication {
            shared,
            endpoints,
            bound,
            version: AtomicI64::new(0),
            replaced_version: AtomicI64::new(0),
            membership: AtomicU8::new(SERVING),
            is_write_region: AtomicBool::default(),
            is_returning: AtomicBool::default(),
            read_waits: AtomicUsize::new(0),
            write_waits: AtomicUsize::new(0),
            multi_write: mode.has_region_streams().then(|| MultiWrite {
                can_write: AtomicBool::default(),
                topology: RwLock::new((0, Arc::default())),
                staleness: RwLock::default(),
            }),
            readable: AtomicUsize::new(1),
        }
    }

    pub(crate) fn set_endpoint_of(&self, region: RegionId, url: &str) {
        let members = self.shared.members();
        if let Some(member) = members.get(region) {
            self.endpoints.set(&member.name, url);
            self.endpoints.forget_problem(&member.name);
        }
    }

    /// Records the failure that another region reported.
    pub(crate) fn set_problem_of(&self, region: RegionId, cause: String) {
        let members = self.shared.members();
        if let Some(member) = members.get(region) {
            self.endpoints.set_problem(&member.name, cause);
        }
    }

    /// Another region sent the secret that signs resource tokens; only the write region's secret
    /// counts.
    pub(crate) fn hear_token_secret(&self, from: RegionId, secret: Secret) {
        if self.shared.lock().replica.write_region() == Some(from) {
            self.endpoints.set_token_secret(secret);
        }
    }

    /// Sets whether the state may be outside the history.
    pub(crate) fn set_returning(&self, is_returning: bool) {
        self.is_returning.store(is_returning, Ordering::Release);
    }

    pub(crate) fn set_staleness(&self, reach: Option<StalenessView>) {
        if let Some(multi_write) = &self.multi_write {
            let known = multi_write.staleness.write();
            *known.unwrap_or_else(PoisonError::into_inner) = reach;
        }
    }

    pub(crate) fn set_can_write(&self, can_write: bool) {
        if let Some(multi_write) = &self.multi_write {
            multi_write.can_write.store(can_write, Ordering::Release);
        }
    }

    /// Publishes the replica's view of the account for requests, which read it without the
    /// replica's lock.
    pub(crate) fn publish(&self, replica: &Replica) {
        let TokenVersion(version) = replica.token_version();
        let version = i64::try_from(version).unwrap_or(i64::MAX);
        self.version.store(version, Ordering::Release);
        let members = replica.members();
        if let Some(multi_write) = &self.multi_write {
            let topology = multi_write.topology.write();
            let mut topology = topology.unwrap_or_else(PoisonError::into_inner);
            if topology.0 != version {
                // A client that wrote in a region that is leaving still finds the region's stream
                // in its token.
                *topology = (version, replica.metadata().members.writers().collect());
            }
        }
        let is_known = members.all().next().is_some();
        let is_member = members.is_voter(replica.region());
        let membership = if is_known && !is_member {
            REMOVED
        } else {
            SERVING
        };
        self.membership.store(membership, Ordering::Release);
        self.is_write_region
            .store(replica.is_write_region(), Ordering::Release);
        self.readable
            .store(members.voters().count(), Ordering::Relaxed);
    }
}

impl MultiWrite {
    pub(crate) fn staleness(&self) -> Option<StalenessView> {
        *self
            .staleness
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
