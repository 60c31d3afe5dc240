//! Any frame, for tests.

use bytes::Bytes;
use orrery_engine::KeyRange;
use orrery_model::Secret;
use orrery_regions::{
    AccountMode, ElectionCause, Epoch, EpochStart, Heartbeat, Lineage, Member, MemberStatus,
    Membership, Millis, MultiWriteMessage, Pull, PullRefusal, ReadIndexRefusal, RecordBody,
    RecordPage, RecordPageHeader, RegionId, ReplicaMessage, ReplicaPosition, RequestVote, Sequence,
    SnapshotMetadata, StreamId, StreamRecord, VersionVector, VoteOutcome,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use crate::{LinkFrame, PartitionsFrame, SnapshotFrame};

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

fn progresses() -> impl Strategy<Value = VersionVector> {
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
        Just(MemberStatus::Learner),
        Just(MemberStatus::Voter),
        Just(MemberStatus::Leaving),
        Just(MemberStatus::Lost),
    ];
    let member = (any::<u8>(), "[a-zé ]{0,9}", standing).prop_map(|(id, name, standing)| Member {
        id: RegionId(id),
        name,
        status: standing,
    });
    let former = vec(any::<u8>().prop_map(RegionId), 0..3);
    let mode = prop_oneof![
        Just(AccountMode::OneRegionWrites),
        Just(AccountMode::EveryRegionWrites),
        Just(AccountMode::ByOwner),
    ];
    let ends = btree_map(any::<u8>(), any::<u64>(), 0..3);
    (vec(member, 0..4), former, mode, ends).prop_map(|(regions, former, mode, ends)| Membership {
        regions,
        former,
        mode,
        ends: ends
            .into_iter()
            .map(|(region, last)| (RegionId(region), Sequence(last)))
            .collect(),
    })
}

pub(super) fn bodies() -> impl Strategy<Value = RecordBody> {
    let start = (option::of(memberships()), any::<bool>());
    prop_oneof![
        payloads().prop_map(RecordBody::Data),
        start.prop_map(|(members, is_lossy)| RecordBody::EpochStart(EpochStart {
            members,
            is_lossy
        })),
        memberships().prop_map(RecordBody::Members),
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

pub(super) fn heads() -> impl Strategy<Value = SnapshotMetadata> {
    let parts = (sequences(), lineages(), memberships(), any::<u16>());
    parts.prop_map(|(sequence, lineage, members, changes)| SnapshotMetadata {
        sequence,
        lineage,
        members,
        changes,
    })
}

fn places() -> impl Strategy<Value = ReplicaPosition> {
    let parts = (epochs(), sequences(), epochs(), sequences());
    parts.prop_map(
        |(promised, durable, durable_epoch, applied)| ReplicaPosition {
            promised,
            durable,
            durable_epoch,
            applied,
        },
    )
}

fn page_heads() -> impl Strategy<Value = RecordPageHeader> {
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
        |(epoch, after, after_epoch, commit, held, (last, confirmed_age_ms), asked)| {
            RecordPageHeader {
                epoch,
                after,
                after_epoch,
                commit,
                stable_prefix: held,
                last,
                confirmed_age_ms,
                asked,
            }
        },
    )
}

fn refusals() -> impl Strategy<Value = PullRefusal> {
    let parts = (epochs(), lineages(), sequences(), times());
    parts.prop_map(|(epoch, lineage, last, asked)| PullRefusal {
        epoch,
        lineage,
        last,
        asked,
    })
}

fn questions() -> impl Strategy<Value = ReplicaMessage> {
    let beat = (epochs(), any::<u64>(), sequences(), sequences());
    let beat = beat.prop_map(|(epoch, round, commit, held)| Heartbeat {
        epoch,
        round,
        commit,
        stable_prefix: held,
    });
    let pull = (places(), sequences(), epochs(), times(), any::<u64>());
    let pull = pull.prop_map(|(position, after, after_epoch, asked, bytes_max)| Pull {
        position,
        after,
        after_epoch,
        asked,
        bytes_max,
    });
    let cause = prop_oneof![
        Just(ElectionCause::Silence),
        Just(ElectionCause::HandOver),
        Just(ElectionCause::Forced)
    ];
    let request = (epochs(), (epochs(), sequences()), cause, any::<bool>());
    let request = request.prop_map(|(epoch, position, cause, is_pre_vote)| RequestVote {
        epoch,
        position,
        cause,
        is_pre_vote,
    });
    prop_oneof![
        beat.prop_map(ReplicaMessage::Heartbeat),
        pull.prop_map(ReplicaMessage::Pull),
        request.prop_map(ReplicaMessage::RequestVote),
        (epochs(), (epochs(), sequences()))
            .prop_map(|(epoch, position)| ReplicaMessage::TakeOver { epoch, position }),
        (any::<u64>(), places())
            .prop_map(|(read, position)| ReplicaMessage::ReadIndex { read, position }),
    ]
}

fn answers() -> impl Strategy<Value = ReplicaMessage> {
    let echo = (any::<u64>(), places());
    let page = (page_heads(), records()).prop_map(|(head, records)| RecordPage {
        head,
        records: numbered(records, StreamId::Account, head.after),
    });
    let outcome = prop_oneof![
        Just(VoteOutcome::Granted),
        epochs().prop_map(VoteOutcome::Promised),
        Just(VoteOutcome::Behind),
        Just(VoteOutcome::WriterAlive),
        Just(VoteOutcome::NotEntitled),
    ];
    let vote = (epochs(), any::<bool>(), outcome);
    let why = prop_oneof![
        Just(ReadIndexRefusal::NotTheWriteRegion),
        Just(ReadIndexRefusal::OutsideTheReadQuorum),
    ];
    prop_oneof![
        echo.prop_map(|(round, position)| ReplicaMessage::AppendResponse { round, position }),
        page.prop_map(ReplicaMessage::Page),
        refusals().prop_map(ReplicaMessage::Trimmed),
        refusals().prop_map(ReplicaMessage::Diverged),
        vote.prop_map(|(epoch, is_pre_vote, outcome)| ReplicaMessage::Vote {
            epoch,
            is_pre_vote,
            outcome,
        }),
        (any::<u64>(), epochs(), sequences()).prop_map(|(read, epoch, commit)| {
            ReplicaMessage::ReadIndexResponse {
                read,
                epoch,
                commit,
            }
        }),
        (any::<u64>(), why).prop_map(|(read, why)| ReplicaMessage::ReadIndexRefused { read, why }),
    ]
}

fn mesh_messages() -> impl Strategy<Value = MultiWriteMessage> {
    let question = || (progresses(), streams(), sequences(), times());
    prop_oneof![
        progresses().prop_map(MultiWriteMessage::Have),
        (question(), any::<u64>()).prop_map(|((have, stream, after, asked), bytes_max)| {
            MultiWriteMessage::Pull {
                have,
                stream,
                after,
                asked,
                bytes_max,
            }
        }),
        (question(), records()).prop_map(|((have, stream, after, asked), records)| {
            MultiWriteMessage::Page {
                have,
                stream,
                after,
                asked,
                records: numbered(records, stream, after),
            }
        }),
        (progresses(), streams(), any::<u64>()).prop_map(|(have, stream, after)| {
            let after = Sequence(after);
            MultiWriteMessage::Trimmed {
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
            SnapshotFrame::Metadata {
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
        number().prop_map(|copy| SnapshotFrame::NotFound { copy }),
    ]
}

pub(super) fn frames() -> impl Strategy<Value = LinkFrame> {
    prop_oneof![
        questions().prop_map(LinkFrame::Account),
        answers().prop_map(LinkFrame::Account),
        mesh_messages().prop_map(LinkFrame::MultiWrite),
        snapshots().prop_map(LinkFrame::Snapshot),
        "[a-z:/.é]{0,20}".prop_map(LinkFrame::Endpoint),
        "[a-z:/.é]{0,20}".prop_map(LinkFrame::Problem),
        vec(any::<u8>(), 0..40).prop_map(|secret| LinkFrame::TokenSecret(Secret::new(secret))),
        (vec(key_ranges(), 0..3), sequences())
            .prop_map(|(down, opened)| { LinkFrame::Partitions(PartitionsFrame { down, opened }) }),
    ]
}
