//! User-defined functions: permitted positions, arguments, and failures.

use std::cell::Cell;
use std::time::Instant;

use bytes::Bytes;
use orrery_exec::{
    ExecError, InputDocument, PageLimits, Program, UserFunctionError, UserFunctions,
};
use orrery_json::Value;

use super::support::{Scope, compile_calling, program, sorted};

const ALL: PageLimits<'_> = PageLimits {
    items_max: 100,
    bytes_max: 1 << 20,
    deadline: None,
    now_ticks: 0,
    position_bytes_max: 480,
};

fn calling(text: &str) -> Program {
    compile_calling(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn scope() -> Scope {
    Scope::new(&[
        r#"{"id":"a","n":1,"s":"x","t":[1,-1]}"#,
        r#"{"id":"b","n":-2,"s":"y","t":[]}"#,
        r#"{"id":"c","s":"x","t":[{"k":3}]}"#,
        r#"{"id":"d","n":null,"t":"none"}"#,
    ])
}

#[test]
fn user_functions_give_values_in_every_clause() {
    for (text, expected) in [
        ("SELECT VALUE udf.same(c.n) FROM c", "[1,-2,null]"),
        ("SELECT VALUE udf.same(c).id FROM c", r#"["a","b","c","d"]"#),
        (
            "SELECT c.id, udf.kind(c.n) AS k, udf.same(c.s) FROM c WHERE c.id > 'b'",
            r#"[{"id":"c","k":"undefined","$1":"x"},{"id":"d","k":"null"}]"#,
        ),
        ("SELECT VALUE udf.all() FROM c WHERE c.id = 'a'", "[[]]"),
        (
            "SELECT VALUE udf.all(c.none, 1, c, undefined, [c.t]) FROM c WHERE c.id = 'a'",
            r#"[["undefined","number","object","undefined","array"]]"#,
        ),
        (
            "SELECT VALUE c.id FROM c WHERE udf.positive(c.n)",
            r#"["a"]"#,
        ),
        (
            "SELECT VALUE c.id FROM c WHERE udf.kind(udf.same(c.n)) = 'undefined'",
            r#"["c"]"#,
        ),
        (
            "SELECT VALUE c.id FROM c WHERE udf.kind(c.n) IN ('null', 'undefined') ORDER BY c.id DESC",
            r#"["d","c"]"#,
        ),
        (
            "SELECT VALUE udf.same(c.id) FROM c ORDER BY c.n DESC OFFSET 1 LIMIT 2",
            r#"["b","d"]"#,
        ),
        (
            "SELECT VALUE [c.id, udf.same(t)] FROM c JOIN t IN c.t WHERE udf.positive(t)",
            r#"[["a",1]]"#,
        ),
        (
            "SELECT VALUE x FROM c JOIN (SELECT VALUE udf.positive(c.n)) x",
            "[true,false]",
        ),
        (
            "SELECT VALUE ARRAY(SELECT VALUE udf.kind(t) FROM t IN c.t) FROM c",
            r#"[["number","number"],[],["object"],[]]"#,
        ),
        (
            "SELECT VALUE c.id FROM c WHERE EXISTS(SELECT 1 FROM t IN c.t WHERE udf.positive(t.k))",
            r#"["c"]"#,
        ),
        (
            "SELECT VALUE SUM(udf.same(t)) FROM t IN c.t WHERE IS_NUMBER(t)",
            "[0]",
        ),
        ("SELECT VALUE COUNT(udf.same(c.n)) FROM c", "[3]"),
        (
            "SELECT VALUE (LET k = udf.kind(c.n) IN k || k) FROM c WHERE c.id = 'd'",
            r#"["nullnull"]"#,
        ),
        ("SELECT VALUE udf.same(1)", "[1]"),
        ("SELECT VALUE udf.nothing()", "[]"),
    ] {
        let program = calling(text);
        for items_max in [usize::MAX, 1] {
            let rows = scope().pages(&program, items_max, usize::MAX);
            let rows = rows.unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(Value::Array(rows).to_string(), expected, "{text}");
        }
    }
}

#[test]
fn user_functions_in_groups_and_distinct_rows() {
    for (text, expected) in [
        (
            "SELECT udf.kind(c.n) AS k, COUNT(1) AS n FROM c GROUP BY udf.kind(c.n)",
            &[
                r#"{"k":"null","n":1}"#,
                r#"{"k":"number","n":2}"#,
                r#"{"k":"undefined","n":1}"#,
            ][..],
        ),
        (
            "SELECT VALUE udf.kind(c.s) FROM c GROUP BY c.s",
            &[r#""string""#, r#""string""#, r#""undefined""#],
        ),
        (
            "SELECT DISTINCT VALUE udf.same(c.s) FROM c",
            &[r#""x""#, r#""y""#],
        ),
    ] {
        let program = calling(text);
        for items_max in [usize::MAX, 1] {
            let rows = scope().pages(&program, items_max, usize::MAX).expect(text);
            assert_eq!(sorted(&rows), expected, "{text}");
        }
    }
}

#[test]
fn undefined_is_neither_true_nor_false() {
    for (filter, expected) in [
        ("udf.nothing()", 0),
        ("NOT udf.nothing()", 0),
        ("udf.nothing() OR true", 4),
        ("udf.nothing() OR c.id = 'a'", 1),
        ("udf.nothing() AND true", 0),
        ("NOT (udf.nothing() AND c.id = 'a')", 3),
        ("udf.same(1)", 0),
        ("NOT udf.positive(c.n)", 1),
        ("udf.nothing() = udf.nothing()", 0),
        ("IS_DEFINED(udf.nothing())", 0),
        ("(udf.nothing() ?? 1) = 1", 4),
    ] {
        let program = calling(&format!("SELECT * FROM c WHERE {filter}"));
        let rows = scope().pages(&program, 2, usize::MAX).expect(filter);
        assert_eq!(rows.len(), expected, "{filter}");
    }
}

#[test]
fn what_cannot_be_called_is_refused() {
    let order = "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a \
                 document path.";
    let aggregate = "An aggregate function is not allowed in this place: COUNT.";
    let eleven = ["udf.same(1)"; 11].join(", ");
    for (text, expected) in [
        ("SELECT 1 FROM c ORDER BY udf.same(c.a)", order),
        ("SELECT udf.same(COUNT(1)) FROM c", aggregate),
        ("SELECT VALUE udf.same(1 + COUNT(1)) FROM c", aggregate),
        (
            &*format!("SELECT {eleven} FROM c"),
            "The query has more than 10 calls of user-defined functions.",
        ),
    ] {
        let error = compile_calling(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn an_unknown_function_fails_at_its_first_call() {
    for text in [
        "SELECT VALUE udf.Same(c.a) FROM c",
        "SELECT VALUE udf.Same(c.a) FROM c WHERE c.n = 1",
        "SELECT 1 FROM c WHERE EXISTS(SELECT udf.Same(1))",
        "SELECT VALUE COUNT(1) FROM c WHERE udf.Same(1)",
        "SELECT VALUE COUNT(udf.Same()) FROM c",
        "SELECT VALUE udf.Same(1)",
    ] {
        let program = calling(text);
        let name = "Same".to_owned();
        let error = scope().pages(&program, 2, usize::MAX).expect_err(text);
        assert_eq!(error, ExecError::UnknownFunction { name }, "{text}");
    }
    let program = calling("SELECT VALUE udf.Same(c.a) FROM c WHERE c.id = 'z'");
    assert_eq!(scope().pages(&program, 2, usize::MAX), Ok(Vec::new()));
    let program = calling("SELECT * FROM c WHERE c.n = 1 OR (c.n = 2 AND udf.Same(c))");
    assert_eq!(
        Scope::new(&[]).pages(&program, 2, usize::MAX),
        Ok(Vec::new())
    );
}

#[test]
fn functions_are_numbered_by_their_first_calls() {
    for (text, expected) in [
        ("SELECT 1 FROM c", &[][..]),
        (
            "SELECT udf.kind(udf.same(1)), udf.kind(2) FROM c",
            &["kind", "same"],
        ),
        (
            "SELECT udf.same(1) FROM t IN (SELECT VALUE udf.all(c) FROM c) WHERE udf.kind(t)",
            &["all", "kind", "same"],
        ),
    ] {
        assert_eq!(calling(text).functions_used(), expected, "{text}");
    }
}

#[test]
fn a_failure_ends_the_query() {
    let failed = ExecError::Function {
        name: "tax".to_owned(),
        message: "Exception = no input".to_owned(),
        number: None,
    };
    for text in [
        "SELECT VALUE udf.tax(c.n) FROM c",
        "SELECT * FROM c WHERE udf.tax(c.n) > 0",
        "SELECT * FROM c WHERE udf.tax(c.n) > 0 OR true",
        "SELECT * FROM c WHERE NOT IS_DEFINED(udf.kind(udf.tax(c.none)))",
        "SELECT c.id FROM c JOIN t IN c.t WHERE udf.tax(t.k) > 0",
        "SELECT VALUE EXISTS(SELECT 1 FROM t IN c.t WHERE udf.tax(t.k)) FROM c",
        "SELECT VALUE SUM(udf.tax(c.n)) FROM c",
        "SELECT VALUE COUNT(1) FROM c GROUP BY udf.tax(c.n)",
        "SELECT VALUE udf.tax(c.n) FROM c GROUP BY c.n",
        "SELECT VALUE udf.tax(c.n) FROM c ORDER BY c.id",
        "SELECT DISTINCT VALUE udf.tax(c.n) FROM c",
        "SELECT VALUE udf.tax()",
    ] {
        let result = scope().page(&calling(text), None, ALL);
        assert_eq!(result.expect_err(text), failed, "{text}");
    }
    assert_eq!(
        failed.to_string(),
        "The user-defined function 'tax' failed. Exception = no input"
    );
    let spared = [
        "SELECT * FROM c WHERE IS_DEFINED(c.n) AND udf.tax(c.n) > 0",
        "SELECT TOP 2 VALUE udf.tax(c.n) FROM c",
        "SELECT VALUE c.id = 'c' ? 0 : udf.tax(c.n) FROM c",
    ];
    for text in spared {
        assert!(scope().page(&calling(text), None, ALL).is_ok(), "{text}");
    }
}

/// Fails in its second call.
#[derive(Default)]
struct Tiring {
    calls: Cell<u64>,
}

impl UserFunctions for Tiring {
    fn call(&self, _: usize, _: &[Value]) -> Result<Value, UserFunctionError> {
        self.calls.set(self.calls.get() + 1);
        match self.calls.get() {
            1 => Ok(Value::Undefined),
            _ => Err(UserFunctionError::Failed {
                message: "tired".to_owned(),
                number: None,
            }),
        }
    }
}

#[test]
fn nothing_is_called_after_a_failure() {
    let program = calling(
        "SELECT VALUE [udf.same(t), udf.same(t), udf.same(t)] FROM t IN (SELECT VALUE [1, 2, 3])",
    );
    let tiring = Tiring::default();
    let page = program.page_with_functions(None, ALL, &tiring).unwrap();
    assert!(matches!(
        page_over(page),
        Err(ExecError::Function { message, .. }) if message == "tired"
    ));
    assert_eq!(tiring.calls.get(), 2);
    let page = program.page(None, ALL).unwrap();
    assert!(matches!(
        page_over(page),
        Err(ExecError::Function { name, .. }) if name == "same"
    ));
}

fn page_over(mut page: orrery_exec::Page<'_>) -> Result<(), ExecError> {
    let text = Bytes::from_static(b"{}");
    page.push(InputDocument {
        value: &Value::Undefined,
        rid: 1,
        text: &text,
        scan_position: &[1],
    })
    .map(|_| ())
}

#[test]
fn calls_are_counted_and_end_in_time() {
    let text = "SELECT VALUE udf.same(c.n) FROM c WHERE udf.kind(c.n) != 'null'";
    let page = scope().page(&calling(text), None, ALL).unwrap();
    assert_eq!(page.work.calls, 7);
    let elements = vec!["1"; 20].join(",");
    let long = Scope::new(&[&format!(r#"{{"t":[{elements}]}}"#)]);
    let limits = PageLimits {
        deadline: Some(&|| true),
        ..ALL
    };
    let program = calling("SELECT VALUE udf.same(t) FROM t IN c.t");
    let result = long.page(&program, None, limits);
    assert_eq!(result.unwrap_err(), ExecError::Timeout);
}

#[test]
fn a_call_tells_an_index_nothing() {
    for (filter, same) in [
        ("udf.positive(c.a)", "c.a ?? true"),
        ("udf.same(1) = 1", "c.a ?? true"),
        ("udf.positive(c.a) AND c.b = 1", "c.b = 1"),
        (
            "c.b > 1 AND udf.positive(c.a) AND c.d = 2",
            "c.b > 1 AND c.d = 2",
        ),
        ("udf.positive(c.a) OR c.b = 1", "c.a ?? true"),
        ("udf.same(c.a) = c.b", "IS_DEFINED(c.b)"),
        ("c.b = udf.same(1)", "IS_DEFINED(c.b)"),
        ("c.b IN (1, udf.same(2))", "IS_DEFINED(c.b)"),
        ("NOT udf.positive(c.a)", "c.a ?? true"),
    ] {
        let narrowing = calling(&format!("SELECT * FROM c WHERE {filter}")).sargable_filter();
        let expected = program(&format!("SELECT * FROM c WHERE {same}")).sargable_filter();
        assert_eq!(narrowing.predicate, expected.predicate, "{filter}");
        assert!(!narrowing.is_exact, "{filter}");
    }
}

#[test]
fn a_call_reads_its_arguments() {
    for (text, same) in [
        (
            "SELECT VALUE udf.same(c.a.b) FROM c",
            "SELECT VALUE c.a.b FROM c",
        ),
        (
            "SELECT VALUE udf.all(c.a, 1, c.b).x FROM c",
            "SELECT VALUE [c.a, c.b] FROM c",
        ),
        (
            "SELECT 1 FROM c WHERE udf.same(c)",
            "SELECT 1 FROM c WHERE c = 1",
        ),
        ("SELECT udf.same(t) FROM t IN c.t", "SELECT t FROM t IN c.t"),
        ("SELECT VALUE udf.same(1) FROM c", "SELECT VALUE 1 FROM c"),
    ] {
        assert_eq!(calling(text).fields(), program(same).fields(), "{text}");
    }
}

struct Constant;

impl UserFunctions for Constant {
    fn call(&self, _: usize, arguments: &[Value]) -> Result<Value, UserFunctionError> {
        Ok(Value::Bool(arguments.is_empty()))
    }
}

#[test]
#[ignore = "a measurement, for a release build"]
fn time_of_a_call() {
    let value = super::support::json(r#"{"a":1,"b":"some text","c":[1,2,3],"d":{"e":null}}"#);
    let text = Bytes::from(value.to_string());
    for query in [
        "SELECT * FROM c WHERE c.a = 2",
        "SELECT * FROM c WHERE udf.same()",
        "SELECT * FROM c WHERE udf.same(c)",
        "SELECT * FROM c WHERE udf.same(c.a)",
        "SELECT * FROM c WHERE udf.same(c.a, 1)",
    ] {
        let query = query.replace("udf.same()", "NOT udf.same()");
        let program = calling(&query);
        let mut page = program.page_with_functions(None, ALL, &Constant).unwrap();
        let start = Instant::now();
        for rid in 0..1_000_000 {
            let document = InputDocument {
                value: &value,
                rid,
                text: &text,
                scan_position: &[],
            };
            page.push(document).expect("no failure");
        }
        eprintln!("{query}: {:?}", start.elapsed() / 1_000_000);
    }
}
