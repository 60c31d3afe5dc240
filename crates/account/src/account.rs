//! The regions of an account that this process serves.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use orrery_engine::{ApplyAfter, Engine, EngineOptions, ReplicationRole};
use orrery_model::{ConsistencyLevel, Secret};
use orrery_partition::Error;
use orrery_regions::{AccountMode, Consistency, Membership, RegionId, ReplicaSettings};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::driver::{
    self, AccountStream, DivergedSuffix, DriverParts, RETRY_MS, RegionDirectory, RegionMetadata,
    ReplicaStart, SharedReplica, kept_bytes_max,
};
use crate::endpoints::Endpoints;
use crate::link::{Inbox, Links, PeerError, RemoteLinks};
use crate::partitions::FailoverBoard;
use crate::replication::RegionReplication;
use crate::{AccountOptions, PeerOptions, Region, RegionOptions, StalenessPolicy};

const ONE_REGION: &str = "a process among others has exactly one region of its own; start another process for each other region";
const OTHER_MODE: &str = "whether single partitions fail over is decided when an account is made: start it with or without \
     --per-partition-failover, as it was made";
const STRONG_EVERYWHERE: &str =
    "strong consistency needs one write region: choose another level, or leave --multi-write out";
const TOO_STRONG_BY_OWNER: &str = "single partitions fail over at session consistency and weaker levels: choose one of them, or \
     leave --per-partition-failover out";
const ACCOUNT_EXISTS: &str = "another process has the account already, so this one does not found it: bring the directory of \
     this region back, or remove the region from the account and start with --join to add it again";
/// How often a joining region checks whether a member has sent its region number.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

pub struct Account {
    pub(crate) settings: ReplicaSettings,
    pub(crate) mode: AccountMode,
    bound: StalenessPolicy,
    kept_bytes_max: Option<u64>,
    begun: Instant,
    pub(crate) endpoints: Arc<Endpoints>,
    locals: RwLock<Vec<Arc<LocalRegion>>>,
    /// Connections to the processes of the other regions; dropping this value closes the
    /// connections.
    remote: Option<RemoteLinks>,
    stop: watch::Sender<bool>,
}

/// A region that this process serves.
pub(crate) struct LocalRegion {
    pub(crate) region: Arc<Region>,
    pub(crate) shared: Arc<SharedReplica>,
    pub(crate) links: Links,
    pub(crate) diverged_suffix: Arc<Mutex<DivergedSuffix>>,
    /// Present in an account with failover per partition.
    pub(crate) board: Option<Arc<FailoverBoard>>,
}

/// The reason why an account cannot start.
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
    /// Opens the regions and links them to each other. Must be called inside a tokio runtime.
    pub fn start(options: AccountOptions) -> Result<Account, StartError> {
        check_names(options.regions.iter().map(|region| &region.name[..]))?;
        let account = Account::without_regions(&options)?;
        let mut metadata = Vec::new();
        for region in &options.regions {
            metadata.push(read_region_metadata(region)?);
        }
        let is_new = metadata.iter().all(Option::is_none);
        let names = options.regions.iter().map(|region| region.name.as_str());
        // Region ids are handed out once and never reused: a new region gets the id after the
        // highest one that any directory of this process stores.
        let members = founders(names, &options);
        let mut next = metadata
            .iter()
            .flatten()
            .map(|metadata| metadata.id.0 + 1)
            .max();
        for (index, (region, metadata)) in options.regions.into_iter().zip(metadata).enumerate() {
            let id = match metadata {
                Some(metadata) => metadata.id,
                None => {
                    let id = next.unwrap_or_default();
                    next = Some(id + 1);
                    RegionId(id)
                }
            };
            let founds = (is_new && index == 0).then(|| members.clone());
            account.open(region, id, metadata, founds, Links::new(id))?;
        }
        Ok(account)
    }

    /// Opens the one region of this process and connects it to the regions of other processes. A
    /// region that joins an account for the first time waits here until a member has sent its
    /// region number.
    pub async fn start_among(
        mut options: AccountOptions,
        peers: PeerOptions,
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
        let metadata = read_region_metadata(&region)?;
        let founds =
            (metadata.is_none() && !peers.joins).then(|| founders(names.iter().copied(), &options));
        let number = metadata.map(|metadata| metadata.id);
        let (links, inbox) = number.map_or_else(Links::joining, Links::new);
        let remote =
            RemoteLinks::new(&links, &peers.account, &name, peers.identity).map_err(unlinked)?;
        remote.listen(peers.listen);
        for (other, address) in &peers.regions {
            remote.connect(other, address).map_err(unlinked)?;
        }
        if let Some(members) = &founds {
            bootstrap(&remote, &links, members).await?;
        }
        let id = loop {
            match links.me() {
                Some(id) => break id,
                None => sleep(LOOK_AGAIN).await,
            }
        };
        account.remote = Some(remote);
        account.open(region, id, metadata, founds, (links, inbox))?;
        Ok(account)
    }

    fn without_regions(options: &AccountOptions) -> Result<Account, StartError> {
        match (options.mode, options.level) {
            (AccountMode::EveryRegionWrites, ConsistencyLevel::Strong) => {
                return Err(StartError::Unsupported(STRONG_EVERYWHERE));
            }
            (
                AccountMode::ByOwner,
                ConsistencyLevel::Strong | ConsistencyLevel::BoundedStaleness,
            ) => return Err(StartError::Unsupported(TOO_STRONG_BY_OWNER)),
            _ => {}
        }
        Ok(Account {
            settings: settings(options),
            mode: options.mode,
            bound: options.bound,
            kept_bytes_max: options.kept_bytes_max,
            begun: Instant::now(),
            endpoints: Arc::default(),
            locals: RwLock::default(),
            remote: None,
            stop: watch::Sender::new(false),
        })
    }

    /// Whether this account has peers in other processes.
    pub fn has_peers(&self) -> bool {
        self.remote.is_some()
    }

    /// The regions that this process serves, in the order of their start.
    pub fn regions(&self) -> Vec<Arc<Region>> {
        let locals = self.locals().into_iter();
        locals.map(|local| Arc::clone(&local.region)).collect()
    }

    /// Sets the secret that signs resource tokens in this process. Processes of other regions adopt
    /// the secret of the write region, so that every region accepts the tokens of the others.
    pub fn set_token_secret(&self, secret: Secret) {
        self.endpoints.set_token_secret(secret);
    }

    /// The secret that signs resource tokens; the receiver is notified of each change.
    pub fn token_secret(&self) -> watch::Receiver<Option<Secret>> {
        self.endpoints.token_secret.subscribe()
    }

    /// The acknowledged records of a region that are not part of the history, as lines of JSON.
    pub fn diverged_suffix(&self, region: &str) -> Option<std::io::Result<Vec<String>>> {
        let local = self.local(region)?;
        let suffix = &local.diverged_suffix;
        let lines = suffix
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .lines();
        Some(lines)
    }

    /// Tells the tasks of the regions to stop; they end a while later.
    pub fn stop(&self) {
        // The tasks may have ended already.
        let _ = self.stop.send(true);
    }

    /// Whether no request and no task uses the regions any more.
    pub fn is_alone(&self) -> bool {
        self.locals().iter().all(|local| {
            // One reference is in the account's table, the other in the list of `locals`.
            Arc::strong_count(local) <= 2
                && Arc::strong_count(&local.region) == 1
                && Arc::strong_count(&local.region.engine()) == 2
        })
    }

    /// Closes the engines. All requests and the tasks of the regions must have ended.
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

    pub(crate) fn locals(&self) -> Vec<Arc<LocalRegion>> {
        self.locals
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn local(&self, name: &str) -> Option<Arc<LocalRegion>> {
        let mut locals = self.locals().into_iter();
        locals.find(|local| local.region.name() == name)
    }

    /// Opens a region and links it to the other regions of this process.
    pub(crate) fn open(
        &self,
        options: RegionOptions,
        id: RegionId,
        metadata: Option<RegionMetadata>,
        founds: Option<Membership>,
        (links, inbox): (Links, Inbox),
    ) -> Result<Arc<LocalRegion>, StartError> {
        let RegionOptions { name, engine } = options;
        let failed = |source| StartError::Engine {
            region: name.clone(),
            source,
        };
        let misplaced = |source| StartError::Place {
            region: name.clone(),
            source,
        };
        let is_new = metadata.is_none();
        let mut metadata = metadata.unwrap_or(RegionMetadata::new(id));
        // The new incarnation is durable before the replica starts: read numbers and heartbeat
        // rounds of this run must differ from those of every earlier run.
        metadata.hard_state.incarnation += 1;
        let region_directory = RegionDirectory::new(engine.directory.clone(), metadata);
        region_directory.write().map_err(misplaced)?;
        let options = EngineOptions {
            apply_after: visibility_of(engine.consistency, self.mode),
            multi_write: self.mode.has_region_streams().then_some(id),
            ..engine
        };
        let opening = EngineOptions {
            directory: region_directory.side(region_directory.metadata.side),
            ..options.clone()
        };
        // The engine starts as a follower; the region's driver makes it the writer once the replica
        // writes.
        let engine = Engine::open_as(opening, ReplicationRole::Follower).map_err(failed)?;
        let board = (self.mode == AccountMode::ByOwner).then(Arc::<FailoverBoard>::default);
        if board.is_some() {
            // The state may be older than the current owners of the keys, so no key takes writes
            // before the failover state confirms this region's ownership.
            engine.close_all_keys();
        }
        let start = ReplicaStart {
            metadata,
            founds,
            settings: self.settings,
            begun: self.begun,
        };
        let stream = AccountStream::open(self.mode, region_directory.path()).map_err(failed)?;
        let replica = stream.replica(&engine, start).map_err(failed)?;
        let known = replica.members();
        if known.all().next().is_some()
            && (known.mode == AccountMode::ByOwner) != (self.mode == AccountMode::ByOwner)
        {
            return Err(StartError::Unsupported(OTHER_MODE));
        }
        let shared = SharedReplica::new(id, self.settings.level, self.begun, replica);
        let shared = Arc::new(shared);
        let diverged_suffix = DivergedSuffix::open(region_directory.path()).map_err(misplaced)?;
        let diverged_suffix = Arc::new(Mutex::new(diverged_suffix));
        let published = Arc::new(RegionReplication::new(
            Arc::clone(&shared),
            Arc::clone(&self.endpoints),
            self.bound.into(),
            self.mode,
        ));
        published.publish(&shared.lock().replica);
        let region = Region::of_account(&name, engine, Arc::clone(&published));
        let local = Arc::new(LocalRegion {
            region: Arc::clone(&region),
            shared: Arc::clone(&shared),
            links: links.clone(),
            diverged_suffix: Arc::clone(&diverged_suffix),
            board: board.clone(),
        });
        let mut locals = self.locals.write().unwrap_or_else(PoisonError::into_inner);
        for other in locals.iter() {
            Links::join(&other.links, &links);
        }
        locals.push(Arc::clone(&local));
        drop(locals);
        let parts = DriverParts {
            shared,
            region,
            published,
            links: (links, inbox),
            options,
            kept_bytes_max: kept_bytes_max(&region_directory, self.kept_bytes_max),
            directory: region_directory,
            diverged_suffix,
            board,
            is_new,
        };
        driver::spawn(stream, parts, self.stop.subscribe()).map_err(failed)?;
        Ok(local)
    }
}

/// Gives the founder of an account its region number, unless another process has the account
/// already. A founder that has lost its directory would otherwise found a second account with the
/// same names.
async fn bootstrap(
    remote: &RemoteLinks,
    links: &Links,
    members: &Membership,
) -> Result<(), StartError> {
    let has_met_members = loop {
        match remote.has_met_members() {
            Some(has_met) => break has_met,
            None => sleep(LOOK_AGAIN).await,
        }
    };
    if has_met_members || !links.bootstrap(RegionId(0)) {
        return Err(StartError::Unsupported(ACCOUNT_EXISTS));
    }
    for member in &members.regions {
        links.name(member.id, &member.name);
    }
    Ok(())
}

/// The members of a new account, with ids in the order of the names.
fn founders<'a>(names: impl Iterator<Item = &'a str>, options: &AccountOptions) -> Membership {
    let ids = (0..=u8::MAX).map(RegionId);
    let mut members = Membership::new(ids.zip(names));
    members.mode = options.mode;
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

pub(crate) fn read_region_metadata(
    region: &RegionOptions,
) -> Result<Option<RegionMetadata>, StartError> {
    let read = RegionDirectory::read(region.engine.directory.as_deref());
    read.map_err(|source| StartError::Place {
        region: region.name.clone(),
        source,
    })
}

/// When a region's readers see the records that another region wrote.
fn visibility_of(level: ConsistencyLevel, mode: AccountMode) -> ApplyAfter {
    match level {
        // A change feed numbers the records in their order of application; after a power failure
        // the order must be the same.
        _ if mode.has_region_streams() => ApplyAfter::Durable,
        ConsistencyLevel::Strong => ApplyAfter::Committed,
        // At bounded staleness the progress that a region reports counts for the bound, so a power
        // failure must not take records back that readers have seen.
        ConsistencyLevel::BoundedStaleness => ApplyAfter::Durable,
        ConsistencyLevel::Session
        | ConsistencyLevel::ConsistentPrefix
        | ConsistencyLevel::Eventual => ApplyAfter::Written,
    }
}

fn settings(options: &AccountOptions) -> ReplicaSettings {
    let level = match options.level {
        // The account stream has only the catalogue; at level strong its copies never diverge.
        _ if options.mode.has_region_streams() => Consistency::Strong,
        ConsistencyLevel::Strong => Consistency::Strong,
        ConsistencyLevel::BoundedStaleness => Consistency::Bounded(options.bound.into()),
        ConsistencyLevel::Session => Consistency::Session,
        ConsistencyLevel::ConsistentPrefix => Consistency::ConsistentPrefix,
        ConsistencyLevel::Eventual => Consistency::Eventual,
    };
    ReplicaSettings {
        promotes: options.service_managed_failover,
        retry_ms: RETRY_MS,
        ..ReplicaSettings::new(level)
    }
}

impl From<StalenessPolicy> for orrery_regions::StalenessBound {
    fn from(bound: StalenessPolicy) -> orrery_regions::StalenessBound {
        let millis = Duration::from_secs(bound.seconds).as_millis();
        orrery_regions::StalenessBound {
            versions: bound.versions,
            millis: u64::try_from(millis).unwrap_or(u64::MAX),
        }
    }
}
