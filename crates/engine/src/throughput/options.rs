//! Throughput options of the whole account.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThroughputOptions {
    pub mode: ThroughputMode,
    /// Whether unused throughput accumulates for bursts.
    pub burst_capacity: bool,
    /// Time that the operations of a bulk request wait for budget before they are refused.
    pub bulk_patience: Duration,
}

impl Default for ThroughputOptions {
    fn default() -> ThroughputOptions {
        ThroughputOptions {
            mode: ThroughputMode::default(),
            burst_capacity: false,
            // Equal to the time limit of a query page.
            bulk_patience: Duration::from_secs(5),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThroughputMode {
    /// No limit and no metering.
    #[default]
    Off,
    /// Offers define the throughput.
    Provisioned,
    /// The account has no offers; every physical partition has the same fixed rate.
    Serverless,
}
