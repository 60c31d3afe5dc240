//! Repeated queries with other values: one cached query, and correct rows for each set of values.

use std::sync::Arc;

use orrery_engine::{Container, FeedRequest, FeedScope, NewScript, QueryText, ScriptKind};
use orrery_json::Value;
use orrery_model::{ConsistencyLevel, Failure};

use crate::support::{World, address, create, json};

const KEY: &str = r#"["a"]"#;
const DEFINITION: &str = r#""id":"c","partitionKey":{"paths":["/p"]}"#;

/// The rows of a query whose parameters are the properties of an object. The query runs with and
/// without the index, and both results must be equal.
async fn rows(
    world: &World,
    container: &Arc<Container>,
    text: &str,
    parameters: &str,
) -> Result<String, Failure> {
    let Value::Object(parameters) = json(parameters) else {
        panic!("parameters are an object");
    };
    let query = QueryText {
        text: text.to_owned(),
        parameters: parameters.into_iter().collect(),
        resume: None,
    };
    let query = world.engine.compile(&query, container)?;
    let mut answers = Vec::new();
    for without_index in [false, true] {
        let request = FeedRequest {
            scope: FeedScope::Container,
            query: Some(Arc::clone(&query)),
            items_max: 100,
            continuation: None,
            continuation_bytes_max: None,
            budget: ConsistencyLevel::Session.into(),
            wants_report: false,
            without_index,
            enable_scan: false,
        };
        let page = world.engine.feed(container, request).await.result?;
        let rows = page.items.iter();
        let rows = rows.map(|row| String::from_utf8(row.to_vec()).unwrap());
        answers.push(rows.collect::<Vec<_>>().join(","));
    }
    assert_eq!(answers[0], answers[1], "{text}");
    Ok(answers.swap_remove(0))
}

async fn world_of_items() -> (World, Arc<Container>) {
    let world = World::in_memory().await;
    let container = world.create(&format!("{{{DEFINITION}}}"), 400).await;
    for item in [
        r#"{"id":"1","p":"a","n":1,"s":"one","t":["x","y"],"o":{"k":1}}"#,
        r#"{"id":"2","p":"a","n":2,"s":"two","t":["y"],"o":{"k":"2"}}"#,
        r#"{"id":"3","p":"a","n":3,"s":"three","t":[],"o":{"k":null}}"#,
        r#"{"id":"4","p":"a","n":"1","s":"four","t":[1,"x"]}"#,
        r#"{"id":"5","p":"a","n":null,"s":"five","t":[[1]]}"#,
        r#"{"id":"6","p":"a","n":true,"s":"six","t":"x"}"#,
        r#"{"id":"7","p":"a","n":[1],"s":"seven"}"#,
        r#"{"id":"8","p":"a","n":{"a":1},"s":"eight"}"#,
    ] {
        world.ok(&container, KEY, create(item)).await;
    }
    (world, container)
}

#[tokio::test]
async fn one_cached_query_serves_all_parameter_values() {
    let (world, container) = world_of_items().await;
    let shapes: [(&str, &[(&str, &str)]); 15] = [
        (
            "SELECT VALUE c.id FROM c WHERE c.n = @v",
            &[
                (r#"{"@v":1}"#, r#""1""#),
                (r#"{"@v":"1"}"#, r#""4""#),
                (r#"{"@v":null}"#, r#""5""#),
                (r#"{"@v":true}"#, r#""6""#),
                (r#"{"@v":[1]}"#, r#""7""#),
                (r#"{"@v":{"a":1}}"#, r#""8""#),
                (r#"{"@v":9}"#, ""),
                (r#"{"@v":2.0,"@unused":1}"#, r#""2""#),
            ],
        ),
        (
            "SELECT VALUE c.id FROM c WHERE c.n >= @low AND c.n < @high",
            &[
                (r#"{"@low":1,"@high":3}"#, r#""1","2""#),
                (r#"{"@high":9,"@low":2}"#, r#""2","3""#),
                (r#"{"@low":"0","@high":"2"}"#, r#""4""#),
                (r#"{"@low":3,"@high":1}"#, ""),
                (r#"{"@low":1,"@high":"2"}"#, ""),
            ],
        ),
        (
            "SELECT VALUE c.id FROM c WHERE c.n IN (@a, @b)",
            &[
                (r#"{"@a":1,"@b":3}"#, r#""1","3""#),
                (r#"{"@a":"1","@b":null}"#, r#""4","5""#),
                (r#"{"@a":[1],"@b":[1,2]}"#, r#""7""#),
            ],
        ),
        (
            "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(@list, c.n)",
            &[
                (r#"{"@list":[1,2]}"#, r#""1","2""#),
                (r#"{"@list":["1",true]}"#, r#""4","6""#),
                (r#"{"@list":[]}"#, ""),
                (r#"{"@list":[[1]]}"#, r#""7""#),
                (r#"{"@list":"1"}"#, ""),
            ],
        ),
        (
            "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.t, @v)",
            &[
                (r#"{"@v":"x"}"#, r#""1","4""#),
                (r#"{"@v":"y"}"#, r#""1","2""#),
                (r#"{"@v":[1]}"#, r#""5""#),
            ],
        ),
        (
            "SELECT VALUE c.id FROM c WHERE c.n BETWEEN @a AND @b",
            &[
                (r#"{"@a":2,"@b":3}"#, r#""2","3""#),
                (r#"{"@a":"0","@b":"9"}"#, r#""4""#),
            ],
        ),
        (
            "SELECT VALUE c.id FROM c WHERE STARTSWITH(c.s, @v)",
            &[
                (r#"{"@v":"t"}"#, r#""2","3""#),
                (r#"{"@v":"f"}"#, r#""4","5""#),
                (r#"{"@v":1}"#, ""),
            ],
        ),
        (
            "SELECT VALUE c.id FROM c WHERE c.s LIKE @v",
            &[
                (r#"{"@v":"t%"}"#, r#""2","3""#),
                (r#"{"@v":"%ve%"}"#, r#""5","7""#),
                (r#"{"@v":"one"}"#, r#""1""#),
                (r#"{"@v":1}"#, ""),
            ],
        ),
        (
            "SELECT VALUE c[@v] FROM c WHERE c.n = 1",
            &[
                (r#"{"@v":"id"}"#, r#""1""#),
                (r#"{"@v":"s"}"#, r#""one""#),
                (r#"{"@v":"none"}"#, ""),
            ],
        ),
        (
            "SELECT VALUE {v: @v, w: @v.w} FROM c WHERE c.n = 1",
            &[
                (r#"{"@v":1}"#, r#"{"v":1}"#),
                (r#"{"@v":{"w":[2]}}"#, r#"{"v":{"w":[2]},"w":[2]}"#),
            ],
        ),
        (
            "SELECT TOP @n VALUE c.id FROM c",
            &[
                (r#"{"@n":2}"#, r#""1","2""#),
                (r#"{"@n":1}"#, r#""1""#),
                (r#"{"@n":0}"#, ""),
            ],
        ),
        (
            "SELECT VALUE c.id FROM c ORDER BY c.s OFFSET @skip LIMIT @take",
            &[
                (r#"{"@skip":0,"@take":2}"#, r#""8","5""#),
                (r#"{"@skip":6,"@take":9}"#, r#""3","2""#),
            ],
        ),
        (
            "SELECT VALUE COUNT(1) FROM c WHERE c.n > @v",
            &[(r#"{"@v":1}"#, "2"), (r#"{"@v":"0"}"#, "1")],
        ),
        (
            "SELECT VALUE c.id FROM c JOIN t IN c.t WHERE t = @v",
            &[(r#"{"@v":"y"}"#, r#""1","2""#), (r#"{"@v":1}"#, r#""4""#)],
        ),
        (
            "SELECT VALUE c.id FROM c WHERE @flag OR c.o.k = @v",
            &[
                (r#"{"@flag":false,"@v":"2"}"#, r#""2""#),
                (r#"{"@flag":false,"@v":null}"#, r#""3""#),
                (
                    r#"{"@flag":true,"@v":0}"#,
                    r#""1","2","3","4","5","6","7","8""#,
                ),
            ],
        ),
    ];
    let (mut asked, known) = (0, shapes.len() as u64);
    for (text, cases) in shapes {
        for (parameters, expected) in cases {
            asked += 1;
            let answer = rows(&world, &container, text, parameters).await;
            assert_eq!(answer.unwrap(), *expected, "{text} with {parameters}");
        }
    }
    let counts = world.engine.query_cache();
    assert_eq!((counts.hits, counts.misses), (asked - known, known));
    assert_eq!(counts.cached, known);
}

#[tokio::test]
async fn invalid_parameters_of_a_cached_query_are_refused() {
    let (world, container) = world_of_items().await;
    for (text, good, bad, expected) in [
        (
            "SELECT TOP @n VALUE c.id FROM c",
            r#"{"@n":1}"#,
            r#"{"@n":"1"}"#,
            "TOP",
        ),
        (
            "SELECT VALUE c.id FROM c OFFSET @n LIMIT 1",
            r#"{"@n":0}"#,
            r#"{"@n":-1}"#,
            "OFFSET",
        ),
    ] {
        let refused = rows(&world, &container, text, bad).await.unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused:?}");
        let found = rows(&world, &container, text, good).await.unwrap();
        assert_eq!(found, r#""1""#, "{text}");
        let again = rows(&world, &container, text, bad).await.unwrap_err();
        assert_eq!(again, refused);
    }
}

#[tokio::test]
async fn a_value_that_is_not_sent_is_undefined() {
    let (world, container) = world_of_items().await;
    for (text, expected) in [
        ("SELECT VALUE c.id FROM c WHERE c.id = @v", ""),
        ("SELECT VALUE c.id FROM c WHERE c.id LIKE @v", ""),
        ("SELECT VALUE IS_DEFINED(@v)", "false"),
    ] {
        for _ in 0..2 {
            let found = rows(&world, &container, text, "{}").await.unwrap();
            assert_eq!(found, expected, "{text}");
        }
    }
}

#[tokio::test]
async fn the_pinned_key_is_that_of_the_values() {
    let (world, container) = world_of_items().await;
    let pinned = |key: &str| {
        let query = QueryText {
            text: "SELECT * FROM c WHERE c.p = @p".to_owned(),
            parameters: vec![("@p".to_owned(), json(key))],
            resume: None,
        };
        let query = world.engine.compile(&query, &container).unwrap();
        query.pinned_key().cloned()
    };
    for key in [r#""a""#, r#""b""#, "1"] {
        assert_eq!(pinned(key), Some(crate::support::pk(&format!("[{key}]"))));
    }
    assert_eq!(world.engine.query_cache().hits, 2);
}

#[tokio::test]
async fn another_policy_is_another_cached_query() {
    let (world, container) = world_of_items().await;
    let text = "SELECT VALUE c.id FROM c WHERE c.s > @v ORDER BY c.s";
    let expected = r#""6","3","2""#;
    let parameters = r#"{"@v":"seven"}"#;
    let found = rows(&world, &container, text, parameters).await.unwrap();
    assert_eq!(found, expected);

    let unindexed = r#""indexingPolicy":{"includedPaths":[],"excludedPaths":[{"path":"/*"}]}"#;
    let container = world
        .redefine("c", &format!("{{{DEFINITION},{unindexed}}}"))
        .await;
    let refused = rows(&world, &container, text, parameters).await;
    assert!(
        matches!(refused, Err(Failure::BadRequest(_))),
        "{refused:?}"
    );

    let container = world.redefine("c", &format!("{{{DEFINITION}}}")).await;
    let found = rows(&world, &container, text, parameters).await.unwrap();
    assert_eq!(found, expected);
    assert_eq!(world.engine.query_cache().hits, 0);
}

#[tokio::test]
async fn a_replaced_function_is_called_as_it_is_now() {
    let (world, container) = world_of_items().await;
    let script = |body: &str| NewScript {
        id: "f".to_owned(),
        body: body.to_owned(),
        trigger: None,
    };
    let (engine, kind) = (&world.engine, ScriptKind::Function);
    let text = "SELECT VALUE udf.f(c.n, @v) FROM c WHERE c.n = 2";
    let ask = |value: &'static str| rows(&world, &container, text, value);
    assert!(ask(r#"{"@v":5}"#).await.is_err());

    let new = script("function (a, b) { return a + b }");
    engine.create_script(address("c"), kind, new).await.unwrap();
    assert_eq!(ask(r#"{"@v":5}"#).await.unwrap(), "7");
    assert_eq!(ask(r#"{"@v":"5"}"#).await.unwrap(), r#""25""#);
    let new = script("function (a, b) { return a * b }");
    let replaced = engine.replace_script(address("c"), kind, "f", new, None);
    replaced.await.unwrap();
    assert_eq!(ask(r#"{"@v":5}"#).await.unwrap(), "10");
    assert_eq!(engine.query_cache().hits, 2);
    let deleted = engine.delete_script(address("c"), kind, "f", None);
    deleted.await.unwrap();
    assert!(ask(r#"{"@v":5}"#).await.is_err());
}

#[tokio::test]
async fn the_query_cache_is_bounded() {
    let (world, container) = world_of_items().await;
    let padding = " ".repeat(2_000);
    for number in 0..400 {
        let query = QueryText {
            text: format!("SELECT {padding} {number} AS x FROM c"),
            parameters: Vec::new(),
            resume: None,
        };
        world.engine.compile(&query, &container).unwrap();
    }
    let counts = world.engine.query_cache();
    assert_eq!((counts.hits, counts.misses), (0, 400));
    assert!(counts.cached < 400, "{counts:?}");
    assert!(counts.bytes <= 16 << 20, "{counts:?}");
}

#[tokio::test]
async fn planner_facts_follow_every_write() {
    let world = World::in_memory().await;
    let container = world.create(&format!("{{{DEFINITION}}}"), 400).await;
    let counts = [
        "SELECT VALUE COUNT(1) FROM c",
        "SELECT VALUE COUNT(1) FROM c WHERE c.n >= @v",
        "SELECT VALUE SUM(c.n / c.n) FROM c",
        "SELECT VALUE COUNT(c.n) FROM c",
    ];
    for number in 1..40 {
        let item = format!(r#"{{"id":"{number}","p":"a","n":{number}}}"#);
        world.ok(&container, KEY, create(&item)).await;
        for text in counts {
            let counted = rows(&world, &container, text, r#"{"@v":1}"#).await.unwrap();
            assert_eq!(counted, number.to_string(), "{text}");
        }
    }
    // An item without the path has no entry, so entries no longer represent all documents.
    let item = r#"{"id":"0","p":"a"}"#;
    world.ok(&container, KEY, create(item)).await;
    for (text, expected) in counts.into_iter().zip(["40", "39", "39", "39"]) {
        let counted = rows(&world, &container, text, r#"{"@v":1}"#).await.unwrap();
        assert_eq!(counted, expected, "{text}");
    }
}
