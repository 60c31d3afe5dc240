//! A store whose groups must be replicated to other regions before they become visible. The test
//! plays the other regions and controls their positions.

use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_log::{AppendError, Disk, Note, ReplicatedLog, Replication, SystemDisk};
use orrery_model::{Failure, OperationKind};
use orrery_partition::{
    AppliedRecords, ApplyAfter, CommitLog, CommitObserver, CommitStatus, Durability, Position,
    ReplicationError, Store, StorePositions, Subscription, SubscriptionRead, check, note_record,
};

use crate::support::{World, item};

const UNIQUE: &str = r#","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}"#;

/// The other regions.
#[derive(Default)]
struct Others(Mutex<State>);

/// The store's end of the other regions.
struct OthersOf(Arc<Others>);

#[derive(Default)]
struct State {
    kept: Position,
    are_lost: bool,
    held_back: usize,
    seen: Vec<Position>,
    /// The number of appends that the replication puts off.
    busy: usize,
    notes: Vec<Bytes>,
    /// The sender of records to the other regions.
    sender: Option<Subscription>,
}

impl Others {
    fn keep(&self, upto: Position, store: &Store) {
        self.0.lock().unwrap().kept = upto;
        store.wake_log();
    }

    fn lose(&self, store: &Store) {
        self.0.lock().unwrap().are_lost = true;
        store.wake_log();
    }
}

impl State {
    fn verdict(&self, last: Position) -> CommitStatus {
        if self.are_lost {
            CommitStatus::Unknown
        } else if last <= self.kept {
            CommitStatus::Committed
        } else {
            CommitStatus::Pending
        }
    }
}

impl Replication for OthersOf {
    fn assign_positions(&mut self, _: Position, _: &[Bytes]) -> Result<Vec<Note>, AppendError> {
        let mut state = self.0.0.lock().unwrap();
        if state.busy > 0 {
            state.busy -= 1;
            return Err(AppendError::Busy);
        }
        let notes = state.notes.drain(..).map(|text| Note {
            record: note_record(text.clone()),
            text,
        });
        Ok(notes.collect())
    }

    fn has_notes(&self) -> bool {
        !self.0.0.lock().unwrap().notes.is_empty()
    }

    fn on_durable(&mut self, upto: Position) {
        let mut state = self.0.0.lock().unwrap();
        if let Some(sender) = &mut state.sender {
            let read = sender.records_after(Position(upto.0 - 1), 1).unwrap();
            assert!(matches!(read, SubscriptionRead::Records(records) if !records.is_empty()));
        }
    }

    fn commit_status(&mut self, upto: Position) -> CommitStatus {
        self.0.0.lock().unwrap().verdict(upto)
    }

    fn on_applied(&mut self, upto: Position) {
        self.0.0.lock().unwrap().seen.push(upto);
    }

    fn on_abandoned(&mut self) {
        self.0.0.lock().unwrap().held_back += 1;
    }
}

struct Nobody;

impl CommitObserver for Nobody {
    fn on_applied(&self, _: &AppliedRecords) {}
}

/// A store with a replicated log and one item, and the other regions.
fn open(directory: &Path) -> (World, Arc<Others>) {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let world = World::open(directory, &disk, Durability::None, UNIQUE);
    world.upsert(&item("first", r#","u":0"#)).unwrap();
    let others = Arc::new(Others::default());
    others.0.lock().unwrap().kept = world.store.appended();
    let (reply, answer) = channel();
    let reply = Box::new(move |()| reply.send(()).unwrap());
    let replication = OthersOf(Arc::clone(&others));
    let wrap = |log| Box::new(ReplicatedLog::new(log, replication)) as Box<dyn CommitLog>;
    world.store.submit_wrap_log(Box::new(wrap), reply);
    answer.recv().unwrap();
    (world, others)
}

const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until the log has `count` records that the state lacks.
fn wait_for_open(world: &World, count: u64) {
    let begun = Instant::now();
    while world.store.appended().0 != world.store.applied().0 + count {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

fn is_waiting<T>(answer: &Receiver<T>) -> bool {
    matches!(answer.try_recv(), Err(TryRecvError::Empty))
}

fn let_follow(store: &Store, upto: Position) -> Result<StorePositions, ReplicationError> {
    let (reply, answer) = channel();
    let reply = Box::new(move |result| reply.send(result).unwrap());
    store.submit_replicated(Vec::new(), upto, Arc::new(Nobody), reply);
    answer.recv().unwrap()
}

#[test]
fn groups_are_decided_over_groups_in_flight_and_applied_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let (world, others) = open(directory.path());
    let lsn = world.lsn();
    let before = world.store.applied();
    let created = world.create(&item("a", r#","u":1"#));
    wait_for_open(&world, 1);
    let same_id = world.create(&item("a", r#","u":2"#));
    let same_value = world.create(&item("b", r#","u":1"#));
    let other_value = world.create(&item("b", r#","u":2"#));
    wait_for_open(&world, 2);
    let deleted = world.begin(OperationKind::Delete { id: "a".to_owned() });
    wait_for_open(&world, 3);
    let freed_value = world.create(&item("c", r#","u":1"#));
    wait_for_open(&world, 4);
    let missing = world.begin(OperationKind::Delete { id: "a".to_owned() });
    for answer in [
        &created,
        &same_id,
        &same_value,
        &other_value,
        &deleted,
        &freed_value,
        &missing,
    ] {
        assert!(is_waiting(answer));
    }
    assert_eq!(world.read("a"), None);
    assert_eq!(world.lsn(), lsn);

    others.keep(Position(before.0 + 1), &world.store);
    created.recv().unwrap().unwrap();
    assert!(world.read("a").is_some());
    assert_eq!(world.lsn(), lsn + 1);
    assert!(is_waiting(&other_value) && is_waiting(&deleted) && is_waiting(&missing));

    others.keep(Position(before.0 + 4), &world.store);
    assert!(matches!(same_id.recv().unwrap(), Err(Failure::Conflict(_))));
    assert!(matches!(
        same_value.recv().unwrap(),
        Err(Failure::Conflict(_))
    ));
    other_value.recv().unwrap().unwrap();
    deleted.recv().unwrap().unwrap();
    freed_value.recv().unwrap().unwrap();
    assert_eq!(missing.recv().unwrap().err(), Some(Failure::NOT_FOUND));
    assert_eq!(world.lsn(), lsn + 4);
    assert_eq!(world.read("a"), None);
    assert!(world.read("b").is_some() && world.read("c").is_some());
    let seen = others.0.lock().unwrap().seen.clone();
    assert!(
        seen.is_sorted() && seen.last() == Some(&Position(before.0 + 4)),
        "{seen:?}"
    );

    world.store.close().unwrap();
    let report = check(directory.path()).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

#[test]
fn a_catalogue_change_waits_for_groups_in_flight() {
    let directory = tempfile::tempdir().unwrap();
    let (world, others) = open(directory.path());
    let before = world.store.applied();
    let created = world.create(&item("a", r#","u":"a""#));
    wait_for_open(&world, 1);
    let changed = world.begin_catalogue(("k".into(), Some("{}".into())));
    let later = world.create(&item("b", r#","u":"b""#));
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(
        world.store.appended(),
        Position(before.0 + 1),
        "nothing else is in the log"
    );
    others.keep(Position(before.0 + 1), &world.store);
    created.recv().unwrap().unwrap();
    assert!(is_waiting(&changed) && is_waiting(&later));
    others.keep(Position(u64::MAX), &world.store);
    changed.recv().unwrap().unwrap();
    later.recv().unwrap().unwrap();
    assert!(world.read("a").is_some() && world.read("b").is_some());
}

#[test]
fn groups_of_unknown_outcome_stay_uncommitted_together() {
    let directory = tempfile::tempdir().unwrap();
    let (world, others) = open(directory.path());
    let before = world.store.applied();
    let first = world.create(&item("a", r#","u":"a""#));
    wait_for_open(&world, 1);
    let second = world.create(&item("b", r#","u":"b""#));
    wait_for_open(&world, 2);
    let third = world.begin(OperationKind::Delete { id: "a".to_owned() });
    wait_for_open(&world, 3);
    let refused = world.create(&item("b", r#","u":"b""#));
    others.lose(&world.store);
    for answer in [first, second, third] {
        assert_eq!(answer.recv().unwrap().err(), Some(Failure::OutcomeUnknown));
    }
    let refused = refused.recv().unwrap().err();
    assert!(
        matches!(
            refused,
            Some(Failure::OutcomeUnknown | Failure::WriteForbidden)
        ),
        "nobody is told what it found: {refused:?}"
    );
    assert_eq!(others.0.lock().unwrap().held_back, 1);
    assert_eq!(world.store.applied(), before);
    let refused = world.create(&item("z", r#","u":"z""#)).recv().unwrap();
    assert_eq!(refused.err(), Some(Failure::WriteForbidden));

    let upto = Position(before.0 + 1);
    assert_eq!(let_follow(&world.store, upto).unwrap().applied, upto);
    assert!(world.read("a").is_some() && world.read("b").is_none());
    let reached = let_follow(&world.store, Position(u64::MAX)).unwrap();
    assert_eq!(reached.applied, Position(before.0 + 3));
    assert!(world.read("a").is_none() && world.read("b").is_some());
    world.store.close().unwrap();
    let report = check(directory.path()).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

#[test]
fn groups_in_flight_at_close_are_appended_and_not_applied() {
    let directory = tempfile::tempdir().unwrap();
    let (world, _) = open(directory.path());
    let before = world.store.applied();
    let first = world.create(&item("a", r#","u":"a""#));
    wait_for_open(&world, 1);
    let second = world.begin(OperationKind::Delete {
        id: "first".to_owned(),
    });
    wait_for_open(&world, 2);
    world.store.close().unwrap();
    for answer in [first, second] {
        assert_eq!(answer.recv().unwrap().err(), Some(Failure::OutcomeUnknown));
    }
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let world = World::open_apply_after(
        directory.path(),
        &disk,
        Durability::None,
        UNIQUE,
        ApplyAfter::Committed,
    );
    assert_eq!(world.store.applied(), before);
    assert_eq!(world.store.appended(), Position(before.0 + 2));
    assert!(world.read("a").is_none() && world.read("first").is_some());
    world.store.submit_follow(true, Box::new(|()| ()));
    let_follow(&world.store, Position(u64::MAX)).unwrap();
    assert!(world.read("a").is_some() && world.read("first").is_none());
}

#[test]
fn a_store_that_begins_to_follow_ends_groups_in_flight() {
    let directory = tempfile::tempdir().unwrap();
    let (world, others) = open(directory.path());
    let settled = world.create(&item("a", r#","u":"a""#));
    wait_for_open(&world, 1);
    let open = world.create(&item("b", r#","u":"b""#));
    wait_for_open(&world, 2);
    others.0.lock().unwrap().kept = Position(world.store.appended().0 - 1);
    let (reply, answer) = channel();
    let reply = Box::new(move |()| reply.send(()).unwrap());
    world.store.submit_follow(true, reply);
    answer.recv().unwrap();
    settled.recv().unwrap().unwrap();
    assert_eq!(open.recv().unwrap().err(), Some(Failure::OutcomeUnknown));
    assert!(world.read("a").is_some() && world.read("b").is_none());
}

#[test]
fn groups_beyond_the_bound_wait_for_those_before() {
    /// Waiting time at the limit, where no record may arrive. Below the limit, even a busy machine
    /// gets enough time.
    const QUIET: Duration = Duration::from_millis(500);
    for (padding, expected) in [(1, 1024..=1024), (1_000_000, 60..=68)] {
        let directory = tempfile::tempdir().unwrap();
        let (world, others) = open(directory.path());
        let before = world.store.appended().0;
        let padding = "x".repeat(padding);
        let mut waiting = Vec::new();
        let under_way = loop {
            let count = waiting.len() as u64;
            let text = item(
                &count.to_string(),
                &format!(r#","u":{},"x":"{padding}""#, count + 1),
            );
            waiting.push(world.create(&text));
            let begun = Instant::now();
            let is_at_bound = expected.contains(&count);
            let patience = if is_at_bound { QUIET } else { PATIENCE };
            while world.store.appended().0 <= before + count && begun.elapsed() < patience {
                std::thread::yield_now();
            }
            if world.store.appended().0 <= before + count {
                break count;
            }
        };
        assert!(expected.contains(&under_way), "{under_way}");
        assert!(waiting.iter().all(is_waiting));
        // Once the other regions have all records, every write completes, including the delayed
        // one.
        others.keep(Position(u64::MAX), &world.store);
        for answer in waiting {
            answer.recv().unwrap().unwrap();
        }
        assert_eq!(world.store.applied().0, before + under_way + 1);
    }
}

#[test]
fn a_busy_log_delays_a_group_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (world, others) = open(directory.path());
    let before = world.store.appended();
    {
        let mut state = others.0.lock().unwrap();
        (state.busy, state.kept) = (3, Position(u64::MAX));
    }
    let answers: Vec<_> = (0..5)
        .map(|number| {
            world.create(&item(
                &number.to_string(),
                &format!(r#","u":{}"#, number + 1),
            ))
        })
        .collect();
    for answer in answers {
        answer.recv().unwrap().unwrap();
    }
    assert_eq!(others.0.lock().unwrap().busy, 0);
    assert_eq!(world.store.applied(), Position(before.0 + 5));
}

#[test]
fn a_store_that_begins_to_follow_refuses_the_group_of_a_busy_log() {
    let directory = tempfile::tempdir().unwrap();
    let (world, others) = open(directory.path());
    let before = world.store.appended();
    others.0.lock().unwrap().busy = usize::MAX;
    let refused = world.create(&item("a", r#","u":1"#));
    let (reply, answer) = channel();
    let reply = Box::new(move |()| reply.send(()).unwrap());
    world.store.submit_follow(true, reply);
    answer.recv().unwrap();
    assert_eq!(refused.recv().unwrap().err(), Some(Failure::WriteForbidden));
    assert_eq!(world.store.appended(), before);
}

#[test]
fn notes_are_appended_while_a_full_pipeline_waits() {
    let directory = tempfile::tempdir().unwrap();
    let (world, others) = open(directory.path());
    let before = world.store.appended();
    let created = world.create(&item("a", r#","u":"a""#));
    wait_for_open(&world, 1);
    // The catalogue change waits for the group in flight, and the note must not wait with it.
    let changed = world.begin_catalogue(("k".into(), Some("{}".into())));
    others.0.lock().unwrap().notes.push("epoch".into());
    world.store.wake_log();
    wait_for_open(&world, 2);
    assert!(is_waiting(&created) && is_waiting(&changed));
    others.keep(Position(u64::MAX), &world.store);
    created.recv().unwrap().unwrap();
    changed.recv().unwrap().unwrap();
    assert_eq!(world.store.applied(), Position(before.0 + 3));
    assert_eq!(world.store.note().unwrap().as_deref(), Some(&b"epoch"[..]));
}

/// The call wakes the sender of records. A sender that finds nothing waits for its next tick, and a
/// strong write with it.
#[test]
fn records_can_be_sent_when_they_are_called_durable() {
    let directory = tempfile::tempdir().unwrap();
    let (world, others) = open(directory.path());
    let sender = world.store.subscribe(world.store.appended(), 1 << 20);
    {
        let mut state = others.0.lock().unwrap();
        (state.sender, state.kept) = (Some(sender), Position(u64::MAX));
    }
    world
        .create(&item("a", r#","u":1"#))
        .recv()
        .unwrap()
        .unwrap();
}
