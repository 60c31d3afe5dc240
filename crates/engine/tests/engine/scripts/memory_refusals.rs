//! Runs every operation that borrows memory, repeatedly under a slightly larger pool each time, so
//! that each loan is the first refused one in some round. A request that fails for lack of memory
//! reports that cause, has written nothing, and holds no memory afterwards.

use std::sync::Arc;

use orrery_engine::{
    ChangeFeedRequest, ChangeFeedStart, ChangeMode, Container, FeedRequest, FeedScope,
    ProcedureRequest, QueryText, RequestBudget, Script, ScriptKind,
};
use orrery_memory::{MemoryPool, MemoryShare};
use orrery_model::{ConsistencyLevel, Failure};

use super::KEY;
use crate::support::{World, create, eventually, pk};

const ITEMS: usize = 40;
const WRITTEN: usize = 20;
const POOL_BYTES_MIN: usize = 1 << 10;
const POOL_BYTES_MAX: usize = 256 << 20;

const QUERIES: [&str; 4] = [
    "SELECT * FROM c WHERE c.n >= 0",
    "SELECT VALUE c.text FROM c ORDER BY c.text DESC",
    "SELECT c.text, COUNT(1) AS n FROM c GROUP BY c.text",
    "SELECT VALUE ARRAY(SELECT VALUE CONCAT(c.text, udf.grow(a)) FROM a IN c.list) FROM c",
];

/// Writes twenty items and returns their texts; the transaction keeps all of its writes or none.
const PROCEDURE: &str = "function () {
    var link = __.getSelfLink(), made = [];
    for (var n = 0; n < 20; n++) {
        __.createDocument(link, { id: 'made' + n, p: 'a', text: 'y'.repeat(500) }, (error, item) => {
            if (error) throw error;
            made.push(item.text);
            if (made.length === 20) __.response.setBody(made);
        });
    }
}";

fn is_of_memory(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::TooLarge(_) | Failure::ClientLimitExceeded { .. } | Failure::Unavailable(_)
    )
}

fn budget(share: &MemoryShare) -> RequestBudget {
    RequestBudget {
        share: share.clone(),
        ..ConsistencyLevel::Session.into()
    }
}

/// All rows of a query, page by page to the end.
async fn rows(
    world: &World,
    container: &Arc<Container>,
    text: &str,
    share: &MemoryShare,
) -> Result<Vec<Vec<u8>>, Failure> {
    let query = QueryText {
        text: text.to_owned(),
        parameters: Vec::new(),
        resume: None,
    };
    let compiled = world.engine.compile(&query, container)?;
    let (mut rows, mut continuation) = (Vec::new(), None);
    loop {
        let request = FeedRequest {
            scope: FeedScope::Container,
            query: Some(Arc::clone(&compiled)),
            items_max: 1_000,
            continuation,
            continuation_bytes_max: None,
            budget: budget(share),
            wants_report: false,
            without_index: false,
            enable_scan: true,
        };
        let page = world.engine.feed(container, request).await.result?;
        rows.extend(page.items.iter().map(|item| item.to_vec()));
        continuation = page.continuation;
        if continuation.is_none() {
            return Ok(rows);
        }
    }
}

/// The number of changes in the container's feed, page by page to the end.
async fn changes(
    world: &World,
    container: &Arc<Container>,
    share: &MemoryShare,
) -> Result<usize, Failure> {
    let (mut count, mut start) = (0, ChangeFeedStart::Beginning);
    loop {
        let request = ChangeFeedRequest {
            scope: FeedScope::Container,
            mode: ChangeMode::LatestVersion,
            start,
            since_seconds: None,
            items_max: 1_000,
            budget: budget(share),
        };
        let page = world.engine.changes(container, request).await.result?;
        if page.changes.is_empty() {
            return Ok(count);
        }
        count += page.changes.len();
        start = ChangeFeedStart::After(page.position);
    }
}

async fn execute(
    world: &World,
    container: &Arc<Container>,
    script: &Script,
    share: &MemoryShare,
) -> Result<String, Failure> {
    let request = ProcedureRequest {
        key: pk(KEY),
        arguments: Vec::new(),
        budget: budget(share),
        wants_log: false,
    };
    let executed = world.engine.execute(container, script, request).await;
    executed.result.map(|executed| executed.body.unwrap())
}

/// Asserts that a result is either the expected one or a refusal for lack of memory; returns
/// whether it is the expected one.
#[track_caller]
fn check<T: PartialEq + std::fmt::Debug>(
    what: &str,
    bytes: usize,
    result: Result<T, Failure>,
    expected: &T,
) -> bool {
    match result {
        Ok(found) => {
            assert_eq!(found, *expected, "{what} with {bytes} bytes");
            true
        }
        Err(failure) => {
            assert!(
                is_of_memory(&failure),
                "{what} with {bytes} bytes: {failure:?}"
            );
            false
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_loan_of_a_run_is_refused_in_turn() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    for n in 0..ITEMS {
        let text = "x".repeat(200 + 10 * n);
        let item = format!(r#"{{"id":"{n}","p":"b","n":{n},"text":"{text}","list":[1,2,3]}}"#);
        world.ok(&container, r#"["b"]"#, create(&item)).await;
    }
    let grow = "function (n) { return 'z'.repeat(100 * n) }";
    world.register(ScriptKind::Function, "grow", grow).await;
    let procedure = world
        .register(ScriptKind::StoredProcedure, "write", PROCEDURE)
        .await;
    let unlimited = MemoryShare::unlimited();
    let mut expected = Vec::new();
    for text in QUERIES {
        expected.push(rows(&world, &container, text, &unlimited).await.unwrap());
    }
    let made = format!(
        "[{}]",
        vec![format!("\"{}\"", "y".repeat(500)); WRITTEN].join(",")
    );

    let (mut bytes, mut refused_rounds, mut is_whole) = (POOL_BYTES_MIN, 0, false);
    while bytes <= POOL_BYTES_MAX && !is_whole {
        let pool = MemoryPool::new(bytes);
        let share = pool.share();
        is_whole = true;
        for (text, expected) in QUERIES.iter().zip(&expected) {
            let found = rows(&world, &container, text, &share).await;
            is_whole &= check(text, bytes, found, expected);
        }
        let found = changes(&world, &container, &share).await;
        is_whole &= check("the change feed", bytes, found, &ITEMS);
        let found = execute(&world, &container, &procedure, &share).await;
        let is_written = check("the procedure", bytes, found, &made);
        is_whole &= is_written;
        // All of it or nothing.
        let count = "SELECT VALUE COUNT(1) FROM c WHERE c.p = 'a'";
        let written = rows(&world, &container, count, &unlimited).await.unwrap();
        let wanted = if is_written { WRITTEN } else { 0 };
        assert_eq!(written, [wanted.to_string().into_bytes()], "{bytes} bytes");
        // Engines of scripts end a moment after their answers.
        eventually("all loans are given back", || pool.used() == 0).await;
        let removed = world
            .engine
            .delete_partition_key(&container, pk(KEY), budget(&unlimited))
            .await;
        removed.result.unwrap();
        refused_rounds += u32::from(!is_whole);
        bytes += bytes / 4;
    }
    assert!(is_whole, "no round was carried out whole");
    assert!(refused_rounds > 20, "only {refused_rounds} rounds");
}
