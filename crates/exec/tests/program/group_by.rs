//! `GROUP BY`.

use super::support::Scope;

fn scope() -> Scope {
    Scope::new(&[
        r#"{"a":"x","n":1,"o":{"p":1,"q":2}}"#,
        r#"{"a":"y","n":2,"o":{"q":2,"p":1}}"#,
        r#"{"a":"x","n":3}"#,
        r#"{"n":4}"#,
        r#"{"a":null,"n":5}"#,
    ])
}

#[test]
fn groups() {
    scope().check_unordered(&[
        (
            "SELECT c.a, COUNT(1) AS n, SUM(c.n) AS s FROM c GROUP BY c.a",
            r#"[{"a":"x","n":2,"s":4},{"a":"y","n":1,"s":2},{"n":1,"s":4},{"a":null,"n":1,"s":5}]"#,
        ),
        ("SELECT VALUE c.a FROM c GROUP BY c.a", r#"["x","y",null]"#),
        ("SELECT c.a FROM c GROUP BY c.a", r#"[{"a":"x"},{"a":"y"},{},{"a":null}]"#),
        ("SELECT c['a'] FROM c GROUP BY c.a", r#"[{"a":"x"},{"a":"y"},{},{"a":null}]"#),
        ("SELECT VALUE COUNT(1) FROM c GROUP BY c.o", "[2,3]"),
        ("SELECT VALUE c.o.p FROM c GROUP BY c.o", "[1]"),
        ("SELECT VALUE UPPER(c.a) FROM c GROUP BY c.a", r#"["X","Y"]"#),
        ("SELECT VALUE LOWER(UPPER(c.a)) FROM c GROUP BY UPPER(c.a)", r#"["x","y"]"#),
        (
            r#"SELECT VALUE {"k": c.a, "m": MAX(c.n), "one": 1} FROM c WHERE IS_STRING(c.a) GROUP BY c.a"#,
            r#"[{"k":"x","m":3,"one":1},{"k":"y","m":2,"one":1}]"#,
        ),
        (
            r#"SELECT [{"item": c.a}] AS groupByItems, {"a": c.a, "n": {"item": COUNT(1)}} AS payload FROM c WHERE c.n < 3 GROUP BY c.a"#,
            r#"[{"groupByItems":[{"item":"x"}],"payload":{"a":"x","n":{"item":1}}},{"groupByItems":[{"item":"y"}],"payload":{"a":"y","n":{"item":1}}}]"#,
        ),
        ("SELECT c.n % 2 AS odd, COUNT(1) AS n FROM c GROUP BY c.n % 2", r#"[{"odd":1,"n":3},{"odd":0,"n":2}]"#),
        ("SELECT COUNT(1) AS n FROM c WHERE false GROUP BY c.a", "[]"),
        ("SELECT DISTINCT COUNT(1) AS n FROM c GROUP BY c.a", r#"[{"n":2},{"n":1}]"#),
    ]);
}

#[test]
fn ordered_groups() {
    scope().check(&[
        (
            "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a ORDER BY c.a",
            r#"[{"n":1},{"a":null,"n":1},{"a":"x","n":2},{"a":"y","n":1}]"#,
        ),
        (
            "SELECT VALUE c.a FROM c GROUP BY c.a ORDER BY c.a DESC OFFSET 1 LIMIT 1",
            r#"["x"]"#,
        ),
        (
            "SELECT DISTINCT VALUE c.a FROM c GROUP BY c.a, c.n ORDER BY c.a",
            r#"[null,"x","y"]"#,
        ),
    ]);
}

#[test]
fn windows_of_groups() {
    let scope = scope();
    let all = scope.rows("SELECT c.a FROM c GROUP BY c.a");
    for (text, expected) in [
        ("SELECT TOP 2 c.a FROM c GROUP BY c.a", &all[..2]),
        (
            "SELECT c.a FROM c GROUP BY c.a OFFSET 1 LIMIT 2",
            &all[1..3],
        ),
        ("SELECT c.a FROM c GROUP BY c.a OFFSET 3 LIMIT 9", &all[3..]),
    ] {
        for items_max in [1, 2, 100] {
            let rows = scope.pages(&super::support::program(text), items_max, 1 << 20);
            assert_eq!(rows.unwrap(), expected, "{text}");
        }
    }
}
