//! Recorded queries over more than one document at a time, with their results.

use orrery_exec::{CompileError, ConstantQuery, FilterQuery};
use orrery_json::{Value, parse_bounded};

use super::support::{Scope, compile, sorted};

/// The number of recorded queries that run here. It may only grow.
const RUN_COUNT: usize = 28;

/// This query was recorded over the documents of another query.
const WITHOUT_DOCUMENTS: &str = "order-by-multiple";

#[test]
fn recorded_results() {
    let data = include_bytes!("../data/function-vectors.json");
    let data = parse_bounded(data, 128).unwrap();
    let mut run = 0;
    let mut skipped = Vec::new();
    for vector in data.get("vectors").as_array().unwrap() {
        let name = vector.get("name").as_str().unwrap();
        let text = vector.get("query").as_str().unwrap();
        // A page of documentation names an order item, which no grammar allows.
        let Ok(query) = orrery_sql::parse(text) else {
            continue;
        };
        let is_filter = FilterQuery::compile(&query, &[]).is_ok();
        if is_filter || ConstantQuery::compile(&query, &[]).is_ok() {
            continue;
        }
        let program = match compile(text) {
            Ok(program) => program,
            Err(CompileError::Unsupported { what }) => {
                skipped.push(what);
                continue;
            }
            Err(error) => panic!("{name}: {error}"),
        };
        let documents_of = if name == WITHOUT_DOCUMENTS {
            let mut vectors = data.get("vectors").as_array().unwrap().iter();
            vectors
                .find(|other| other.get("name").as_str() == Some("order-by"))
                .unwrap()
        } else {
            vector
        };
        let one_row = [Value::Object(orrery_json::Object::default())];
        let documents = documents_of.get("documents").as_array().unwrap_or(&one_row);
        let scope = Scope::of(documents.to_vec());
        let expected = vector.get("result").as_array().unwrap();
        run += 1;
        if vector.get("deterministic").as_bool() == Some(false) {
            continue;
        }
        for items_max in [1, 2, 1000] {
            let rows = scope
                .pages(&program, items_max, 1 << 20)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            if text.contains("ORDER BY") {
                assert_eq!(rows, expected, "{name}");
            } else {
                assert_eq!(sorted_values(&rows), sorted_values(expected), "{name}");
            }
        }
    }
    assert_eq!(run, RUN_COUNT, "skipped for want of {skipped:?}");
}

/// The rows as texts with sorted property names.
fn sorted_values(rows: &[Value]) -> Vec<String> {
    let rows: Vec<Value> = rows.iter().map(|row| in_order(row.clone())).collect();
    sorted(&rows)
}

fn in_order(value: Value) -> Value {
    match value {
        Value::Array(elements) => Value::Array(elements.into_iter().map(in_order).collect()),
        Value::Object(properties) => {
            let mut properties: Vec<_> = properties
                .into_iter()
                .map(|(name, value)| (name, in_order(value)))
                .collect();
            properties.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(properties.into_iter().collect())
        }
        value => value,
    }
}
