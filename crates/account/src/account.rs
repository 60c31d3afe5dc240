//! The regions of an account that live in this process.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use orrery_engine::{Engine, EngineOptions, Role, Seen};
use orrery_model::{ConsistencyLevel, Secret};
use orrery_partition::Error;
use orrery_regions::{Level, Membership, RegionId, Settings};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::driver::{
    AccountLog, Driver, FalseProgress, Kept, MultiDriver, MultiStart, Place, RETRY_MS, Shared,
    SingleStart, Start, account_replica, engine_directory, replica_of,
};
use crate::link::{Inbox, Links, PeerError, Remote};
use crate::partitions::Board;
use crate::region::{Endpoints, Part};
use crate::{AccountOptions, Bound, Peers, Region, RegionOptions};

const ONE_REGION: &str = "a process among others has exactly one region of its own; start another process for each other region";
const OTHER_MODE: &str = "whether single partitions fail over is decided when an account is made: start it with or without \
     --per-partition-failover, as it was made";
const ACCOUNT_EXISTS: &str = "another process has the account already, so this one does not found it: bring the directory of \
     this region back, or remove the region from the account and start with --join to add it again";
/// For the number of a region that joins.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

pub struct Account {
    pub(crate) settings: Settings,
    /// Whether each region has a stream of its own.
    pub(crate) multi_write: bool,
    /// Whether of each key one region alone takes the writes all the same.
    per_partition: bool,
    bound: Bound,
    kept_bytes_max: Option<u64>,
    begun: Instant,
    pub(crate) endpoints: Arc<Endpoints>,
    locals: RwLock<Vec<Arc<Local>>>,
    /// Connections to the processes of the other regions; they end with this value.
    remote: Option<Remote>,
    stop: watch::Sender<bool>,
}

/// A region of this process.
pub(crate) struct Local {
    pub(crate) region: Arc<Region>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) links: Links,
    pub(crate) false_progress: Arc<Mutex<FalseProgress>>,
    /// Where single partitions fail over.
    pub(crate) board: Option<Arc<Board>>,
}

/// Why an account cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot open region '{region}'")]
    Engine { region: String, source: Error },
    #[error("cannot read or write what region '{region}' keeps")]
    Place {
        region: String,
        source: std::io::Error,
    },
    #[error("an account needs a region, and no two of the same name")]
    Names,
    #[error("region '{region}' cannot be linked to the others")]
    Link { region: String, source: PeerError },
    #[error("{0}")]
    Unsupported(&'static str),
}

impl Account {
    /// Opens the regions and lets them find each other. Must be called inside a tokio runtime.
    pub fn start(options: AccountOptions) -> Result<Account, StartError> {
        check_names(options.regions.iter().map(|region| &region.name[..]))?;
        let account = Account::without_regions(&options)?;
        let mut kept = Vec::new();
        for region in &options.regions {
            kept.push(read_place(region)?);
        }
        let is_new = kept.iter().all(Option::is_none);
        let names = options.regions.iter().map(|region| region.name.as_str());
        let members = founders(names, &options);
        let mut next = kept.iter().flatten().map(|kept| kept.id.0 + 1).max();
        for (index, (region, kept)) in options.regions.into_iter().zip(kept).enumerate() {
            let id = match kept {
                Some(kept) => kept.id,
                None => {
                    let id = next.unwrap_or_default();
                    next = Some(id + 1);
                    RegionId(id)
                }
            };
            let founds = (is_new && index == 0).then(|| members.clone());
            account.open(region, id, kept, founds, Links::new(id))?;
        }
        Ok(account)
    }

    /// Opens the one region of this process and connects it with those of other processes. A region
    /// that joins an account for the first time waits here until a member has told it its number.
    pub async fn start_among(
        mut options: AccountOptions,
        peers: Peers,
    ) -> Result<Account, StartError> {
        let (Some(region), true) = (options.regions.pop(), options.regions.is_empty()) else {
            return Err(StartError::Unsupported(ONE_REGION));
        };
        let name = region.name.clone();
        let unlinked = |source| StartError::Link {
            region: name.clone(),
            source,
        };
        let others = peers.regions.iter().map(|(name, _)| &name[..]);
        let others = others.filter(|other| *other != name);
        let names: Vec<&str> = std::iter::once(&name[..]).chain(others).collect();
        check_names(names.iter().copied())?;
        let mut account = Account::without_regions(&options)?;
        let kept = read_place(&region)?;
        let founds =
            (kept.is_none() && !peers.joins).then(|| founders(names.iter().copied(), &options));
        let number = kept.map(|kept| kept.id);
        let (links, inbox) = number.map_or_else(Links::joining, Links::new);
        let remote =
            Remote::new(&links, &peers.account, &name, peers.identity).map_err(unlinked)?;
        remote.listen(peers.listen);
        for (other, address) in &peers.regions {
            remote.connect(other, address).map_err(unlinked)?;
        }
        if let Some(members) = &founds {
            found(&remote, &links, members).await?;
        }
        let id = loop {
            match links.me() {
                Some(id) => break id,
                None => sleep(LOOK_AGAIN).await,
            }
        };
        account.remote = Some(remote);
        account.open(region, id, kept, founds, (links, inbox))?;
        Ok(account)
    }

    fn without_regions(options: &AccountOptions) -> Result<Account, StartError> {
        if options.multi_write && options.level == ConsistencyLevel::Strong {
            return Err(StartError::Unsupported(
                "strong consistency needs one write region: choose another level, or leave --multi-write out",
            ));
        }
        let per_partition = options.per_partition_failover;
        if per_partition && options.multi_write {
            return Err(StartError::Unsupported(
                "where every region takes writes nothing fails over: leave --per-partition-failover or \
                 --multi-write out",
            ));
        }
        let is_too_strong = matches!(
            options.level,
            ConsistencyLevel::Strong | ConsistencyLevel::BoundedStaleness
        );
        if per_partition && is_too_strong {
            return Err(StartError::Unsupported(
                "single partitions fail over at session consistency and weaker levels: choose one of them, or \
                 leave --per-partition-failover out",
            ));
        }
        Ok(Account {
            settings: settings(options),
            multi_write: options.multi_write || per_partition,
            per_partition,
            bound: options.bound,
            kept_bytes_max: options.kept_bytes_max,
            begun: Instant::now(),
            endpoints: Arc::default(),
            locals: RwLock::default(),
            remote: None,
            stop: watch::Sender::new(false),
        })
    }

    /// Whether the other regions are in processes of their own.
    pub fn has_peers(&self) -> bool {
        self.remote.is_some()
    }

    /// The regions of this process, in the order they were given or added.
    pub fn regions(&self) -> Vec<Arc<Region>> {
        let locals = self.locals().into_iter();
        locals.map(|local| Arc::clone(&local.region)).collect()
    }

    /// Says what signs resource tokens here. Regions of other processes take over that of the write
    /// region, so that tokens of one region hold in all.
    pub fn set_token_secret(&self, secret: Secret) {
        self.endpoints.set_token_secret(secret);
    }

    /// What signs resource tokens, whenever it becomes another one.
    pub fn token_secret(&self) -> watch::Receiver<Option<Secret>> {
        self.endpoints.token_secret.subscribe()
    }

    /// What a region acknowledged that is not part of the history, as lines of JSON.
    pub fn false_progress(&self, region: &str) -> Option<std::io::Result<Vec<String>>> {
        let local = self.local(region)?;
        let kept = &local.false_progress;
        let lines = kept.lock().unwrap_or_else(PoisonError::into_inner).lines();
        Some(lines)
    }

    /// Ends the tasks of the regions, in a while.
    pub fn stop(&self) {
        // They may have ended already.
        let _ = self.stop.send(true);
    }

    /// Whether nothing else uses the regions any more.
    pub fn is_alone(&self) -> bool {
        self.locals().iter().all(|local| {
            // One here, one in the list that was just made.
            Arc::strong_count(local) <= 2
                && Arc::strong_count(&local.region) == 1
                && Arc::strong_count(&local.region.engine()) == 2
        })
    }

    /// Closes the engines. Requests must have ended, and the tasks of the regions with them.
    pub fn close(self) -> Result<(), Error> {
        self.stop();
        let locals = self.locals.into_inner();
        let mut result = Ok(());
        for local in locals.unwrap_or_else(PoisonError::into_inner) {
            let region = Arc::into_inner(local).and_then(|local| Arc::into_inner(local.region));
            let closed = match region {
                Some(region) => Engine::close(region.into_engine()),
                None => Err(Error::ReadOnly("requests are still running".to_owned())),
            };
            result = result.and(closed);
        }
        result
    }

    pub(crate) fn locals(&self) -> Vec<Arc<Local>> {
        self.locals
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn local(&self, name: &str) -> Option<Arc<Local>> {
        let mut locals = self.locals().into_iter();
        locals.find(|local| local.region.name() == name)
    }

    /// Opens a region and connects it with the others of this process.
    pub(crate) fn open(
        &self,
        options: RegionOptions,
        id: RegionId,
        kept: Option<Kept>,
        founds: Option<Membership>,
        (links, inbox): (Links, Inbox),
    ) -> Result<Arc<Local>, StartError> {
        let RegionOptions { name, engine } = options;
        let failed = |source| StartError::Engine {
            region: name.clone(),
            source,
        };
        let misplaced = |source| StartError::Place {
            region: name.clone(),
            source,
        };
        let is_new = kept.is_none();
        let mut kept = kept.unwrap_or(Kept::new(id));
        kept.saved.incarnation += 1;
        let place = Place::new(engine.directory.clone(), kept);
        place.write().map_err(misplaced)?;
        let options = EngineOptions {
            seen: seen(engine.consistency, self.multi_write),
            multi_write: self.multi_write.then_some(id),
            ..engine
        };
        let opening = EngineOptions {
            directory: engine_directory(&place),
            ..options.clone()
        };
        // Its driver lets it write.
        let engine = Engine::open_as(opening, Role::Follower).map_err(failed)?;
        let board = self.per_partition.then(Arc::<Board>::default);
        if board.is_some() {
            engine.begin_divided();
        }
        let start = Start {
            kept,
            founds,
            settings: self.settings,
            begun: self.begun,
        };
        let mut account_log = None;
        let replica = if self.multi_write {
            let log = AccountLog::open(place.directory()).map_err(failed)?;
            let replica = account_replica(&engine, &log, start);
            account_log = Some(log);
            replica
        } else {
            replica_of(&engine, start).map_err(failed)?
        };
        let known = replica.members();
        if known.all().next().is_some() && known.per_partition != self.per_partition {
            return Err(StartError::Unsupported(OTHER_MODE));
        }
        let shared = Shared::new(id, self.settings.level, self.begun, replica);
        let shared = Arc::new(shared);
        let false_progress = FalseProgress::open(place.directory()).map_err(misplaced)?;
        let false_progress = Arc::new(Mutex::new(false_progress));
        let region = Region::alone(&name, engine);
        region.take_part(Part::new(
            Arc::clone(&shared),
            Arc::clone(&self.endpoints),
            self.bound.into(),
            self.multi_write,
        ));
        region.publish(&shared.lock().replica);
        let local = Arc::new(Local {
            region: Arc::clone(&region),
            shared: Arc::clone(&shared),
            links: links.clone(),
            false_progress: Arc::clone(&false_progress),
            board: board.clone(),
        });
        let mut locals = self.locals.write().unwrap_or_else(PoisonError::into_inner);
        for other in locals.iter() {
            Links::join(&other.links, &links);
        }
        locals.push(Arc::clone(&local));
        drop(locals);
        let (links, stop) = ((links, inbox), self.stop.subscribe());
        if let Some(log) = account_log {
            let start = MultiStart {
                options,
                place,
                log,
                false_progress,
                kept_bytes_max: self.kept_bytes_max,
                board,
            };
            let driver = MultiDriver::new(shared, region, links, start).map_err(failed)?;
            tokio::spawn(driver.run(stop));
        } else {
            let start = SingleStart {
                options,
                place,
                false_progress,
                kept_bytes_max: self.kept_bytes_max,
                is_new,
            };
            let driver = Driver::new(shared, region, links, start);
            tokio::spawn(driver.run(stop));
        }
        Ok(local)
    }
}

/// Gives the founder its number, unless another process has the account already: a founder that lost its
/// directory would make another one under the same names.
async fn found(remote: &Remote, links: &Links, members: &Membership) -> Result<(), StartError> {
    let has_met_members = loop {
        match remote.has_met_members() {
            Some(has_met) => break has_met,
            None => sleep(LOOK_AGAIN).await,
        }
    };
    if has_met_members || !links.found(RegionId(0)) {
        return Err(StartError::Unsupported(ACCOUNT_EXISTS));
    }
    for member in &members.regions {
        links.name(member.id, &member.name);
    }
    Ok(())
}

/// The members of a new account, numbered in this order.
fn founders<'a>(names: impl Iterator<Item = &'a str>, options: &AccountOptions) -> Membership {
    let ids = (0..=u8::MAX).map(RegionId);
    let mut members = Membership::new(ids.zip(names));
    members.multi_write = options.multi_write || options.per_partition_failover;
    members.per_partition = options.per_partition_failover;
    members
}

fn check_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), StartError> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    if names.is_empty() || names.len() < count || count > usize::from(u8::MAX) {
        return Err(StartError::Names);
    }
    Ok(())
}

pub(crate) fn read_place(region: &RegionOptions) -> Result<Option<Kept>, StartError> {
    let read = Place::read(region.engine.directory.as_deref());
    read.map_err(|source| StartError::Place {
        region: region.name.clone(),
        source,
    })
}

/// When what other regions wrote can be read in one of them.
fn seen(level: ConsistencyLevel, multi_write: bool) -> Seen {
    match level {
        ConsistencyLevel::Strong if !multi_write => Seen::Told,
        // What a region says to have counts for the bound.
        ConsistencyLevel::Strong | ConsistencyLevel::BoundedStaleness => Seen::Durable,
        // A change feed numbers what it merges, and must not number it otherwise after a loss of power.
        _ if multi_write => Seen::Durable,
        _ => Seen::Written,
    }
}

fn settings(options: &AccountOptions) -> Settings {
    let level = match options.level {
        // The account stream has the catalogue only, and must never part.
        _ if options.multi_write || options.per_partition_failover => Level::Strong,
        ConsistencyLevel::Strong => Level::Strong,
        ConsistencyLevel::BoundedStaleness => Level::Bounded(options.bound.into()),
        ConsistencyLevel::Session => Level::Session,
        ConsistencyLevel::ConsistentPrefix => Level::ConsistentPrefix,
        ConsistencyLevel::Eventual => Level::Eventual,
    };
    Settings {
        promotes: options.service_managed_failover,
        retry_ms: RETRY_MS,
        ..Settings::new(level)
    }
}

impl From<Bound> for orrery_regions::Bound {
    fn from(bound: Bound) -> orrery_regions::Bound {
        let millis = Duration::from_secs(bound.seconds).as_millis();
        orrery_regions::Bound {
            versions: bound.versions,
            millis: u64::try_from(millis).unwrap_or(u64::MAX),
        }
    }
}
