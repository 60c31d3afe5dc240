//! One region as the server sees it: its engine, and the checks before it answers.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use orrery_engine::{Engine, ReplicationRole};
use orrery_model::{ConsistencyLevel, Failure, RegionSession, Secret, SessionVector};
use orrery_regions::{
    AccountMode, Consistency, ReadVerdict, RegionId, Replica, StalenessBound, StreamId,
    TokenVersion, WriteRefusal,
};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::driver::{SharedReplica, StalenessView, refusal};
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
/// After this long without another problem report a region counts as healthy; a failed region
/// reports its problem every second.
const PROBLEM_AGE: Duration = Duration::from_secs(3);
/// When the oldest strong write has waited for this long, the region begins no more writes.
const STALLED_MS: u64 = 5_000;

pub struct Region {
    name: String,
    engine: RwLock<Arc<Engine>>,
    /// Absent in an account of one region.
    replication: OnceLock<RegionReplication>,
}

/// The replication part of a region in an account with several regions.
pub(crate) struct RegionReplication {
    pub(crate) shared: Arc<SharedReplica>,
    pub(crate) endpoints: Arc<Endpoints>,
    pub(crate) bound: StalenessBound,
    version: AtomicI64,
    /// The token version of the state that a snapshot replaced last.
    replaced_version: AtomicI64,
    membership: AtomicU8,
    is_write_region: AtomicBool,
    is_returning: AtomicBool,
    /// Reads that wait for the records of their session.
    read_waits: AtomicUsize,
    /// Writes that wait for the records of their author, or for the region to begin.
    pub(crate) write_waits: AtomicUsize,
    /// Present in a multi-write account.
    multi_write: Option<MultiWrite>,
    readable: AtomicUsize,
}

struct MultiWrite {
    can_write: AtomicBool,
    /// A token version together with the regions that its tokens name: clients refuse two tokens of
    /// one version with different regions.
    topology: RwLock<(i64, Arc<[RegionId]>)>,
    /// The staleness at bounded staleness; none if the account has no other region.
    staleness: RwLock<Option<StalenessView>>,
}

/// What regions send each other besides records.
#[derive(Default)]
pub(crate) struct Endpoints {
    /// The URL at which clients reach each region, by region name.
    urls: RwLock<BTreeMap<String, String>>,
    /// Failures that stopped the replication of a region, each with the time of its report.
    problems: RwLock<BTreeMap<String, (String, Instant)>>,
    /// The secret that signs resource tokens.
    pub(crate) token_secret: watch::Sender<Option<Secret>>,
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

const SERVING: u8 = 0;
const REMOVED: u8 = 1;

impl Region {
    /// A region that is the whole account.
    pub fn alone(name: &str, engine: Arc<Engine>) -> Arc<Region> {
        Arc::new(Region {
            name: name.to_owned(),
            engine: RwLock::new(engine),
            replication: OnceLock::new(),
        })
    }

    pub(crate) fn into_engine(self) -> Arc<Engine> {
        self.engine
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the region one of several.
    pub(crate) fn set_replication(&self, part: RegionReplication) {
        // The replication part is set once; a second call changes nothing.
        let _ = self.replication.set(part);
    }

    pub(crate) fn replication(&self) -> Option<&RegionReplication> {
        self.replication.get()
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

    pub(crate) fn set_endpoint_of(&self, region: RegionId, url: &str) {
        let Some(part) = self.replication() else {
            return;
        };
        let members = part.shared.members();
        if let Some(member) = members.get(region) {
            part.endpoints.set(&member.name, url);
            part.endpoints.forget_problem(&member.name);
        }
    }

    /// Records the failure that another region reported.
    pub(crate) fn set_problem_of(&self, region: RegionId, cause: String) {
        let Some(part) = self.replication() else {
            return;
        };
        let members = part.shared.members();
        if let Some(member) = members.get(region) {
            part.endpoints.set_problem(&member.name, cause);
        }
    }

    /// The secret that signs resource tokens, if it is set.
    pub(crate) fn token_secret(&self) -> Option<Secret> {
        self.replication()?.endpoints.token_secret.borrow().clone()
    }

    /// Another region sent the secret that signs resource tokens; only the write region's secret
    /// counts.
    pub(crate) fn hear_token_secret(&self, from: RegionId, secret: Secret) {
        let Some(part) = self.replication() else {
            return;
        };
        if part.shared.lock().replica.write_region() == Some(from) {
            part.endpoints.set_token_secret(secret);
        }
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
        let wait = async {
            loop {
                let mut moved = pin!(part.shared.progressed());
                // `enable` registers the waiter before the check, so that progress between the
                // check and the `await` wakes this task.
                moved.as_mut().enable();
                if holds(&self.session(engine)) {
                    return;
                }
                moved.await;
            }
        };
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

    /// Sets whether the state may be outside the history.
    pub(crate) fn set_returning(&self, is_returning: bool) {
        if let Some(part) = self.replication() {
            part.is_returning.store(is_returning, Ordering::Release);
        }
    }

    pub(crate) fn set_staleness(&self, reach: Option<StalenessView>) {
        if let Some(multi_write) = self
            .replication()
            .and_then(|part| part.multi_write.as_ref())
        {
            let known = multi_write.staleness.write();
            *known.unwrap_or_else(PoisonError::into_inner) = reach;
        }
    }

    pub(crate) fn set_can_write(&self, can_write: bool) {
        if let Some(multi_write) = self
            .replication()
            .and_then(|part| part.multi_write.as_ref())
        {
            multi_write.can_write.store(can_write, Ordering::Release);
        }
    }

    /// Publishes the replica's view of the account for requests, which read it without the
    /// replica's lock.
    pub(crate) fn publish(&self, replica: &Replica) {
        let Some(part) = self.replication() else {
            return;
        };
        let TokenVersion(version) = replica.token_version();
        let version = i64::try_from(version).unwrap_or(i64::MAX);
        part.version.store(version, Ordering::Release);
        let members = replica.members();
        if let Some(multi_write) = &part.multi_write {
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
        part.membership.store(membership, Ordering::Release);
        part.is_write_region
            .store(replica.is_write_region(), Ordering::Release);
        part.readable
            .store(members.voters().count(), Ordering::Relaxed);
    }
}

fn too_stale(unheard: &str) -> Failure {
    Failure::Unavailable(format!(
        "Service is currently unavailable: this region has not heard of {unheard} for longer than the bound of its \
         consistency level allows. Read in another region, or at a weaker level."
    ))
}

impl MultiWrite {
    fn staleness(&self) -> Option<StalenessView> {
        *self
            .staleness
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
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
}

impl Endpoints {
    pub(crate) fn set(&self, region: &str, url: &str) {
        let mut known = self.urls.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(region.to_owned(), url.to_owned());
    }

    pub(crate) fn set_problem(&self, region: &str, cause: String) {
        let problems = self.problems.write();
        let mut problems = problems.unwrap_or_else(PoisonError::into_inner);
        problems.insert(region.to_owned(), (cause, Instant::now()));
    }

    /// Forgets a region's problem after a message from the region, if the region has not repeated
    /// the problem for a while. A silent region retains its problem.
    fn forget_problem(&self, region: &str) {
        let problems = self.problems.write();
        let mut problems = problems.unwrap_or_else(PoisonError::into_inner);
        let is_old = |(_, at): &(String, Instant)| at.elapsed() >= PROBLEM_AGE;
        if problems.get(region).is_some_and(is_old) {
            problems.remove(region);
        }
    }

    /// The problem that a region last reported.
    pub(crate) fn problem(&self, region: &str) -> Option<String> {
        let problems = self.problems.read();
        let problems = problems.unwrap_or_else(PoisonError::into_inner);
        problems.get(region).map(|(cause, _)| cause.clone())
    }

    pub(crate) fn set_token_secret(&self, secret: Secret) {
        self.token_secret.send_if_modified(|known| {
            let is_new = known.as_ref() != Some(&secret);
            *known = Some(secret);
            is_new
        });
    }

    pub(crate) fn get(&self, region: &str) -> Option<String> {
        let known = self.urls.read().unwrap_or_else(PoisonError::into_inner);
        known.get(region).cloned()
    }
}
