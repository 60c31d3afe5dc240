//! Recorded queries with their results. What is not implemented is skipped and counted; what is
//! implemented must agree.

use orrery_exec::{CompileError, ConstantQuery, FilterQuery};
use orrery_json::{Value, parse_bounded};

const DATA: &[u8] = include_bytes!("data/function-vectors.json");

/// How many of the recorded queries run today. The number only grows.
const RUN_COUNT: usize = 158;

/// A page of documentation names an order item, which no grammar of the language allows.
const NOT_GRAMMAR: &str = "ORDER BY VectorDistance(c.vector, [1,2,3]) AS";

/// Results that a page of documentation gives and its own text contradicts: the search is said to
/// distinguish case, and finds `have` in `Have a nice day!`.
const RECORDED_WRONG: &[&str] = &["contains-all-cs"];

fn rows(vector: &Value) -> Result<Vec<Value>, CompileError> {
    let query = orrery_sql::parse(vector.get("query").as_str().expect("recorded data"))?;
    if query.from.is_empty() {
        return Ok(ConstantQuery::compile(&query, &[])?
            .row()
            .into_iter()
            .collect());
    }
    let query = FilterQuery::compile(&query, &[])?;
    let one_row = [Value::Object(orrery_json::Object::new())];
    let documents = vector.get("documents").as_array().unwrap_or(&one_row);
    Ok(documents
        .iter()
        .filter(|document| query.matches(document))
        .map(|document| query.project(document))
        .filter(|row| !row.is_undefined())
        .collect())
}

#[test]
fn recorded_results() {
    let data = parse_bounded(DATA, 128).unwrap();
    let vectors = data.get("vectors").as_array().unwrap();
    let mut run = 0;
    let mut skipped = Vec::new();
    let mut wrong = Vec::new();
    for vector in vectors {
        let query = vector.get("query").as_str().unwrap();
        match rows(vector) {
            Err(CompileError::Unsupported { what }) => skipped.push(what),
            Err(CompileError::Syntax(_)) if query.contains(NOT_GRAMMAR) => {
                skipped.push(NOT_GRAMMAR.to_owned());
            }
            Err(error) => panic!("{query}: {error}"),
            Ok(rows) => {
                run += 1;
                let expected = vector.get("result");
                if Value::Array(rows.clone()) != *expected {
                    let rows = Value::Array(rows);
                    wrong.push((vector.get("name").as_str().unwrap(), query, rows, expected));
                }
            }
        }
    }
    let names: Vec<&str> = wrong.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, RECORDED_WRONG, "{wrong:#?}");
    assert_eq!(run + skipped.len(), vectors.len());
    assert_eq!(run, RUN_COUNT, "run; skipped for want of {skipped:?}");
}
