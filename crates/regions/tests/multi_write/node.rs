//! A region of a multi-write account: state, log and progress on a disk, and what a crash takes.

use std::collections::BTreeMap;

use orrery_regions::{
    MultiWriteReplica, RecordBody, RegionId, Sequence, Siblings, StreamId, StreamRecord,
    VersionVector, unique_key_losers,
};

use crate::history::{Item, Value, View};

pub(crate) type State = BTreeMap<Item, Siblings<Value>>;

/// Durable all at once: one batch has the record, its effect and the progress.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    pub(crate) state: State,
    pub(crate) progress: VersionVector,
    pub(crate) log: Vec<StreamRecord>,
    pub(crate) bases: VersionVector,
    pub(crate) counts: BTreeMap<Value, u32>,
    pub(crate) joined: Option<Sequence>,
}

pub(crate) struct Node {
    pub(crate) id: RegionId,
    pub(crate) disk: Disk,
    pub(crate) multi_write: Option<MultiWriteReplica>,
    pub(crate) has_left: bool,
    /// Writes that wait for the next group.
    pub(crate) group: Vec<(Option<(usize, u64)>, Value)>,
}

impl Node {
    pub(crate) fn own(&self) -> StreamId {
        StreamId::Region(self.id)
    }

    pub(crate) fn records_after(
        &self,
        stream: StreamId,
        after: Sequence,
        bytes_max: u64,
    ) -> Vec<StreamRecord> {
        let mut bytes = 0;
        let records = self.disk.log.iter();
        records
            .filter(|record| record.stream == stream && record.sequence > after)
            .take_while(|record| {
                let is_first = bytes == 0;
                bytes += record.bytes();
                is_first || bytes <= bytes_max
            })
            .cloned()
            .collect()
    }

    pub(crate) fn view(&self) -> View {
        let shown: BTreeMap<Item, _> = self
            .disk
            .state
            .iter()
            .filter_map(|(item, siblings)| Some((*item, siblings.visible()?)))
            .collect();
        let hidden = unique_key_losers(shown.iter().map(|(item, version)| (*item, *version)));
        let visible = shown.into_iter().filter(|(item, _)| !hidden.contains(item));
        visible
            .map(|(item, version)| (item, version.body))
            .collect()
    }
}

pub(crate) fn value_of(record: &StreamRecord) -> Value {
    match &record.body {
        RecordBody::Data(data) => Value::from_le_bytes(data[..].try_into().unwrap()),
        RecordBody::EpochStart(_) | RecordBody::Members(_) => {
            unreachable!("region streams have only data")
        }
    }
}
