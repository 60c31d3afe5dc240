//! The decisions of a region after its own absence, and the decisions with a state ahead of its
//! log.

use orrery_engine::KeyAccess;
use orrery_regions::{
    Epoch, EpochStart, HardState, Membership, MultiWriteMessage, MultiWriteSettings, RecordBody,
    ReplicaEffect, ReplicaMessage, ReplicaPosition, ReplicaSettings, Restart, SnapshotMetadata,
    VersionVector,
};

use super::*;
use crate::codec::encode_move;

const A: RegionId = RegionId(0);
const B: RegionId = RegionId(1);
const C: RegionId = RegionId(2);

fn epoch() -> Epoch {
    Epoch::NONE.next(A)
}

/// A writes, and gives a range to a region.
fn log(to: RegionId) -> Vec<StreamRecord> {
    let members = Membership::new([(A, "a"), (B, "b"), (C, "c")]);
    let start = EpochStart {
        members: Some(members),
        is_lossy: false,
    };
    let given = encode_move(&RangeMove {
        keys: KeyRange {
            container: 7,
            min: vec![0x10].into(),
            max: vec![0x20].into(),
        },
        owner: Some(to),
        is_automatic: false,
    });
    let bodies = [RecordBody::EpochStart(start), RecordBody::Data(given)];
    let records = (1..).zip(bodies).map(|(sequence, body)| StreamRecord {
        stream: StreamId::Account,
        origin: A,
        epoch: epoch(),
        sequence: Sequence(sequence),
        deps: VersionVector::default(),
        body,
    });
    records.collect()
}

fn replica(me: RegionId, log: &[StreamRecord], applied: u64) -> Replica {
    let kept = Restart {
        hard_state: HardState {
            promised: epoch(),
            incarnation: 1,
        },
        begins: Sequence::ZERO,
        base: SnapshotMetadata::default(),
        log,
        applied: Sequence(applied),
    };
    let settings = ReplicaSettings::new(orrery_regions::Consistency::Strong);
    Replica::new(me, settings, Millis(0), kept)
}

fn multi_write(me: RegionId, account: u64) -> MultiWriteReplica {
    let progress = [(StreamId::Account, Sequence(account))];
    let progress = progress.into_iter().collect();
    let settings = MultiWriteSettings::default();
    MultiWriteReplica::new(
        me,
        settings,
        vec![A, B, C],
        progress,
        VersionVector::default(),
    )
}

fn at(
    failover: &mut PartitionFailover,
    now: u64,
    replica: &Replica,
    multi_write: &MultiWriteReplica,
) -> KeyAccess {
    let now = Millis(now);
    let table = failover.refresh(
        RegionView {
            now,
            replica,
            multi_write,
        },
        Vec::new(),
    );
    table.of(7, &[0x15])
}

#[test]
fn a_write_region_that_is_back_applies_its_log_before_it_begins() {
    let log = log(C);
    let (mut replica, multi_write) = (replica(A, &log, 1), multi_write(A, 1));
    let mut failover = PartitionFailover::new(A, Millis(0), &log[..1]);
    replica.tick(Millis(10));
    let mut effects = replica.take_effects().into_iter();
    let round = effects.find_map(|effect| match effect {
        ReplicaEffect::Send {
            message: ReplicaMessage::Heartbeat(beat),
            ..
        } => Some(beat.round),
        _ => None,
    });
    // A majority confirms the write region; the other region has its last record.
    let position = ReplicaPosition {
        promised: epoch(),
        durable: Sequence(1),
        durable_epoch: epoch(),
        applied: Sequence(1),
    };
    let echo = ReplicaMessage::AppendResponse {
        round: round.unwrap(),
        position,
    };
    replica.receive(Millis(20), B, echo);
    assert!(replica.own_lag(Millis(20)).is_some());
    assert_eq!(
        at(&mut failover, 20, &replica, &multi_write),
        KeyAccess::TakingOver
    );
    failover.follow(&log);
    assert_eq!(
        at(&mut failover, 30, &replica, &multi_write),
        KeyAccess::Closed
    );
}

type Disturb = fn(&mut PartitionFailover, Millis);

#[test]
fn who_could_not_hear_waits_for_the_others_again() {
    let log = log(B);
    let (nothing, leave, anew): (Disturb, Disturb, Disturb) = (
        |_, _| {},
        PartitionFailover::mark_down,
        PartitionFailover::listen_anew,
    );
    for (from, to, disturb, opens) in [
        (2_800, 3_000, nothing, 3_000),
        (2_000, 2_600, nothing, 5_600),
        (2_800, 3_000, leave, 6_000),
        (2_800, 3_000, anew, 6_000),
    ] {
        let (replica, multi_write) = (replica(B, &log, 2), multi_write(B, 2));
        let mut failover = PartitionFailover::new(B, Millis(0), &log);
        let mut looked = Vec::new();
        let times = (0..=70).map(|step| step * 100);
        for now in times.filter(|now| *now <= from || *now >= to) {
            if now == to {
                disturb(&mut failover, Millis(now));
            }
            // The sureness about missed moves is tested elsewhere.
            failover.be_sure();
            looked.push((now, at(&mut failover, now, &replica, &multi_write)));
        }
        let open = looked.iter().find(|(_, access)| *access == KeyAccess::Open);
        assert_eq!(open.map(|(now, _)| *now), Some(opens), "{from} {to}");
    }
}

#[test]
fn a_stopped_region_is_not_sure_because_time_has_passed() {
    let log = log(B);
    let (replica, mut multi_write) = (replica(B, &log, 2), multi_write(B, 2));
    let mut failover = PartitionFailover::new(B, Millis(0), &log);
    for (now, expected) in [
        (100, KeyAccess::TakingOver),
        (4_000, KeyAccess::TakingOver),
        (6_900, KeyAccess::TakingOver),
    ] {
        for region in [A, C] {
            let have = multi_write.progress().clone();
            multi_write.receive(Millis(now), region, MultiWriteMessage::Have(have));
        }
        assert_eq!(
            at(&mut failover, now, &replica, &multi_write),
            expected,
            "{now}"
        );
    }
    for now in (7_000..9_900).step_by(100) {
        let found = at(&mut failover, now, &replica, &multi_write);
        assert_eq!(found, KeyAccess::TakingOver, "{now}");
    }
    assert_eq!(
        at(&mut failover, 9_900, &replica, &multi_write),
        KeyAccess::Open
    );
}

#[test]
fn a_copied_state_takes_nothing_before_its_log_is_known() {
    let log = log(B);
    let replica = replica(B, &log, 2);
    let mut failover = PartitionFailover::new(B, Millis(0), &log);
    failover.be_sure();
    let ahead = multi_write(B, 3);
    for now in (0..=4_000).step_by(100) {
        assert_eq!(
            at(&mut failover, now, &replica, &ahead),
            KeyAccess::TakingOver
        );
        assert_eq!(failover.opened(), Sequence::ZERO);
    }
    assert_eq!(
        at(&mut failover, 4_100, &replica, &multi_write(B, 2)),
        KeyAccess::Open
    );
}
