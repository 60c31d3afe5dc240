//! Script runs concurrent with each other and with other writers.

use std::sync::Arc;
use std::time::Duration;

use orrery_engine::{ProcedureRequest, ScriptKind};
use orrery_model::{ConsistencyLevel, Failure};

use super::KEY;
use crate::support::{World, create, eventually, pk, property, upsert};

const INCREMENT: &str = "function () {
    const link = __.getAltLink() + '/docs/counter';
    __.readDocument(link, (error, doc) => {
        if (error) throw error;
        doc.n += 1;
        __.replaceDocument(link, doc);
    });
}";

fn request(key: &str) -> ProcedureRequest {
    ProcedureRequest {
        key: pk(key),
        arguments: Vec::new(),
        budget: ConsistencyLevel::Session.into(),
        wants_log: false,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_increments_of_one_counter_lose_nothing() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    world
        .ok(&container, KEY, create(r#"{"id":"counter","p":"a","n":0}"#))
        .await;
    let script = world
        .register(ScriptKind::StoredProcedure, "s", INCREMENT)
        .await;
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let (engine, container) = (Arc::clone(&world.engine), Arc::clone(&container));
        let script = Arc::clone(&script);
        running.spawn(async move {
            engine
                .execute(&container, &script, request(KEY))
                .await
                .result
                .unwrap();
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
    let counter = world.read(&container, KEY, "counter").unwrap();
    assert_eq!(property(&counter, "n"), 1_000_i64.into());
    assert_eq!(container.partitions[0].counters().lsn.0, 1_002);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_a_writer_overtakes_is_run_again() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    world
        .ok(&container, KEY, create(r#"{"id":"counter","p":"a","n":0}"#))
        .await;
    world
        .ok(&container, KEY, create(r#"{"id":"plain","p":"a","n":0}"#))
        .await;
    // Long enough that a concurrent write happens often, but not always.
    let slow = INCREMENT.replace(
        "doc.n += 1;",
        "doc.n += 1; for (let i = 0; i < 20000; i++) Math.sqrt(i);",
    );
    let script = world
        .register(ScriptKind::StoredProcedure, "s", &slow)
        .await;
    let (engine, writing) = (Arc::clone(&world.engine), Arc::clone(&container));
    let writer = tokio::spawn(async move {
        for n in 1..=200 {
            let operation = upsert(&format!(r#"{{"id":"plain","p":"a","n":{n}}}"#));
            let level = ConsistencyLevel::Session;
            let answer = engine.write_item(&writing, pk(KEY), operation, level).await;
            answer.result.unwrap();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    let (mut done, mut again) = (0_i64, 0);
    while !writer.is_finished() {
        match world
            .engine
            .execute(&container, &script, request(KEY))
            .await
            .result
        {
            Ok(_) => done += 1,
            Err(Failure::RetryWith) => again += 1,
            Err(other) => panic!("{other}"),
        }
    }
    writer.await.unwrap();
    // On a busy machine every run so far may have been overtaken.
    let alone = world.engine.execute(&container, &script, request(KEY));
    let alone = alone.await.result;
    assert!(
        alone.is_ok(),
        "{alone:?} after {done} runs, {again} gave up"
    );
    done += 1;
    let counter = world.read(&container, KEY, "counter").unwrap();
    assert_eq!(property(&counter, "n"), done.into());
    let plain = world.read(&container, KEY, "plain").unwrap();
    assert_eq!(property(&plain, "n"), 200_i64.into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_away_during_a_run_leaves_nothing() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let source = "function () {
        __.createDocument(__.getSelfLink(), {id: '1', p: 'a'});
        for (let i = 0; i < 30000000; i++) Math.sqrt(i);
    }";
    let script = world
        .register(ScriptKind::StoredProcedure, "s", source)
        .await;
    let run = world.engine.execute(&container, &script, request(KEY));
    let left = tokio::time::timeout(Duration::from_millis(5), run).await;
    assert!(left.is_err());
    // The next run of the same logical partition does not wait for the cancelled one.
    let quick = world
        .register(ScriptKind::StoredProcedure, "q", "function () {}")
        .await;
    world
        .engine
        .execute(&container, &quick, request(KEY))
        .await
        .result
        .unwrap();
    eventually("nobody holds the engine", || {
        Arc::strong_count(&world.engine) == 1
    })
    .await;
    assert_eq!(container.partitions[0].counters().items, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_on_different_partitions_do_not_wait_for_each_other() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let source = "function (n) {
        __.createDocument(__.getSelfLink(), {id: '1', p: n});
        __.createDocument(__.getSelfLink(), {id: '2', p: n});
    }";
    let script = world
        .register(ScriptKind::StoredProcedure, "s", source)
        .await;
    let mut running = tokio::task::JoinSet::new();
    for number in 0..100_i64 {
        let (engine, container) = (Arc::clone(&world.engine), Arc::clone(&container));
        let script = Arc::clone(&script);
        let request = ProcedureRequest {
            arguments: vec![number.into()],
            ..request(&format!("[{number}]"))
        };
        running.spawn(async move {
            engine
                .execute(&container, &script, request)
                .await
                .result
                .unwrap();
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
    assert_eq!(container.partitions[0].counters().items, 200);
}
