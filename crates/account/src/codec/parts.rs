//! What messages and notes are made of: ids, vectors, lineages, members, records.

use bytes::Bytes;
use orrery_regions::{
    AccountMode, Epoch, EpochStart, Lineage, Member, MemberStatus, Membership, Millis, RecordBody,
    RegionId, Sequence, SnapshotMetadata, StreamId, StreamRecord, VersionVector,
};

use super::reader::Decode;
use super::writer::{Encode, write_length};

const STREAM_ACCOUNT: u8 = 0;
const STREAM_REGION: u8 = 1;
const STANDING_LEARNER: u8 = 0;
const STANDING_FULL: u8 = 1;
const STANDING_LEAVING: u8 = 2;
const STANDING_LOST: u8 = 3;
/// Flags of members.
const MULTI_WRITE: u8 = 1;
const HAS_ENDS: u8 = 2;
/// Each region writes some keys, in its own stream.
const BY_OWNER: u8 = MULTI_WRITE | 4;
const BODY_DATA: u8 = 0;
const BODY_EPOCH_START: u8 = 1;
const BODY_MEMBERS: u8 = 2;

/// Types that are a number with a name.
macro_rules! number {
    ($($type:ident($inner:ty)),*) => {$(
        impl Encode for $type {
            fn write(&self, out: &mut Vec<u8>) {
                self.0.write(out);
            }
        }

        impl Decode for $type {
            const BYTES_MIN: usize = <$inner as Decode>::BYTES_MIN;

            fn read(input: &mut Bytes) -> Option<$type> {
                <$inner>::read(input).map($type)
            }
        }
    )*};
}

number!(RegionId(u8), Epoch(u64), Sequence(u64), Millis(u64));

impl Encode for StreamId {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            StreamId::Account => STREAM_ACCOUNT.write(out),
            StreamId::Region(region) => (STREAM_REGION, *region).write(out),
        }
    }
}

impl Decode for StreamId {
    const BYTES_MIN: usize = 1;

    fn read(input: &mut Bytes) -> Option<StreamId> {
        match u8::read(input)? {
            STREAM_ACCOUNT => Some(StreamId::Account),
            STREAM_REGION => RegionId::read(input).map(StreamId::Region),
            _ => None,
        }
    }
}

impl Encode for VersionVector {
    fn write(&self, out: &mut Vec<u8>) {
        write_length(self.iter().count(), out);
        for entry in self.iter() {
            entry.write(out);
        }
    }
}

/// Streams rise and stand beyond their beginning.
impl Decode for VersionVector {
    const BYTES_MIN: usize = 4;

    fn read(input: &mut Bytes) -> Option<VersionVector> {
        let entries = Vec::<(StreamId, Sequence)>::read(input)?;
        let rises = entries.is_sorted_by(|(left, _), (right, _)| left < right);
        let began = |(_, sequence): &(StreamId, Sequence)| *sequence > Sequence::ZERO;
        (rises && entries.iter().all(began)).then(|| entries.into_iter().collect())
    }
}

impl Encode for Lineage {
    fn write(&self, out: &mut Vec<u8>) {
        write_length(self.iter().count(), out);
        for entry in self.iter() {
            entry.write(out);
        }
    }
}

/// Epochs and their first records rise, from the first on.
impl Decode for Lineage {
    const BYTES_MIN: usize = 4;

    fn read(input: &mut Bytes) -> Option<Lineage> {
        let entries = Vec::<(Epoch, Sequence)>::read(input)?;
        let beginning = (Epoch::NONE, Sequence::ZERO);
        let is_later = |left: &(Epoch, Sequence), right: &(Epoch, Sequence)| {
            left.0 < right.0 && left.1 < right.1
        };
        let begins = entries
            .first()
            .is_none_or(|first| is_later(&beginning, first));
        (begins && entries.is_sorted_by(is_later)).then(|| entries.into_iter().collect())
    }
}

impl Encode for Member {
    fn write(&self, out: &mut Vec<u8>) {
        let standing = match self.status {
            MemberStatus::Learner => STANDING_LEARNER,
            MemberStatus::Voter => STANDING_FULL,
            MemberStatus::Leaving => STANDING_LEAVING,
            MemberStatus::Lost => STANDING_LOST,
        };
        (self.id, standing).write(out);
        self.name.write(out);
    }
}

impl Decode for Member {
    const BYTES_MIN: usize = 6;

    fn read(input: &mut Bytes) -> Option<Member> {
        let id = RegionId::read(input)?;
        let standing = match u8::read(input)? {
            STANDING_LEARNER => MemberStatus::Learner,
            STANDING_FULL => MemberStatus::Voter,
            STANDING_LEAVING => MemberStatus::Leaving,
            STANDING_LOST => MemberStatus::Lost,
            _ => return None,
        };
        let name = String::read(input)?;
        Some(Member {
            id,
            name,
            status: standing,
        })
    }
}

/// The map of stream ends is present only if a flag says so.
impl Encode for Membership {
    fn write(&self, out: &mut Vec<u8>) {
        self.regions.write(out);
        self.former.write(out);
        let mode = match self.mode {
            AccountMode::OneRegionWrites => 0,
            AccountMode::EveryRegionWrites => MULTI_WRITE,
            AccountMode::ByOwner => BY_OWNER,
        };
        let has_ends = if self.ends.is_empty() { 0 } else { HAS_ENDS };
        (mode | has_ends).write(out);
        if !self.ends.is_empty() {
            write_length(self.ends.len(), out);
            for (region, last) in &self.ends {
                (*region, *last).write(out);
            }
        }
    }
}

impl Decode for Membership {
    const BYTES_MIN: usize = 9;

    fn read(input: &mut Bytes) -> Option<Membership> {
        let regions = Vec::read(input)?;
        let former = Vec::read(input)?;
        let flags = u8::read(input)?;
        let mode = match flags & !HAS_ENDS {
            0 => AccountMode::OneRegionWrites,
            MULTI_WRITE => AccountMode::EveryRegionWrites,
            BY_OWNER => AccountMode::ByOwner,
            _ => return None,
        };
        let mut ends = Vec::<(RegionId, Sequence)>::new();
        if flags & HAS_ENDS != 0 {
            ends = Vec::read(input)?;
            let rise = ends.is_sorted_by(|(left, _), (right, _)| left < right);
            if ends.is_empty() || !rise {
                return None;
            }
        }
        Some(Membership {
            regions,
            former,
            mode,
            ends: ends.into_iter().collect(),
        })
    }
}

impl Encode for EpochStart {
    fn write(&self, out: &mut Vec<u8>) {
        self.members.write(out);
        self.is_lossy.write(out);
    }
}

impl Decode for EpochStart {
    const BYTES_MIN: usize = 2;

    fn read(input: &mut Bytes) -> Option<EpochStart> {
        Some(EpochStart {
            members: Option::read(input)?,
            is_lossy: bool::read(input)?,
        })
    }
}

impl Encode for RecordBody {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            RecordBody::Data(data) => {
                BODY_DATA.write(out);
                data.write(out);
            }
            RecordBody::EpochStart(start) => {
                BODY_EPOCH_START.write(out);
                start.write(out);
            }
            RecordBody::Members(members) => {
                BODY_MEMBERS.write(out);
                members.write(out);
            }
        }
    }
}

impl Decode for RecordBody {
    const BYTES_MIN: usize = 3;

    fn read(input: &mut Bytes) -> Option<RecordBody> {
        match u8::read(input)? {
            BODY_DATA => Bytes::read(input).map(RecordBody::Data),
            BODY_EPOCH_START => EpochStart::read(input).map(RecordBody::EpochStart),
            BODY_MEMBERS => Membership::read(input).map(RecordBody::Members),
            _ => None,
        }
    }
}

impl Encode for StreamRecord {
    fn write(&self, out: &mut Vec<u8>) {
        self.stream.write(out);
        self.origin.write(out);
        self.epoch.write(out);
        self.sequence.write(out);
        self.deps.write(out);
        self.body.write(out);
    }
}

impl Decode for StreamRecord {
    const BYTES_MIN: usize = 25;

    fn read(input: &mut Bytes) -> Option<StreamRecord> {
        Some(StreamRecord {
            stream: StreamId::read(input)?,
            origin: RegionId::read(input)?,
            epoch: Epoch::read(input)?,
            sequence: Sequence::read(input)?,
            deps: VersionVector::read(input)?,
            body: RecordBody::read(input)?,
        })
    }
}

/// Decodes the records of a page: they must belong to one stream and have consecutive sequences,
/// because [`Replica`](orrery_regions::Replica) panics on a gap when it appends them.
pub(super) fn read_records(
    input: &mut Bytes,
    stream: StreamId,
    after: Sequence,
) -> Option<Vec<StreamRecord>> {
    let records = Vec::<StreamRecord>::read(input)?;
    let mut last = after.0;
    for record in &records {
        last = last.checked_add(1)?;
        if record.stream != stream || record.sequence.0 != last {
            return None;
        }
    }
    Some(records)
}

impl Encode for SnapshotMetadata {
    fn write(&self, out: &mut Vec<u8>) {
        self.sequence.write(out);
        self.lineage.write(out);
        self.members.write(out);
        self.changes.write(out);
    }
}

impl Decode for SnapshotMetadata {
    const BYTES_MIN: usize = 23;

    fn read(input: &mut Bytes) -> Option<SnapshotMetadata> {
        Some(SnapshotMetadata {
            sequence: Sequence::read(input)?,
            lineage: Lineage::read(input)?,
            members: Membership::read(input)?,
            changes: u16::read(input)?,
        })
    }
}
