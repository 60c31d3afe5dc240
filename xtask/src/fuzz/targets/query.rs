//! Queries: their text, their plans, their programs, and the state between their pages.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_engine::{CompiledQuery, QueryText, query_resources};
use orrery_exec::{
    Document, ExecError, Finished, Flow, PageLimits, Program, Resume, Row, evaluate_function,
    function_arity,
};
use orrery_json::{Path, Value, parse};
use orrery_keys::{KeyDefinition, KeyKind, KeyVersion};
use orrery_plan::{Arity, Functions, PlanRequest, QueryPlan, check};
use orrery_sql::{Query, SyntaxError, SyntaxErrorKind};

use super::text_of;

const TIME_MAX: Duration = Duration::from_millis(300);
const PAGES_MAX: usize = 100;
const PAGE_BYTES_MAX: usize = 1 << 16;
const NOW_TICKS: i64 = 17_000_000_000_000_000;
/// Programs that a mangled state is tried on.
const PROGRAMS: usize = 40;

/// What is printed is read as the same.
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

/// Canonical text has more white space, parentheses and levels than what it was made from, so that
/// what is just within the limits may be read only once.
fn is_limit(error: &SyntaxError) -> bool {
    matches!(
        error.kind,
        SyntaxErrorKind::TooDeep | SyntaxErrorKind::TooLong { .. }
    )
}

/// What a client is told to send can be read.
pub(super) fn plan(input: &[u8]) -> bool {
    let Ok(query) = orrery_sql::parse(&text_of(input)) else {
        return false;
    };
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
                    let checked = check(&query, &BuiltIn);
                    assert!(checked.is_ok(), "{checked:?}: {sent}");
                }
                Err(error) => assert!(is_limit(&error), "{error}: {sent}"),
            }
        }
    }
    planned
}

fn texts(plan: &QueryPlan) -> Vec<&str> {
    let hybrid = plan.hybrid.iter().flat_map(|hybrid| {
        let components = hybrid.component_queries.iter();
        std::iter::once(hybrid.global_statistics_query.as_str())
            .chain(components.map(|info| info.rewritten_query.as_str()))
    });
    let info = plan.info.iter().map(|info| info.rewritten_query.as_str());
    info.chain(hybrid).filter(|text| !text.is_empty()).collect()
}

/// As a client sends it, with something in place of what is for it to fill in.
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

/// Any page size gives the same rows.
pub(super) fn program(input: &[u8]) -> bool {
    let Some(program) = compile(&text_of(input)) else {
        return false;
    };
    let many = rows(&program, 1000);
    let few = rows(&program, 2);
    if let (Some(many), Some(few)) = (many, few) {
        assert!(many == few, "{many:?} in one page, {few:?} in many");
    }
    true
}

fn compile(text: &str) -> Option<Program> {
    let query: Query = orrery_sql::parse(text).ok()?;
    check(&query, &BuiltIn).ok()?;
    Program::compile(&query, &PARAMETERS).ok()
}

/// The texts of all rows, unless they are too many or too slow.
fn rows(program: &Program, items_max: usize) -> Option<Vec<String>> {
    let (mut rows, mut resume) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let finished = page(program, resume, items_max).ok()?;
        assert!(finished.rows.len() <= items_max, "a page is too long");
        rows.extend(finished.rows.iter().map(row_text));
        let Some(next) = finished.resume else {
            return Some(rows);
        };
        resume = Some(Resume::decode(&next.encode()).expect("its own bytes"));
    }
    None
}

fn page(
    program: &Program,
    resume: Option<Resume>,
    items_max: usize,
) -> Result<Finished, ExecError> {
    let begun = Instant::now();
    let is_late = || begun.elapsed() > TIME_MAX;
    let limits = PageLimits {
        items_max,
        bytes_max: PAGE_BYTES_MAX,
        deadline: Some(&is_late),
        now_ticks: NOW_TICKS,
    };
    let mut page = program.page(resume, limits)?;
    let start = page.start_place().map(<[u8]>::to_vec).unwrap_or_default();
    for (number, (value, text)) in (1_u64..).zip(DOCUMENTS.iter()) {
        let place = number.to_be_bytes();
        if !program.reads_documents() || place.as_slice() < start.as_slice() {
            continue;
        }
        let document = Document {
            value,
            rid: number,
            text,
            place: &place,
        };
        if page.push(document)? == Flow::Full {
            break;
        }
    }
    page.finish()
}

fn row_text(row: &Row) -> String {
    match row {
        Row::Value(value) => value.to_string(),
        Row::Text(text) => String::from_utf8_lossy(text).into_owned(),
    }
}

/// Programs of every kind, for states that come from who knows where.
pub(in super::super) struct Programs(Vec<Program>);

impl Programs {
    pub(super) fn new(queries: &[Vec<u8>]) -> Programs {
        let step = (queries.len() / PROGRAMS).max(1);
        let texts = queries.iter().step_by(step).map(|query| text_of(query));
        Programs(texts.filter_map(|text| compile(&text)).collect())
    }

    pub(super) fn resume(&self, input: &[u8]) -> bool {
        let Ok(resume) = Resume::decode(input) else {
            return false;
        };
        let bytes = resume.encode();
        let again = Resume::decode(&bytes).expect("its own bytes");
        assert!(again.encode() == bytes, "the state is read as another");
        for program in &self.0 {
            let _either = page(program, Some(resume.clone()), 3);
        }
        true
    }
}

/// States between the pages of queries.
pub(in super::super) fn resumes(queries: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let programs = queries.iter().filter_map(|query| compile(&text_of(query)));
    let resumes = programs.filter_map(|program| page(&program, None, 1).ok()?.resume);
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

pub(in super::super) fn tokens() -> Vec<Vec<u8>> {
    let pages = RESOURCE_QUERIES
        .iter()
        .map(|query| query_resources(query, &RESOURCES, 1, None, NOW_TICKS));
    let tokens = pages.filter_map(|page| page.expect("a page").1);
    tokens.map(String::into_bytes).collect()
}

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

static RESOURCES: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let resource = |number: u32| {
        let body = format!(r#"{{"id":"r{number}","n":{}}}"#, number % 4);
        (format!("r{number}"), body.into_bytes())
    };
    (0..8).map(resource).collect()
});

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

fn key(paths: &[&str]) -> KeyDefinition {
    let kind = if paths.len() == 1 {
        KeyKind::Hash
    } else {
        KeyKind::MultiHash
    };
    let paths = paths
        .iter()
        .map(|path| Path::parse(path).expect("a path of this file"));
    KeyDefinition::new(paths.collect(), kind, KeyVersion::V2).expect("a key of this file")
}

/// The functions that run.
struct BuiltIn;

impl Functions for BuiltIn {
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
