//! Writes that come before the region that is to take them may.
//!
//! A region that founds an account of which others must hear first, or that was promoted a moment ago, is the
//! one that clients are sent to. To refuse them with "another region writes" would send them in a circle. So
//! they wait a moment, and whoever waits in vain hears what is missing. A region that was away is
//! another case: it may have been replaced, and refuses at once.

use std::pin::pin;
use std::time::Duration;

use orrery_model::Failure;
use tokio::time::timeout;

use crate::region::Part;
use crate::waits::Waits;
use crate::{Availability, Region};

/// As long as writes of a partition wait that is on its way to another region.
const PATIENCE: Duration = Duration::from_secs(3);
/// A hub that a majority has not confirmed for so long begins no change of the catalogue: nobody could say
/// whether it will stand.
const UNHEARD_MS: u64 = 3_000;

impl Region {
    /// Waits, for a moment if at all, until a write may begin here.
    pub async fn admit_write(&self) -> Result<(), Failure> {
        self.admit(Region::check_write).await
    }

    /// The same for a change of the catalogue.
    pub async fn admit_catalogue_write(&self) -> Result<(), Failure> {
        self.admit(Region::check_catalogue_write).await
    }

    /// Whether a change of the catalogue may begin here now.
    pub fn check_catalogue_write(&self) -> Result<(), Failure> {
        self.check_write()?;
        let engine = self.engine();
        let Some(part) = self.part().filter(|_| engine.region().is_some()) else {
            return Ok(());
        };
        let confirmed = part.shared.lock().replica.own_lag(part.shared.now());
        if engine.is_hub() && confirmed.is_some_and(|(_, age)| age < UNHEARD_MS) {
            Ok(())
        } else {
            Err(Failure::WriteForbidden)
        }
    }

    /// Whether it does what clients will send to it: reads, and the writes that are its part.
    pub fn has_begun(&self) -> bool {
        match self.availability() {
            Availability::Returning => false,
            Availability::Serving if self.is_write_region() => self.check_catalogue_write().is_ok(),
            Availability::Serving if self.engine().region().is_some() => self.check_write().is_ok(),
            Availability::Serving | Availability::Removed | Availability::Down => true,
        }
    }

    async fn admit(&self, check: impl Fn(&Region) -> Result<(), Failure>) -> Result<(), Failure> {
        let decided = check(self);
        let Some(part) = self.part().filter(|part| self.is_open(part, &decided)) else {
            return decided;
        };
        let Some(_waits) = Waits::begin(&part.write_waits) else {
            return Err(self.unheard());
        };
        let wait = async {
            loop {
                let mut moved = pin!(part.shared.progressed());
                // From here on no movement is missed.
                moved.as_mut().enable();
                let decided = check(self);
                if !self.is_open(part, &decided) {
                    return decided;
                }
                moved.await;
            }
        };
        let decided = timeout(PATIENCE, wait).await;
        decided.unwrap_or_else(|_| Err(self.unheard()))
    }

    /// Whether a refusal may end by itself, because this region is to take the write.
    fn is_open(&self, part: &Part, decided: &Result<(), Failure>) -> bool {
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
