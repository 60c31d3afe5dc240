//! Where the stream of a region stops that is leaving the account or has left it.
//!
//! A region that leaves as planned writes no more, and its stream ends when everybody has it. One that
//! is lost cannot be asked: the others first stand still, then agree on the last record that any of them
//! has, and only what is up to there is part of the history.

use crate::{Progress, Sequence, StreamId, StreamRecord};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// Nobody applies more of it until all agree where it ends.
    Frozen,
    /// After this record.
    At(Sequence),
    /// It had ended there; the region was added again with this record of the account stream, and what
    /// it writes since then has seen that.
    GoesOn { after: Sequence, since: Sequence },
}

impl StreamEnd {
    /// Whether a record is part of the history.
    pub(super) fn takes(self, record: &StreamRecord) -> bool {
        match self {
            StreamEnd::Frozen => false,
            StreamEnd::At(end) => record.sequence <= end,
            StreamEnd::GoesOn { after, since } => {
                record.sequence <= after || record.deps.has(StreamId::Account, since)
            }
        }
    }

    /// Whether a state with this progress has nothing of the stream that is not part of the history, where
    /// `has` is applied of it: one of a region that was removed without knowing may.
    pub(super) fn admits(self, stream: StreamId, has: Sequence, snapshot: &Progress) -> bool {
        let last = snapshot.of(stream);
        match self {
            StreamEnd::Frozen => last <= has,
            StreamEnd::At(end) => last <= end,
            StreamEnd::GoesOn { after, since } => {
                last <= after || snapshot.has(StreamId::Account, since)
            }
        }
    }

    /// Whether nothing comes after a record.
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
    use crate::{Body, Epoch, RegionId};

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
                body: Body::Data(Bytes::new()),
            };
            assert_eq!(end.takes(&record), is_taken, "{end:?} {sequence} {account}");
        }
    }
}
