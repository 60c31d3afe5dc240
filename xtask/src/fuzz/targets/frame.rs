//! What regions send to each other, and what they keep of it.

use bytes::Bytes;
use orrery_account::{Frame, SnapshotFrame, decode_frame, decode_note, encode_frame, encode_note};
use orrery_regions::{
    Body, Epoch, EpochStart, Head, Membership, MeshMessage, Message, Millis, Page, PageHead, Place,
    Progress, Pull, Refused, RegionId, Sequence, StreamId, StreamRecord,
};

/// Each value has one form: what is read is what would be written.
pub(super) fn frame(input: &[u8]) -> bool {
    let Some(frame) = decode_frame(Bytes::copy_from_slice(input)) else {
        return false;
    };
    assert!(encoded(&frame) == input, "{frame:?} is written differently");
    true
}

pub(super) fn note(input: &[u8]) -> bool {
    let Some((head, body)) = decode_note(input) else {
        return false;
    };
    let again = encode_note(&head, &body);
    assert!(again == input, "{head:?} {body:?} is written differently");
    true
}

pub(in super::super) fn frames() -> Vec<Vec<u8>> {
    let records = |stream| vec![record(stream, 5), record(stream, 6)];
    let account = StreamId::Account;
    let region = StreamId::Region(RegionId(1));
    let frames = [
        Frame::Account(Message::Page(Page {
            head: page_head(),
            records: records(account),
        })),
        Frame::Account(Message::Pull(Pull {
            place: place(),
            after: Sequence(4),
            after_epoch: Epoch(256),
            asked: Millis(7),
            bytes_max: 1 << 22,
        })),
        Frame::Account(Message::Echo {
            round: 1,
            place: place(),
        }),
        Frame::Account(Message::Diverged(Refused {
            epoch: Epoch(513),
            lineage: head().lineage,
            last: Sequence(9),
            asked: Millis(7),
        })),
        Frame::Mesh(MeshMessage::Page {
            have: progress(),
            stream: region,
            after: Sequence(4),
            asked: Millis(7),
            records: records(region),
        }),
        Frame::Snapshot(SnapshotFrame::Piece {
            copy: 1,
            piece: 2,
            space: 3,
            entries: vec![("a".into(), "1".into()), ("b".into(), Bytes::new())],
        }),
        Frame::Endpoint("https://localhost:8081/".to_owned()),
    ];
    frames.iter().map(encoded).collect()
}

pub(in super::super) fn notes() -> Vec<Vec<u8>> {
    let start = EpochStart {
        members: Some(head().members),
        is_lossy: true,
    };
    let bodies = [
        Body::EpochStart(start),
        Body::EpochStart(EpochStart::default()),
        Body::Members(head().members),
    ];
    let note = |body| encode_note(&head(), body).to_vec();
    bodies.iter().map(note).collect()
}

fn encoded(frame: &Frame) -> Vec<u8> {
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
        body: Body::Data("data".into()),
    }
}

fn page_head() -> PageHead {
    PageHead {
        epoch: Epoch(256),
        after: Sequence(4),
        after_epoch: Epoch(256),
        commit: Sequence(5),
        held: Sequence(3),
        last: Some(Sequence(6)),
        confirmed_age_ms: None,
        asked: Millis(7),
    }
}

fn place() -> Place {
    Place {
        promised: Epoch(256),
        kept: Sequence(4),
        kept_epoch: Epoch(256),
        applied: Sequence(3),
    }
}

fn progress() -> Progress {
    let region = StreamId::Region(RegionId(1));
    let entries = [(StreamId::Account, Sequence(2)), (region, Sequence(4))];
    entries.into_iter().collect()
}

fn head() -> Head {
    let epochs = [(Epoch(256), Sequence(1)), (Epoch(513), Sequence(4))];
    Head {
        sequence: Sequence(9),
        lineage: epochs.into_iter().collect(),
        members: Membership::new([(RegionId(0), "West US"), (RegionId(1), "North Europe")]),
        changes: 2,
    }
}
