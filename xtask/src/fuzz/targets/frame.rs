//! The messages between regions, and the stored records without data.

use bytes::Bytes;
use orrery_account::{
    LinkFrame, SnapshotFrame, decode_frame, decode_note, encode_frame, encode_note,
};
use orrery_regions::{
    Epoch, EpochStart, Membership, Millis, MultiWriteMessage, Pull, PullRefusal, RecordBody,
    RecordPage, RecordPageHeader, RegionId, ReplicaMessage, ReplicaPosition, Sequence,
    SnapshotMetadata, StreamId, StreamRecord, VersionVector,
};

/// Every value has exactly one encoding, so encoding a decoded frame gives the input again.
pub(super) fn frame(input: &[u8]) -> bool {
    let Some(frame) = decode_frame(Bytes::copy_from_slice(input)) else {
        return false;
    };
    assert!(encoded(&frame) == input, "{frame:?} is written differently");
    true
}

/// Decodes a stored record without data, whose encoding is unique as well.
pub(super) fn stored_record(input: &[u8]) -> bool {
    let Some((head, body)) = decode_note(input) else {
        return false;
    };
    let again = encode_note(&head, &body);
    assert!(again == input, "{head:?} {body:?} is written differently");
    true
}

/// One valid frame of each important kind.
pub(in super::super) fn frames() -> Vec<Vec<u8>> {
    let records = |stream| vec![record(stream, 5), record(stream, 6)];
    let account = StreamId::Account;
    let region = StreamId::Region(RegionId(1));
    let frames = [
        LinkFrame::Account(ReplicaMessage::Page(RecordPage {
            head: page_head(),
            records: records(account),
        })),
        LinkFrame::Account(ReplicaMessage::Pull(Pull {
            position: replica_position(),
            after: Sequence(4),
            after_epoch: Epoch(256),
            asked: Millis(7),
            bytes_max: 1 << 22,
        })),
        LinkFrame::Account(ReplicaMessage::AppendResponse {
            round: 1,
            position: replica_position(),
        }),
        LinkFrame::Account(ReplicaMessage::Diverged(PullRefusal {
            epoch: Epoch(513),
            lineage: head().lineage,
            last: Sequence(9),
            asked: Millis(7),
        })),
        LinkFrame::MultiWrite(MultiWriteMessage::Page {
            have: progress(),
            stream: region,
            after: Sequence(4),
            asked: Millis(7),
            records: records(region),
        }),
        LinkFrame::Snapshot(SnapshotFrame::Piece {
            copy: 1,
            piece: 2,
            space: 3,
            entries: vec![("a".into(), "1".into()), ("b".into(), Bytes::new())],
        }),
        LinkFrame::Endpoint("https://localhost:8081/".to_owned()),
    ];
    frames.iter().map(encoded).collect()
}

/// Valid stored records with each kind of body.
pub(in super::super) fn stored_records() -> Vec<Vec<u8>> {
    let start = EpochStart {
        members: Some(head().members),
        is_lossy: true,
    };
    let bodies = [
        RecordBody::EpochStart(start),
        RecordBody::EpochStart(EpochStart::default()),
        RecordBody::Members(head().members),
    ];
    let stored_record = |body| encode_note(&head(), body).to_vec();
    bodies.iter().map(stored_record).collect()
}

fn encoded(frame: &LinkFrame) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_frame(frame, &mut bytes);
    bytes
}

fn record(stream: StreamId, sequence: u64) -> StreamRecord {
    StreamRecord {
        stream,
        origin: RegionId(1),
        epoch: Epoch(256),
        sequence: Sequence(sequence),
        deps: progress(),
        body: RecordBody::Data("data".into()),
    }
}

fn page_head() -> RecordPageHeader {
    RecordPageHeader {
        epoch: Epoch(256),
        after: Sequence(4),
        after_epoch: Epoch(256),
        commit: Sequence(5),
        stable_prefix: Sequence(3),
        last: Some(Sequence(6)),
        confirmed_age_ms: None,
        asked: Millis(7),
    }
}

fn replica_position() -> ReplicaPosition {
    ReplicaPosition {
        promised: Epoch(256),
        durable: Sequence(4),
        durable_epoch: Epoch(256),
        applied: Sequence(3),
    }
}

fn progress() -> VersionVector {
    let region = StreamId::Region(RegionId(1));
    let entries = [(StreamId::Account, Sequence(2)), (region, Sequence(4))];
    entries.into_iter().collect()
}

fn head() -> SnapshotMetadata {
    let epochs = [(Epoch(256), Sequence(1)), (Epoch(513), Sequence(4))];
    SnapshotMetadata {
        sequence: Sequence(9),
        lineage: epochs.into_iter().collect(),
        members: Membership::new([(RegionId(0), "West US"), (RegionId(1), "North Europe")]),
        changes: 2,
    }
}
