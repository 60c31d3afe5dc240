//! Ordered results that begin at given values.

use orrery_exec::{CompileError, DistinctHash, PageLimits, ResultRow};
use orrery_json::Value;

use super::support::{Scope, json, program, value};

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
fn results_begin_at_the_given_values() {
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
fn a_filter_and_a_long_position_leave_out_no_row() {
    let long = "x".repeat(600);
    let texts: Vec<String> = (0..10)
        .map(|n| format!(r#"{{"n":{n},"l":"{long}"}}"#))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let scope = Scope::new(&texts);
    let whole = program("SELECT VALUE c.n FROM c ORDER BY c.l");
    let limits = PageLimits {
        items_max: 3,
        bytes_max: 1 << 20,
        deadline: None,
        now_ticks: 0,
        position_bytes_max: 480,
    };
    let numbers = |rows: Vec<ResultRow>| {
        rows.into_iter()
            .map(|row| value(row).to_string())
            .collect::<String>()
    };
    let first = scope.page(&whole, None, limits).unwrap();
    assert_eq!(numbers(first.rows), "012");
    for (rid, exclude, expected) in [(3, false, "345"), (3, true, "345"), (5, false, "456")] {
        let filtered = whole
            .clone()
            .with_resume_filter(&[Value::from(&*long)], Some(rid), exclude);
        let page = scope
            .page(&filtered.unwrap(), first.continuation.clone(), limits)
            .unwrap();
        assert_eq!(numbers(page.rows), expected);
        // The next page continues from both kinds of position.
        let next = scope.page(&whole, page.continuation, limits).unwrap();
        let last = expected.as_bytes()[2] - b'0';
        assert_eq!(numbers(next.rows).as_bytes()[0] - b'0', last + 1);
    }
}

#[test]
fn rows_wanted_once_are_given_at_their_first_place() {
    let texts = [
        r#"{"a":1,"b":"p"}"#,
        r#"{"a":2,"b":"q"}"#,
        r#"{"a":3,"b":"p"}"#,
    ];
    let program = program("SELECT DISTINCT VALUE c.b FROM c ORDER BY c.a");
    let program = program
        .with_resume_filter(&[Value::from(1)], None, true)
        .unwrap();
    for items_max in [1, 10] {
        let rows = Scope::new(&texts)
            .pages(&program, items_max, 1 << 20)
            .unwrap();
        assert_eq!(rows, [Value::from("q")]);
    }
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
