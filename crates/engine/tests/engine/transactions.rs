//! The properties of a transaction: atomicity, one LSN, new entity tags, a charge.

use orrery_json::Value;
use orrery_model::{
    ConflictKind, Failure, JsonPointer, Operation, OperationStatus, PatchAction, PatchOperation,
    Precondition,
};

use crate::support::{
    World, create, delete, if_match, patch, read, replace, text_property, upsert,
};

const KEY: &str = r#"["a"]"#;
const CONFLICT: Failure = Failure::Conflict(ConflictKind::Id);

#[tokio::test]
async fn a_batch_that_fails_leaves_nothing_behind() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    world
        .ok(&container, KEY, create(r#"{"id":"old","p":"a"}"#))
        .await;
    let before = container.partitions[0].counters();
    let failing = [
        (create(r#"{"id":"old","p":"a"}"#), CONFLICT),
        (
            replace("none", r#"{"id":"none","p":"a"}"#),
            Failure::NOT_FOUND,
        ),
        (delete("none"), Failure::NOT_FOUND),
        (read("none"), Failure::NOT_FOUND),
        (
            if_match(delete("old"), "\"x\""),
            Failure::PreconditionFailed,
        ),
        (
            create(r#"{"id":"2","p":"b"}"#),
            Failure::PartitionKeyMismatch,
        ),
        (create(r#"{"id":"1","p":"a"}"#), CONFLICT),
    ];
    for (operation, expected) in failing {
        let operations = vec![
            create(r#"{"id":"1","p":"a"}"#),
            upsert(r#"{"id":"old","p":"a","n":1}"#),
            operation,
            read("old"),
        ];
        let answer = world.batch(&container, KEY, operations).await;
        assert_eq!(answer.partition_lsn.unwrap().lsn, before.lsn);
        let failures: Vec<_> = answer
            .result
            .unwrap()
            .into_iter()
            .map(|result| result.unwrap_err())
            .collect();
        let dependency = Failure::FailedDependency;
        assert_eq!(
            failures,
            [dependency.clone(), dependency.clone(), expected, dependency]
        );
        assert_eq!(container.partitions[0].counters(), before);
        assert_eq!(
            world.read(&container, KEY, "1").unwrap_err(),
            Failure::NOT_FOUND
        );
        assert!(!text(&world.read(&container, KEY, "old").unwrap()).contains("\"n\""));
    }
}

fn text(outcome: &orrery_model::OperationOutcome) -> String {
    String::from_utf8(outcome.body.as_ref().unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn a_batch_sees_its_own_writes_and_takes_one_lsn() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let operations = vec![
        create(r#"{"id":"1","p":"a","n":1}"#),
        read("1"),
        upsert(r#"{"id":"1","p":"a","n":2}"#),
        replace("1", r#"{"id":"2","p":"a","n":3}"#),
        read("2"),
        create(r#"{"id":"1","p":"a","n":4}"#),
        delete("2"),
    ];
    let answer = world.batch(&container, KEY, operations).await;
    assert_eq!(answer.partition_lsn.unwrap().lsn.0, 2);
    let results: Vec<_> = answer
        .result
        .unwrap()
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let statuses: Vec<_> = results.iter().map(|outcome| outcome.status).collect();
    assert_eq!(
        statuses,
        [
            OperationStatus::Created,
            OperationStatus::Ok,
            OperationStatus::Ok,
            OperationStatus::Ok,
            OperationStatus::Ok,
            OperationStatus::Created,
            OperationStatus::Deleted,
        ]
    );
    assert_eq!(results[0].body, results[1].body);
    assert_eq!(results[3].body, results[4].body);
    assert!(results.iter().all(|outcome| outcome.item_lsn.0 == 2));
    let writes = [0, 2, 3, 5];
    let mut etags: Vec<_> = writes
        .iter()
        .map(|&index| text_property(&results[index], "_etag"))
        .collect();
    etags.sort();
    etags.dedup();
    assert_eq!(etags.len(), writes.len());
    let rid = |index: usize| text_property(&results[index], "_rid");
    assert_eq!((rid(2), rid(3)), (rid(0), rid(0)));
    assert_ne!(rid(5), rid(0));
    let counters = container.partitions[0].counters();
    let stored = world.read(&container, KEY, "1").unwrap();
    assert_eq!(stored.body, results[5].body);
    assert_eq!(
        (counters.items, counters.bytes),
        (1, stored.body.unwrap().len() as u64)
    );
}

#[tokio::test]
async fn a_read_that_finds_nothing_newer_undoes_nothing() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let first = world
        .ok(&container, KEY, create(r#"{"id":"1","p":"a"}"#))
        .await;
    let etag = Precondition::Etag(first.etag.unwrap().as_str().to_owned());
    let unchanged = Operation {
        if_none_match: Some(etag),
        ..read("1")
    };
    let alone = world.ok(&container, KEY, unchanged.clone()).await;
    assert_eq!(
        (alone.status, alone.body),
        (OperationStatus::NotModified, None)
    );
    let operations = vec![create(r#"{"id":"2","p":"a"}"#), unchanged];
    let results = world
        .batch(&container, KEY, operations)
        .await
        .result
        .unwrap();
    let statuses = results.into_iter().map(|result| result.unwrap().status);
    let statuses: Vec<_> = statuses.collect();
    assert_eq!(
        statuses,
        [OperationStatus::Created, OperationStatus::NotModified]
    );
    assert!(world.read(&container, KEY, "2").is_ok());
}

#[tokio::test]
async fn lsns_grow_by_one_and_refusals_take_none() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let steps = [
        (create(r#"{"id":"1","p":"a"}"#), 2),
        (create(r#"{"id":"1","p":"a"}"#), 2),
        (upsert(r#"{"id":"1","p":"a"}"#), 3),
        (delete("2"), 3),
        (replace("1", r#"{"id":"3","p":"a"}"#), 4),
        (read("3"), 4),
        (delete("3"), 5),
    ];
    for (operation, lsn) in steps {
        let description = format!("{operation:?}");
        let answer = world.write(&container, KEY, operation).await;
        assert_eq!(answer.partition_lsn.unwrap().lsn.0, lsn, "{description}");
        assert_eq!(
            container.partitions[0].counters().lsn.0,
            lsn,
            "{description}"
        );
    }
}

#[tokio::test]
async fn etags_change_with_every_write_and_rids_with_every_item() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let item = r#"{"id":"1","p":"a"}"#;
    let first = world.ok(&container, KEY, create(item)).await;
    let second = world.ok(&container, KEY, replace("1", item)).await;
    let (old, new) = (
        text_property(&first, "_etag"),
        text_property(&second, "_etag"),
    );
    assert_ne!(old, new);
    assert_eq!(second.etag.as_ref().unwrap().as_str(), new);
    assert_eq!(
        text_property(&first, "_rid"),
        text_property(&second, "_rid")
    );

    let stale = [
        if_match(replace("1", item), &old),
        if_match(delete("1"), &old),
        if_match(upsert(item), &old),
    ];
    for operation in stale {
        assert_eq!(
            world.refused(&container, KEY, operation).await,
            Failure::PreconditionFailed
        );
    }
    let any = Operation {
        if_none_match: Some(Precondition::Any),
        ..upsert(item)
    };
    assert_eq!(
        world.refused(&container, KEY, any.clone()).await,
        Failure::PreconditionFailed
    );
    world.ok(&container, KEY, if_match(delete("1"), &new)).await;

    let third = world.ok(&container, KEY, any).await;
    assert_eq!(third.status, OperationStatus::Created);
    assert_ne!(text_property(&first, "_rid"), text_property(&third, "_rid"));
    let free = if_match(upsert(r#"{"id":"2","p":"a"}"#), "\"x\"");
    assert_eq!(
        world.ok(&container, KEY, free).await.status,
        OperationStatus::Created
    );
}

#[tokio::test]
async fn rids_are_not_given_twice_over_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::at(directory.path()).await;
    world.container("c", "").await;
    let mut rids = Vec::new();
    for round in 0..4 {
        let container = world.find("c");
        let outcome = world
            .ok(&container, KEY, create(r#"{"id":"1","p":"a"}"#))
            .await;
        rids.push(text_property(&outcome, "_rid"));
        world.ok(&container, KEY, delete("1")).await;
        world = if round % 2 == 0 {
            world.reopen().await
        } else {
            world.abandon().await
        };
    }
    rids.sort();
    rids.dedup();
    assert_eq!(rids.len(), 4);
    world.close().await;
}

/// The worked examples of the pricing pages: an item of 1 KB with ten indexed values.
#[tokio::test]
async fn published_charges() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let item = |a: u32, b: u32, fill: usize| {
        let fill = "x".repeat(fill);
        format!(
            r#"{{"id":"1","p":"a","a":{a},"b":{b},"c":1,"d":1,"e":1,"f":1,"g":1,"h":"{fill}"}}"#
        )
    };
    let small = world.ok(&container, KEY, create(&item(1, 1, 0))).await;
    let fill = 1024 - small.body.as_ref().unwrap().len();
    let units = |outcome: &orrery_model::OperationOutcome| outcome.charge.to_string();
    assert_eq!(units(&world.ok(&container, KEY, delete("1")).await), "7");

    let created = world.ok(&container, KEY, create(&item(1, 1, fill))).await;
    assert_eq!(created.body.as_ref().unwrap().len(), 1024);
    assert_eq!(units(&created), "7");
    assert_eq!(units(&world.read(&container, KEY, "1").unwrap()), "1");
    let replaced = world
        .ok(&container, KEY, replace("1", &item(2, 2, fill)))
        .await;
    assert_eq!(units(&replaced), "10.8");
    let set = |path: &str| PatchOperation {
        path: JsonPointer::parse(path).unwrap(),
        action: PatchAction::Set(Value::from(3_i64)),
    };
    let patched = world
        .ok(&container, KEY, patch("1", vec![set("/a"), set("/b")]))
        .await;
    assert_eq!(units(&patched), "11.6");
    let batch = vec![read("1"), delete("1")];
    assert_eq!(
        world.batch(&container, KEY, batch).await.charge.to_string(),
        "8"
    );
    let missing = world.engine.read_item(
        &container,
        &crate::support::pk(KEY),
        "1",
        None,
        orrery_model::ConsistencyLevel::Strong,
    );
    assert_eq!(missing.charge.to_string(), "2");
}
