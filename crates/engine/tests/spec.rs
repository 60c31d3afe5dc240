//! Runs every query of `tests/spec` over two containers that differ in everything irrelevant to the
//! result, in pages of several sizes.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use orrery_engine::{
    ApplyAfter, Clock, CompiledQuery, Container, Durability, Engine, EngineOptions, FeedRequest,
    FeedScope, NewContainer, QueryText,
};
use orrery_json::{Object, Value, compare, parse};
use orrery_model::{
    ConsistencyLevel, ContainerDefinition, DatabaseAddress, Document, Operation, OperationKind,
    Throughput,
};

const NOW_SECONDS: u64 = 1_800_000_000;
const LEVEL: ConsistencyLevel = ConsistencyLevel::Session;
const PAGE_SIZES: [usize; 3] = [1, 3, 1000];
const PAGES_MAX: usize = 1000;

/// The system properties of a document.
const SYSTEM_PROPERTIES: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// Relative error of two computations that differ only in their last digits.
const RELATIVE_ERROR_MAX: f64 = 1e-9;

#[tokio::test]
async fn every_query_matches_its_specification() {
    let files = specifications();
    assert!(files.len() >= 12, "where are the specifications?");
    let (mut failures, mut cases) = (Vec::new(), 0);
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let sections = read(&text).unwrap_or_else(|problem| panic!("{name}:{problem}"));
        let world = World::open().await;
        let used = sections.iter().filter(|section| !section.cases.is_empty());
        for (number, section) in used.enumerate() {
            let containers = world.containers(number, section).await;
            for case in &section.cases {
                cases += 1;
                let outcome = run(&world, &containers, case).await;
                match (outcome, &case.known_difference) {
                    (Ok(()), None) | (Err(_), Some(_)) => {}
                    (Err(difference), None) => {
                        failures.push(format!("{name}:{}: {difference}", case.line));
                    }
                    (Ok(()), Some(reason)) => failures.push(format!(
                        "{name}:{}: as it should be, in spite of a known difference: {reason}",
                        case.line
                    )),
                }
            }
        }
    }
    assert!(cases >= 150, "only {cases} queries");
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n\n"));
}

// Reading of specifications.

/// Queries over one set of documents.
#[derive(Default)]
struct Section {
    settings: Object,
    documents: Vec<Value>,
    cases: Vec<Case>,
}

struct Case {
    line: usize,
    query: QueryText,
    expected: Expected,
    /// The result in a container without indexes, if it differs.
    without_indexes: Option<String>,
    known_difference: Option<String>,
}

enum Expected {
    Rows(Vec<Value>),
    /// The message contains each of these texts.
    Refusal(Vec<String>),
}

fn specifications() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/spec");
    let entries = fs::read_dir(directory).unwrap();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .filter(|path| path.file_stem().is_some_and(|name| name != "README"))
        .collect();
    files.sort();
    files
}

/// A part of a specification: a fenced block, or a line of prose.
enum Part {
    Block { kind: String, text: String },
    Prose(String),
}

fn parts(text: &str) -> Result<Vec<(usize, Part)>, String> {
    let mut parts = Vec::new();
    let mut open: Option<(usize, String, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        match (open.take(), line.strip_prefix("```")) {
            (None, Some(kind)) => open = Some((number, kind.trim().to_owned(), String::new())),
            (Some((start, kind, text)), Some("")) => {
                parts.push((start, Part::Block { kind, text }));
            }
            (Some((start, kind, mut text)), _) => {
                text.push_str(line);
                text.push('\n');
                open = Some((start, kind, text));
            }
            (None, None) => parts.push((number, Part::Prose(line.to_owned()))),
        }
    }
    match open {
        Some((start, ..)) => Err(format!("{start}: a block without end")),
        None => Ok(parts),
    }
}

#[derive(Default)]
struct Pending {
    line: usize,
    text: String,
    parameters: Vec<(String, Value)>,
}

fn read(text: &str) -> Result<Vec<Section>, String> {
    let mut sections = vec![Section::default()];
    let mut pending: Option<Pending> = None;
    let mut known_difference = None;
    let mut without_indexes: Option<String> = None;
    for (line, part) in parts(text)? {
        let json =
            |text: &str| parse(text.as_bytes()).map_err(|error| format!("{}: {error}", line + 1));
        let (kind, text) = match part {
            Part::Prose(prose) => {
                if let Some(reason) = prose.strip_prefix("Known difference: ") {
                    known_difference = Some(reason.to_owned());
                } else if let Some(message) = prose.strip_prefix("Without indexes: ") {
                    without_indexes = Some(message.to_owned());
                } else if prose.starts_with('#') {
                    without_indexes = None;
                }
                continue;
            }
            Part::Block { kind, text } => (kind, text),
        };
        let section = sections.last_mut().ok_or("no section")?;
        match kind.as_str() {
            "json documents" => {
                let mut next = Section {
                    documents: json(&text)?.as_array().unwrap_or_default().to_vec(),
                    ..Section::default()
                };
                if section.cases.is_empty() {
                    next.settings = std::mem::take(&mut section.settings);
                }
                sections.push(next);
            }
            "json container" => {
                let settings = json(&text)?.as_object().cloned().unwrap_or_default();
                sections.push(Section {
                    settings,
                    ..Section::default()
                });
            }
            "sql" => {
                if let Some(pending) = &pending {
                    return Err(format!(
                        "{}: nothing is expected of this query",
                        pending.line
                    ));
                }
                pending = Some(Pending {
                    line,
                    text,
                    parameters: Vec::new(),
                });
            }
            "json parameters" => {
                let pending = pending.as_mut().ok_or(format!("{line}: of no query"))?;
                let parameters = json(&text)?.as_object().cloned().unwrap_or_default();
                pending.parameters = parameters.into_iter().collect();
            }
            "json" | "error" => {
                let pending = pending.take().ok_or(format!("{line}: of no query"))?;
                let expected = if kind == "json" {
                    Expected::Rows(json(&text)?.as_array().unwrap_or_default().to_vec())
                } else {
                    Expected::Refusal(text.lines().map(str::to_owned).collect())
                };
                section.cases.push(Case {
                    line: pending.line,
                    query: QueryText {
                        text: pending.text,
                        parameters: pending.parameters,
                        resume: None,
                    },
                    expected,
                    without_indexes: without_indexes.clone(),
                    known_difference: known_difference.take(),
                });
            }
            other => return Err(format!("{line}: no block is called '{other}'")),
        }
    }
    match pending {
        Some(pending) => Err(format!(
            "{}: nothing is expected of this query",
            pending.line
        )),
        None => Ok(sections),
    }
}

// Running of queries.

struct StillClock;

impl Clock for StillClock {
    fn now_seconds(&self) -> u64 {
        NOW_SECONDS
    }
}

struct World {
    engine: Arc<Engine>,
}

/// How a query is run.
#[derive(Debug, Clone, Copy)]
struct Way {
    items_max: usize,
    /// Scans every document although indexes exist.
    without_index: bool,
}

/// The same documents twice.
struct Containers {
    /// As the section describes it, over several physical partitions.
    indexed: Arc<Container>,
    /// Without indexes, in one physical partition.
    scanned: Arc<Container>,
}

impl World {
    async fn open() -> World {
        let engine = Engine::open(EngineOptions {
            multi_write: None,
            sweeps: true,
            maintenance: orrery_engine::MaintenanceOptions::default(),
            throughput: orrery_engine::ThroughputOptions::default(),
            directory: None,
            durability: Durability::None,
            cache_bytes: 4 << 20,
            apply_after: ApplyAfter::Durable,
            consistency: LEVEL,
            scripts: orrery_engine::ScriptOptions::default(),
            partitions: orrery_engine::PartitionLimits::default(),
            clock: Arc::new(StillClock),
        });
        let engine = engine.unwrap();
        engine.create_database("d", None).await.unwrap();
        World { engine }
    }

    async fn containers(&self, number: usize, section: &Section) -> Containers {
        let mut settings = section.settings.clone();
        settings
            .entry("partitionKey".to_owned())
            .or_insert_with(|| parse(br#"{"paths":["/pk"],"version":2}"#).unwrap());
        let mut unindexed = settings.clone();
        unindexed.insert(
            "indexingPolicy".to_owned(),
            parse(br#"{"indexingMode":"none","automatic":false}"#).unwrap(),
        );
        let indexed = self.create(format!("i{number}"), settings, 18_000).await;
        let scanned = self.create(format!("s{number}"), unindexed, 400).await;
        for container in [&indexed, &scanned] {
            for document in &section.documents {
                self.store(container, document).await;
            }
        }
        Containers { indexed, scanned }
    }

    async fn create(&self, id: String, mut settings: Object, throughput: u32) -> Arc<Container> {
        settings.insert("id".to_owned(), Value::from(id.as_str()));
        let new = NewContainer {
            definition: ContainerDefinition::parse(&Value::Object(settings)).unwrap(),
            throughput: Some(Throughput::Manual(throughput)),
        };
        let created = self
            .engine
            .create_container(DatabaseAddress::Name("d"), new);
        Arc::clone(&created.await.unwrap().container)
    }

    async fn store(&self, container: &Arc<Container>, document: &Value) {
        let key = container.definition.key().extract(document);
        let document = Document::from_value(document.clone()).unwrap();
        let operation = Operation::new(OperationKind::Create(document));
        let written = self.engine.write_item(container, key, operation, LEVEL);
        written.await.result.unwrap();
    }

    /// All rows, or the reason of the refusal.
    async fn rows(
        &self,
        container: &Arc<Container>,
        query: &QueryText,
        way: Way,
    ) -> Result<Vec<Value>, String> {
        let Way {
            items_max,
            without_index,
        } = way;
        let compiled = CompiledQuery::over_items(query, &container.definition)
            .map_err(|failure| failure.to_string())?;
        let compiled = Arc::new(compiled);
        let scope = match compiled.pinned_key() {
            Some(key) => FeedScope::Key(key.clone()),
            None => FeedScope::Container,
        };
        let (mut rows, mut continuation) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let request = FeedRequest {
                scope: scope.clone(),
                query: Some(Arc::clone(&compiled)),
                items_max,
                continuation,
                continuation_bytes_max: None,
                budget: LEVEL.into(),
                wants_report: false,
                without_index,
                enable_scan: true,
            };
            let page = self.engine.feed(container, request).await.result;
            let page = page.map_err(|failure| failure.to_string())?;
            if page.items.len() > items_max {
                return Err(format!("a page of {} rows", page.items.len()));
            }
            rows.extend(page.items.iter().map(|row| shown(parse(row).unwrap())));
            continuation = page.continuation;
            if continuation.is_none() {
                return Ok(rows);
            }
        }
        Err(format!("no end after {PAGES_MAX} pages"))
    }
}

async fn run(world: &World, containers: &Containers, case: &Case) -> Result<(), String> {
    for items_max in PAGE_SIZES {
        for without_index in [false, true] {
            let way = Way {
                items_max,
                without_index,
            };
            let rows = world.rows(&containers.indexed, &case.query, way).await;
            check(case, &case.expected, rows).map_err(|problem| format!("{way:?}: {problem}"))?;
        }
        let way = Way {
            items_max,
            without_index: false,
        };
        let rows = world.rows(&containers.scanned, &case.query, way).await;
        let checked = match &case.without_indexes {
            Some(message) => check(case, &Expected::Refusal(vec![message.clone()]), rows),
            None => check(case, &case.expected, rows),
        };
        checked.map_err(|problem| format!("no indexes, {way:?}: {problem}"))?;
    }
    Ok(())
}

/// Compares rows; their order matters only in ordered queries.
fn check(
    case: &Case,
    expected: &Expected,
    found: Result<Vec<Value>, String>,
) -> Result<(), String> {
    match (expected, found) {
        (Expected::Rows(expected), Ok(found)) => {
            let (mut wanted, mut rows) = (expected.clone(), found);
            if !case.query.text.contains("ORDER BY") {
                wanted.sort_by(compare_texts);
                rows.sort_by(compare_texts);
            }
            let same =
                wanted.len() == rows.len() && wanted.iter().zip(&rows).all(|(a, b)| is_same(a, b));
            if same {
                return Ok(());
            }
            let found = Value::Array(rows);
            let wanted = Value::Array(wanted);
            Err(format!(
                "{}gives {found}\n  and not {wanted}",
                case.query.text
            ))
        }
        (Expected::Refusal(parts), Err(message)) => {
            match parts.iter().find(|part| !message.contains(*part)) {
                None => Ok(()),
                Some(part) => Err(format!(
                    "{}is refused with '{message}'\n  and not with '{part}'",
                    case.query.text
                )),
            }
        }
        (Expected::Rows(_), Err(message)) => {
            Err(format!("{}is refused with '{message}'", case.query.text))
        }
        (Expected::Refusal(parts), Ok(found)) => Err(format!(
            "{}gives {}\n  and is not refused with {parts:?}",
            case.query.text,
            Value::Array(found)
        )),
    }
}

fn compare_texts(a: &Value, b: &Value) -> std::cmp::Ordering {
    compare(a, b).then_with(|| sorted(a).to_string().cmp(&sorted(b).to_string()))
}

/// A copy of a value with sorted property names.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(elements) => Value::Array(elements.iter().map(sorted).collect()),
        Value::Object(properties) => {
            let mut properties: Vec<_> = properties
                .iter()
                .map(|(name, value)| (name.clone(), sorted(value)))
                .collect();
            properties.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(properties.into_iter().collect())
        }
        other => other.clone(),
    }
}

fn is_same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Number(expected), Value::Number(found)) => {
            let (a, b) = (expected.as_f64(), found.as_f64());
            expected == found
                || expected.as_i64().is_none() && (a - b).abs() <= RELATIVE_ERROR_MAX * a.abs()
        }
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(expected), Value::Object(found)) => {
            expected.len() == found.len()
                && expected
                    .iter()
                    .all(|(name, value)| found.get(name).is_some_and(|found| is_same(value, found)))
        }
        (expected, found) => expected == found,
    }
}

/// The row as the specification prints it; whole documents print as they were written.
fn shown(row: Value) -> Value {
    match row {
        Value::Array(elements) => Value::Array(elements.into_iter().map(shown).collect()),
        Value::Object(mut properties) => {
            if SYSTEM_PROPERTIES
                .iter()
                .all(|name| properties.contains_key(*name))
            {
                for name in SYSTEM_PROPERTIES {
                    properties.shift_remove(name);
                }
            }
            Value::Object(
                properties
                    .into_iter()
                    .map(|(name, value)| (name, shown(value)))
                    .collect(),
            )
        }
        other => other,
    }
}
