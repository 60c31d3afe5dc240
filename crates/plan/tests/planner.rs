//! The planner of the service as the measure: recorded answers, and random queries when it is there.
//!
//! `data/planner.jsonl` holds queries with the plan or the first error that the planner inside of
//! the .NET SDK 3.64 gave, under headings that say what they show. White space of rewritten queries
//! does not count.
//!
//! `ORRERY_PLANNER` may name a command that reads a query with its parameters and key paths as one
//! line of JSON, and answers with a line that has a `plan` or an `error`. Then random queries and
//! constant expressions are compared as well; `ORRERY_PLANNER_SEED` chooses others.

mod common;
#[path = "planner/random.rs"]
mod random;

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use common::{Setting, definition};
use orrery_json::{Object, Value, parse_bounded};
use orrery_plan::{Arity, BuiltinFunctions, Features};
use random::Random;

const DATA: &str = include_str!("data/planner.jsonl");

/// Shares of random queries that must agree, in percent: legality, plans, first errors. What is
/// missing is listed in COMPAT.md.
const LEGAL_MIN: usize = 99;
const PLANS_MIN: usize = 95;
const ERRORS_MIN: usize = 95;

const QUERIES: usize = 1_000;

struct BuiltIn;

impl BuiltinFunctions for BuiltIn {
    fn arity(&self, name: &str) -> Option<Arity> {
        orrery_exec::function_arity(name).map(|(low, high)| match high {
            Some(high) if high == low => Arity::Exactly(low),
            Some(high) => Arity::Between(low, high),
            None => Arity::AtLeast(low),
        })
    }

    fn evaluate(&self, name: &str, arguments: &[Value]) -> Option<Value> {
        orrery_exec::evaluate_function(name, arguments)
    }
}

#[test]
fn recorded_answers() {
    let mut about = String::new();
    let mut rows = 0;
    let mut failures = Vec::new();
    for line in DATA.lines() {
        let row = json(line);
        if let Some(heading) = row.get("about").as_str() {
            heading.clone_into(&mut about);
            continue;
        }
        rows += 1;
        let (found, expected) = match row.get("plan") {
            Value::Undefined => (answer(&row), row.get("error").clone()),
            plan => (answer(&row), plan.clone()),
        };
        if found != expected {
            let query = row.get("query");
            failures.push(format!("{about}\n{query}\n{found}\ninstead of\n{expected}"));
        }
    }
    assert!(rows > 300, "{rows}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn random_queries_agree_with_the_planner() {
    let Ok(command) = env::var("ORRERY_PLANNER") else {
        println!("skipped: ORRERY_PLANNER names no planner");
        return;
    };
    let seed = env::var("ORRERY_PLANNER_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut random = Random::new(seed);
    let rows: Vec<Value> = (0..QUERIES).map(|_| random.row()).collect();
    let answers = ask(&command, &rows);
    assert_eq!(answers.len(), rows.len(), "the planner answers every line");
    let mut legal = Share::default();
    let (mut plans, mut errors) = (Share::default(), Share::default());
    for (row, theirs) in rows.iter().zip(&answers) {
        let (ours, theirs) = (answer(row), compact(theirs));
        let is_plan = |answer: &Value| !answer.get("ranges").is_undefined();
        legal.count(is_plan(&ours) == is_plan(&theirs), row, &ours, &theirs);
        match (is_plan(&ours), is_plan(&theirs)) {
            (true, true) => plans.count(ours == theirs, row, &ours, &theirs),
            // The planner has no text of its own for some refusals.
            (false, false) if !theirs.is_undefined() => {
                errors.count(ours == theirs, row, &ours, &theirs);
            }
            _ => {}
        }
    }
    for (share, percent) in [(legal, LEGAL_MIN), (plans, PLANS_MIN), (errors, ERRORS_MIN)] {
        let Share { same, all, others } = share;
        assert!(same * 100 >= all * percent, "{same} of {all}:\n{others}");
    }
}

/// How many answers agree, with some that do not.
#[derive(Default)]
struct Share {
    same: usize,
    all: usize,
    others: String,
}

impl Share {
    fn count(&mut self, is_same: bool, row: &Value, ours: &Value, theirs: &Value) {
        self.all += 1;
        self.same += usize::from(is_same);
        if !is_same && self.all - self.same <= 5 {
            let query = row.get("query");
            let text = format!("{query}\n  ours   {ours}\n  theirs {theirs}\n");
            self.others.push_str(&text);
        }
    }
}

/// The plan or the first error of this crate, in the form of the recorded answers.
fn answer(row: &Value) -> Value {
    let paths = row.get("paths").as_array().unwrap_or_default();
    let paths: Vec<&str> = paths.iter().filter_map(Value::as_str).collect();
    let parameters = row.get("parameters").as_array().unwrap_or_default();
    let named = |parameter: &Value| {
        let name = parameter.get("name").as_str().unwrap_or_default();
        (name.to_owned(), parameter.get("value").clone())
    };
    let setting = Setting {
        key: definition(&paths),
        parameters: parameters.iter().map(named).collect(),
        features: Some(Features::parse(ALL_FEATURES)),
        functions: &BuiltIn,
        ..Setting::with_key(&[])
    };
    match setting.plan(row.get("query").as_str().unwrap_or_default()) {
        Ok(plan) => compact_plan(&plan.to_json()),
        Err(error) => first_error(&error.to_string()),
    }
}

const ALL_FEATURES: &str = "Aggregate,CompositeAggregate,Distinct,GroupBy,MultipleAggregates,\
     MultipleOrderBy,OffsetAndLimit,OrderBy,Top,NonValueAggregate,DCount,NonStreamingOrderBy,\
     CountIf,HybridSearch,WeightedRankFusion,HybridSearchSkipOrderByRewrite,ListAndSetAggregate";

/// An answer of the planner in the form of the recorded answers.
fn compact(answer: &Value) -> Value {
    match answer.get("plan") {
        Value::Undefined => first_error(answer.get("error").as_str().unwrap_or_default()),
        plan => compact_plan(plan),
    }
}

/// The ranges, and the fields that say something.
fn compact_plan(plan: &Value) -> Value {
    let mut compact = Object::default();
    let ranges = plan.get("queryRanges").as_array().unwrap_or_default();
    let range = |range: &Value| {
        let part = |name: &str| range.get(name).clone();
        Value::Array(vec![part("min"), part("max"), part("isMaxInclusive")])
    };
    compact.insert(
        "ranges".to_owned(),
        Value::Array(ranges.iter().map(range).collect()),
    );
    if let Some(info) = plan.get("queryInfo").as_object() {
        let says = |value: &Value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty() && text != "None",
            Value::Array(elements) => !elements.is_empty(),
            Value::Object(properties) => !properties.is_empty(),
            _ => true,
        };
        let field = |(name, value): (&String, &Value)| {
            let value = match (name.as_str(), value.as_str()) {
                ("rewrittenQuery", Some(text)) => {
                    Value::from(text.split_whitespace().collect::<Vec<_>>().join(" "))
                }
                _ => value.clone(),
            };
            (name.clone(), value)
        };
        let fields = info.iter().filter(|(_, value)| says(value)).map(field);
        compact.insert("info".to_owned(), Value::Object(fields.collect()));
    }
    if let hybrid @ Value::Object(_) = plan.get("hybridSearchQueryInfo") {
        compact.insert("hybrid".to_owned(), hybrid.clone());
    }
    Value::Object(compact)
}

/// Code, message and place of the first error in a text; undefined for a text without one.
fn first_error(text: &str) -> Value {
    let Some(at) = text.find("{\"errors\"") else {
        return Value::Undefined;
    };
    let body = text[at..].lines().next().unwrap_or_default();
    let body = body.rfind('}').map_or(body, |end| &body[..=end]);
    let Ok(body) = parse_bounded(body.as_bytes(), 32) else {
        return Value::Undefined;
    };
    let error = body.get("errors").at(0);
    let part = |name: &str| {
        let value = match error.get(name) {
            Value::Undefined => Value::Null,
            value => value.clone(),
        };
        (name.to_owned(), value)
    };
    Value::Object(
        ["code", "message", "location"]
            .map(part)
            .into_iter()
            .collect(),
    )
}

fn json(line: &str) -> Value {
    parse_bounded(line.as_bytes(), 128).expect("a line of JSON")
}

/// Sends all rows to the planner, and reads an answer for each.
fn ask(command: &str, rows: &[Value]) -> Vec<Value> {
    let mut words = command.split_whitespace();
    let mut planner = Command::new(words.next().expect("a command"))
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the planner starts");
    let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
    let lines = lines.join("\n") + "\n";
    let mut input = planner.stdin.take().expect("a pipe");
    let writer = thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = planner.wait_with_output().expect("the planner ends");
    writer.join().expect("a writer").expect("the planner reads");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.starts_with("{\"query\""))
        .map(json)
        .collect()
}
