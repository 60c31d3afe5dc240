//! The regions of an account that live in this process.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use orrery_engine::{Engine, EngineOptions, Role};
use orrery_model::ConsistencyLevel;
use orrery_partition::Error;
use orrery_regions::{Level, Membership, RegionId, Saved, Settings};
use tokio::sync::watch;

use crate::driver::{
    AccountLog, Driver, FalseProgress, Kept, MultiDriver, Place, Shared, Start, account_replica,
    engine_directory, replica_of,
};
use crate::link::Links;
use crate::region::{Endpoints, Part};
use crate::{AccountOptions, Bound, Region, RegionOptions};

pub struct Account {
    pub(crate) settings: Settings,
    pub(crate) multi_write: bool,
    bound: Bound,
    begun: Instant,
    pub(crate) endpoints: Arc<Endpoints>,
    locals: RwLock<Vec<Arc<Local>>>,
    stop: watch::Sender<bool>,
}

/// A region of this process.
pub(crate) struct Local {
    pub(crate) region: Arc<Region>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) links: Links,
    pub(crate) false_progress: Arc<Mutex<FalseProgress>>,
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
    #[error("{0}")]
    Unsupported(&'static str),
}

impl Account {
    /// Opens the regions and lets them find each other. Must be called inside a tokio runtime.
    pub fn start(options: AccountOptions) -> Result<Account, StartError> {
        check_names(&options.regions)?;
        if options.multi_write && options.level == ConsistencyLevel::Strong {
            return Err(StartError::Unsupported(
                "strong consistency needs one write region: choose another level, or leave --multi-write out",
            ));
        }
        let settings = settings(&options);
        let account = Account {
            settings,
            multi_write: options.multi_write,
            bound: options.bound,
            begun: Instant::now(),
            endpoints: Arc::default(),
            locals: RwLock::default(),
            stop: watch::Sender::new(false),
        };
        let mut kept = Vec::new();
        for region in &options.regions {
            kept.push(read_place(region)?);
        }
        let is_new = kept.iter().all(Option::is_none);
        let names = options.regions.iter().map(|region| region.name.as_str());
        let ids = (0..=u8::MAX).map(RegionId);
        let mut members = Membership::new(ids.zip(names));
        members.multi_write = options.multi_write;
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
            account.open(region, id, kept, founds)?;
        }
        Ok(account)
    }

    /// The regions of this process, in the order they were given or added.
    pub fn regions(&self) -> Vec<Arc<Region>> {
        let locals = self.locals().into_iter();
        locals.map(|local| Arc::clone(&local.region)).collect()
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
        let mut kept = kept.unwrap_or(Kept {
            id,
            saved: Saved::default(),
            side: 0,
        });
        kept.saved.incarnation += 1;
        let place = Place::new(engine.directory.clone(), kept);
        place.write().map_err(misplaced)?;
        let options = EngineOptions {
            holds_back: self.settings.level == Level::Strong && !self.multi_write,
            multi_write: self.multi_write.then_some(id),
            ..engine
        };
        let opening = EngineOptions {
            directory: engine_directory(&place),
            ..options.clone()
        };
        let role = if self.multi_write {
            Role::Writer
        } else {
            Role::Follower
        };
        let engine = Engine::open_as(opening, role).map_err(failed)?;
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
        let (links, inbox) = Links::new(id);
        let local = Arc::new(Local {
            region: Arc::clone(&region),
            shared: Arc::clone(&shared),
            links: links.clone(),
            false_progress: Arc::clone(&false_progress),
        });
        let mut locals = self.locals.write().unwrap_or_else(PoisonError::into_inner);
        for other in locals.iter() {
            Links::join(&other.links, &links);
        }
        locals.push(Arc::clone(&local));
        drop(locals);
        let (links, stop) = ((links, inbox), self.stop.subscribe());
        if let Some(log) = account_log {
            let driver = MultiDriver::new(shared, region, links, place, log).map_err(failed)?;
            tokio::spawn(driver.run(stop));
        } else {
            let driver = Driver::new(
                shared,
                region,
                options,
                links,
                place,
                false_progress,
                is_new,
            );
            tokio::spawn(driver.run(stop));
        }
        Ok(local)
    }
}

fn check_names(regions: &[RegionOptions]) -> Result<(), StartError> {
    let mut names: Vec<&str> = regions.iter().map(|region| &region.name[..]).collect();
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

fn settings(options: &AccountOptions) -> Settings {
    let level = match options.level {
        // The account stream has the catalogue only, and must never part.
        _ if options.multi_write => Level::Strong,
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

/// Longer than the round trip of the slowest link that anybody tries out.
const RETRY_MS: u64 = 1_000;

impl From<Bound> for orrery_regions::Bound {
    fn from(bound: Bound) -> orrery_regions::Bound {
        let millis = Duration::from_secs(bound.seconds).as_millis();
        orrery_regions::Bound {
            versions: bound.versions,
            millis: u64::try_from(millis).unwrap_or(u64::MAX),
        }
    }
}
