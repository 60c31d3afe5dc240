//! Writes that arrive before their region may take them.
//!
//! Clients send their writes to a region that founds an account, or that was promoted a moment ago,
//! even before the other regions have confirmed it. An error "another region writes" would send
//! those clients in a circle. So their writes wait for a moment, and a write that times out gets an
//! error that names the missing regions. A region that was disconnected is another case: the
//! account may have promoted another region, so it refuses writes at once.

use std::time::Duration;

use orrery_model::Failure;
use tokio::time::timeout;

use crate::replication::RegionReplication;
use crate::waits::Waits;
use crate::{Availability, Region};

/// As long as a write waits for a partition whose ownership moves to another region.
const PATIENCE: Duration = Duration::from_secs(3);
/// A hub that no majority has confirmed for this long begins no catalogue change: nobody could tell
/// whether the change will be committed.
const UNHEARD_MS: u64 = 3_000;

impl Region {
    /// Waits for a short time until a write may begin in this region.
    pub async fn admit_write(&self) -> Result<(), Failure> {
        self.admit(Region::check_write).await
    }

    /// Waits for a short time until a catalogue change may begin in this region.
    pub async fn admit_catalogue_write(&self) -> Result<(), Failure> {
        self.admit(Region::check_catalogue_write).await
    }

    /// Whether a catalogue change may begin in this region now.
    pub fn check_catalogue_write(&self) -> Result<(), Failure> {
        self.check_write()?;
        let engine = self.engine();
        let Some(part) = self.replication().filter(|_| engine.region().is_some()) else {
            return Ok(());
        };
        let confirmed = part.shared.lock().replica.own_lag(part.shared.now());
        if engine.is_hub() && confirmed.is_some_and(|(_, age)| age < UNHEARD_MS) {
            Ok(())
        } else {
            Err(Failure::WriteForbidden)
        }
    }

    /// Whether the region serves what clients send to it: the account document with all regions,
    /// reads, and its share of the writes.
    pub fn is_ready(&self) -> bool {
        match self.availability() {
            Availability::Returning => false,
            Availability::Serving if !self.lists_all_regions() => false,
            Availability::Serving if self.is_write_region() => self.check_catalogue_write().is_ok(),
            Availability::Serving if self.engine().region().is_some() => self.check_write().is_ok(),
            Availability::Serving | Availability::Removed | Availability::Down => true,
        }
    }

    async fn admit(&self, check: impl Fn(&Region) -> Result<(), Failure>) -> Result<(), Failure> {
        let decided = check(self);
        let Some(part) = self
            .replication()
            .filter(|part| self.is_open(part, &decided))
        else {
            return decided;
        };
        let Some(_waits) = Waits::begin(&part.write_waits) else {
            return Err(self.unheard());
        };
        let wait = part.shared.wait_for(|| {
            let decided = check(self);
            (!self.is_open(part, &decided)).then_some(decided)
        });
        let decided = timeout(PATIENCE, wait).await;
        decided.unwrap_or_else(|_| Err(self.unheard()))
    }

    /// Whether a refused write may still succeed, because this region is its destination.
    fn is_open(&self, part: &RegionReplication, decided: &Result<(), Failure>) -> bool {
        if *decided != Err(Failure::WriteForbidden) || self.availability() != Availability::Serving
        {
            return false;
        }
        let core = part.shared.lock();
        core.broken.is_none() && core.replica.may_write(part.shared.now()).is_ok()
    }

    fn unheard(&self) -> Failure {
        Failure::Unavailable(format!(
            "Service is currently unavailable for writes: region '{}' is to take them, and has not heard of enough of \
             the other regions to begin. Are they running, and can they be reached?",
            self.name()
        ))
    }
}
