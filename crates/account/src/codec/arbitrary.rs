//! Any frame, for tests.

use bytes::Bytes;
use orrery_engine::KeyRange;
use orrery_model::Secret;
use orrery_regions::{
    Ballot, Beat, Body, Canvass, Cause, Epoch, EpochStart, Head, Lineage, Member, Membership,
    MeshMessage, Message, Millis, Page, PageHead, Place, Progress, Pull, Refused, RegionId,
    Sequence, Standing, StreamId, StreamRecord, Unconfirmed,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use crate::{Frame, PartitionsFrame, SnapshotFrame};

fn epochs() -> impl Strategy<Value = Epoch> {
    any::<u64>().prop_map(Epoch)
}

fn sequences() -> impl Strategy<Value = Sequence> {
    prop_oneof![0..9u64, any::<u64>()].prop_map(Sequence)
}

fn times() -> impl Strategy<Value = Millis> {
    any::<u64>().prop_map(Millis)
}

fn streams() -> impl Strategy<Value = StreamId> {
    let region = any::<u8>().prop_map(|id| StreamId::Region(RegionId(id)));
    prop_oneof![Just(StreamId::Account), region]
}

fn payloads() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..9).prop_map(Bytes::from)
}

fn progresses() -> impl Strategy<Value = Progress> {
    vec((streams(), sequences()), 0..5).prop_map(|entries| entries.into_iter().collect())
}

fn lineages() -> impl Strategy<Value = Lineage> {
    let steps = vec((1..999_u64, 1..99_u64), 0..5);
    steps.prop_map(|steps| {
        let (mut epoch, mut first) = (0, 0);
        let entry = |(epochs, records): (u64, u64)| {
            epoch += epochs;
            first += records;
            (Epoch(epoch), Sequence(first))
        };
        steps.into_iter().map(entry).collect()
    })
}

fn memberships() -> impl Strategy<Value = Membership> {
    let standing = prop_oneof![
        Just(Standing::Learner),
        Just(Standing::Full),
        Just(Standing::Leaving),
        Just(Standing::Lost),
    ];
    let member = (any::<u8>(), "[a-zé ]{0,9}", standing).prop_map(|(id, name, standing)| Member {
        id: RegionId(id),
        name,
        standing,
    });
    let former = vec(any::<u8>().prop_map(RegionId), 0..3);
    let ends = btree_map(any::<u8>(), any::<u64>(), 0..3);
    (vec(member, 0..4), former, 0..3_u8, ends).prop_map(|(regions, former, streams, ends)| {
        Membership {
            regions,
            former,
            multi_write: streams > 0,
            per_partition: streams > 1,
            ends: ends
                .into_iter()
                .map(|(region, last)| (RegionId(region), Sequence(last)))
                .collect(),
        }
    })
}

pub(super) fn bodies() -> impl Strategy<Value = Body> {
    let start = (option::of(memberships()), any::<bool>());
    prop_oneof![
        payloads().prop_map(Body::Data),
        start.prop_map(|(members, is_lossy)| Body::EpochStart(EpochStart { members, is_lossy })),
        memberships().prop_map(Body::Members),
    ]
}

/// Records that follow each other once they are numbered.
fn records() -> impl Strategy<Value = Vec<StreamRecord>> {
    let record = (any::<u8>(), epochs(), progresses(), bodies());
    let record = record.prop_map(|(origin, epoch, deps, body)| StreamRecord {
        stream: StreamId::Account,
        origin: RegionId(origin),
        epoch,
        sequence: Sequence::ZERO,
        deps,
        body,
    });
    vec(record, 0..4)
}

fn numbered(
    mut records: Vec<StreamRecord>,
    stream: StreamId,
    after: Sequence,
) -> Vec<StreamRecord> {
    for (record, sequence) in records.iter_mut().zip(after.0.saturating_add(1)..) {
        (record.stream, record.sequence) = (stream, Sequence(sequence));
    }
    if after.0 > u64::MAX - 9 {
        records.clear();
    }
    records
}

pub(super) fn heads() -> impl Strategy<Value = Head> {
    let parts = (sequences(), lineages(), memberships(), any::<u16>());
    parts.prop_map(|(sequence, lineage, members, changes)| Head {
        sequence,
        lineage,
        members,
        changes,
    })
}

fn places() -> impl Strategy<Value = Place> {
    let parts = (epochs(), sequences(), epochs(), sequences());
    parts.prop_map(|(promised, kept, kept_epoch, applied)| Place {
        promised,
        kept,
        kept_epoch,
        applied,
    })
}

fn page_heads() -> impl Strategy<Value = PageHead> {
    let options = (option::of(sequences()), option::of(any::<u64>()));
    let parts = (
        epochs(),
        sequences(),
        epochs(),
        sequences(),
        sequences(),
        options,
        times(),
    );
    parts.prop_map(
        |(epoch, after, after_epoch, commit, held, (last, confirmed_age_ms), asked)| PageHead {
            epoch,
            after,
            after_epoch,
            commit,
            held,
            last,
            confirmed_age_ms,
            asked,
        },
    )
}

fn refusals() -> impl Strategy<Value = Refused> {
    let parts = (epochs(), lineages(), sequences(), times());
    parts.prop_map(|(epoch, lineage, last, asked)| Refused {
        epoch,
        lineage,
        last,
        asked,
    })
}

fn questions() -> impl Strategy<Value = Message> {
    let beat = (epochs(), any::<u64>(), sequences(), sequences());
    let beat = beat.prop_map(|(epoch, round, commit, held)| Beat {
        epoch,
        round,
        commit,
        held,
    });
    let pull = (places(), sequences(), epochs(), times(), any::<u64>());
    let pull = pull.prop_map(|(place, after, after_epoch, asked, bytes_max)| Pull {
        place,
        after,
        after_epoch,
        asked,
        bytes_max,
    });
    let cause = prop_oneof![
        Just(Cause::Silence),
        Just(Cause::HandOver),
        Just(Cause::Forced)
    ];
    let canvass = (epochs(), (epochs(), sequences()), cause, any::<bool>());
    let canvass = canvass.prop_map(|(epoch, position, cause, is_sounding)| Canvass {
        epoch,
        position,
        cause,
        is_sounding,
    });
    prop_oneof![
        beat.prop_map(Message::Beat),
        pull.prop_map(Message::Pull),
        canvass.prop_map(Message::Canvass),
        (epochs(), (epochs(), sequences()))
            .prop_map(|(epoch, position)| Message::TakeOver { epoch, position }),
        (any::<u64>(), places()).prop_map(|(read, place)| Message::Confirm { read, place }),
    ]
}

fn answers() -> impl Strategy<Value = Message> {
    let echo = (any::<u64>(), places());
    let page = (page_heads(), records()).prop_map(|(head, records)| Page {
        head,
        records: numbered(records, StreamId::Account, head.after),
    });
    let verdict = prop_oneof![
        Just(Ballot::Granted),
        epochs().prop_map(Ballot::Promised),
        Just(Ballot::Behind),
        Just(Ballot::WriterAlive),
        Just(Ballot::NotEntitled),
    ];
    let vote = (epochs(), any::<bool>(), verdict);
    let why = prop_oneof![
        Just(Unconfirmed::NotTheWriteRegion),
        Just(Unconfirmed::OutsideTheReadQuorum),
    ];
    prop_oneof![
        echo.prop_map(|(round, place)| Message::Echo { round, place }),
        page.prop_map(Message::Page),
        refusals().prop_map(Message::Trimmed),
        refusals().prop_map(Message::Diverged),
        vote.prop_map(|(epoch, is_sounding, verdict)| Message::Vote {
            epoch,
            is_sounding,
            verdict,
        }),
        (any::<u64>(), epochs(), sequences()).prop_map(|(read, epoch, commit)| {
            Message::Confirmed {
                read,
                epoch,
                commit,
            }
        }),
        (any::<u64>(), why).prop_map(|(read, why)| Message::NotConfirmed { read, why }),
    ]
}

fn mesh_messages() -> impl Strategy<Value = MeshMessage> {
    let question = || (progresses(), streams(), sequences(), times());
    prop_oneof![
        progresses().prop_map(MeshMessage::Have),
        (question(), any::<u64>()).prop_map(|((have, stream, after, asked), bytes_max)| {
            MeshMessage::Pull {
                have,
                stream,
                after,
                asked,
                bytes_max,
            }
        }),
        (question(), records()).prop_map(|((have, stream, after, asked), records)| {
            MeshMessage::Page {
                have,
                stream,
                after,
                asked,
                records: numbered(records, stream, after),
            }
        }),
        (progresses(), streams(), any::<u64>()).prop_map(|(have, stream, after)| {
            let after = Sequence(after);
            MeshMessage::Trimmed {
                have,
                stream,
                after,
            }
        }),
    ]
}

fn key_ranges() -> impl Strategy<Value = KeyRange> {
    (any::<u32>(), payloads(), payloads()).prop_map(|(container, min, max)| KeyRange {
        container,
        min,
        max,
    })
}

fn snapshots() -> impl Strategy<Value = SnapshotFrame> {
    let number = any::<u64>;
    prop_oneof![
        number().prop_map(|copy| SnapshotFrame::Ask { copy }),
        (number(), number(), payloads()).prop_map(|(copy, position, note)| {
            SnapshotFrame::Begins {
                copy,
                position,
                note,
            }
        }),
        (number(), number()).prop_map(|(copy, piece)| SnapshotFrame::Next { copy, piece }),
        (
            number(),
            number(),
            any::<u8>(),
            vec((payloads(), payloads()), 0..4)
        )
            .prop_map(|(copy, piece, space, entries)| SnapshotFrame::Piece {
                copy,
                piece,
                space,
                entries,
            }),
        (number(), number()).prop_map(|(copy, pieces)| SnapshotFrame::Ends { copy, pieces }),
        number().prop_map(|copy| SnapshotFrame::Gone { copy }),
    ]
}

pub(super) fn frames() -> impl Strategy<Value = Frame> {
    prop_oneof![
        questions().prop_map(Frame::Account),
        answers().prop_map(Frame::Account),
        mesh_messages().prop_map(Frame::Mesh),
        snapshots().prop_map(Frame::Snapshot),
        "[a-z:/.é]{0,20}".prop_map(Frame::Endpoint),
        "[a-z:/.é]{0,20}".prop_map(Frame::Problem),
        vec(any::<u8>(), 0..40).prop_map(|secret| Frame::TokenSecret(Secret::new(secret))),
        (vec(key_ranges(), 0..3), sequences())
            .prop_map(|(down, opened)| { Frame::Partitions(PartitionsFrame { down, opened }) }),
    ]
}
