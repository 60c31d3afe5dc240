//! One region as the server sees it: its engine, and what must hold before it answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use orrery_engine::{Engine, Role};
use orrery_model::{ConsistencyLevel, Failure};
use orrery_regions::{Bound, Level, ReadOutcome, ReadVerdict, RegionId, Replica, TokenVersion};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::driver::{Shared, refusal};
use crate::{Location, Locations};

/// Of the tokens of an account of one region.
const ALONE_VERSION: i64 = -1;
/// How long a strong read waits to be confirmed.
const READ_PATIENCE: Duration = Duration::from_secs(5);
/// When strong writes have waited for so long, further ones are not begun.
const STALLED_MS: u64 = 5_000;

pub struct Region {
    name: String,
    engine: RwLock<Arc<Engine>>,
    /// None if it is alone.
    part: OnceLock<Part>,
}

/// The part of a region in an account that has several.
pub(crate) struct Part {
    pub(crate) shared: Arc<Shared>,
    pub(crate) endpoints: Arc<Endpoints>,
    pub(crate) bound: Bound,
    version: AtomicI64,
    standing: AtomicU8,
    /// Where all regions write, whether this one may.
    multi_write: Option<AtomicBool>,
    readable: AtomicUsize,
}

/// Where clients reach each region, by name.
#[derive(Default)]
pub(crate) struct Endpoints(RwLock<BTreeMap<String, String>>);

/// What clients meet who come to a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    Serving,
    /// Is no member of the account: 403 with sub-status 1008.
    Removed,
    /// Was taken down: nothing is answered but 503.
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
            part: OnceLock::new(),
        })
    }

    pub(crate) fn into_engine(self) -> Arc<Engine> {
        self.engine
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes it one of several.
    pub(crate) fn take_part(&self, part: Part) {
        // A region takes part once.
        let _ = self.part.set(part);
    }

    pub(crate) fn part(&self) -> Option<&Part> {
        self.part.get()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The engine that answers now. It is another one after the state was replaced by a copy.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_engine(&self, engine: Arc<Engine>) {
        *self.engine.write().unwrap_or_else(PoisonError::into_inner) = engine;
    }

    /// Says where clients reach this region.
    pub fn set_endpoint(&self, url: &str) {
        if let Some(part) = self.part() {
            part.endpoints.set(&self.name, url);
        }
    }

    pub(crate) fn set_endpoint_of(&self, region: RegionId, url: &str) {
        let Some(part) = self.part() else {
            return;
        };
        let members = part.shared.members();
        if let Some(member) = members.get(region) {
            part.endpoints.set(&member.name, url);
        }
    }

    /// All regions, as far as is known here; none if this region is alone: then clients go where
    /// they came to.
    pub fn locations(&self) -> Option<Locations> {
        let part = self.part()?;
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
        let mut ids: Vec<RegionId> = members.full().collect();
        if members.multi_write {
            // Clients take changes of the catalogue to the first: the hub.
            ids.sort_by_key(|id| Some(*id) != write_region);
        }
        let readable: Vec<Location> = ids.into_iter().filter_map(location).collect();
        let writable = if members.multi_write {
            readable.clone()
        } else {
            write_region.and_then(location).into_iter().collect()
        };
        Some(Locations {
            writable,
            readable,
            multi_write: members.multi_write,
        })
    }

    /// How many regions [`Region::locations`] names for reading; 1 if this region is alone. Every
    /// answer asks, so it should cost no more than a load.
    pub fn readable_count(&self) -> usize {
        let count = |part: &Part| part.readable.load(Ordering::Relaxed);
        self.part().map_or(1, count)
    }

    pub fn availability(&self) -> Availability {
        let Some(part) = self.part() else {
            return Availability::Serving;
        };
        if part.shared.is_down() {
            return Availability::Down;
        }
        match part.standing.load(Ordering::Acquire) {
            REMOVED => Availability::Removed,
            _ => Availability::Serving,
        }
    }

    /// The version that session tokens of this region have now: it rises with each change of the
    /// write region and of the members.
    pub fn token_version(&self) -> i64 {
        let version = |part: &Part| part.version.load(Ordering::Acquire);
        self.part().map_or(ALONE_VERSION, version)
    }

    /// Waits until a read at this level may be answered here, or says why it cannot: strong asks
    /// the write region, bounded staleness needs that it was heard of; others pass at once.
    pub async fn check_read(&self, level: ConsistencyLevel) -> Result<(), Failure> {
        let Some(part) = self.part() else {
            return Ok(());
        };
        if part.multi_write.is_some() {
            return Ok(());
        }
        let level = match level {
            ConsistencyLevel::Session
            | ConsistencyLevel::ConsistentPrefix
            | ConsistencyLevel::Eventual => return Ok(()),
            ConsistencyLevel::BoundedStaleness => Level::Bounded(part.bound),
            ConsistencyLevel::Strong => Level::Strong,
        };
        let now = part.shared.now();
        let verdict = part.shared.lock().replica.may_read(now, level, None);
        match verdict {
            ReadVerdict::Answer => Ok(()),
            ReadVerdict::Confirm => part.confirm().await,
            ReadVerdict::TooStale => Err(Failure::Unavailable(
                "Service is currently unavailable: this region has not heard of the write region for longer \
                 than the bound of its consistency level allows. Read in another region, or at a weaker level."
                    .to_owned(),
            )),
            ReadVerdict::NotAMember
            | ReadVerdict::AboveTheAccount
            | ReadVerdict::Behind(..)
            | ReadVerdict::SessionLost => Err(Failure::Unavailable(
                "Service is currently unavailable: this region is not part of the account at present."
                    .to_owned(),
            )),
        }
    }

    /// Whether a write may begin here now.
    pub fn check_write(&self) -> Result<(), Failure> {
        let Some(part) = self.part() else {
            return Ok(());
        };
        if let Some(can_write) = &part.multi_write {
            let can_write = can_write.load(Ordering::Acquire);
            return can_write.then_some(()).ok_or(Failure::WriteForbidden);
        }
        let now = part.shared.now();
        let core = part.shared.lock();
        let is_stalled = |since| now.since(since) >= STALLED_MS;
        if core.waiting_since.is_some_and(is_stalled) {
            return Err(Failure::Unavailable(
                "Service is currently unavailable for writes: at consistency level Strong a write waits for a \
                 majority of the regions, and too few of them answer. If a region is lost, take it offline."
                    .to_owned(),
            ));
        }
        core.replica.may_write(now).map_err(refusal)?;
        drop(core);
        // The store follows until it has everything, which at strong takes a round trip.
        match self.engine().role() {
            Role::Writer => Ok(()),
            Role::Follower => Err(Failure::WriteForbidden),
        }
    }

    pub(crate) fn set_can_write(&self, can_write: bool) {
        if let Some(flag) = self.part().and_then(|part| part.multi_write.as_ref()) {
            flag.store(can_write, Ordering::Release);
        }
    }

    /// Takes note of how the account is seen from here.
    pub(crate) fn publish(&self, replica: &Replica) {
        let Some(part) = self.part() else {
            return;
        };
        let TokenVersion(version) = TokenVersion::of(&replica.head());
        let version = i64::try_from(version).unwrap_or(i64::MAX);
        part.version.store(version, Ordering::Release);
        let members = replica.members();
        let is_known = members.all().next().is_some();
        let is_member = members.is_full(replica.region());
        let standing = if is_known && !is_member {
            REMOVED
        } else {
            SERVING
        };
        part.standing.store(standing, Ordering::Release);
        part.readable
            .store(members.full().count(), Ordering::Relaxed);
    }
}

impl Part {
    pub(crate) fn new(
        shared: Arc<Shared>,
        endpoints: Arc<Endpoints>,
        bound: Bound,
        multi_write: bool,
    ) -> Part {
        Part {
            shared,
            endpoints,
            bound,
            version: AtomicI64::new(0),
            standing: AtomicU8::new(SERVING),
            multi_write: multi_write.then(AtomicBool::default),
            readable: AtomicUsize::new(1),
        }
    }

    fn ask(&self) -> (u64, oneshot::Receiver<ReadOutcome>) {
        let (answer, answered) = oneshot::channel();
        let now = self.shared.now();
        let mut core = self.shared.lock();
        let read = core.replica.confirm(now);
        core.reads.insert(read, answer);
        drop(core);
        self.shared.wake();
        (read, answered)
    }

    async fn confirm(&self) -> Result<(), Failure> {
        let (read, answered) = self.ask();
        let outcome = timeout(READ_PATIENCE, answered).await;
        match outcome {
            Ok(Ok(ReadOutcome::Ready)) => Ok(()),
            Ok(Ok(ReadOutcome::NotTheWriteRegion | ReadOutcome::OutsideTheReadQuorum) | Err(_)) => {
                Err(Failure::Unavailable(
                    "Service is currently unavailable: this region cannot confirm that it has the latest \
                     writes. Read in another region, or at a weaker level."
                        .to_owned(),
                ))
            }
            Err(_) => {
                let mut core = self.shared.lock();
                core.reads.remove(&read);
                core.replica.forget_read(read);
                Err(Failure::Timeout)
            }
        }
    }
}

impl Endpoints {
    pub(crate) fn set(&self, region: &str, url: &str) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(region.to_owned(), url.to_owned());
    }

    pub(crate) fn get(&self, region: &str) -> Option<String> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(region).cloned()
    }
}
