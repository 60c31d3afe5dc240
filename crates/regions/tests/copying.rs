//! A region that needs a snapshot and receives none continues with records when a member sends
//! some.

use bytes::Bytes;
use orrery_regions::{
    Consistency, Epoch, HardState, Heartbeat, Lineage, Millis, PullRefusal, RecordBody, RecordPage,
    RecordPageHeader, RegionId, Replica, ReplicaEffect, ReplicaMessage, ReplicaSettings, Restart,
    Sequence, SnapshotMetadata, StreamId, StreamRecord, VersionVector,
};

const WRITER: RegionId = RegionId(0);

fn asked(effects: &[ReplicaEffect]) -> Option<Millis> {
    effects.iter().find_map(|effect| match effect {
        ReplicaEffect::Send {
            message: ReplicaMessage::Pull(pull),
            ..
        } => Some(pull.asked),
        _ => None,
    })
}

#[test]
fn records_are_taken_when_no_copy_has_come() {
    let settings = ReplicaSettings::new(Consistency::Strong);
    for late_ms in [0, settings.retry_ms, 10 * settings.retry_ms] {
        let start = Millis(1_000_000);
        let restart = Restart {
            hard_state: HardState::default(),
            begins: Sequence::ZERO,
            base: SnapshotMetadata::default(),
            log: &[],
            applied: Sequence::ZERO,
        };
        let mut replica = Replica::new(RegionId(1), settings, start, restart);
        let epoch = Epoch::NONE.next(WRITER);
        let beat = Heartbeat {
            epoch,
            round: 1,
            commit: Sequence::ZERO,
            stable_prefix: Sequence::ZERO,
        };
        replica.receive(start, WRITER, ReplicaMessage::Heartbeat(beat));
        let first = asked(&replica.take_effects()).expect("it asks for records");
        let lineage: Lineage = [(epoch, Sequence(1))].into_iter().collect();
        let trimmed = PullRefusal {
            epoch,
            lineage,
            last: Sequence(9),
            asked: first,
        };
        replica.receive(start, WRITER, ReplicaMessage::Trimmed(trimmed));
        let fetch = ReplicaEffect::FetchSnapshot { from: WRITER };
        assert!(replica.take_effects().contains(&fetch));
        // The replica misses its ticks for a while.
        let mut now = start.plus(late_ms);
        let again = loop {
            replica.tick(now);
            if let Some(again) = asked(&replica.take_effects()) {
                break again;
            }
            now = now.plus(settings.heartbeat_ms);
            assert!(now.since(start) < 20 * settings.retry_ms, "it never asks");
        };
        let record = StreamRecord {
            stream: StreamId::Account,
            origin: WRITER,
            epoch,
            sequence: Sequence(1),
            deps: VersionVector::default(),
            body: RecordBody::Data(Bytes::new()),
        };
        let head = RecordPageHeader {
            epoch,
            after: Sequence::ZERO,
            after_epoch: Epoch::NONE,
            commit: Sequence::ZERO,
            stable_prefix: Sequence::ZERO,
            last: Some(Sequence(1)),
            confirmed_age_ms: None,
            asked: again,
        };
        let records = vec![record];
        let page = RecordPage {
            head,
            records: records.clone(),
        };
        replica.receive(now, WRITER, ReplicaMessage::Page(page));
        let taken = ReplicaEffect::Append(records);
        assert!(replica.take_effects().contains(&taken), "{late_ms} ms late");
    }
}
