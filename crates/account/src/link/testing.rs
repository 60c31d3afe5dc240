//! Frames for tests.

use orrery_regions::{
    Beat, Body, Epoch, Message, Millis, Page, PageHead, Progress, RegionId, Sequence, StreamId,
    StreamRecord,
};

use super::load::records_of;
use crate::Frame;

pub(crate) fn beat(round: u64) -> Frame {
    Frame::Account(Message::Beat(Beat {
        epoch: Epoch(256),
        round,
        commit: Sequence::ZERO,
        held: Sequence::ZERO,
    }))
}

pub(crate) fn page(after: u64, sequences: impl IntoIterator<Item = u64>) -> Frame {
    let record = |sequence| StreamRecord {
        stream: StreamId::Account,
        origin: RegionId(0),
        epoch: Epoch(256),
        sequence: Sequence(sequence),
        deps: Progress::default(),
        body: Body::Data("a".into()),
    };
    Frame::Account(Message::Page(Page {
        head: PageHead {
            epoch: Epoch(256),
            after: Sequence(after),
            after_epoch: Epoch(256),
            commit: Sequence(after),
            held: Sequence::ZERO,
            last: None,
            confirmed_age_ms: None,
            asked: Millis(0),
        },
        records: sequences.into_iter().map(record).collect(),
    }))
}

pub(crate) fn sequences(frame: &Frame) -> Vec<u64> {
    let mut frame = frame.clone();
    let records = records_of(&mut frame).map(|(_, records)| std::mem::take(records));
    let sequences = records.into_iter().flatten();
    sequences.map(|record| record.sequence.0).collect()
}

/// The round of a beat.
pub(crate) fn round(frame: &Frame) -> Option<u64> {
    match frame {
        Frame::Account(Message::Beat(beat)) => Some(beat.round),
        _ => None,
    }
}
