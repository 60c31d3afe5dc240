//! Runs the same query over an indexed container with and without its indexes.

use std::sync::{Arc, LazyLock};

use orrery_engine::{
    CompiledQuery, Container, Durability, Engine, EngineOptions, FeedRequest, FeedScope,
    NewContainer, QueryText, SystemClock,
};
use orrery_json::parse;
use orrery_model::{
    ConsistencyLevel, ContainerDefinition, DatabaseAddress, Document, Failure, Operation,
    OperationKind, Throughput,
};
use orrery_sql::Query;
use tokio::runtime::{Builder, Runtime};

use super::text_of;

const LEVEL: ConsistencyLevel = ConsistencyLevel::Session;
/// Small pages: every query has several, and continuation tokens are part of the test.
const ITEMS_MAX: usize = 5;
const PAGES_MAX: usize = 100;

/// Functions whose result depends on the order of the documents, on chance or on time.
const ORDER_MATTERS: &[&str] = &[
    "SUM(",
    "AVG(",
    "MAKELIST(",
    "MAKESET(",
    "CURRENT",
    "NOW(",
    "AGO(",
    "RAND(",
];

/// Indexes must not change the rows of a query.
pub(super) fn index(input: &[u8]) -> bool {
    let text = text_of(input);
    let Ok(syntax) = orrery_sql::parse(&text) else {
        return false;
    };
    let query = QueryText {
        text,
        parameters: super::query::PARAMETERS.clone(),
        resume: None,
    };
    let Ok(compiled) = CompiledQuery::over_items(&query, &WORLD.container.definition) else {
        return false;
    };
    let compiled = Arc::new(compiled);
    let indexed = WORLD.rows(&compiled, false);
    let scanned = WORLD.rows(&compiled, true);
    // A query that fails or needs too many pages has no complete rows to compare.
    let (Some(mut indexed), Some(mut scanned)) = (indexed, scanned) else {
        return true;
    };
    let text = query.text.to_ascii_uppercase();
    if ORDER_MATTERS.iter().any(|word| text.contains(word)) {
        return true;
    }
    if is_cut_anywhere(&syntax) {
        // Any rows may be the first ones, but their number is determined.
        assert_eq!(indexed.len(), scanned.len(), "numbers of rows");
        return true;
    }
    // Without `ORDER BY` any order of the rows is correct.
    if syntax.order_by.is_none() {
        indexed.sort();
        scanned.sort();
    }
    assert!(
        indexed == scanned,
        "{indexed:?} with indexes, {scanned:?} without"
    );
    true
}

/// Whether a query returns an unspecified part of its rows, since it has a limit and no order.
fn is_cut_anywhere(query: &Query) -> bool {
    query.order_by.is_none() && (query.select.top.is_some() || query.offset_limit.is_some())
}

/// An engine in memory, with one container that has all kinds of indexes.
struct World {
    runtime: Runtime,
    engine: Arc<Engine>,
    container: Arc<Container>,
}

/// All inputs share the container, because no query changes it.
static WORLD: LazyLock<World> = LazyLock::new(World::open);

impl World {
    fn open() -> World {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        let (engine, container) = runtime.block_on(fill());
        World {
            runtime,
            engine,
            container,
        }
    }

    /// The texts of all rows, unless the query fails or does not end.
    fn rows(&self, query: &Arc<CompiledQuery>, without_index: bool) -> Option<Vec<String>> {
        let scope = match query.pinned_key() {
            Some(key) => FeedScope::Key(key.clone()),
            None => FeedScope::Container,
        };
        let (mut rows, mut continuation) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let request = FeedRequest {
                scope: scope.clone(),
                query: Some(Arc::clone(query)),
                items_max: ITEMS_MAX,
                continuation,
                continuation_bytes_max: None,
                budget: LEVEL.into(),
                wants_report: true,
                without_index,
                enable_scan: true,
            };
            let answer = self
                .runtime
                .block_on(self.engine.feed(&self.container, request));
            let page = match answer.result {
                Ok(page) => page,
                // The query is valid, so the engine itself has failed.
                Err(failure @ (Failure::Internal(_) | Failure::Unavailable(_))) => {
                    panic!("{failure}")
                }
                Err(_) => return None,
            };
            let texts = page.items.iter().map(|row| text_of(row));
            rows.extend(texts);
            continuation = page.continuation;
            if continuation.is_none() {
                return Some(rows);
            }
        }
        None
    }
}

/// Creates the engine, the container and its documents.
async fn fill() -> (Arc<Engine>, Arc<Container>) {
    let engine = Engine::open(EngineOptions {
        throughput: orrery_engine::ThroughputOptions::default(),
        partitions: orrery_engine::PartitionLimits::default(),
        directory: None,
        durability: Durability::None,
        cache_bytes: 4 << 20,
        apply_after: orrery_engine::ApplyAfter::Durable,
        multi_write: None,
        sweeps: true,
        maintenance: orrery_engine::MaintenanceOptions::default(),
        consistency: LEVEL,
        scripts: orrery_engine::ScriptOptions::default(),
        clock: Arc::new(SystemClock),
    });
    let engine = engine.expect("an engine in memory");
    engine.create_database("d", None).await.expect("a database");
    let definition = parse(DEFINITION.as_bytes()).expect("JSON of this file");
    let new = NewContainer {
        definition: ContainerDefinition::parse(&definition).expect("a definition of this file"),
        throughput: Some(Throughput::Manual(18_000)),
    };
    let created = engine.create_container(DatabaseAddress::Name("d"), new);
    let container = Arc::clone(&created.await.expect("a container").container);
    for number in 0..DOCUMENTS {
        let value = parse(document(number).as_bytes()).expect("JSON of this file");
        let key = container.definition.key().extract(&value);
        let document = Document::from_value(value).expect("a document");
        let operation = Operation::new(OperationKind::Create(document));
        let written = engine.write_item(&container, key, operation, LEVEL);
        written.await.result.expect("a write");
    }
    (engine, container)
}

/// Enough documents for several pages in both plans.
const DOCUMENTS: usize = 40;

const DEFINITION: &str = r#"{"id":"c","partitionKey":{"paths":["/pk"],"version":2},"indexingPolicy":{
    "includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/secret/*"}],
    "compositeIndexes":[[{"path":"/a"},{"path":"/text","order":"descending"}]],
    "spatialIndexes":[{"path":"/at/*","types":["Point","Polygon"]}]}}"#;

/// Values of every type, at the paths that the queries of the corpus use most.
fn document(number: usize) -> String {
    const VALUES: [&str; 13] = [
        "1",
        "2",
        "-2.5",
        "null",
        "true",
        "false",
        "\"a\"",
        "\"abc\"",
        "\"\"",
        "[1,2]",
        "{\"x\":1}",
        "1e300",
        "9007199254740993",
    ];
    // Different steps give each path another sequence of types.
    let value = |step: usize| VALUES[number * step % VALUES.len()];
    format!(
        r#"{{"id":"{number}","pk":{},"a":{},"text":{},"name":{},"o":{{"x":{}}},"list":[{},{}],"tags":["a",{}],
        "secret":{},"at":{{"type":"Point","coordinates":[{},{}]}},"key":{},"age":{number}{}}}"#,
        number % 4,
        value(1),
        value(5),
        value(7),
        value(3),
        value(2),
        value(4),
        value(6),
        value(8),
        number % 7,
        number % 5,
        value(9),
        if number.is_multiple_of(3) {
            ""
        } else {
            r#","x":{"y":[1,{"z":2}]}"#
        },
    )
}
