//! A region that is to be copied and gets no copy goes on with records when there are some.

use bytes::Bytes;
use orrery_regions::{
    Beat, Body, Effect, Epoch, Head, Level, Lineage, Message, Millis, Page, PageHead, Progress,
    Refused, RegionId, Replica, Restart, Saved, Sequence, Settings, StreamId, StreamRecord,
};

const WRITER: RegionId = RegionId(0);

fn asked(effects: &[Effect]) -> Option<Millis> {
    effects.iter().find_map(|effect| match effect {
        Effect::Send {
            message: Message::Pull(pull),
            ..
        } => Some(pull.asked),
        _ => None,
    })
}

#[test]
fn records_are_taken_when_no_copy_has_come() {
    let settings = Settings::new(Level::Strong);
    for late_ms in [0, settings.retry_ms, 10 * settings.retry_ms] {
        let start = Millis(1_000_000);
        let restart = Restart {
            saved: Saved::default(),
            begins: Sequence::ZERO,
            base: Head::default(),
            log: &[],
            applied: Sequence::ZERO,
        };
        let mut replica = Replica::new(RegionId(1), settings, start, restart);
        let epoch = Epoch::NONE.next(WRITER);
        let beat = Beat {
            epoch,
            round: 1,
            commit: Sequence::ZERO,
            held: Sequence::ZERO,
        };
        replica.receive(start, WRITER, Message::Beat(beat));
        let first = asked(&replica.take_effects()).expect("it asks for records");
        let lineage: Lineage = [(epoch, Sequence(1))].into_iter().collect();
        let trimmed = Refused {
            epoch,
            lineage,
            last: Sequence(9),
            asked: first,
        };
        replica.receive(start, WRITER, Message::Trimmed(trimmed));
        let fetch = Effect::FetchSnapshot { from: WRITER };
        assert!(replica.take_effects().contains(&fetch));
        // It stands still for a while before it looks again.
        let mut now = start.plus(late_ms);
        let again = loop {
            replica.tick(now);
            if let Some(again) = asked(&replica.take_effects()) {
                break again;
            }
            now = now.plus(settings.beat_ms);
            assert!(now.since(start) < 20 * settings.retry_ms, "it never asks");
        };
        let record = StreamRecord {
            stream: StreamId::Account,
            origin: WRITER,
            epoch,
            sequence: Sequence(1),
            deps: Progress::default(),
            body: Body::Data(Bytes::new()),
        };
        let head = PageHead {
            epoch,
            after: Sequence::ZERO,
            after_epoch: Epoch::NONE,
            commit: Sequence::ZERO,
            held: Sequence::ZERO,
            last: Some(Sequence(1)),
            confirmed_age_ms: None,
            asked: again,
        };
        let records = vec![record];
        let page = Page {
            head,
            records: records.clone(),
        };
        replica.receive(now, WRITER, Message::Page(page));
        let taken = Effect::Append(records);
        assert!(replica.take_effects().contains(&taken), "{late_ms} ms late");
    }
}
