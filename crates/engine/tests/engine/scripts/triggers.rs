//! Writes with triggers: the triggers and the write form one transaction.

use orrery_engine::TriggerNames;
use orrery_model::{
    ChargedResult, ConflictKind, ConsistencyLevel, Failure, Operation, OperationOutcome,
};

use super::KEY;
use crate::support::{World, create, delete, pk, property, replace, upsert};

fn triggers(pre: &[&str], post: &[&str]) -> TriggerNames {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    TriggerNames {
        pre: owned(pre),
        post: owned(post),
        wants_log: false,
    }
}

async fn write(
    world: &World,
    operation: Operation,
    triggers: &TriggerNames,
) -> ChargedResult<OperationOutcome> {
    let container = world.find("c");
    let level = ConsistencyLevel::Session;
    let engine = &world.engine;
    engine
        .write_item_with_triggers(&container, pk(KEY), operation, triggers, level)
        .await
        .map(|written| written.outcome)
}

const STAMP: &str = "function () {
    const request = getContext().getRequest(), body = request.getBody();
    body.by = request.getOperationType();
    request.setBody(body);
}";

const COUNT: &str = "function () {
    const link = __.getAltLink() + '/docs/count';
    __.readDocument(link, (error, doc) => {
        doc = doc || {id: 'count', p: 'a', n: 0};
        doc.n += 1;
        __.upsertDocument(__.getSelfLink(), doc);
    });
}";

#[tokio::test]
async fn triggers_run_in_one_transaction_with_the_write() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    world.register_trigger("stamp", "pre", "all", STAMP).await;
    world.register_trigger("count", "Post", "All", COUNT).await;
    let both = triggers(&["stamp"], &["count"]);
    let created = write(&world, create(r#"{"id":"1","p":"a"}"#), &both).await;
    assert_eq!(created.partition_lsn.unwrap().lsn.0, 2);
    assert_eq!(property(&created.result.unwrap(), "by"), "Create".into());
    let replaced = write(&world, replace("1", r#"{"id":"1","p":"a"}"#), &both).await;
    assert_eq!(property(&replaced.result.unwrap(), "by"), "Replace".into());
    let upserted = write(&world, upsert(r#"{"id":"1","p":"a"}"#), &both).await;
    assert_eq!(property(&upserted.result.unwrap(), "by"), "Upsert".into());
    write(&world, delete("1"), &triggers(&[], &["count"]))
        .await
        .result
        .unwrap();
    let count = world.read(&container, KEY, "count").unwrap();
    assert_eq!(property(&count, "n"), 4_i64.into());

    // Triggers run in the order of the request.
    world
        .register_trigger(
            "more",
            "Pre",
            "Create",
            "function () {
        const request = getContext().getRequest(), body = request.getBody();
        body.by += '!';
        request.setBody(body);
    }",
        )
        .await;
    let ordered = triggers(&["stamp", "more"], &[]);
    let created = write(&world, create(r#"{"id":"2","p":"a"}"#), &ordered).await;
    assert_eq!(property(&created.result.unwrap(), "by"), "Create!".into());
}

#[tokio::test]
async fn what_a_trigger_throws_undoes_all() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    world
        .ok(&container, KEY, create(r#"{"id":"old","p":"a"}"#))
        .await;
    world
        .register_trigger("count-first", "Pre", "All", COUNT)
        .await;
    world
        .register_trigger(
            "throw-before",
            "Pre",
            "All",
            "function () { throw new Error('no') }",
        )
        .await;
    world
        .register_trigger(
            "throw-after",
            "Post",
            "All",
            "function () { throw new Error('no') }",
        )
        .await;
    world
        .register_trigger(
            "elsewhere",
            "Pre",
            "All",
            "function () {
        const request = getContext().getRequest(), body = request.getBody();
        body.p = 'b';
        request.setBody(body);
    }",
        )
        .await;
    let before = container.partitions[0].counters();
    let new = || create(r#"{"id":"1","p":"a"}"#);
    for named in [
        triggers(&["count-first", "throw-before"], &[]),
        triggers(&["count-first"], &["throw-after"]),
    ] {
        let failure = write(&world, new(), &named).await.result.unwrap_err();
        assert!(matches!(failure, Failure::Script { .. }), "{failure:?}");
    }
    let moved = write(&world, new(), &triggers(&["elsewhere"], &[])).await;
    assert_eq!(moved.result.unwrap_err(), Failure::PartitionKeyMismatch);
    let taken = create(r#"{"id":"old","p":"a"}"#);
    let refused = write(&world, taken, &triggers(&["count-first"], &[])).await;
    assert_eq!(
        refused.result.unwrap_err(),
        Failure::Conflict(ConflictKind::Id)
    );
    assert_eq!(container.partitions[0].counters(), before);
}

#[tokio::test]
async fn only_triggers_that_fit_the_operation_may_be_named() {
    let world = World::in_memory().await;
    world.container("c", "").await;
    world.register_trigger("c", "Pre", "Create", STAMP).await;
    world.register_trigger("u", "Pre", "Update", STAMP).await;
    let new = || create(r#"{"id":"1","p":"a"}"#);
    let cases = [
        (triggers(&["none"], &[]), new(), "does not exist"),
        (
            triggers(&[], &["c"]),
            new(),
            "cannot be used as a post-trigger",
        ),
        (
            triggers(&["u"], &[]),
            new(),
            "registered for the operation 'Update'",
        ),
        (
            triggers(&["c"], &[]),
            delete("1"),
            "for the operation 'Delete'",
        ),
    ];
    for (named, operation, expected) in cases {
        match write(&world, operation, &named).await.result {
            Err(Failure::BadRequest(text)) => assert!(text.contains(expected), "{text}"),
            other => panic!("{named:?}: {other:?}"),
        }
    }
    write(&world, new(), &triggers(&["c"], &[]))
        .await
        .result
        .unwrap();
    let update = upsert(r#"{"id":"1","p":"a"}"#);
    write(&world, update, &triggers(&["u"], &[]))
        .await
        .result
        .unwrap();
}

#[tokio::test]
async fn logs_of_triggers_are_returned_when_requested() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    for (id, timing) in [("before", "Pre"), ("after", "Post")] {
        let body = format!("() => console.log('{id} ')");
        world.register_trigger(id, timing, "All", &body).await;
    }
    for wants_log in [true, false] {
        let named = TriggerNames {
            wants_log,
            ..triggers(&["before"], &["after"])
        };
        let operation = upsert(r#"{"id":"1","p":"a"}"#);
        let level = ConsistencyLevel::Session;
        let engine = &world.engine;
        let written = engine
            .write_item_with_triggers(&container, pk(KEY), operation, &named, level)
            .await;
        let expected = wants_log.then(|| "before after ".to_owned());
        assert_eq!(written.result.unwrap().log, expected);
    }
}

#[tokio::test]
async fn a_post_trigger_is_told_what_the_container_holds() {
    let world = World::in_memory().await;
    world.container("c", "").await;
    let body = "() => __.response.setBody([__.response.getMaxResourceQuota(),
        __.response.getResourceQuotaCurrentUsage()])";
    world.register_trigger("t", "Post", "All", body).await;
    let operation = create(r#"{"id":"1","p":"a"}"#);
    let written = write(&world, operation, &triggers(&[], &["t"])).await;
    let body = written.result.unwrap().body.unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(body.contains("collectionSize=10485760;"), "{body}");
    assert!(body.contains("documentsCount=0;"), "{body}");
}

#[tokio::test]
async fn a_trigger_that_breaks_its_limits_again_and_again_is_blocked() {
    let world = World::in_memory().await;
    world.container("c", "").await;
    let deep = "() => { (function f() { f(); })(); }";
    world.register_trigger("t", "Pre", "All", deep).await;
    let named = triggers(&["t"], &[]);
    let mut refused = 0;
    loop {
        let operation = create(r#"{"id":"1","p":"a"}"#);
        match write(&world, operation, &named).await.result {
            Err(Failure::Script { .. }) => refused += 1,
            Err(Failure::Forbidden(text)) => {
                assert!(text.contains("'t' is blocked"), "{text}");
                break;
            }
            other => panic!("{other:?}"),
        }
        assert!(refused <= 10);
    }
    assert_eq!(refused, 10);
}
