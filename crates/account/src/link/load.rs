//! What a frame carries and weighs.

use orrery_regions::{Lineage, MeshMessage, Message, Page, Progress, StreamId, StreamRecord};

use crate::{Frame, SnapshotFrame};

/// What a frame with none of it counts for.
const ENVELOPE_BYTES: u64 = 32;

/// Kinds of data that a paused link holds back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    Records(StreamId),
    Copy,
}

pub(super) fn load_of(frame: &Frame) -> Option<Load> {
    match frame {
        Frame::Account(Message::Page(page)) => {
            (!page.records.is_empty()).then_some(Load::Records(StreamId::Account))
        }
        Frame::Mesh(MeshMessage::Page {
            stream, records, ..
        }) => (!records.is_empty()).then_some(Load::Records(*stream)),
        Frame::Snapshot(SnapshotFrame::Piece { .. }) => Some(Load::Copy),
        Frame::Account(_)
        | Frame::Mesh(_)
        | Frame::Snapshot(_)
        | Frame::Endpoint(_)
        | Frame::Problem(_)
        | Frame::TokenSecret(_)
        | Frame::Partitions(_) => None,
    }
}

/// The records of a page, to be cut.
pub(super) fn records_of(frame: &mut Frame) -> Option<(StreamId, &mut Vec<StreamRecord>)> {
    match frame {
        Frame::Account(Message::Page(Page { records, .. })) => Some((StreamId::Account, records)),
        Frame::Mesh(MeshMessage::Page {
            stream, records, ..
        }) => Some((*stream, records)),
        Frame::Account(_)
        | Frame::Mesh(_)
        | Frame::Snapshot(_)
        | Frame::Endpoint(_)
        | Frame::Problem(_)
        | Frame::TokenSecret(_)
        | Frame::Partitions(_) => None,
    }
}

/// About how many bytes it takes in memory and on a wire.
pub(super) fn bytes_of(frame: &Frame) -> u64 {
    let load = match frame {
        Frame::Account(message) => match message {
            Message::Page(page) => records(&page.records),
            Message::Trimmed(refused) | Message::Diverged(refused) => lineage(&refused.lineage),
            _ => 0,
        },
        Frame::Mesh(message) => match message {
            MeshMessage::Page {
                have, records: all, ..
            } => progress(have) + records(all),
            MeshMessage::Have(have)
            | MeshMessage::Pull { have, .. }
            | MeshMessage::Trimmed { have, .. } => progress(have),
        },
        Frame::Snapshot(SnapshotFrame::Begins { note, .. }) => note.len() as u64,
        Frame::Snapshot(SnapshotFrame::Piece { entries, .. }) => {
            let entry = |(key, value): &(bytes::Bytes, bytes::Bytes)| 8 + key.len() + value.len();
            entries.iter().map(entry).sum::<usize>() as u64
        }
        Frame::Snapshot(_) => 0,
        Frame::Endpoint(text) | Frame::Problem(text) => text.len() as u64,
        Frame::TokenSecret(secret) => secret.expose().len() as u64,
        Frame::Partitions(frame) => (frame.down.len() as u64 + 1) * 32,
    };
    ENVELOPE_BYTES + load
}

fn records(records: &[StreamRecord]) -> u64 {
    records.iter().map(StreamRecord::bytes).sum()
}

fn progress(progress: &Progress) -> u64 {
    10 * progress.iter().count() as u64
}

fn lineage(lineage: &Lineage) -> u64 {
    16 * lineage.iter().count() as u64
}
