//! Queries: their text, their plans, their programs, and the state between their pages.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_engine::{CompiledQuery, QueryText, query_resources};
use orrery_exec::{
    Continuation, ExecError, Flow, InputDocument, PageLimits, PageResult, Program, ResultRow,
    evaluate_function, function_arity,
};
use orrery_json::{PropertyPath, Value, parse};
use orrery_keys::{PartitionKeyDefinition, PartitionKeyKind, PartitionKeyVersion};
use orrery_plan::{Arity, BuiltinFunctions, PlanRequest, QueryPlan, check};
use orrery_sql::{Query, SyntaxError, SyntaxErrorKind};

use super::text_of;

/// The deadline of one page. A slow query is no finding.
const TIME_MAX: Duration = Duration::from_millis(300);
const PAGES_MAX: usize = 100;
/// The limit on the bytes of one page.
const PAGE_BYTES_MAX: usize = 1 << 16;
/// The limit on positions: short, so that long sort values are cut.
const POSITION_BYTES_MAX: usize = 480;
/// A constant time, since both runs of a query must see the same time.
const NOW_TICKS: i64 = 17_000_000_000_000_000;
/// The number of programs on which a mangled state is tried.
const PROGRAMS: usize = 40;

/// A printed query must parse to the same query.
pub(super) fn syntax(input: &[u8]) -> bool {
    let text = text_of(input);
    let _either = orrery_sql::parse_filter(&text);
    let Ok(query) = orrery_sql::parse(&text) else {
        return false;
    };
    let printed = query.to_string();
    match orrery_sql::parse(&printed) {
        Ok(again) => assert!(again.to_string() == printed, "not printed again: {printed}"),
        Err(error) => assert!(is_limit(&error), "{error}: {printed}"),
    }
    true
}

/// Whether the error is a limit of the parser. Canonical text has more white space, parentheses and
/// levels than its source, so text just within the limits may exceed them when it is printed.
fn is_limit(error: &SyntaxError) -> bool {
    matches!(
        error.kind,
        SyntaxErrorKind::TooDeep | SyntaxErrorKind::TooLong { .. }
    )
}

/// Every query text in a plan must parse, since clients send these texts.
pub(super) fn plan(input: &[u8]) -> bool {
    let Ok(query) = orrery_sql::parse(&text_of(input)) else {
        return false;
    };
    // A simple and a hierarchical partition key, because plans differ between them.
    let keys = [&["/pk"][..], &["/a", "/o/x", "/text"]].map(key);
    let mut planned = false;
    for key in &keys {
        let request = PlanRequest {
            query: &query,
            parameters: &PARAMETERS,
            key: Some(key),
            features: None,
            functions: &BuiltIn,
            vectors: &[],
        };
        let Ok(plan) = orrery_plan::plan(&request) else {
            continue;
        };
        planned = true;
        let _json = plan.to_json();
        for text in texts(&plan) {
            let sent = sent(text);
            match orrery_sql::parse(&sent) {
                Ok(query) => {
                    let checked = check(&query, &PARAMETERS, &BuiltIn);
                    assert!(checked.is_ok(), "{checked:?}: {sent}");
                }
                Err(error) => assert!(is_limit(&error), "{error}: {sent}"),
            }
        }
    }
    planned
}

/// All query texts in a plan.
fn texts(plan: &QueryPlan) -> Vec<&str> {
    let hybrid = plan.hybrid.iter().flat_map(|hybrid| {
        let components = hybrid.component_queries.iter();
        std::iter::once(hybrid.global_statistics_query.as_str())
            .chain(components.map(|info| info.rewritten_query.as_str()))
    });
    let info = plan.info.iter().map(|info| info.rewritten_query.as_str());
    info.chain(hybrid).filter(|text| !text.is_empty()).collect()
}

/// The text as a client sends it, with values in place of its placeholders.
fn sent(text: &str) -> String {
    let mut text = text.replace("{documentdb-formattableorderbyquery-filter}", "true");
    while let Some(start) = text.find("{documentdb-") {
        let Some(length) = text[start..].find('}') else {
            return text;
        };
        text.replace_range(start..=start + length, "1");
    }
    text
}

/// Every page size must give the same rows.
pub(super) fn program(input: &[u8]) -> bool {
    let Some(program) = compile(&text_of(input)) else {
        return false;
    };
    // With pages of two rows, the state between pages passes through its encoding.
    let many = rows(&program, 1000);
    let few = rows(&program, 2);
    if let (Some(many), Some(few)) = (many, few) {
        assert!(many == few, "{many:?} in one page, {few:?} in many");
    }
    true
}

/// Compiles a query that parses and passes all checks.
fn compile(text: &str) -> Option<Program> {
    let query: Query = orrery_sql::parse(text).ok()?;
    check(&query, &PARAMETERS, &BuiltIn).ok()?;
    Program::compile(&query, &PARAMETERS).ok()
}

/// The texts of all rows, unless the rows are too many or too slow.
fn rows(program: &Program, items_max: usize) -> Option<Vec<String>> {
    let (mut rows, mut resume) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let finished = page(program, resume, items_max).ok()?;
        assert!(finished.rows.len() <= items_max, "a page is too long");
        rows.extend(finished.rows.iter().map(row_text));
        let Some(next) = finished.continuation else {
            return Some(rows);
        };
        resume = Some(Continuation::decode(&next.encode()).expect("its own bytes"));
    }
    None
}

/// Evaluates one page of a query over the documents of this file.
fn page(
    program: &Program,
    resume: Option<Continuation>,
    items_max: usize,
) -> Result<PageResult, ExecError> {
    let begun = Instant::now();
    let is_late = || begun.elapsed() > TIME_MAX;
    let limits = PageLimits {
        items_max,
        bytes_max: PAGE_BYTES_MAX,
        deadline: Some(&is_late),
        now_ticks: NOW_TICKS,
        position_bytes_max: POSITION_BYTES_MAX,
    };
    let mut page = program.page(resume, limits)?;
    let start = page
        .start_position()
        .map(<[u8]>::to_vec)
        .unwrap_or_default();
    for (number, (value, text)) in (1_u64..).zip(DOCUMENTS.iter()) {
        // Big-endian numbers have the order of their bytes, as scan positions must.
        let position = number.to_be_bytes();
        if !program.reads_documents() || position.as_slice() < start.as_slice() {
            continue;
        }
        let document = InputDocument {
            value,
            rid: number,
            text,
            scan_position: &position,
        };
        if page.push(document)? == Flow::Full {
            break;
        }
    }
    page.finish()
}

/// The JSON text of a row.
fn row_text(row: &ResultRow) -> String {
    match row {
        ResultRow::Value(value) => value.to_string(),
        ResultRow::Text(text) => String::from_utf8_lossy(text).into_owned(),
    }
}

/// Programs of every kind, on which states from an untrusted source are tried.
pub(in super::super) struct Programs(Vec<Program>);

impl Programs {
    /// Compiles some queries, at equal distances in the sorted corpus.
    pub(super) fn new(queries: &[Vec<u8>]) -> Programs {
        let step = (queries.len() / PROGRAMS).max(1);
        let texts = queries.iter().step_by(step).map(|query| text_of(query));
        Programs(texts.filter_map(|text| compile(&text)).collect())
    }

    /// Decodes a state and continues every program with it. A state may fit no program.
    pub(super) fn resume(&self, input: &[u8]) -> bool {
        let Ok(resume) = Continuation::decode(input) else {
            return false;
        };
        let bytes = resume.encode();
        let again = Continuation::decode(&bytes).expect("its own bytes");
        assert!(again.encode() == bytes, "the state is read as another");
        for program in &self.0 {
            // An error is allowed, because the state belongs to another program; a panic is not.
            let _either = page(program, Some(resume.clone()), 3);
        }
        true
    }
}

/// States between the pages of queries.
pub(in super::super) fn resumes(queries: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let programs = queries.iter().filter_map(|query| compile(&text_of(query)));
    let resumes = programs.filter_map(|program| page(&program, None, 1).ok()?.continuation);
    let mut resumes: Vec<Vec<u8>> = resumes.map(|resume| resume.encode()).collect();
    resumes.sort();
    resumes.dedup();
    resumes
}

/// The engine's tokens around such states.
pub(super) fn continuation(input: &[u8]) -> bool {
    let token = text_of(input);
    let read = |query| query_resources(query, &RESOURCES, 1, Some(&token), NOW_TICKS);
    let outcomes: Vec<bool> = RESOURCE_QUERIES
        .iter()
        .map(|query| read(query).is_ok())
        .collect();
    outcomes.contains(&true)
}

/// Valid continuation tokens of the engine.
pub(in super::super) fn tokens() -> Vec<Vec<u8>> {
    let pages = RESOURCE_QUERIES
        .iter()
        .map(|query| query_resources(query, &RESOURCES, 1, None, NOW_TICKS));
    let tokens = pages.filter_map(|page| page.expect("a page").1);
    tokens.map(String::into_bytes).collect()
}

/// Queries with every kind of state between pages.
static RESOURCE_QUERIES: LazyLock<Vec<CompiledQuery>> = LazyLock::new(|| {
    let texts = [
        "SELECT * FROM c",
        "SELECT c.id FROM c WHERE c.n > 0 ORDER BY c.n DESC",
        "SELECT DISTINCT c.n FROM c",
        "SELECT c.n, COUNT(1) AS count FROM c GROUP BY c.n OFFSET 1 LIMIT 2",
    ];
    let compile = |text: &&str| {
        let query = QueryText {
            text: (*text).to_owned(),
            parameters: Vec::new(),
            resume: None,
        };
        CompiledQuery::over_resources(&query).expect("a query of this file")
    };
    texts.iter().map(compile).collect()
});

/// The resources that these queries read.
static RESOURCES: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let resource = |number: u32| {
        let body = format!(r#"{{"id":"r{number}","n":{}}}"#, number % 4);
        (format!("r{number}"), body.into_bytes())
    };
    (0..8).map(resource).collect()
});

/// The parameters that queries of the corpus may name.
pub(super) static PARAMETERS: LazyLock<Vec<(String, Value)>> = LazyLock::new(|| {
    let values = [("@a", "1"), ("@p", r#"{"x": [1, "a"]}"#), ("@s", r#""a""#)];
    let values = values.iter();
    values
        .map(|(name, text)| {
            (
                (*name).to_owned(),
                parse(text.as_bytes()).expect("JSON of this file"),
            )
        })
        .collect()
});

/// Documents with equal property names and different types.
static DOCUMENTS: LazyLock<Vec<(Value, Bytes)>> = LazyLock::new(|| {
    let texts = [
        r#"{"id":"1","pk":1,"a":1,"text":"abc","list":[1,2,"x"],"o":{"x":5},"at":{"type":"Point","coordinates":[1,2]}}"#,
        r#"{"id":"2","pk":"b","a":-2.5,"text":"","list":[],"o":{"x":null},"_rid":"AAAAAIAAAAABAAAAAAAAAA=="}"#,
        r#"{"id":"3","pk":true,"a":9223372036854775807,"text":"é\ud83d\ude00","list":[[1],{"a":1}],"o":{}}"#,
        r#"{"id":"4","pk":null,"a":null,"text":5,"list":"no","o":[1]}"#,
        r#"{"id":"5"}"#,
        r#"{"id":"6","pk":1,"a":1e308,"text":"2020-01-31T00:00:00Z","list":[1,1,2],"tags":["a","b"],"children":[{"a":1,"pets":[{"name":"x"}]}]}"#,
        r#"{"id":"7","pk":1,"a":true,"text":"abc","name":"x","age":3,"scores":[1,2,3]}"#,
    ];
    let document = |text: &&'static str| {
        let value = parse(text.as_bytes()).expect("JSON of this file");
        (value, Bytes::from_static(text.as_bytes()))
    };
    texts.iter().map(document).collect()
});

/// A partition key definition over these paths.
fn key(paths: &[&str]) -> PartitionKeyDefinition {
    let kind = if paths.len() == 1 {
        PartitionKeyKind::Hash
    } else {
        PartitionKeyKind::MultiHash
    };
    let paths = paths
        .iter()
        .map(|path| PropertyPath::parse(path).expect("a path of this file"));
    PartitionKeyDefinition::new(paths.collect(), kind, PartitionKeyVersion::V2)
        .expect("a key of this file")
}

/// The built-in functions.
struct BuiltIn;

impl BuiltinFunctions for BuiltIn {
    fn arity(&self, name: &str) -> Option<Arity> {
        function_arity(name).map(|(low, high)| match high {
            Some(high) if high == low => Arity::Exactly(low),
            Some(high) => Arity::Between(low, high),
            None => Arity::AtLeast(low),
        })
    }

    fn evaluate(&self, name: &str, arguments: &[Value]) -> Option<Value> {
        evaluate_function(name, arguments)
    }
}
