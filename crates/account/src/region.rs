//! One region as the server sees it: its engine, and the checks before it answers.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use orrery_engine::{Engine, ReplicationRole};
use orrery_model::{ConsistencyLevel, Failure, RegionSession, Secret, SessionVector};
use orrery_regions::{AccountMode, Consistency, ReadVerdict, RegionId, StreamId, WriteRefusal};
use tokio::time::timeout;

use crate::driver::{StalenessView, refusal};
use crate::replication::{REMOVED, RegionReplication};
use crate::waits::Waits;
use crate::{Location, Locations};

/// How long a write waits for the records that its author has seen in another region.
const WRITE_PATIENCE: Duration = Duration::from_secs(2);
/// How long a read waits for the records of its session. Records in flight arrive within one trip
/// between regions; a client that is sent to another region needs a round trip to get there, and
/// some clients pause before that trip.
const SESSION_PATIENCE: Duration = Duration::from_millis(50);
/// The same in an account with failover per partition: a client retries in the account's write
/// region, which may not be the owner of the partition, and gives up there.
const DIVIDED_SESSION_PATIENCE: Duration = Duration::from_secs(1);
/// When the oldest strong write has waited for this long, the region begins no more writes.
const STALLED_MS: u64 = 5_000;

pub struct Region {
    name: String,
    engine: RwLock<Arc<Engine>>,
    /// Absent in an account of one region.
    replication: Option<Arc<RegionReplication>>,
}

/// How a region answers its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    Serving,
    /// Is no member of the account: the region answers 403 with sub-status 1008.
    Removed,
    /// Was disconnected: the account may have promoted another region, or it has and this region
    /// takes a snapshot. The state may not be part of the history, so reads get 503. Writes are
    /// refused, as in any region that does not write.
    Returning,
    /// Was taken down or failed: the region answers every request with 503.
    Down,
}

impl Region {
    /// A region that is the whole account.
    pub fn alone(name: &str, engine: Arc<Engine>) -> Arc<Region> {
        Arc::new(Region {
            name: name.to_owned(),
            engine: RwLock::new(engine),
            replication: None,
        })
    }

    /// One region of several. A request never finds it without its write fence.
    pub(crate) fn of_account(
        name: &str,
        engine: Arc<Engine>,
        replication: Arc<RegionReplication>,
    ) -> Arc<Region> {
        Arc::new(Region {
            name: name.to_owned(),
            engine: RwLock::new(engine),
            replication: Some(replication),
        })
    }

    pub(crate) fn into_engine(self) -> Arc<Engine> {
        self.engine
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn replication(&self) -> Option<&RegionReplication> {
        self.replication.as_deref()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The engine that answers now. A snapshot that replaces the state brings another engine.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the engine. Requests that still use the old engine name positions that may not be
    /// in the history, so their tokens keep the old version.
    pub(crate) fn set_engine(&self, engine: Arc<Engine>) {
        if let Some(part) = self.replication() {
            // The version of the old state is saved before the engine is replaced: a request that
            // finds its engine replaced reads the version that belongs to that engine.
            let version = part.version.load(Ordering::Acquire);
            part.replaced_version.store(version, Ordering::Release);
        }
        *self.engine.write().unwrap_or_else(PoisonError::into_inner) = engine;
    }

    /// Sets the URL at which clients reach this region.
    pub fn set_endpoint(&self, url: &str) {
        if let Some(part) = self.replication() {
            part.endpoints.set(&self.name, url);
        }
    }

    pub(crate) fn endpoint(&self) -> Option<String> {
        self.replication()?.endpoints.get(&self.name)
    }

    /// The secret that signs resource tokens, if it is set.
    pub(crate) fn token_secret(&self) -> Option<Secret> {
        self.replication()?.endpoints.token_secret.borrow().clone()
    }

    /// All regions that this region knows; none if the account has one region: clients then stay at
    /// the URL that they have used.
    pub fn locations(&self) -> Option<Locations> {
        let part = self.replication()?;
        let core = part.shared.lock();
        let members = core.replica.members();
        let write_region = core.replica.write_region();
        let location = |id: RegionId| {
            let name = &members.get(id)?.name;
            let endpoint = part.endpoints.get(name)?;
            Some(Location {
                name: name.clone(),
                endpoint,
            })
        };
        // In failover order: clients without a preferred region read in the first one, and in a
        // multi-write account they send catalogue changes there.
        let mut order: Vec<RegionId> = members.voters().collect();
        order.sort_by_key(|id| Some(*id) != write_region);
        let readable: Vec<Location> = order.into_iter().filter_map(location).collect();
        let is_everywhere = members.mode == AccountMode::EveryRegionWrites;
        let writable = if is_everywhere {
            readable.clone()
        } else {
            write_region.and_then(location).into_iter().collect()
        };
        Some(Locations {
            writable,
            readable,
            multi_write: is_everywhere,
            per_partition_failover: members.mode == AccountMode::ByOwner,
        })
    }

    /// Whether [`Region::locations`] lists a write region and every region that answers reads, this
    /// region among them. A region that has not received the members of its account yet lists
    /// none, and a region lists another one only once it has received the URL of that region.
    pub(crate) fn lists_all_regions(&self) -> bool {
        let (Some(part), Some(locations)) = (self.replication(), self.locations()) else {
            return true;
        };
        let voters = part.shared.lock().replica.members().voters().count();
        let lists_itself = locations.readable.iter().any(|at| at.name == self.name);
        lists_itself && locations.readable.len() == voters && !locations.writable.is_empty()
    }

    /// The number of regions that [`Region::locations`] lists for reading; 1 in an account of one
    /// region. Every response needs this number, so the call costs no more than one load.
    pub fn readable_count(&self) -> usize {
        let count = |part: &RegionReplication| part.readable.load(Ordering::Relaxed);
        self.replication().map_or(1, count)
    }

    pub fn availability(&self) -> Availability {
        let Some(part) = self.replication() else {
            return Availability::Serving;
        };
        if part.shared.is_down() {
            return Availability::Down;
        }
        match part.membership.load(Ordering::Acquire) {
            REMOVED => Availability::Removed,
            _ if part.is_returning.load(Ordering::Acquire) => Availability::Returning,
            _ => Availability::Serving,
        }
    }

    /// Whether the region is down and another region takes its writes.
    pub fn is_replaced(&self) -> bool {
        self.replication()
            .is_some_and(|part| part.shared.is_replaced())
    }

    /// Whether the region takes no more records because of a failure; operators see its reason.
    pub fn is_broken(&self) -> bool {
        let is_so = |part: &RegionReplication| part.shared.lock().broken.is_some();
        self.replication().is_some_and(is_so)
    }

    /// Whether this region is the write region or the hub, by its own knowledge.
    pub fn is_write_region(&self) -> bool {
        let is_so = |part: &RegionReplication| part.is_write_region.load(Ordering::Acquire);
        self.replication().is_none_or(is_so)
    }

    /// The version of session tokens that name positions of `engine`: it rises with each change of
    /// the write region and of the members. A caller reads the version after the position.
    pub fn token_version(&self, engine: &Arc<Engine>) -> i64 {
        let Some(part) = self.replication() else {
            return RegionSession::SINGLE_REGION.version;
        };
        let version = part.version.load(Ordering::Acquire);
        // The engine is compared after the version was read: if the engine is still the current
        // one, that version belongs to the engine, because a new state gets its version only after
        // its engine.
        let current = self.engine.read().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, engine) {
            version
        } else {
            part.replaced_version.load(Ordering::Acquire)
        }
    }

    /// The region part of session tokens for responses from `engine`, besides the positions of
    /// partitions. It includes everything that the request read before this call.
    pub fn session(&self, engine: &Arc<Engine>) -> RegionSession {
        let multi_write = self
            .replication()
            .and_then(|part| part.multi_write.as_ref());
        let Some(multi_write) = multi_write else {
            return RegionSession {
                version: self.token_version(engine),
                vector: None,
            };
        };
        let (version, regions) = {
            let topology = multi_write.topology.read();
            topology.unwrap_or_else(PoisonError::into_inner).clone()
        };
        let progress = engine.version_vector();
        let local = |region: &RegionId| (region.0, progress.of(StreamId::Region(*region)).0);
        RegionSession {
            version,
            vector: Some(SessionVector {
                global: progress.of(StreamId::Account).0,
                locals: regions.iter().map(local).collect(),
            }),
        }
    }

    /// Waits until the region's progress satisfies a condition; false after a timeout.
    pub async fn wait_until(
        &self,
        engine: &Arc<Engine>,
        holds: impl Fn(&RegionSession) -> bool,
    ) -> bool {
        let Some(part) = self.replication() else {
            return holds(&self.session(engine));
        };
        if holds(&self.session(engine)) {
            return true;
        }
        let Some(_waits) = Waits::begin(&part.write_waits) else {
            return false;
        };
        self.wait(part, engine, WRITE_PATIENCE, holds).await
    }

    /// Whether this region receives records from other regions.
    pub fn hears_others(&self) -> bool {
        let hears =
            |part: &RegionReplication| part.multi_write.is_some() || !self.is_write_region();
        self.replication().is_some_and(hears)
    }

    /// Waits for a short time for records in flight, unless the region's progress satisfies the
    /// condition already.
    pub async fn wait_shortly(&self, engine: &Arc<Engine>, holds: impl Fn(&RegionSession) -> bool) {
        let Some(part) = self.replication() else {
            return;
        };
        if holds(&self.session(engine)) {
            return;
        }
        let Some(_waits) = Waits::begin(&part.read_waits) else {
            return;
        };
        let patience = if engine.has_access_table() {
            DIVIDED_SESSION_PATIENCE
        } else {
            SESSION_PATIENCE
        };
        self.wait(part, engine, patience, holds).await;
    }

    async fn wait(
        &self,
        part: &RegionReplication,
        engine: &Arc<Engine>,
        patience: Duration,
        holds: impl Fn(&RegionSession) -> bool,
    ) -> bool {
        let look = || holds(&self.session(engine)).then_some(());
        let wait = part.shared.wait_for(look);
        timeout(patience, wait).await.is_ok()
    }

    /// Waits until this region may answer a read at a level, or returns the reason for a refusal. A
    /// strong read asks the write region; bounded staleness needs a recent page from the write
    /// region; other levels pass at once.
    pub async fn check_read(&self, level: ConsistencyLevel) -> Result<(), Failure> {
        let Some(part) = self.replication() else {
            return Ok(());
        };
        if let Some(multi_write) = &part.multi_write {
            let is_bounded = level == ConsistencyLevel::BoundedStaleness;
            let allows = |reach: StalenessView| reach.allows_read(part.bound, part.shared.now());
            return if is_bounded && !multi_write.staleness().is_none_or(allows) {
                Err(too_stale("another region"))
            } else {
                Ok(())
            };
        }
        let level = match level {
            ConsistencyLevel::Session
            | ConsistencyLevel::ConsistentPrefix
            | ConsistencyLevel::Eventual => return Ok(()),
            ConsistencyLevel::BoundedStaleness => Consistency::Bounded(part.bound),
            ConsistencyLevel::Strong => Consistency::Strong,
        };
        let now = part.shared.now();
        let verdict = part.shared.lock().replica.may_read(now, level, None);
        match verdict {
            ReadVerdict::Answer => Ok(()),
            ReadVerdict::ReadIndex => part.read_index().await,
            ReadVerdict::TooStale => Err(too_stale("the write region")),
            ReadVerdict::NotAMember
            | ReadVerdict::AboveTheAccount
            | ReadVerdict::Behind(..)
            | ReadVerdict::SessionLost => Err(Failure::Unavailable(
                "Service is currently unavailable: this region is not part of the account at present."
                    .to_owned(),
            )),
        }
    }

    /// Whether a write may begin in this region now.
    pub fn check_write(&self) -> Result<(), Failure> {
        let Some(part) = self.replication() else {
            return Ok(());
        };
        if let Some(multi_write) = &part.multi_write {
            if !multi_write.can_write.load(Ordering::Acquire) {
                return Err(Failure::WriteForbidden);
            }
            let Some(reach) = multi_write.staleness() else {
                return Ok(());
            };
            let own = StreamId::Region(part.shared.me);
            let written = self.engine().version_vector().of(own);
            return if reach.allows_write(part.bound, part.shared.now(), written) {
                Ok(())
            } else {
                Err(refusal(WriteRefusal::Unheard))
            };
        }
        let now = part.shared.now();
        let core = part.shared.lock();
        let oldest = core.in_flight.front();
        if oldest.is_some_and(|oldest| now.since(oldest.since) >= STALLED_MS) {
            return Err(Failure::Unavailable(
                "Service is currently unavailable for writes: at consistency level Strong a write waits for a \
                 majority of the regions, and too few of them answer. If a region is lost, take it offline."
                    .to_owned(),
            ));
        }
        core.replica.may_write(now).map_err(refusal)?;
        drop(core);
        // The replica begins its epoch a moment before the driver makes the engine the writer.
        match self.engine().role() {
            ReplicationRole::Writer => Ok(()),
            ReplicationRole::Follower => Err(Failure::WriteForbidden),
        }
    }
}

fn too_stale(unheard: &str) -> Failure {
    Failure::Unavailable(format!(
        "Service is currently unavailable: this region has not heard of {unheard} for longer than the bound of its \
         consistency level allows. Read in another region, or at a weaker level."
    ))
}
