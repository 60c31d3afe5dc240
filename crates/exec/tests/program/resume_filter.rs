//! Ordered results that begin at given values.

use orrery_exec::{CompileError, DistinctHash};
use orrery_json::Value;

use super::support::{Scope, json, program};

fn scope() -> Scope {
    Scope::new(&[
        r#"{"id":"1","a":1}"#,
        r#"{"id":"2","a":2}"#,
        r#"{"id":"3","a":2}"#,
        r#"{"id":"4"}"#,
        r#"{"id":"5","a":"x"}"#,
        r#"{"id":"6","a":[1]}"#,
        r#"{"id":"7","a":2}"#,
    ])
}

fn ids(query: &str, values: &str, rid: Option<u64>, exclude: bool) -> String {
    let values = json(values);
    let program = program(query)
        .with_resume_filter(values.as_array().expect("a list"), rid, exclude)
        .expect("values that fit");
    let [one, all] = [1, 100].map(|items_max| {
        let rows = scope().pages(&program, items_max, 1 << 20).expect("pages");
        rows.iter()
            .map(|id| id.as_str().expect("an id").to_owned())
            .collect::<String>()
    });
    assert_eq!(one, all);
    all
}

#[test]
fn values() {
    let ascending = "SELECT VALUE c.id FROM c WHERE (true) ORDER BY c.a";
    let descending = "SELECT VALUE c.id FROM c ORDER BY c.a DESC";
    for (query, values, rid, exclude, expected) in [
        (ascending, "[2]", None, false, "23756"),
        (ascending, "[2]", None, true, "56"),
        (ascending, "[2]", Some(3), false, "3756"),
        (ascending, "[2]", Some(3), true, "756"),
        (ascending, "[1.5]", None, true, "23756"),
        (ascending, "[[]]", None, false, "4123756"),
        (ascending, "[[]]", None, true, "123756"),
        (ascending, "[\"x\"]", None, true, "6"),
        (descending, "[2]", None, false, "73214"),
        (descending, "[2]", Some(3), false, "3214"),
        (descending, "[2]", None, true, "14"),
        (descending, "[[]]", None, false, "4"),
    ] {
        assert_eq!(
            ids(query, values, rid, exclude),
            expected,
            "{query} {values} {rid:?} {exclude}"
        );
    }
    let hash = DistinctHash::of(&json("[1]"));
    let array = format!(
        r#"[{{"type":"array","low":{},"high":{}}}]"#,
        hash.low.cast_signed(),
        hash.high.cast_signed()
    );
    assert_eq!(ids(ascending, &array, None, false), "6");
    assert_eq!(ids(ascending, &array, None, true), "");
    assert_eq!(ids(descending, &array, None, true), "573214");
}

#[test]
fn values_must_fit_the_columns() {
    for (query, values) in [
        ("SELECT * FROM c", "[1]"),
        ("SELECT * FROM c ORDER BY c.a", "[]"),
        ("SELECT * FROM c ORDER BY c.a", "[1,2]"),
        ("SELECT * FROM c ORDER BY c.a", "[[1]]"),
        (
            "SELECT * FROM c ORDER BY c.a",
            r#"[{"type":"array","low":1}]"#,
        ),
        ("SELECT * FROM c ORDER BY c.a", "[{}]"),
    ] {
        let values: Vec<Value> = json(values).as_array().unwrap().to_vec();
        let refused = program(query).with_resume_filter(&values, None, false);
        assert_eq!(refused.unwrap_err(), CompileError::ResumeFilter, "{query}");
    }
}
