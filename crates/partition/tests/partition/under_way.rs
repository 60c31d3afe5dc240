//! A store whose groups others must keep before they are seen. The others are played by the test, which
//! says how far they are.

use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_log::{Disk, SystemDisk};
use orrery_model::{Failure, OperationKind};
use orrery_partition::{
    Applied, Authority, Durability, Position, Reached, ReplicationError, Seen, Store, Verdict,
    Witness, check,
};

use crate::support::{World, item};

const UNIQUE: &str = r#","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}"#;

/// The other regions.
#[derive(Default)]
struct Others {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    kept: Position,
    are_lost: bool,
    held_back: usize,
    seen: Vec<Position>,
}

impl Others {
    fn keep(&self, upto: Position, store: &Store) {
        self.state.lock().unwrap().kept = upto;
        self.changed.notify_all();
        store.submit_look();
    }

    fn lose(&self, store: &Store) {
        self.state.lock().unwrap().are_lost = true;
        self.changed.notify_all();
        store.submit_look();
    }
}

impl State {
    fn verdict(&self, last: Position) -> Verdict {
        if self.are_lost {
            Verdict::Lost
        } else if last <= self.kept {
            Verdict::Settled
        } else {
            Verdict::Open
        }
    }
}

impl Authority for Others {
    fn number(&self, _: Position, _: &[Bytes]) -> Result<Vec<Bytes>, Failure> {
        Ok(Vec::new())
    }

    fn kept(&self, last: Position) -> Verdict {
        self.state.lock().unwrap().verdict(last)
    }

    fn verdict(&self, last: Position) -> Verdict {
        self.state.lock().unwrap().verdict(last)
    }

    fn settle(&self, last: Position) -> Verdict {
        let state = self.state.lock().unwrap();
        let is_open = |state: &mut State| state.verdict(last) == Verdict::Open;
        let state = self.changed.wait_while(state, is_open).unwrap();
        state.verdict(last)
    }

    fn held_back(&self) {
        self.state.lock().unwrap().held_back += 1;
    }

    fn seen(&self, last: Position) {
        self.state.lock().unwrap().seen.push(last);
    }
}

struct Nobody;

impl Witness for Nobody {
    fn applied(&self, _: &Applied) {}
}

/// A store that asks, with one item, and whom it asks.
fn open(directory: &Path) -> (World, Arc<Others>) {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let world = World::open(directory, &disk, Durability::None, UNIQUE);
    world.upsert(&item("first", r#","u":0"#)).unwrap();
    let others = Arc::new(Others::default());
    others.state.lock().unwrap().kept = world.store.kept();
    let (reply, answer) = channel();
    let reply = Box::new(move |()| reply.send(()).unwrap());
    let authority = Arc::clone(&others) as Arc<dyn Authority>;
    world.store.submit_authority(authority, reply);
    answer.recv().unwrap();
    (world, others)
}

const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until the log has so many records that the state lacks.
fn wait_for_open(world: &World, count: u64) {
    let begun = Instant::now();
    while world.store.kept().0 != world.store.committed().0 + count {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

fn is_waiting<T>(answer: &Receiver<T>) -> bool {
    matches!(answer.try_recv(), Err(TryRecvError::Empty))
}

fn let_follow(store: &Store, upto: Position) -> Result<Reached, ReplicationError> {
    let (reply, answer) = channel();
    let reply = Box::new(move |result| reply.send(result).unwrap());
    store.submit_kept(Vec::new(), upto, Arc::new(Nobody), reply);
    answer.recv().unwrap()
}

#[test]
fn groups_are_decided_over_those_under_way_and_seen_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let (world, others) = open(directory.path());
    let lsn = world.lsn();
    let before = world.store.committed();
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
    let seen = others.state.lock().unwrap().seen.clone();
    assert!(
        seen.is_sorted() && seen.last() == Some(&Position(before.0 + 4)),
        "{seen:?}"
    );

    world.store.close().unwrap();
    let report = check(directory.path()).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

#[test]
fn a_change_of_the_catalogue_waits_for_what_is_under_way_and_the_next_write_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let (world, others) = open(directory.path());
    let before = world.store.committed();
    let created = world.create(&item("a", r#","u":"a""#));
    wait_for_open(&world, 1);
    let changed = world.begin_catalogue(("k".into(), Some("{}".into())));
    let later = world.create(&item("b", r#","u":"b""#));
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(
        world.store.kept(),
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
fn what_is_lost_is_held_back_together() {
    let directory = tempfile::tempdir().unwrap();
    let (world, others) = open(directory.path());
    let before = world.store.committed();
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
    assert_eq!(others.state.lock().unwrap().held_back, 1);
    assert_eq!(world.store.committed(), before);
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
fn groups_under_way_at_the_end_are_in_the_log_and_not_in_the_state() {
    let directory = tempfile::tempdir().unwrap();
    let (world, _) = open(directory.path());
    let before = world.store.committed();
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
    let world = World::open_held(
        directory.path(),
        &disk,
        Durability::None,
        UNIQUE,
        Seen::Told,
    );
    assert_eq!(world.store.committed(), before);
    assert_eq!(world.store.kept(), Position(before.0 + 2));
    assert!(world.read("a").is_none() && world.read("first").is_some());
    world.store.submit_follow(true, Box::new(|()| ()));
    let_follow(&world.store, Position(u64::MAX)).unwrap();
    assert!(world.read("a").is_some() && world.read("first").is_none());
}

#[test]
fn a_store_that_begins_to_follow_ends_what_is_under_way() {
    let directory = tempfile::tempdir().unwrap();
    let (world, others) = open(directory.path());
    let settled = world.create(&item("a", r#","u":"a""#));
    wait_for_open(&world, 1);
    let open = world.create(&item("b", r#","u":"b""#));
    wait_for_open(&world, 2);
    others.state.lock().unwrap().kept = Position(world.store.kept().0 - 1);
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
    /// At the bound, where nothing comes; before it a busy machine has its time.
    const QUIET: Duration = Duration::from_millis(500);
    for (padding, expected) in [(1, 1024..=1024), (1_000_000, 60..=68)] {
        let directory = tempfile::tempdir().unwrap();
        let (world, others) = open(directory.path());
        let before = world.store.kept().0;
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
            while world.store.kept().0 <= before + count && begun.elapsed() < patience {
                std::thread::yield_now();
            }
            if world.store.kept().0 <= before + count {
                break count;
            }
        };
        assert!(expected.contains(&under_way), "{under_way}");
        assert!(waiting.iter().all(is_waiting));
        // With the others all of them go on, that one too.
        others.keep(Position(u64::MAX), &world.store);
        for answer in waiting {
            answer.recv().unwrap().unwrap();
        }
        assert_eq!(world.store.committed().0, before + under_way + 1);
    }
}
