//! What travels between regions: one committed transaction, with the progress of its origin when
//! the origin committed it.

use bytes::Bytes;

use crate::{Epoch, Membership, RegionId, Sequence, StreamId, VersionVector};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRecord {
    pub stream: StreamId,
    pub origin: RegionId,
    /// The epoch of the account stream at its origin.
    pub epoch: Epoch,
    pub sequence: Sequence,
    /// What the origin had applied when it committed this record. Empty in the account stream,
    /// where a record depends on exactly the records before it.
    pub deps: VersionVector,
    pub body: RecordBody,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordBody {
    /// A transaction of the store. Only the store decodes these bytes.
    Data(Bytes),
    /// The first record of an epoch.
    EpochStart(EpochStart),
    /// The members from this record on.
    Members(Membership),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EpochStart {
    /// The members from this record on, if an operator took regions offline with the promotion.
    pub members: Option<Membership>,
    /// Whether an operator promoted the region although committed records may be missing in it.
    pub is_lossy: bool,
}

impl StreamRecord {
    /// The size with which a record counts in windows and lags.
    pub fn bytes(&self) -> u64 {
        const ENVELOPE: u64 = 64;
        match &self.body {
            RecordBody::Data(bytes) => ENVELOPE + bytes.len() as u64,
            RecordBody::EpochStart(_) | RecordBody::Members(_) => ENVELOPE,
        }
    }

    /// The members that this record sets.
    pub fn members(&self) -> Option<&Membership> {
        match &self.body {
            RecordBody::Members(members) => Some(members),
            RecordBody::EpochStart(start) => start.members.as_ref(),
            RecordBody::Data(_) => None,
        }
    }
}
