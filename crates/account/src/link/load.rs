//! The kind and the size of a frame's payload.

use orrery_regions::{
    Lineage, MultiWriteMessage, RecordPage, ReplicaMessage, StreamId, StreamRecord, VersionVector,
};

use crate::{LinkFrame, SnapshotFrame};

/// The size of a frame without payload.
const ENVELOPE_BYTES: u64 = 32;

/// Kinds of payload that a paused link delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    Records(StreamId),
    Copy,
}

pub(super) fn load_of(frame: &LinkFrame) -> Option<Load> {
    match frame {
        LinkFrame::Account(ReplicaMessage::Page(page)) => {
            (!page.records.is_empty()).then_some(Load::Records(StreamId::Account))
        }
        LinkFrame::MultiWrite(MultiWriteMessage::Page {
            stream, records, ..
        }) => (!records.is_empty()).then_some(Load::Records(*stream)),
        LinkFrame::Snapshot(SnapshotFrame::Piece { .. }) => Some(Load::Copy),
        LinkFrame::Account(_)
        | LinkFrame::MultiWrite(_)
        | LinkFrame::Snapshot(_)
        | LinkFrame::Endpoint(_)
        | LinkFrame::Problem(_)
        | LinkFrame::TokenSecret(_)
        | LinkFrame::Partitions(_) => None,
    }
}

/// The records of a page, which a gate may truncate.
pub(super) fn records_of(frame: &mut LinkFrame) -> Option<(StreamId, &mut Vec<StreamRecord>)> {
    match frame {
        LinkFrame::Account(ReplicaMessage::Page(RecordPage { records, .. })) => {
            Some((StreamId::Account, records))
        }
        LinkFrame::MultiWrite(MultiWriteMessage::Page {
            stream, records, ..
        }) => Some((*stream, records)),
        LinkFrame::Account(_)
        | LinkFrame::MultiWrite(_)
        | LinkFrame::Snapshot(_)
        | LinkFrame::Endpoint(_)
        | LinkFrame::Problem(_)
        | LinkFrame::TokenSecret(_)
        | LinkFrame::Partitions(_) => None,
    }
}

/// The approximate size of a frame in memory and on the wire.
pub(super) fn bytes_of(frame: &LinkFrame) -> u64 {
    let load = match frame {
        LinkFrame::Account(message) => match message {
            ReplicaMessage::Page(page) => records(&page.records),
            ReplicaMessage::Trimmed(refused) | ReplicaMessage::Diverged(refused) => {
                lineage(&refused.lineage)
            }
            _ => 0,
        },
        LinkFrame::MultiWrite(message) => match message {
            MultiWriteMessage::Page {
                have, records: all, ..
            } => progress(have) + records(all),
            MultiWriteMessage::Have(have)
            | MultiWriteMessage::Pull { have, .. }
            | MultiWriteMessage::Trimmed { have, .. } => progress(have),
        },
        LinkFrame::Snapshot(SnapshotFrame::Metadata { note, .. }) => note.len() as u64,
        LinkFrame::Snapshot(SnapshotFrame::Piece { entries, .. }) => {
            let entry = |(key, value): &(bytes::Bytes, bytes::Bytes)| 8 + key.len() + value.len();
            entries.iter().map(entry).sum::<usize>() as u64
        }
        LinkFrame::Snapshot(_) => 0,
        LinkFrame::Endpoint(text) | LinkFrame::Problem(text) => text.len() as u64,
        LinkFrame::TokenSecret(secret) => secret.expose().len() as u64,
        LinkFrame::Partitions(frame) => (frame.down.len() as u64 + 1) * 32,
    };
    ENVELOPE_BYTES + load
}

fn records(records: &[StreamRecord]) -> u64 {
    records.iter().map(StreamRecord::bytes).sum()
}

fn progress(progress: &VersionVector) -> u64 {
    10 * progress.iter().count() as u64
}

fn lineage(lineage: &Lineage) -> u64 {
    16 * lineage.iter().count() as u64
}
