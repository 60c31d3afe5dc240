//! `DISTINCT`.

use super::support::Scope;

fn scope() -> Scope {
    Scope::new(&[
        r#"{"a":1,"b":{"x":1,"y":2},"p":9}"#,
        r#"{"a":1.0,"b":{"y":2,"x":1},"p":1}"#,
        r#"{"a":"1","p":5}"#,
        r#"{"a":null,"p":5}"#,
        r#"{"p":2}"#,
        r#"{"a":"1","b":[1,2],"p":0}"#,
        r#"{"b":[2,1],"p":5}"#,
    ])
}

#[test]
fn rows_are_compared_deeply() {
    scope().check_unordered(&[
        ("SELECT DISTINCT VALUE c.a FROM c", r#"[1,"1",null]"#),
        (
            "SELECT DISTINCT c.a FROM c",
            r#"[{"a":1},{"a":"1"},{"a":null},{}]"#,
        ),
        (
            "SELECT DISTINCT VALUE c.b FROM c",
            r#"[{"x":1,"y":2},[1,2],[2,1]]"#,
        ),
        ("SELECT DISTINCT VALUE 1 FROM c", "[1]"),
        ("SELECT DISTINCT VALUE c.a FROM c WHERE false", "[]"),
    ]);
    Scope::new(&[r#"{"id":1,"a":2}"#, r#"{"a":2,"id":1}"#])
        .check(&[("SELECT DISTINCT * FROM c", r#"[{"id":1,"a":2}]"#)]);
}

#[test]
fn with_order() {
    scope().check(&[
        (
            "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a",
            r#"[null,1,"1"]"#,
        ),
        (
            "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a DESC",
            r#"["1",1,null]"#,
        ),
        (
            "SELECT DISTINCT c.a FROM c ORDER BY c.a",
            r#"[{},{"a":null},{"a":1},{"a":"1"}]"#,
        ),
        (
            "SELECT DISTINCT TOP 2 VALUE c.a FROM c ORDER BY c.a",
            "[null,1]",
        ),
        (
            "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a OFFSET 1 LIMIT 5",
            r#"[1,"1"]"#,
        ),
    ]);
}

#[test]
fn the_first_place_counts_when_the_order_is_not_in_the_row() {
    scope().check(&[
        (
            "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.p",
            r#"["1",1,null]"#,
        ),
        (
            "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.p DESC",
            r#"[1,null,"1"]"#,
        ),
        (
            "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.p DESC OFFSET 1 LIMIT 1",
            "[null]",
        ),
    ]);
}

#[test]
fn windows_agree_at_any_page_size() {
    let scope = scope();
    let all = scope.rows("SELECT DISTINCT VALUE c.p FROM c");
    assert_eq!(all.len(), 5);
    for (text, expected) in [
        ("SELECT DISTINCT TOP 3 VALUE c.p FROM c", &all[..3]),
        (
            "SELECT DISTINCT VALUE c.p FROM c OFFSET 2 LIMIT 2",
            &all[2..4],
        ),
    ] {
        for items_max in [1, 2, 3, 100] {
            let rows = scope.pages(&super::support::program(text), items_max, 1 << 20);
            assert_eq!(rows.unwrap(), expected, "{text}");
        }
    }
}

#[test]
fn a_subquery_without_from_has_one_row() {
    for documents in [&[][..], &[r#"{"a":1}"#, r#"{"a":2}"#]] {
        Scope::new(documents).check(&[
            (
                "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE 1)",
                "[1]",
            ),
            (
                "SELECT COUNT(1) AS n FROM (SELECT DISTINCT 1 AS a)",
                r#"[{"n":1}]"#,
            ),
        ]);
    }
}
