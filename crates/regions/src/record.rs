//! What travels between regions: one committed transaction, and who had seen what when it was made.

use bytes::Bytes;

use crate::{Epoch, Membership, Progress, RegionId, Sequence, StreamId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRecord {
    pub stream: StreamId,
    pub origin: RegionId,
    /// The epoch of the account stream at its origin.
    pub epoch: Epoch,
    pub sequence: Sequence,
    /// What the origin had applied when it committed this. Empty in the account stream, where the
    /// records before are all that one depends on.
    pub deps: Progress,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A transaction of the store. Only the store looks into it.
    Data(Bytes),
    /// The first record of an epoch.
    EpochStart(EpochStart),
    /// The members from here on.
    Members(Membership),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EpochStart {
    /// The members from here on, if regions were taken offline by it.
    pub members: Option<Membership>,
    /// Whether an operator promoted the region although committed records may be missing in it.
    pub is_lossy: bool,
}

impl StreamRecord {
    /// What it counts for in windows and lags.
    pub fn bytes(&self) -> u64 {
        const ENVELOPE: u64 = 64;
        match &self.body {
            Body::Data(bytes) => ENVELOPE + bytes.len() as u64,
            Body::EpochStart(_) | Body::Members(_) => ENVELOPE,
        }
    }

    /// The members that it sets.
    pub fn members(&self) -> Option<&Membership> {
        match &self.body {
            Body::Members(members) => Some(members),
            Body::EpochStart(start) => start.members.as_ref(),
            Body::Data(_) => None,
        }
    }
}
