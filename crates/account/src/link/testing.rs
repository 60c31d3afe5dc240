//! Frames for tests.

use orrery_regions::{
    Epoch, Heartbeat, Millis, RecordBody, RecordPage, RecordPageHeader, RegionId, ReplicaMessage,
    Sequence, StreamId, StreamRecord, VersionVector,
};

use super::load::records_of;
use crate::LinkFrame;

pub(crate) fn beat(round: u64) -> LinkFrame {
    LinkFrame::Account(ReplicaMessage::Heartbeat(Heartbeat {
        epoch: Epoch(256),
        round,
        commit: Sequence::ZERO,
        stable_prefix: Sequence::ZERO,
    }))
}

pub(crate) fn page(after: u64, sequences: impl IntoIterator<Item = u64>) -> LinkFrame {
    let record = |sequence| StreamRecord {
        stream: StreamId::Account,
        origin: RegionId(0),
        epoch: Epoch(256),
        sequence: Sequence(sequence),
        deps: VersionVector::default(),
        body: RecordBody::Data("a".into()),
    };
    LinkFrame::Account(ReplicaMessage::Page(RecordPage {
        head: RecordPageHeader {
            epoch: Epoch(256),
            after: Sequence(after),
            after_epoch: Epoch(256),
            commit: Sequence(after),
            stable_prefix: Sequence::ZERO,
            last: None,
            confirmed_age_ms: None,
            asked: Millis(0),
        },
        records: sequences.into_iter().map(record).collect(),
    }))
}

pub(crate) fn sequences(frame: &LinkFrame) -> Vec<u64> {
    let mut frame = frame.clone();
    let records = records_of(&mut frame).map(|(_, records)| std::mem::take(records));
    let sequences = records.into_iter().flatten();
    sequences.map(|record| record.sequence.0).collect()
}

/// The round of a heartbeat.
pub(crate) fn round(frame: &LinkFrame) -> Option<u64> {
    match frame {
        LinkFrame::Account(ReplicaMessage::Heartbeat(beat)) => Some(beat.round),
        _ => None,
    }
}
