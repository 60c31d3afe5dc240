//! A follower account gives the same answers as its leader, whatever failures occur on either side.

mod answers;
mod pair;
mod random_workload;

use std::path::Path;

use orrery_engine::{
    Durability, Engine, Position, ReplicationError, ReplicationRole, SplitMethod, SubscriptionRead,
    check_directory,
};
use orrery_model::{DatabaseAddress, Failure};

use crate::random::Random;
use crate::replication::pair::Pair;
use crate::replication::random_workload::{RandomWorkload, run_script};
use crate::support::{Seed, World, address, create, delete, eventually, text_property, upsert};

/// Directories of a leader and a follower; `None` keeps an account in memory.
type DataDirectories<'a> = [Option<&'a Path>; 2];

async fn run(seed: u64, places: DataDirectories<'_>, steps: usize) {
    let _named = Seed(seed);
    let mut random = Random::new(seed);
    let leader = World::open(places[0], Durability::None).await.unwrap();
    let mut turmoil = RandomWorkload::default();
    let mut pair = Pair::new(leader, places[1]);
    for phase in 0..4 {
        for _ in 0..steps / 4 {
            turmoil.step(&pair.leader, &mut random).await;
            if random.chance(30) {
                pair.pull(&mut random).await;
            }
            if random.chance(2) {
                pair = pair.restart(places, &mut random).await;
            }
        }
        pair.settle(&mut random).await;
        pair.compare(&turmoil).await;
        // In every second phase the two change roles.
        if phase % 2 == 0 {
            pair = pair.swap().await;
            turmoil.step(&pair.leader, &mut random).await;
        }
    }
    pair.settle(&mut random).await;
    pair.compare(&turmoil).await;
    pair.close().await;
    for directory in places.into_iter().flatten() {
        let report = check_directory(directory).unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
    }
}

#[tokio::test]
async fn in_memory() {
    for seed in 0..12 {
        run(seed, [None, None], 240).await;
    }
}

#[tokio::test]
async fn on_disk() {
    for seed in 100..105 {
        let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let places = [Some(directories[0].path()), Some(directories[1].path())];
        run(seed, places, 240).await;
    }
}

#[tokio::test]
async fn stores_on_disk_and_in_memory_follow_each_other() {
    for seed in 200..203 {
        let directory = tempfile::tempdir().unwrap();
        run(seed, [Some(directory.path()), None], 160).await;
        let directory = tempfile::tempdir().unwrap();
        run(seed, [None, Some(directory.path())], 160).await;
    }
}

#[tokio::test]
async fn a_follower_refuses_writes_until_it_is_promoted() {
    let leader = World::in_memory().await;
    let container = leader.container("c", "").await;
    let item = r#"{"id":"1","p":"a"}"#;
    leader.ok(&container, r#"["a"]"#, create(item)).await;
    let follower = leader.copy(None, 100);
    let engine = &follower.engine;
    assert_eq!(engine.role(), ReplicationRole::Follower);
    let container = follower.find("c");
    let before = engine.applied();
    for operation in [create(item), upsert(item), delete("1")] {
        let refused = follower.refused(&container, r#"["a"]"#, operation).await;
        assert_eq!(refused, Failure::WriteForbidden);
    }
    let key = crate::support::pk(r#"["a"]"#);
    let level = orrery_model::ConsistencyLevel::Session;
    let removed = engine.delete_partition_key(&container, key, level).await;
    assert_eq!(removed.result, Err(Failure::WriteForbidden));
    let database = engine.create_database("e", None).await;
    assert_eq!(database.unwrap_err(), Failure::WriteForbidden);
    let user = engine.create_user(DatabaseAddress::Name("d"), "u").await;
    assert_eq!(user.unwrap_err(), Failure::WriteForbidden);
    let range = container.partitions[0].id;
    let cut = SplitMethod::MiddleOfRange;
    let split = engine.split_partition(address("c"), range, cut);
    assert_eq!(split.await.unwrap_err(), Failure::WriteForbidden);
    assert_eq!(engine.applied(), before);
    assert!(follower.read(&container, r#"["a"]"#, "1").is_ok());

    engine.promote().await.unwrap();
    assert_eq!(engine.role(), ReplicationRole::Writer);
    let lsn = container.partitions[0].counters().lsn;
    let written = follower.ok(&container, r#"["a"]"#, upsert(item)).await;
    assert_eq!(written.item_lsn.0, lsn.0 + 1);
    assert_eq!(
        engine.append_and_apply(Vec::new()).await,
        Err(ReplicationError::NotFollowing)
    );
    engine.demote().await.unwrap();
    let refused = follower.refused(&container, r#"["a"]"#, upsert(item)).await;
    assert_eq!(refused, Failure::WriteForbidden);
}

/// A request may hold a container value from before a split that arrived as a record.
#[tokio::test]
async fn writes_after_a_promotion_reach_the_child_partitions() {
    let leader = World::in_memory().await;
    let container = leader.container("c", "").await;
    let item = r#"{"id":"1","p":"a"}"#;
    leader.ok(&container, r#"["a"]"#, create(item)).await;
    let mut subscription = leader.engine.subscribe(leader.engine.applied(), 1 << 20);
    let follower = leader.copy(None, 1 << 20);
    let held = follower.find("c");
    let (range, cut) = (container.partitions[0].id, SplitMethod::MiddleOfRange);
    let split = leader.engine.split_partition(address("c"), range, cut);
    split.await.unwrap();
    let piece = subscription.records_after(follower.engine.applied(), usize::MAX);
    let SubscriptionRead::Records(records) = piece.unwrap() else {
        panic!("the leader keeps what is not acknowledged");
    };
    follower.engine.append_and_apply(records).await.unwrap();
    follower.engine.promote().await.unwrap();
    assert!(held.partitions[0].is_superseded());
    let written = follower.ok(&held, r#"["a"]"#, upsert(item)).await;
    let children = follower.find("c");
    assert_eq!(children.partitions.len(), 2);
    let lsns = children.partitions.iter().map(|one| one.counters().lsn);
    assert_eq!(lsns.max(), Some(written.item_lsn));
}

/// Items of scripts have resource ids from a separate counter, which scripts use before they
/// commit.
#[tokio::test]
async fn scripts_go_on_with_new_numbers_after_a_promotion() {
    let leader = World::in_memory().await;
    leader.container("c", "").await;
    let mut subscription = leader.engine.subscribe(leader.engine.applied(), 1 << 20);
    let follower = leader.copy(None, 1 << 20);
    run_script(&leader, "c", 1).await;
    let piece = subscription.records_after(follower.engine.applied(), usize::MAX);
    let SubscriptionRead::Records(records) = piece.unwrap() else {
        panic!("the leader keeps what is not acknowledged");
    };
    follower.engine.append_and_apply(records).await.unwrap();
    follower.engine.promote().await.unwrap();
    run_script(&follower, "c", 2).await;
    let container = follower.find("c");
    let rid = |id| {
        let read = follower.read(&container, r#"["a"]"#, id);
        text_property(&read.unwrap(), "_rid")
    };
    assert_ne!(rid("s1"), rid("s2"));
}

/// Each store purges deleted containers by itself. A follower that receives only the record of the
/// purge's end performs the whole purge.
#[tokio::test]
async fn a_container_that_came_and_went_leaves_nothing() {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let leader = World::open(Some(directories[0].path()), Durability::None);
    let leader = leader.await.unwrap();
    let container = leader.container("c", "").await;
    for number in 0..20 {
        let item = format!(r#"{{"id":"{number}","p":"a"}}"#);
        leader.ok(&container, r#"["a"]"#, create(&item)).await;
    }
    let before = leader.engine.applied();
    leader.delete_container("c").await;
    // Two records: the deletion, and the end of the purge.
    let is_removed = || leader.engine.applied().0 == before.0 + 2;
    eventually("the container is removed", is_removed).await;
    let follower = leader.follower(Some(directories[1].path()));
    let mut subscription = leader.engine.subscribe(Position::ZERO, 1 << 20);
    let piece = subscription.records_after(Position::ZERO, usize::MAX);
    let SubscriptionRead::Records(records) = piece.unwrap() else {
        panic!("nothing was trimmed");
    };
    follower.engine.append_and_apply(records).await.unwrap();
    follower.close().await;
    let report = check_directory(directories[1].path()).unwrap();
    assert_eq!(report.documents, 0);
    assert_eq!(report.problems, Vec::<String>::new());
}

/// Expired items are invisible in every replica at once; only the writer removes them.
#[tokio::test]
async fn a_follower_does_not_expire_items() {
    let leader = World::in_memory().await;
    let container = leader.container("c", r#","defaultTtl":5"#).await;
    let item = r#"{"id":"1","p":"a"}"#;
    leader.ok(&container, r#"["a"]"#, create(item)).await;
    let follower = leader.copy(None, 1 << 20);
    leader.advance(10);
    let copy = follower.find("c");
    assert!(follower.read(&copy, r#"["a"]"#, "1").is_err());
    follower.engine.remove_expired().await.unwrap();
    assert_eq!(copy.partitions[0].counters().items, 1);
    follower.engine.promote().await.unwrap();
    follower.engine.remove_expired().await.unwrap();
    assert_eq!(copy.partitions[0].counters().items, 0);
}

#[tokio::test]
async fn records_are_taken_once_and_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let leader = World::at(directory.path()).await;
    let container = leader.container("c", "").await;
    for number in 0..9 {
        let item = format!(r#"{{"id":"{number}","p":"a"}}"#);
        leader.ok(&container, r#"["a"]"#, create(&item)).await;
    }
    let follower = leader.follower(None);
    let mut subscription = leader.engine.subscribe(Position::ZERO, 1 << 20);
    let SubscriptionRead::Records(records) = subscription
        .records_after(Position::ZERO, usize::MAX)
        .unwrap()
    else {
        panic!("nothing was trimmed");
    };
    let last = leader.engine.applied();
    assert_eq!(records.len() as u64, last.0);
    let gap = follower
        .engine
        .append_and_apply(records[1..].to_vec())
        .await;
    let (first, none) = (Position(2), Position::ZERO);
    assert_eq!(gap, Err(ReplicationError::Gap { last: none, first }));
    let taken = follower
        .engine
        .append_and_apply(records[..5].to_vec())
        .await;
    assert_eq!(taken, Ok(Position(5)));
    assert_eq!(
        follower.engine.append_and_apply(records.clone()).await,
        Ok(last)
    );
    assert_eq!(
        follower.engine.append_and_apply(records.clone()).await,
        Ok(last)
    );
    // Records in front of a gap are valid.
    let other = leader.follower(None);
    let holed = [&records[..3], &records[4..]].concat();
    let gap = other.engine.append_and_apply(holed).await;
    let (first, has) = (Position(5), Position(3));
    assert_eq!(gap, Err(ReplicationError::Gap { last: has, first }));
    assert_eq!(other.engine.applied(), has);
    // A record of a diverged suffix is refused without an effect.
    let mut wrong = records[3..].to_vec();
    wrong[2].1 = records.last().unwrap().1.clone();
    let refused = other.engine.append_and_apply(wrong).await;
    assert!(
        matches!(refused, Err(ReplicationError::Refused { .. })),
        "{refused:?}"
    );
    assert_eq!(other.engine.applied(), has);
    assert_eq!(other.engine.append_and_apply(records).await, Ok(last));
    let ahead = subscription.records_after(Position(last.0 + 1), 1);
    assert!(ahead.is_err());
}

#[tokio::test]
async fn a_waiting_subscriber_is_woken_by_the_next_record() {
    let leader = World::in_memory().await;
    let container = leader.container("c", "").await;
    let after = leader.engine.applied();
    let subscription = leader.engine.subscribe(after, 1 << 20);
    let (reply, answer) = tokio::sync::oneshot::channel();
    subscription.when_committed(after, Box::new(move |last| reply.send(last).unwrap()));
    let item = r#"{"id":"1","p":"a"}"#;
    leader.ok(&container, r#"["a"]"#, create(item)).await;
    assert_eq!(answer.await.unwrap(), Position(after.0 + 1));
}

#[tokio::test]
async fn an_incomplete_snapshot_install_is_not_opened() {
    let leader = World::in_memory().await;
    leader.container("c", "").await;
    let directory = tempfile::tempdir().unwrap();
    let options = || leader.options_at(Some(directory.path()));
    let mut stream = leader.engine.snapshot_stream().unwrap();
    let mut filling = Engine::install_snapshot(&options(), stream.position()).unwrap();
    filling.add(stream.next_chunk(1).unwrap().unwrap()).unwrap();
    drop(filling);
    let opened = Engine::open(options()).err().unwrap().to_string();
    assert!(opened.contains("not whole"), "{opened}");
    assert!(Engine::install_snapshot(&options(), stream.position()).is_err());
    let other = tempfile::tempdir().unwrap();
    let world = World::at(other.path()).await;
    world.close().await;
    let options = leader.options_at(Some(other.path()));
    let filled = Engine::install_snapshot(&options, stream.position()).err();
    assert!(filled.unwrap().to_string().contains("not empty"));
}
