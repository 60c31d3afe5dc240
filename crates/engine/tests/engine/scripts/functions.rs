//! User-defined functions in queries.

use std::sync::Arc;

use orrery_engine::{Container, FeedRequest, FeedScope, QueryText, RequestBudget, ScriptKind};
use orrery_memory::MemoryPool;
use orrery_model::{ConsistencyLevel, Failure};

use super::{KEY, address, script};
use crate::support::{World, create, eventually};

pub(super) async fn rows(
    world: &World,
    container: &Arc<Container>,
    text: &str,
) -> Result<String, Failure> {
    rows_within(world, container, text, ConsistencyLevel::Session.into()).await
}

async fn rows_within(
    world: &World,
    container: &Arc<Container>,
    text: &str,
    budget: RequestBudget,
) -> Result<String, Failure> {
    let query = QueryText {
        text: text.to_owned(),
        parameters: Vec::new(),
        resume: None,
    };
    let request = FeedRequest {
        scope: FeedScope::Container,
        query: Some(world.engine.compile(&query, container)?),
        items_max: 100,
        continuation: None,
        continuation_bytes_max: None,
        budget,
        wants_report: false,
        without_index: false,
        enable_scan: false,
    };
    let page = world.engine.feed(container, request).await.result?;
    let items = page
        .items
        .iter()
        .map(|item| String::from_utf8(item.to_vec()).unwrap());
    Ok(items.collect::<Vec<_>>().join(","))
}

#[tokio::test]
async fn functions_are_called_wherever_a_value_may_stand() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    for n in 1..=4 {
        let text = format!(r#"{{"id":"{n}","p":"a","n":{n}}}"#);
        world.ok(&container, KEY, create(&text)).await;
    }
    let kind = ScriptKind::Function;
    world
        .register(kind, "twice", "function (x) { return x * 2 }")
        .await;
    world
        .register(kind, "fail", "function (x) { throw new Error('no ' + x) }")
        .await;
    world.register(kind, "broken", "function (x) {").await;
    let cases = [
        ("SELECT VALUE udf.twice(c.n) FROM c", "2,4,6,8"),
        ("SELECT VALUE c.n FROM c WHERE udf.twice(c.n) > 4", "3,4"),
        ("SELECT VALUE SUM(udf.twice(c.n)) FROM c", "20"),
        (
            "SELECT VALUE udf.twice(c.none) FROM c WHERE c.n = 1",
            "null",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(
            rows(&world, &container, text).await.unwrap(),
            expected,
            "{text}"
        );
    }
    let refusals = [
        ("SELECT VALUE udf.fail(c.n) FROM c", "Error: no 1"),
        ("SELECT VALUE udf.none(c.n) FROM c", "none"),
        ("SELECT VALUE udf.broken(c.n) FROM c", "compiling"),
    ];
    for (text, expected) in refusals {
        let failure = rows(&world, &container, text).await.unwrap_err();
        assert!(failure.to_string().contains(expected), "{failure:?}");
    }
    // An unknown function fails a query only when a row calls it.
    let text = "SELECT VALUE udf.later(c.n) FROM c WHERE c.n > 9";
    assert_eq!(rows(&world, &container, text).await.unwrap(), "");
    let text = "SELECT VALUE udf.later(c.n) FROM c WHERE c.n > 3";
    assert!(rows(&world, &container, text).await.is_err());
    let later = "function (x) { return x + 1 }";
    world.register(kind, "later", later).await;
    assert_eq!(rows(&world, &container, text).await.unwrap(), "5");
    let query = QueryText {
        text: "SELECT TOP 2 VALUE udf.twice(c.n) FROM c ORDER BY c.n".to_owned(),
        parameters: Vec::new(),
        resume: None,
    };
    orrery_engine::query_plan(&query, &container.definition, None).unwrap();
    // A cached query uses the newly registered function.
    let new = script("twice", "function (x) { return -x }");
    world
        .engine
        .replace_script(address(), kind, "twice", new, None)
        .await
        .unwrap();
    let text = "SELECT VALUE udf.twice(c.n) FROM c";
    assert_eq!(rows(&world, &container, text).await.unwrap(), "-1,-2,-3,-4");

    let body = "function () {
        __.queryDocuments(__.getSelfLink(), 'SELECT VALUE udf.twice(c.n) FROM c', (error, rows) => {
            if (error) throw error;
            __.response.setBody(rows);
        });
    }";
    let body = world.run(&container, body).await.unwrap();
    assert_eq!(body.as_deref(), Some("[-1,-2,-3,-4]"));
}

#[tokio::test]
async fn a_function_has_no_more_memory_than_the_client_of_its_query() {
    const MEBIBYTE: usize = 1 << 20;
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    world
        .ok(&container, KEY, create(r#"{"id":"1","p":"a"}"#))
        .await;
    let body = "function () { var all = []; for (;;) all.push('x'.repeat(100000) + all.length) }";
    world.register(ScriptKind::Function, "greedy", body).await;
    let pool = MemoryPool::new(16 * MEBIBYTE);
    let budget = RequestBudget {
        share: pool.share(),
        ..ConsistencyLevel::Session.into()
    };
    let text = "SELECT VALUE udf.greedy() FROM c";
    let failure = rows_within(&world, &container, text, budget)
        .await
        .unwrap_err();
    assert!(
        matches!(
            failure,
            Failure::ClientLimitExceeded { .. } | Failure::TooLarge(_)
        ),
        "{failure:?}"
    );
    // The engine of the function is dropped shortly after its answer.
    eventually("all loans are given back", || pool.used() == 0).await;
}
