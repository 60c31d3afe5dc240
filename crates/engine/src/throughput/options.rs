//! How throughput is dealt with in the whole account.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThroughputOptions {
    pub mode: ThroughputMode,
    /// Whether unused throughput is saved for bursts.
    pub burst_capacity: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThroughputMode {
    /// Nothing is limited and nothing is counted.
    #[default]
    Off,
    /// Offers say what may be used.
    Provisioned,
    /// There are no offers; every physical partition has the same fixed rate.
    Serverless,
}
