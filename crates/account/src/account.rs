//! The regions of an account that live in this process.

use std::sync::Arc;

use crate::{AccountOptions, ControlError, Order, Region, Report};

pub struct Account {}

impl Account {
    /// Opens the regions and lets them find each other. Must be called inside a tokio runtime.
    pub fn start(_options: AccountOptions) -> Result<Account, orrery_partition::Error> {
        todo!()
    }

    /// The regions of this process, in the order they were given or added.
    pub fn regions(&self) -> Vec<Arc<Region>> {
        todo!()
    }

    pub fn report(&self) -> Report {
        todo!()
    }

    /// Carries out an order; returns when it is done (a failover: when the other region writes).
    pub async fn carry_out(&self, _order: Order) -> Result<(), ControlError> {
        todo!()
    }

    /// Adds a region to this process: it is copied, then listed. Returns when it may be listened for;
    /// it is a full member when [`Account::report`] says so.
    pub async fn add(&self, _region: crate::RegionOptions) -> Result<Arc<Region>, ControlError> {
        todo!()
    }

    /// Ends replication and closes the engines. Requests must have ended.
    pub fn close(self) -> Result<(), orrery_partition::Error> {
        todo!()
    }
}
