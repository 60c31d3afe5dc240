//! Queries that demand more than their share of memory, time or processors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use orrery_engine::{
    Container, FeedPage, FeedRequest, FeedScope, Metering, QueryText, RequestBudget, ThroughputMode,
};
use orrery_memory::{MemoryPool, MemoryShare};
use orrery_model::{ChargedResult, ConsistencyLevel, Failure};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::index_equals_scan;
use crate::random::Random;
use crate::support::{TestOptions, World, create, eventually, pk, upsert};

const MEBIBYTE: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_mins(1);

/// This query makes eight million objects from an array of 200 numbers.
const OBJECTS: &str = "SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT a, b, d FROM a IN c.arr JOIN b IN c.arr \
                       JOIN d IN c.arr)) FROM c";
/// A query that evaluates as many combinations as `OBJECTS` and returns none of them.
const COMBINATIONS: &str =
    "SELECT VALUE COUNT(1) FROM c JOIN a IN c.arr JOIN b IN c.arr JOIN d IN c.arr";

async fn container_with_numbers(world: &World, count: usize) -> Arc<Container> {
    let definition = r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#;
    let container = world.create(definition, 400).await;
    let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    let text = format!(r#"{{"id":"1","pk":"a","arr":[{}]}}"#, numbers.join(","));
    world.ok(&container, r#"["a"]"#, create(&text)).await;
    container
}

async fn ask(
    world: &World,
    container: &Arc<Container>,
    text: &str,
    share: &MemoryShare,
    continuation: Option<String>,
    items_max: usize,
) -> ChargedResult<FeedPage> {
    let query = QueryText {
        text: text.to_owned(),
        parameters: Vec::new(),
        resume: None,
    };
    let compiled = match world.engine.compile(&query, container) {
        Ok(compiled) => compiled,
        Err(failure) => return ChargedResult::refused(failure),
    };
    let request = FeedRequest {
        scope: FeedScope::Container,
        query: Some(compiled),
        items_max,
        continuation,
        continuation_bytes_max: None,
        budget: RequestBudget {
            level: ConsistencyLevel::Session,
            metering: Metering::Unmetered,
            share: share.clone(),
            patience: RequestBudget::PATIENCE,
        },
        wants_report: false,
        without_index: false,
        enable_scan: true,
    };
    world.engine.feed(container, request).await
}

/// A client that waits less than others receives shorter pages, and the same rows in the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_ends_with_the_patience_of_its_client() {
    let world = World::in_memory().await;
    let definition = r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#;
    let container = world.create(definition, 400).await;
    for number in 0..200 {
        let text = format!(r#"{{"id":"{number}","pk":"a"}}"#);
        world.ok(&container, r#"["a"]"#, create(&text)).await;
    }
    let query = QueryText {
        text: "SELECT * FROM c".to_owned(),
        parameters: Vec::new(),
        resume: None,
    };
    let query = world.engine.compile(&query, &container).unwrap();
    for (patience, whole) in [(RequestBudget::PATIENCE, true), (Duration::ZERO, false)] {
        let (mut rows, mut pages, mut continuation) = (0, 0, None);
        loop {
            let request = FeedRequest {
                scope: FeedScope::Container,
                query: Some(Arc::clone(&query)),
                items_max: 1_000,
                continuation,
                continuation_bytes_max: None,
                budget: RequestBudget {
                    patience,
                    ..ConsistencyLevel::Session.into()
                },
                wants_report: false,
                without_index: false,
                enable_scan: true,
            };
            let page = world.engine.feed(&container, request).await.result.unwrap();
            rows += page.items.len();
            pages += 1;
            continuation = page.continuation;
            if continuation.is_none() {
                break;
            }
        }
        assert_eq!(rows, 200);
        assert_eq!(pages == 1, whole, "{pages}");
    }
}

fn is_of_memory(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::TooLarge(_) | Failure::ClientLimitExceeded { .. } | Failure::Unavailable(_)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn expensive_queries_hold_no_more_than_their_client_may() {
    let world = Arc::new(World::in_memory().await);
    let container = container_with_numbers(&world, 200).await;
    let pool = MemoryPool::new(64 * MEBIBYTE);
    let greedy = pool.share();
    let mut asked = JoinSet::new();
    for _ in 0..10 {
        let (world, container, share) =
            (Arc::clone(&world), Arc::clone(&container), greedy.clone());
        asked.spawn(async move { ask(&world, &container, OBJECTS, &share, None, 10).await });
    }
    for answer in asked.join_all().await {
        let failure = answer.result.unwrap_err();
        assert!(is_of_memory(&failure), "{failure:?}");
    }
    assert!(pool.peak() > 16 * MEBIBYTE);
    assert!(pool.peak() <= 32 * MEBIBYTE);
    assert_eq!(pool.used(), 0);
}

/// Compares the memory that the kernel reports for a process with the memory that the pool lends.
/// The queries run in a process of their own, because the kernel would count the memory of other
/// tests too.
#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_the_process_is_what_is_lent() {
    const CHILD: &str = "ORRERY_TEST_OF_MEMORY";
    let resident = |name: &str| -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        let kilobytes = line.split_whitespace().nth(1).unwrap();
        kilobytes.parse::<usize>().unwrap() * 1024
    };
    if std::env::var_os(CHILD).is_some() {
        let before = resident("VmRSS:");
        expensive_queries_hold_no_more_than_their_client_may();
        let growth = resident("VmHWM:").saturating_sub(before);
        assert!(growth < 128 * MEBIBYTE, "grown by {growth} bytes");
        return;
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "resource_limits::the_memory_of_the_process_is_what_is_lent",
        ])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("1 passed"), "{printed}");
}

#[tokio::test]
async fn work_is_charged_whether_it_succeeds_or_not() {
    let world = World::in_memory().await;
    let container = container_with_numbers(&world, 100).await;
    let share = MemoryShare::unlimited();
    let counted = ask(&world, &container, COMBINATIONS, &share, None, 10).await;
    assert_eq!(counted.result.unwrap().items[0], "1000000");
    assert!(counted.charge.units() > 200.0, "{}", counted.charge);

    let share = MemoryPool::new(64 * MEBIBYTE).share();
    let refused = ask(&world, &container, OBJECTS, &share, None, 10).await;
    assert!(is_of_memory(&refused.result.unwrap_err()));
    assert!(refused.charge.units() > 10.0, "{}", refused.charge);

    let failing = format!("{COMBINATIONS} WHERE a + b + d < 290 OR 1 = udf.missing(a)");
    let failed = ask(&world, &container, &failing, &share, None, 10).await;
    assert!(matches!(failed.result, Err(Failure::BadRequest(_))));
    assert!(failed.charge.units() > 100.0, "{}", failed.charge);

    let cheap = ask(&world, &container, "SELECT * FROM c", &share, None, 10).await;
    assert!(cheap.charge.units() < 3.0, "{}", cheap.charge);
}

/// More queries than the blocking threads can run.
const GREEDY_QUERIES: usize = 80;

#[test]
fn a_small_query_is_answered_while_many_expensive_ones_go_on() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(GREEDY_QUERIES - 16)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(ask_beside_greedy_queries());
}

async fn ask_beside_greedy_queries() {
    let world = Arc::new(World::in_memory().await);
    let container = container_with_numbers(&world, 200).await;
    let pool = MemoryPool::new(64 * MEBIBYTE);
    let greedy = pool.share();
    let ended = Arc::new(AtomicUsize::new(0));
    let mut asked = Vec::new();
    for _ in 0..GREEDY_QUERIES {
        let (world, container) = (Arc::clone(&world), Arc::clone(&container));
        let (greedy, ended) = (greedy.clone(), Arc::clone(&ended));
        asked.push(tokio::spawn(async move {
            let answer = ask(&world, &container, COMBINATIONS, &greedy, None, 10).await;
            // A refused query has done no work, so it does not count as finished.
            if !answer.result.is_err_and(|failure| is_of_memory(&failure)) {
                ended.fetch_add(1, Ordering::SeqCst);
            }
        }));
    }
    eventually("expensive queries are under way", || {
        world.engine.query_lanes().waiting_long > 4
    })
    .await;
    let honest = pool.share();
    let small = ask(&world, &container, "SELECT c.id FROM c", &honest, None, 10);
    let small = timeout(PATIENCE, small).await.expect("an answer in time");
    assert_eq!(small.result.unwrap().items.len(), 1);
    assert_eq!(
        ended.load(Ordering::SeqCst),
        0,
        "the others are still at it"
    );
    // Queries of disconnected clients end.
    for one in &asked {
        one.abort();
    }
    eventually("nobody works for those who have gone", || {
        world.engine.query_lanes().waiting_long == 0 && pool.used() == 0
    })
    .await;
}

/// Queries that build large values from the arrays of generated documents.
const GREEDY: &[&str] = &[
    "SELECT VALUE ARRAY(SELECT VALUE [x, y] FROM x IN c.t JOIN y IN c.t) FROM c",
    "SELECT VALUE ARRAY(SELECT DISTINCT VALUE {x: x, y: y} FROM x IN c.t JOIN y IN c.t) FROM c",
    "SELECT c.a, MAKELIST(c) AS l FROM c GROUP BY c.a",
    "SELECT VALUE MAKESET(c) FROM c",
    "SELECT DISTINCT VALUE c FROM c",
    "SELECT DISTINCT VALUE c FROM c ORDER BY c.a",
    "SELECT * FROM c ORDER BY c.id",
    "SELECT VALUE [c, c, c, c, c, c, c, c] FROM c",
    "SELECT VALUE ARRAY_CONCAT([c, c, c], [c, c, c]) FROM c",
    "SELECT VALUE ObjectToArray(c) FROM c",
    "SELECT VALUE StringSplit(ToString([c, c, c, c]), '') FROM c",
    "SELECT VALUE RegexExtractAll(ToString([c, c, c, c]), '.') FROM c",
    "SELECT VALUE SetUnion([c, 1], [c, 2]) FROM c",
    "SELECT VALUE (LET x = [c, c, c] IN [x, x, x]) FROM c",
    "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c FROM c)",
];

/// All rows of a query, or the failure of a page.
async fn rows(
    world: &World,
    container: &Arc<Container>,
    text: &str,
    share: &MemoryShare,
    items_max: usize,
) -> Result<Vec<String>, Failure> {
    let (mut rows, mut continuation) = (Vec::new(), None);
    loop {
        let page = ask(world, container, text, share, continuation, items_max);
        let page = page.await.result?;
        let items = page.items.iter();
        rows.extend(items.map(|row| String::from_utf8_lossy(row).into_owned()));
        continuation = page.continuation;
        if continuation.is_none() {
            rows.sort();
            return Ok(rows);
        }
    }
}

#[tokio::test]
async fn with_little_memory_queries_give_the_same_rows_or_say_why_not() {
    let (mut same, mut refused) = (0, 0);
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let world = World::in_memory().await;
        let definition = r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#;
        let container = world.create(definition, 400).await;
        for number in 0..60 {
            let text = index_equals_scan::document(&mut random, number);
            let key = crate::support::json(&text).get("pk").to_string();
            world
                .ok(&container, &format!("[{key}]"), upsert(&text))
                .await;
        }
        for _ in 0..25 {
            let text = if random.chance(60) {
                (*random.pick(GREEDY)).to_owned()
            } else {
                index_equals_scan::query(&mut random)
            };
            let items_max = *random.pick(&[1, 7, 1000]);
            let expected =
                match rows(&world, &container, &text, &MemoryShare::unlimited(), 1000).await {
                    Ok(expected) => expected,
                    Err(Failure::BadRequest(_) | Failure::NotImplemented(_)) => continue,
                    Err(failure) => panic!("seed {seed}: {text}: {failure}"),
                };
            let pool = MemoryPool::new(*random.pick(&[4_000, 16_000, 100_000, 400_000, 4_000_000]));
            match rows(&world, &container, &text, &pool.share(), items_max).await {
                Ok(found) => {
                    same += 1;
                    assert_eq!(found, expected, "seed {seed}: {text}");
                }
                Err(failure) => {
                    refused += 1;
                    assert!(is_of_memory(&failure), "seed {seed}: {text}: {failure}");
                }
            }
            assert!(pool.peak() <= pool.limit() / 2, "seed {seed}: {text}");
            assert_eq!(pool.used(), 0, "seed {seed}: {text}");
        }
    }
    assert!(same > 30 && refused > 30, "{same} same, {refused} refused");
}

fn item_with_names(id: &str, names: usize) -> String {
    let names: Vec<String> = (0..names).map(|name| format!("\"{id}{name}\":1")).collect();
    format!(r#"{{"id":"{id}","pk":"a",{}}}"#, names.join(","))
}

#[tokio::test]
async fn an_item_with_very_many_paths_does_not_reach_the_thread_that_writes() {
    let world = World::in_memory().await;
    let definition = r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#;
    let container = world.create(definition, 400).await;
    let refused = world.refused(
        &container,
        r#"["a"]"#,
        create(&item_with_names("x", 100_000)),
    );
    let Failure::TooLarge(message) = refused.await else {
        panic!("too many names");
    };
    assert!(message.contains("different indexed paths"), "{message}");
    let numbers: Vec<String> = (0..250_000).map(|number| number.to_string()).collect();
    let text = format!(r#"{{"id":"n","pk":"a","n":[{}]}}"#, numbers.join(","));
    let refused = world.refused(&container, r#"["a"]"#, create(&text)).await;
    assert!(matches!(refused, Failure::TooLarge(_)), "{refused:?}");
    world
        .ok(&container, r#"["a"]"#, create(&item_with_names("y", 9_000)))
        .await;

    let definition = r#"{"id":"d","partitionKey":{"paths":["/pk"]},"indexingPolicy":{"includedPaths":[
        {"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}}"#;
    let container = world.create(definition, 400).await;
    world
        .ok(
            &container,
            r#"["a"]"#,
            create(&item_with_names("x", 100_000)),
        )
        .await;
}

#[tokio::test]
async fn expensive_writes_at_once_do_not_get_past_the_budget_together() {
    let world = World::limited(TestOptions {
        throughput: ThroughputMode::Provisioned,
        ..TestOptions::default()
    })
    .await;
    let definition = r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#;
    let container = world.create(definition, 400).await;
    let operations = (0..50).map(|number| {
        let item = item_with_names(&format!("i{number}x"), 1_000);
        (pk(r#"["a"]"#), create(&item))
    });
    let budget = ConsistencyLevel::Session;
    let answers = world
        .engine
        .bulk(&container, operations.collect(), budget, false)
        .await;
    let carried_out = answers.iter().filter(|answer| answer.result.is_ok());
    // Each write costs 206 units, and the first two use up the 400 units of the present second.
    assert_eq!(carried_out.count(), 2);
}

#[tokio::test]
async fn texts_that_compare_all_with_all_are_bounded() {
    let world = World::in_memory().await;
    let container = container_with_numbers(&world, 10).await;
    let share = MemoryShare::unlimited();
    let numbers = |count: usize| {
        let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        numbers.join(",")
    };
    let all = |count| {
        let numbers = numbers(count);
        format!("SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS_ALL(c.arr, {numbers})")
    };
    for (count, found) in [(10, 1), (11, 0), (15_000, 0)] {
        let answer = ask(&world, &container, &all(count), &share, None, 10).await;
        assert_eq!(answer.result.unwrap().items.len(), found);
    }
    let answer = ask(&world, &container, &all(17_000), &share, None, 10).await;
    assert!(matches!(answer.result, Err(Failure::BadRequest(_))));
}
