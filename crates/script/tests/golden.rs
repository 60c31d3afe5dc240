//! Runs every script of `tests/scripts` against a collection in memory.
//!
//! A first line `// {...}` contains the settings of a script: `kind` (`procedure`, `pre`, `post`),
//! `arguments`, the initial `documents`, `operation`, `body` and `response` of triggers, `headers`,
//! `logging`, and the number of `accepted` operations. The `.json` file of the same name contains
//! the outcome and the changed documents. `UPDATE_EXPECTED=1` writes that file.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, but not all test functions"
)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{MemoryHost, json, run, runtime};
use orrery_json::{Object, Value};
use orrery_script::{
    Job, JobKind, PostTriggerResponse, Runtime, ScriptError, ScriptOptions, ScriptOutcome,
    TriggerOperation,
};

#[test]
fn scripts() {
    let runtime = runtime(ScriptOptions::default());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "js"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut wrong = Vec::new();
    for path in paths {
        let found = pretty(&outcome(&runtime, &fs::read_to_string(&path).unwrap()), 0) + "\n";
        let expected = path.with_extension("json");
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            fs::write(&expected, &found).unwrap();
        }
        if fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn outcome(runtime: &Runtime, source: &str) -> Value {
    let settings = source
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("// {"))
        .map_or(Value::Null, |rest| json(&format!("{{{rest}")));
    let mut host = MemoryHost::with(settings.get("documents"));
    host.accepts = settings
        .get("accepted")
        .as_number()
        .map(|count| usize::try_from(count.as_i64().unwrap()).unwrap());
    let before = host.documents.clone();
    let (host, result) = run(runtime, job(source, &settings), host);
    let committed = result.is_ok();
    let mut outcome = describe(result);
    if committed && !same(&host.documents, &before) {
        let documents = host.documents.into_iter().map(bare).collect();
        outcome.insert("documents".to_owned(), Value::Array(documents));
    }
    Value::Object(outcome)
}

fn job(source: &str, settings: &Value) -> Job {
    let text = |name| match settings.get(name) {
        Value::Undefined => None,
        value => Some(value.to_string().into_bytes()),
    };
    let operation = match settings.get("operation").as_str() {
        Some("Replace") => TriggerOperation::Replace,
        Some("Upsert") => TriggerOperation::Upsert,
        Some("Delete") => TriggerOperation::Delete,
        _ => TriggerOperation::Create,
    };
    let kind = match settings.get("kind").as_str() {
        Some("pre") => JobKind::PreTrigger {
            operation,
            body: text("body"),
        },
        Some("post") => JobKind::PostTrigger {
            operation,
            body: text("body"),
            response: PostTriggerResponse {
                body: text("response"),
                max_resource_quota: "documentSize=10240;".to_owned(),
                resource_quota_usage: "documentSize=1;".to_owned(),
            },
        },
        _ => JobKind::Procedure {
            arguments: settings
                .get("arguments")
                .as_array()
                .unwrap_or_default()
                .into(),
        },
    };
    let headers = settings.get("headers").as_object().cloned();
    Job {
        source: source.into(),
        kind,
        headers: headers
            .unwrap_or_default()
            .into_iter()
            .map(|(name, value)| (name, value.as_str().unwrap().to_owned()))
            .collect(),
        logging: settings.get("logging").as_bool().unwrap_or(false),
        ..Job::procedure("", Vec::new())
    }
}

fn describe(result: Result<ScriptOutcome, ScriptError>) -> Object {
    let mut fields = Object::default();
    match result {
        Ok(outcome) => {
            if let Some(body) = outcome.body {
                fields.insert("body".to_owned(), json(&body));
            }
            if let Some(body) = outcome.request_body {
                fields.insert("requestBody".to_owned(), body);
            }
            if !outcome.log.is_empty() {
                fields.insert("log".to_owned(), Value::from(outcome.log));
            }
        }
        Err(error) => {
            fields.insert("status".to_owned(), Value::from(i64::from(error.status())));
            if let Some(substatus) = error.substatus() {
                fields.insert("substatus".to_owned(), Value::from(i64::from(substatus)));
            }
            fields.insert("message".to_owned(), Value::from(error.to_string()));
        }
    }
    fields
}

fn same(a: &[Object], b: &[Object]) -> bool {
    let value =
        |documents: &[Object]| Value::Array(documents.iter().cloned().map(Value::Object).collect());
    value(a) == value(b)
}

/// A document without the system properties.
fn bare(mut document: Object) -> Value {
    document.retain(|name, _| !name.starts_with('_'));
    Value::Object(document)
}

/// Prints short values on one line, and others on indented lines.
fn pretty(value: &Value, depth: usize) -> String {
    let line = value.to_string();
    if depth > 0 && line.len() <= 90 {
        return line;
    }
    let indent = "  ".repeat(depth + 1);
    let end = "  ".repeat(depth);
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|item| format!("{indent}{}", pretty(item, depth + 1)))
                .collect();
            format!("[\n{}\n{end}]", items.join(",\n"))
        }
        Value::Object(fields) if !fields.is_empty() => {
            let fields: Vec<_> = fields
                .iter()
                .map(|(name, value)| {
                    let name = Value::from(name.as_str());
                    format!("{indent}{name}: {}", pretty(value, depth + 1))
                })
                .collect();
            format!("{{\n{}\n{end}}}", fields.join(",\n"))
        }
        _ => line,
    }
}
