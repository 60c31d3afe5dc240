//! Runs recorded queries and compares their results. Queries with unimplemented features are
//! counted and skipped; all others must agree.

use orrery_exec::{CompileError, ConstantQuery, FilterQuery};
use orrery_json::{Value, parse_bounded};

const DATA: &[u8] = include_bytes!("data/function-vectors.json");

/// The number of recorded queries that run, and of those that are refused. The second number may
/// only shrink.
const RUN_COUNT: usize = 188;
const SKIPPED_COUNT: usize = 30;

/// A documentation page names this order item, which the grammar does not permit.
const NOT_GRAMMAR: &str = "ORDER BY VectorDistance(c.vector, [1,2,3]) AS";

/// Recorded results that Orrery does not reproduce, with the reasons.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "contains-all-cs",
        "the page says that the search distinguishes case, and finds 'have' in 'Have a nice day!'",
    ),
    ("documentid", "the recorded document has no resource id"),
    (
        "documentid-filter",
        "the recorded document has no resource id",
    ),
];

/// Both systems measure on the same ellipsoid and round differently.
const MEASURED: &[&str] = &["st-area", "st-distance"];
const MEASURED_ERROR_MAX: f64 = 1e-7;

fn rows(vector: &Value) -> Result<Vec<Value>, CompileError> {
    let query = orrery_sql::parse(vector.get("query").as_str().expect("recorded data"))?;
    if query.from.is_empty() {
        return Ok(ConstantQuery::compile(&query, &[])?
            .row()
            .into_iter()
            .collect());
    }
    let query = FilterQuery::compile(&query, &[])?;
    let one_row = [Value::Object(orrery_json::Object::default())];
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
    let mut different = Vec::new();
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
                let rows = Value::Array(rows);
                if !agree(vector, &rows) {
                    let name = vector.get("name").as_str().unwrap();
                    different.push((name, query, rows, vector.get("result")));
                }
            }
        }
    }
    let mut names: Vec<&str> = different.iter().map(|(name, ..)| *name).collect();
    names.sort_unstable();
    let expected: Vec<&str> = DIFFERENT.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected, "{different:#?}");
    assert_eq!(
        (run, skipped.len()),
        (RUN_COUNT, SKIPPED_COUNT),
        "run and skipped, for want of {skipped:#?}"
    );
}

/// A result that depends on the time or on chance agrees in its form only.
fn agree(vector: &Value, rows: &Value) -> bool {
    let expected = vector.get("result");
    let name = vector.get("name").as_str().expect("recorded data");
    if vector.get("deterministic").as_bool() == Some(false) {
        return similar(rows, expected, &|_, _| true);
    }
    if MEASURED.contains(&name) {
        return similar(
            rows,
            expected,
            &|a, b| match (a.as_number(), b.as_number()) {
                (Some(a), Some(b)) => (a.as_f64() / b.as_f64() - 1.0).abs() < MEASURED_ERROR_MAX,
                _ => a == b,
            },
        );
    }
    rows == expected
}

/// Whether two values have the same elements and properties, where `alike` compares the scalars.
fn similar(a: &Value, b: &Value, alike: &dyn Fn(&Value, &Value) -> bool) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| similar(a, b, alike))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same =
                |(name, a): (&String, &Value)| b.get(name).is_some_and(|b| similar(a, b, alike));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => a.type_name() == b.type_name() && alike(a, b),
    }
}
