//! The end of the stream of a region that is leaving the account or has left it.
//!
//! A region with a planned removal writes no more, and its stream ends when every member has it. A
//! lost region cannot confirm an end: the other members first freeze the stream, then agree on the
//! last record that any of them has, and only records up to that one are part of the history.

use crate::{Sequence, StreamId, StreamRecord, VersionVector};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// No member applies more of the stream until all agree on its end.
    Frozen,
    /// The stream ends after this record.
    At(Sequence),
    /// The stream had ended at `after`; the region was added again with the record `since` of the
    /// account stream, and each later record of the stream depends on `since`.
    GoesOn { after: Sequence, since: Sequence },
}

impl StreamEnd {
    /// Whether a record of the stream is part of the history.
    pub(super) fn takes(self, record: &StreamRecord) -> bool {
        match self {
            StreamEnd::Frozen => false,
            StreamEnd::At(end) => record.sequence <= end,
            StreamEnd::GoesOn { after, since } => {
                record.sequence <= after || record.deps.includes(StreamId::Account, since)
            }
        }
    }

    /// Whether a snapshot with this progress has no record of the stream outside the history, where
    /// this region has applied the stream up to `has`. The snapshot of a removed region that has
    /// not received its removal may have such records.
    pub(super) fn admits(self, stream: StreamId, has: Sequence, snapshot: &VersionVector) -> bool {
        let last = snapshot.of(stream);
        match self {
            StreamEnd::Frozen => last <= has,
            StreamEnd::At(end) => last <= end,
            StreamEnd::GoesOn { after, since } => {
                last <= after || snapshot.includes(StreamId::Account, since)
            }
        }
    }

    /// Whether the stream ends with the record `after`.
    pub(super) fn is_over(self, after: Sequence) -> bool {
        match self {
            StreamEnd::Frozen => true,
            StreamEnd::At(end) => after >= end,
            StreamEnd::GoesOn { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{Epoch, RecordBody, RegionId};

    #[test]
    fn what_a_region_wrote_that_had_left_is_not_taken_for_what_it_writes_again() {
        let goes_on = StreamEnd::GoesOn {
            after: Sequence(5),
            since: Sequence(9),
        };
        for (end, sequence, account, is_taken) in [
            (StreamEnd::Frozen, 1, 1, false),
            (StreamEnd::At(Sequence(5)), 5, 1, true),
            (StreamEnd::At(Sequence(5)), 6, 1, false),
            (goes_on, 5, 1, true),
            (goes_on, 6, 8, false),
            (goes_on, 6, 9, true),
        ] {
            let record = StreamRecord {
                stream: StreamId::Region(RegionId(1)),
                origin: RegionId(1),
                epoch: Epoch(1),
                sequence: Sequence(sequence),
                deps: [(StreamId::Account, Sequence(account))]
                    .into_iter()
                    .collect(),
                body: RecordBody::Data(Bytes::new()),
            };
            assert_eq!(end.takes(&record), is_taken, "{end:?} {sequence} {account}");
        }
    }
}
