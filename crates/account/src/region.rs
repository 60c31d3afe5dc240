//! One region as the server sees it.

use std::sync::{Arc, PoisonError, RwLock};

use orrery_engine::Engine;
use orrery_model::{ConsistencyLevel, Failure};

use crate::Locations;

/// Of the tokens of an account of one region.
const ALONE_VERSION: i64 = -1;

pub struct Region {
    name: String,
    engine: RwLock<Arc<Engine>>,
    endpoint: RwLock<Option<String>>,
}

/// What clients meet who come to a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    Serving,
    /// Is no member of the account: 403 with sub-status 1008.
    Removed,
    /// Was taken down: nothing is answered but 503.
    Down,
}

impl Region {
    /// A region that is the whole account.
    pub fn alone(name: &str, engine: Arc<Engine>) -> Arc<Region> {
        Arc::new(Region {
            name: name.to_owned(),
            engine: RwLock::new(engine),
            endpoint: RwLock::default(),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The engine that answers now. It is another one after the state was replaced by a copy.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says where clients reach this region.
    pub fn set_endpoint(&self, url: &str) {
        *self
            .endpoint
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(url.to_owned());
    }

    /// All regions, as far as is known here; none if this region is alone: then clients go where
    /// they came to.
    pub fn locations(&self) -> Option<Locations> {
        None
    }

    /// How many regions [`Region::locations`] names for reading; 1 if this region is alone. Every
    /// answer asks, so it should cost no more than a load.
    pub fn readable_count(&self) -> usize {
        self.locations()
            .map_or(1, |locations| locations.readable.len())
    }

    pub fn availability(&self) -> Availability {
        Availability::Serving
    }

    /// The version that session tokens of this region have now: it rises with each change of the
    /// write region and of the members.
    pub fn token_version(&self) -> i64 {
        ALONE_VERSION
    }

    /// Waits until a read at this level may be answered here, or says why it cannot: strong asks
    /// the write region, bounded staleness needs that it was heard of; others pass at once.
    pub async fn check_read(&self, _level: ConsistencyLevel) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether a write may begin here now.
    pub fn check_write(&self) -> Result<(), Failure> {
        Ok(())
    }
}
