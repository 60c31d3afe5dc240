//! One region as the server sees it: its engine, and what must hold before it answers.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use orrery_engine::{Engine, Role};
use orrery_model::{ConsistencyLevel, Failure, Secret, Session, SessionVector};
use orrery_regions::{
    Bound, Level, ReadVerdict, RegionId, Replica, StreamId, TokenVersion, WriteRefusal,
};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::driver::{Reach, Shared, refusal};
use crate::waits::Waits;
use crate::{Location, Locations};

/// How long a write waits for what its author has seen in another region.
const WRITE_PATIENCE: Duration = Duration::from_secs(2);
/// How long a read waits for what its session has seen. Records that are under way come within the time of one way
/// between regions; a client that is sent elsewhere instead needs a round trip for it, and some wait before it.
const SESSION_PATIENCE: Duration = Duration::from_millis(50);
/// The same where single partitions fail over: clients go on in the write region of the account, which may not be the
/// one of the partition, and give up there.
const DIVIDED_SESSION_PATIENCE: Duration = Duration::from_secs(1);
/// A region that is broken says so every second.
const PROBLEM_AGE: Duration = Duration::from_secs(3);
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
    /// Of the state that was replaced last.
    left_version: AtomicI64,
    standing: AtomicU8,
    is_write_region: AtomicBool,
    is_returning: AtomicBool,
    /// Reads that wait for what their session has seen.
    read_waits: AtomicUsize,
    /// Writes that wait for what their author has seen, or for the region to begin.
    pub(crate) write_waits: AtomicUsize,
    /// Where all regions write.
    multi_write: Option<MultiWrite>,
    readable: AtomicUsize,
}

struct MultiWrite {
    can_write: AtomicBool,
    /// A version of tokens with the regions that they name: clients refuse two tokens of one version
    /// with different regions.
    topology: RwLock<(i64, Arc<[RegionId]>)>,
    /// At bounded staleness; none if there is no other region.
    reach: RwLock<Option<Reach>>,
}

/// What regions tell each other beside records.
#[derive(Default)]
pub(crate) struct Endpoints {
    /// Where clients reach each region, by name.
    urls: RwLock<BTreeMap<String, String>>,
    /// Why regions take no more records, and when they said so.
    problems: RwLock<BTreeMap<String, (String, Instant)>>,
    /// What signs resource tokens.
    pub(crate) token_secret: watch::Sender<Option<Secret>>,
}

/// What clients meet who come to a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    Serving,
    /// Is no member of the account: 403 with sub-status 1008.
    Removed,
    /// Was away and does not know yet whether the account went on without it, or knows that it did and takes a
    /// copy: what it has may not be part of the history, so reads are 503. Writes are not taken, as in
    /// any region that does not write.
    Returning,
    /// Was taken down, or cannot keep what it promises to others: nothing is answered but 503.
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

    /// Requests that still use the one before name positions that the history may not have: their
    /// tokens keep its version.
    pub(crate) fn set_engine(&self, engine: Arc<Engine>) {
        if let Some(part) = self.part() {
            let version = part.version.load(Ordering::Acquire);
            part.left_version.store(version, Ordering::Release);
        }
        *self.engine.write().unwrap_or_else(PoisonError::into_inner) = engine;
    }

    /// Says where clients reach this region.
    pub fn set_endpoint(&self, url: &str) {
        if let Some(part) = self.part() {
            part.endpoints.set(&self.name, url);
        }
    }

    pub(crate) fn endpoint(&self) -> Option<String> {
        self.part()?.endpoints.get(&self.name)
    }

    pub(crate) fn set_endpoint_of(&self, region: RegionId, url: &str) {
        let Some(part) = self.part() else {
            return;
        };
        let members = part.shared.members();
        if let Some(member) = members.get(region) {
            part.endpoints.set(&member.name, url);
            part.endpoints.forget_problem(&member.name);
        }
    }

    /// Another region says why it takes no more records.
    pub(crate) fn set_problem_of(&self, region: RegionId, cause: String) {
        let Some(part) = self.part() else {
            return;
        };
        let members = part.shared.members();
        if let Some(member) = members.get(region) {
            part.endpoints.set_problem(&member.name, cause);
        }
    }

    /// What signs resource tokens, if that was said.
    pub(crate) fn token_secret(&self) -> Option<Secret> {
        self.part()?.endpoints.token_secret.borrow().clone()
    }

    /// Another region says what signs resource tokens: the write region is believed.
    pub(crate) fn hear_token_secret(&self, from: RegionId, secret: Secret) {
        let Some(part) = self.part() else {
            return;
        };
        if part.shared.lock().replica.write_region() == Some(from) {
            part.endpoints.set_token_secret(secret);
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
        // In order of failover: clients that prefer no region read in the first, and take changes of the
        // catalogue there where all regions write.
        let mut order: Vec<RegionId> = members.full().collect();
        order.sort_by_key(|id| Some(*id) != write_region);
        let readable: Vec<Location> = order.into_iter().filter_map(location).collect();
        let is_everywhere = members.multi_write && !members.per_partition;
        let writable = if is_everywhere {
            readable.clone()
        } else {
            write_region.and_then(location).into_iter().collect()
        };
        Some(Locations {
            writable,
            readable,
            multi_write: is_everywhere,
            per_partition_failover: members.per_partition,
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
            _ if part.is_returning.load(Ordering::Acquire) => Availability::Returning,
            _ => Availability::Serving,
        }
    }

    /// Whether it takes no more records because something failed; operators are told what.
    pub fn is_broken(&self) -> bool {
        let is_so = |part: &Part| part.shared.lock().broken.is_some();
        self.part().is_some_and(is_so)
    }

    /// Whether it takes the writes (or is the hub), as it knows itself.
    pub fn is_write_region(&self) -> bool {
        let is_so = |part: &Part| part.is_write_region.load(Ordering::Acquire);
        self.part().is_none_or(is_so)
    }

    /// The version of session tokens that name positions of `engine`: it rises with each change of
    /// the write region and of the members. To be asked after the position.
    pub fn token_version(&self, engine: &Arc<Engine>) -> i64 {
        let Some(part) = self.part() else {
            return Session::ALONE.version;
        };
        let version = part.version.load(Ordering::Acquire);
        // Looked at after the version, which is the older one while the engine is.
        let current = self.engine.read().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, engine) {
            version
        } else {
            part.left_version.load(Ordering::Acquire)
        }
    }

    /// What session tokens of answers from `engine` say, beside positions of partitions. What was
    /// read before this is asked is part of it.
    pub fn session(&self, engine: &Arc<Engine>) -> Session {
        let multi_write = self.part().and_then(|part| part.multi_write.as_ref());
        let Some(multi_write) = multi_write else {
            return Session {
                version: self.token_version(engine),
                vector: None,
            };
        };
        let (version, regions) = {
            let topology = multi_write.topology.read();
            topology.unwrap_or_else(PoisonError::into_inner).clone()
        };
        let progress = engine.progress();
        let local = |region: &RegionId| (region.0, progress.of(StreamId::Region(*region)).0);
        Session {
            version,
            vector: Some(SessionVector {
                global: progress.of(StreamId::Account).0,
                locals: regions.iter().map(local).collect(),
            }),
        }
    }

    /// Waits a while until this holds of the session here; false if it does not.
    pub async fn wait_until(&self, engine: &Arc<Engine>, holds: impl Fn(&Session) -> bool) -> bool {
        let Some(part) = self.part() else {
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

    /// Whether records come here from other regions.
    pub fn hears_others(&self) -> bool {
        let hears = |part: &Part| part.multi_write.is_some() || !self.is_write_region();
        self.part().is_some_and(hears)
    }

    /// Gives records that are under way a moment to come, if this does not hold of the session here.
    pub async fn wait_shortly(&self, engine: &Arc<Engine>, holds: impl Fn(&Session) -> bool) {
        let Some(part) = self.part() else {
            return;
        };
        if holds(&self.session(engine)) {
            return;
        }
        let Some(_waits) = Waits::begin(&part.read_waits) else {
            return;
        };
        let patience = if engine.is_divided() {
            DIVIDED_SESSION_PATIENCE
        } else {
            SESSION_PATIENCE
        };
        self.wait(part, engine, patience, holds).await;
    }

    async fn wait(
        &self,
        part: &Part,
        engine: &Arc<Engine>,
        patience: Duration,
        holds: impl Fn(&Session) -> bool,
    ) -> bool {
        let wait = async {
            loop {
                let mut moved = pin!(part.shared.progressed());
                // From here on no movement is missed.
                moved.as_mut().enable();
                if holds(&self.session(engine)) {
                    return;
                }
                moved.await;
            }
        };
        timeout(patience, wait).await.is_ok()
    }

    /// Waits until a read at this level may be answered here, or says why it cannot: strong asks
    /// the write region, bounded staleness needs that it was heard of; others pass at once.
    pub async fn check_read(&self, level: ConsistencyLevel) -> Result<(), Failure> {
        let Some(part) = self.part() else {
            return Ok(());
        };
        if let Some(multi_write) = &part.multi_write {
            let is_bounded = level == ConsistencyLevel::BoundedStaleness;
            let allows = |reach: Reach| reach.allows_read(part.bound, part.shared.now());
            return if is_bounded && !multi_write.reach().is_none_or(allows) {
                Err(too_stale("another region"))
            } else {
                Ok(())
            };
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

    /// Whether a write may begin here now.
    pub fn check_write(&self) -> Result<(), Failure> {
        let Some(part) = self.part() else {
            return Ok(());
        };
        if let Some(multi_write) = &part.multi_write {
            if !multi_write.can_write.load(Ordering::Acquire) {
                return Err(Failure::WriteForbidden);
            }
            let Some(reach) = multi_write.reach() else {
                return Ok(());
            };
            let own = StreamId::Region(part.shared.me);
            let written = self.engine().progress().of(own);
            return if reach.allows_write(part.bound, part.shared.now(), written) {
                Ok(())
            } else {
                Err(refusal(WriteRefusal::Unheard))
            };
        }
        let now = part.shared.now();
        let core = part.shared.lock();
        let oldest = core.under_way.front();
        if oldest.is_some_and(|oldest| now.since(oldest.since) >= STALLED_MS) {
            return Err(Failure::Unavailable(
                "Service is currently unavailable for writes: at consistency level Strong a write waits for a \
                 majority of the regions, and too few of them answer. If a region is lost, take it offline."
                    .to_owned(),
            ));
        }
        core.replica.may_write(now).map_err(refusal)?;
        drop(core);
        // It is chosen a moment before its engine takes writes.
        match self.engine().role() {
            Role::Writer => Ok(()),
            Role::Follower => Err(Failure::WriteForbidden),
        }
    }

    /// Whether what is here may not be part of the history.
    pub(crate) fn set_returning(&self, is_returning: bool) {
        if let Some(part) = self.part() {
            part.is_returning.store(is_returning, Ordering::Release);
        }
    }

    pub(crate) fn set_reach(&self, reach: Option<Reach>) {
        if let Some(multi_write) = self.part().and_then(|part| part.multi_write.as_ref()) {
            let known = multi_write.reach.write();
            *known.unwrap_or_else(PoisonError::into_inner) = reach;
        }
    }

    pub(crate) fn set_can_write(&self, can_write: bool) {
        if let Some(multi_write) = self.part().and_then(|part| part.multi_write.as_ref()) {
            multi_write.can_write.store(can_write, Ordering::Release);
        }
    }

    /// Takes note of how the account is seen from here.
    pub(crate) fn publish(&self, replica: &Replica) {
        let Some(part) = self.part() else {
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
                // Whoever wrote in a region that is leaving still finds it there.
                *topology = (version, replica.head().members.writers().collect());
            }
        }
        let is_known = members.all().next().is_some();
        let is_member = members.is_full(replica.region());
        let standing = if is_known && !is_member {
            REMOVED
        } else {
            SERVING
        };
        part.standing.store(standing, Ordering::Release);
        part.is_write_region
            .store(replica.is_write_region(), Ordering::Release);
        part.readable
            .store(members.full().count(), Ordering::Relaxed);
    }
}

fn too_stale(unheard: &str) -> Failure {
    Failure::Unavailable(format!(
        "Service is currently unavailable: this region has not heard of {unheard} for longer than the bound of its \
         consistency level allows. Read in another region, or at a weaker level."
    ))
}

impl MultiWrite {
    fn reach(&self) -> Option<Reach> {
        *self.reach.read().unwrap_or_else(PoisonError::into_inner)
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
            left_version: AtomicI64::new(0),
            standing: AtomicU8::new(SERVING),
            is_write_region: AtomicBool::default(),
            is_returning: AtomicBool::default(),
            read_waits: AtomicUsize::new(0),
            write_waits: AtomicUsize::new(0),
            multi_write: multi_write.then(|| MultiWrite {
                can_write: AtomicBool::default(),
                topology: RwLock::new((0, Arc::default())),
                reach: RwLock::default(),
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

    /// A region is heard of, and is well if it has not said otherwise for a while. One that is silent is what it
    /// was.
    fn forget_problem(&self, region: &str) {
        let problems = self.problems.write();
        let mut problems = problems.unwrap_or_else(PoisonError::into_inner);
        let is_old = |(_, at): &(String, Instant)| at.elapsed() >= PROBLEM_AGE;
        if problems.get(region).is_some_and(is_old) {
            problems.remove(region);
        }
    }

    /// As a region said last.
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
