//! What the recorded results leave open: edges of single functions, and their cost.

use orrery_exec::ConstantQuery;
use orrery_json::{Value, parse};

fn value(expression: &str, parameters: &[(String, Value)]) -> Option<Value> {
    let query = orrery_sql::parse(&format!("SELECT VALUE {expression}")).expect("a query");
    ConstantQuery::compile(&query, parameters)
        .expect("a query")
        .row()
}

fn check(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        let expected = match *expected {
            "undefined" => None,
            json => Some(parse(json.as_bytes()).expect("JSON")),
        };
        assert_eq!(value(expression, &[]), expected, "{expression}");
    }
}

#[test]
fn regular_expressions() {
    check(&[
        (r#"RegexMatch("a\nb", "^b")"#, "false"),
        (r#"RegexMatch("a\nb", "^b", "m")"#, "true"),
        (r#"RegexMatch("a\nb", "a.b")"#, "false"),
        (r#"RegexMatch("a\nb", "a.b", "s")"#, "true"),
        (r#"RegexMatch("AB", "a b", "xi")"#, "true"),
        (r#"RegexMatch("a", "a", "g")"#, "undefined"),
        (r#"RegexMatch("a", "(")"#, "undefined"),
        (r#"RegexMatch("aa", "(a)\\1")"#, "undefined"),
        (r#"RegexMatch(1, "1")"#, "undefined"),
        (r#"RegexMatch("1", 1)"#, "undefined"),
        (r#"RegexMatch(undefined, "1")"#, "undefined"),
        (r#"RegexExtract("ab12", "([a-z]+)([0-9]+)")"#, r#""ab12""#),
        (
            r#"RegexExtract("ab12", "([a-z]+)([0-9]+)", "", 2)"#,
            r#""12""#,
        ),
        (
            r#"RegexExtract("ab12", "([a-z]+)([0-9]+)", "", 3)"#,
            "undefined",
        ),
        (
            r#"RegexExtract("ab12", "([a-z]+)([0-9]+)", "", -1)"#,
            "undefined",
        ),
        (r#"RegexExtract("ab12", "x")"#, "undefined"),
        (
            r#"RegexExtractAll("a1b2", "([a-z])([0-9])", "", 1)"#,
            r#"["a","b"]"#,
        ),
        (
            r#"RegexExtractAll("a1b2", "([a-z])([0-9])", "", 3)"#,
            "undefined",
        ),
        (r#"RegexExtractAll("a1b2", "x")"#, "[]"),
    ]);
}

#[test]
fn parts_of_strings() {
    check(&[
        (r#"SubstringBefore("a/b", "-")"#, "undefined"),
        (r#"SubstringAfter("a/b", "-")"#, "undefined"),
        (r#"LastSubstringBefore("a/b", "-")"#, "undefined"),
        (r#"LastSubstringAfter("a/b", "-")"#, "undefined"),
        (r#"SubstringBefore("/a", "/")"#, r#""""#),
        (r#"SubstringAfter("a/", "/")"#, r#""""#),
        (r#"SubstringBefore("a", 1)"#, "undefined"),
    ]);
}

#[test]
fn dates() {
    check(&[
        (r#"DateTimeAdd("mm", 1.5, "2020-01-01")"#, "undefined"),
        (
            r#"DateTimeAdd("MM", 1, "2020-01-01")"#,
            r#""2020-02-01T00:00:00.0000000Z""#,
        ),
        (r#"DateTimePart("dw", "2020-07-03")"#, "5"),
        (r#"TicksToDateTime(0, "yyyy MMM tt")"#, r#""1970 01 AM""#),
        ("INDEXOF('a😀b', 'b')", "2"),
        ("LENGTH('a😀b')", "3"),
        ("REPLACE('a', '', 'b')", "undefined"),
        ("ARRAY_SUM([])", "undefined"),
        ("OBJECTTOARRAY({a: 1}, undefined)", r#"[{"k":"a","v":1}]"#),
        ("INTBITLEFTSHIFT(1, 65)", "2"),
        ("ROUND(255, 10000000000)", "255"),
        ("RADIANS(1.5)", "0.026179938779914941"),
        ("DEGREES(0.1)", "5.7295779513082321"),
        ("LOG(100, 2)", "6.6438561897747244"),
        ("ISNULL(null)", "true"),
        ("TOSTRING(1e20)", r#""1e+20""#),
        (r#"DateTimeAdd("mm", 1, "2020-13-01")"#, "undefined"),
        (r#"DateTimeBin("2020-05-05", "mm")"#, "undefined"),
        (r#"DateTimeBin("2020-05-05", "dd", 0)"#, "undefined"),
        ("DateTimeFromParts(2021, 2, 29)", "undefined"),
        ("DateTimeFromParts(2020, 2, 29, 24)", "undefined"),
        (r#"DateTimePart("week", "2020-01-01")"#, "undefined"),
        (
            r#"DateTimeToTimestamp("1969-12-31T23:59:59.9999999Z")"#,
            "-1",
        ),
        ("TicksToDateTime(0.5)", "undefined"),
        ("TicksToDateTime(9223372036854775807)", "undefined"),
        (
            "TimestampToDateTime(253402300799999)",
            r#""9999-12-31T23:59:59.9990000Z""#,
        ),
        ("TimestampToDateTime(253402300800000)", "undefined"),
        ("Year(2020)", "undefined"),
        ("IS_DATETIME(2020)", "false"),
        ("IS_DATETIME(undefined)", "false"),
        (r#"IS_DATETIME("2020-02-30")"#, "false"),
    ]);
}

#[test]
fn shapes() {
    check(&[
        ("ST_ISVALID(1)", "false"),
        (
            r#"ST_ISVALID({"type": "Circle", "coordinates": [1, 2]})"#,
            "false",
        ),
        (r#"ST_AREA({"type": "Point", "coordinates": [1, 2]})"#, "0"),
        (
            r#"ST_AREA({"type": "Point", "coordinates": [1, 92]})"#,
            "undefined",
        ),
        (
            r#"ST_DISTANCE({"type": "Point", "coordinates": [1, 2]}, {"type": "Point", "coordinates": [1, 2]})"#,
            "0",
        ),
        (
            r#"ST_DISTANCE({"type": "Point", "coordinates": [1, 2]}, {"type": "Point"})"#,
            "undefined",
        ),
        (
            r#"ST_WITHIN({"type": "Point", "coordinates": [1, 2]}, "here")"#,
            "undefined",
        ),
    ]);
}

#[test]
fn items() {
    check(&[
        (r#"DOCUMENTID({"_rid": "36ZyAPW+uN8NAAAAAAAAAA=="})"#, "13"),
        (r#"DOCUMENTID({"_rid": "36ZyAPW-uN8NAAAAAAAAAA=="})"#, "13"),
        (r#"DOCUMENTID({"_rid": "36ZyAPW+uN8="})"#, "undefined"),
        (r#"DOCUMENTID({"id": "a"})"#, "undefined"),
        ("_TRY_ARRAY_CONTAINS([1, 2], 2)", "true"),
    ]);
}

#[test]
fn sets() {
    check(&[
        (
            r#"SetUnion([1, "1", 1.0], [[1], {"a": 1}])"#,
            r#"[1, "1", [1], {"a": 1}]"#,
        ),
        (
            r#"SetIntersect([{"a": 1, "b": 2}], [3, {"b": 2, "a": 1.0}])"#,
            r#"[{"b": 2, "a": 1}]"#,
        ),
        ("SetDifference([1, [2], [2], null], [1])", "[[2], null]"),
        ("SetEqual([1, 1, [2]], [[2], 1])", "true"),
        ("SetEqual([1], [1, 2])", "false"),
        ("SetEqual([1], 1)", "undefined"),
    ]);
}

/// A comparison of all pairs of elements would take minutes.
#[test]
fn large_sets_take_linear_time() {
    let numbers = |from: i64| Value::Array((from..from + 100_000).map(Value::from).collect());
    let parameters = [
        ("@a".to_owned(), numbers(0)),
        ("@b".to_owned(), numbers(50_000)),
    ];
    for (expression, expected) in [
        ("ARRAY_LENGTH(SetUnion(@a, @b))", Value::from(150_000)),
        ("ARRAY_LENGTH(SetIntersect(@a, @b))", Value::from(50_000)),
        ("ARRAY_LENGTH(SetDifference(@a, @b))", Value::from(50_000)),
        ("SetEqual(@a, @b)", Value::Bool(false)),
    ] {
        assert_eq!(
            value(expression, &parameters),
            Some(expected),
            "{expression}"
        );
    }
}

#[test]
fn what_would_be_too_long_is_undefined() {
    let parameters = [("@a".to_owned(), Value::String("a".repeat(1 << 20)))];
    for expression in [
        "CONCAT(@a, @a, @a, @a, @a)",
        "REPLACE(@a, 'a', 'abcde')",
        "REPLICATE(@a, 2)",
        "StringJoin(StringSplit(@a, 'a'), 'abcde')",
    ] {
        assert_eq!(value(expression, &parameters), None, "{expression}");
    }
}
