//! What a region makes of its own absences, and of a state that is ahead of it.

use orrery_engine::KeyAccess;
use orrery_regions::{
    Body, Effect, Epoch, EpochStart, Head, Membership, MeshMessage, MeshSettings, Message, Place,
    Progress, Restart, Saved, Settings,
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
    let bodies = [Body::EpochStart(start), Body::Data(given)];
    let records = (1..).zip(bodies).map(|(sequence, body)| StreamRecord {
        stream: StreamId::Account,
        origin: A,
        epoch: epoch(),
        sequence: Sequence(sequence),
        deps: Progress::default(),
        body,
    });
    records.collect()
}

fn replica(me: RegionId, log: &[StreamRecord], applied: u64) -> Replica {
    let kept = Restart {
        saved: Saved {
            promised: epoch(),
            incarnation: 1,
        },
        begins: Sequence::ZERO,
        base: Head::default(),
        log,
        applied: Sequence(applied),
    };
    let settings = Settings::new(orrery_regions::Level::Strong);
    Replica::new(me, settings, Millis(0), kept)
}

fn mesh(me: RegionId, account: u64) -> Mesh {
    let progress = [(StreamId::Account, Sequence(account))];
    let progress = progress.into_iter().collect();
    let settings = MeshSettings::default();
    Mesh::new(me, settings, vec![A, B, C], progress, Progress::default())
}

fn at(keeper: &mut Keeper, now: u64, replica: &Replica, mesh: &Mesh) -> KeyAccess {
    let now = Millis(now);
    let table = keeper.refresh(Sight { now, replica, mesh }, Vec::new());
    table.of(7, &[0x15])
}

#[test]
fn a_write_region_that_is_back_applies_its_log_before_it_begins() {
    let log = log(C);
    let (mut replica, mesh) = (replica(A, &log, 1), mesh(A, 1));
    let mut keeper = Keeper::new(A, Millis(0), &log[..1]);
    replica.tick(Millis(10));
    let mut effects = replica.take_effects().into_iter();
    let round = effects.find_map(|effect| match effect {
        Effect::Send {
            message: Message::Beat(beat),
            ..
        } => Some(beat.round),
        _ => None,
    });
    // A majority says that it still is the write region; it is another one that has its last record.
    let place = Place {
        promised: epoch(),
        kept: Sequence(1),
        kept_epoch: epoch(),
        applied: Sequence(1),
    };
    let echo = Message::Echo {
        round: round.unwrap(),
        place,
    };
    replica.receive(Millis(20), B, echo);
    assert!(replica.own_lag(Millis(20)).is_some());
    assert_eq!(at(&mut keeper, 20, &replica, &mesh), KeyAccess::Soon);
    keeper.follow(&log);
    assert_eq!(at(&mut keeper, 30, &replica, &mesh), KeyAccess::Closed);
}

type Disturb = fn(&mut Keeper, Millis);

#[test]
fn who_could_not_hear_waits_for_the_others_again() {
    let log = log(B);
    let (nothing, leave, anew): (Disturb, Disturb, Disturb) =
        (|_, _| {}, Keeper::leave, Keeper::listen_anew);
    for (from, to, disturb, opens) in [
        (2_800, 3_000, nothing, 3_000),
        (2_000, 2_600, nothing, 5_600),
        (2_800, 3_000, leave, 6_000),
        (2_800, 3_000, anew, 6_000),
    ] {
        let (replica, mesh) = (replica(B, &log, 2), mesh(B, 2));
        let mut keeper = Keeper::new(B, Millis(0), &log);
        let mut looked = Vec::new();
        let times = (0..=70).map(|step| step * 100);
        for now in times.filter(|now| *now <= from || *now >= to) {
            if now == to {
                disturb(&mut keeper, Millis(now));
            }
            // That it may not know what was moved is another matter.
            keeper.be_sure();
            looked.push((now, at(&mut keeper, now, &replica, &mesh)));
        }
        let open = looked.iter().find(|(_, access)| *access == KeyAccess::Open);
        assert_eq!(open.map(|(now, _)| *now), Some(opens), "{from} {to}");
    }
}

#[test]
fn a_stopped_region_is_not_sure_because_time_has_passed() {
    let log = log(B);
    let (replica, mut mesh) = (replica(B, &log, 2), mesh(B, 2));
    let mut keeper = Keeper::new(B, Millis(0), &log);
    for (now, expected) in [
        (100, KeyAccess::Soon),
        (4_000, KeyAccess::Soon),
        (6_900, KeyAccess::Soon),
    ] {
        for region in [A, C] {
            let have = mesh.progress().clone();
            mesh.receive(Millis(now), region, MeshMessage::Have(have));
        }
        assert_eq!(at(&mut keeper, now, &replica, &mesh), expected, "{now}");
    }
    for now in (7_000..9_900).step_by(100) {
        let found = at(&mut keeper, now, &replica, &mesh);
        assert_eq!(found, KeyAccess::Soon, "{now}");
    }
    assert_eq!(at(&mut keeper, 9_900, &replica, &mesh), KeyAccess::Open);
}

#[test]
fn a_copied_state_takes_nothing_before_its_log_is_known() {
    let log = log(B);
    let replica = replica(B, &log, 2);
    let mut keeper = Keeper::new(B, Millis(0), &log);
    keeper.be_sure();
    let ahead = mesh(B, 3);
    for now in (0..=4_000).step_by(100) {
        assert_eq!(at(&mut keeper, now, &replica, &ahead), KeyAccess::Soon);
        assert_eq!(keeper.opened(), Sequence::ZERO);
    }
    assert_eq!(
        at(&mut keeper, 4_100, &replica, &mesh(B, 2)),
        KeyAccess::Open
    );
}
