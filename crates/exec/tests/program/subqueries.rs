//! Subqueries as values.

use orrery_exec::ExecError;

use super::support::{Scope, program};

fn scope() -> Scope {
    Scope::new(&[
        r#"{"id":"1","t":[3,1,2],"w":[{"k":"x","n":1},{"k":"y","n":2},{"k":"x","n":3}]}"#,
        r#"{"id":"2","t":[],"w":[]}"#,
        r#"{"id":"3","t":[null]}"#,
    ])
}

#[test]
fn every_kind_of_subquery() {
    scope().check(&[
        ("SELECT VALUE (SELECT VALUE t FROM t IN c.t WHERE t > 2) FROM c", "[3]"),
        ("SELECT VALUE (SELECT c.id) FROM c", r#"[{"id":"1"},{"id":"2"},{"id":"3"}]"#),
        ("SELECT VALUE EXISTS(SELECT VALUE t FROM t IN c.t) FROM c", "[true,false,true]"),
        (
            "SELECT VALUE EXISTS(SELECT VALUE t.missing FROM t IN c.t) FROM c",
            "[false,false,false]",
        ),
        ("SELECT VALUE c.id FROM c WHERE EXISTS(SELECT 1 FROM t IN c.t WHERE t = 2)", r#"["1"]"#),
        ("SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.t) FROM c", "[[3,1,2],[],[null]]"),
        (
            "SELECT VALUE ARRAY(SELECT w.k, w.n FROM w IN c.w WHERE w.n < 3) FROM c WHERE c.id = '1'",
            r#"[[{"k":"x","n":1},{"k":"y","n":2}]]"#,
        ),
        ("SELECT VALUE ALL(SELECT VALUE t > 0 FROM t IN c.t) FROM c", "[true,true,true]"),
        ("SELECT VALUE ALL(SELECT VALUE t > 1 FROM t IN c.t) FROM c", "[false,true,true]"),
        ("SELECT VALUE FIRST(SELECT VALUE t FROM t IN c.t) FROM c", "[3,null]"),
        ("SELECT VALUE LAST(SELECT VALUE t FROM t IN c.t) FROM c", "[2,null]"),
        ("SELECT VALUE (SELECT VALUE COUNT(1) FROM t IN c.t) FROM c", "[3,0,1]"),
        ("SELECT VALUE (SELECT VALUE SUM(t) FROM t IN c.t) FROM c", "[6,0]"),
        ("SELECT VALUE (SELECT VALUE MAX(t) + 1 FROM t IN c.t) FROM c", "[4]"),
        ("SELECT VALUE ARRAY(SELECT DISTINCT VALUE w.k FROM w IN c.w) FROM c", r#"[["x","y"],[],[]]"#),
        (
            "SELECT VALUE (SELECT VALUE COUNT(1) FROM (SELECT w.k FROM w IN c.w GROUP BY w.k)) FROM c",
            "[2,0,0]",
        ),
        (
            "SELECT VALUE ARRAY(SELECT VALUE ARRAY(SELECT VALUE t + s FROM s IN c.t WHERE s < t) FROM t IN c.t) FROM c WHERE c.id = '1'",
            "[[[4,5],[],[3]]]",
        ),
        ("SELECT VALUE (SELECT VALUE x.id FROM c x) FROM c", r#"["1","2","3"]"#),
        ("SELECT VALUE (SELECT VALUE items.id FROM items) FROM items i", r#"["1","2","3"]"#),
        (
            "SELECT VALUE p.n FROM c JOIN (SELECT VALUE COUNT(1) FROM w IN c.w) AS n JOIN (SELECT n) AS p",
            "[3,0,0]",
        ),
    ]);
}

#[test]
fn a_scalar_subquery_has_one_row() {
    let program = program("SELECT VALUE (SELECT VALUE t FROM t IN c.t) FROM c");
    assert_eq!(
        scope().pages(&program, 10, 1000),
        Err(ExecError::Cardinality)
    );
}

#[test]
fn depth_is_no_danger() {
    // Maximal nesting in every recursive form.
    for (open, close) in [
        ("(SELECT VALUE ", ")"),
        ("ARRAY(SELECT VALUE ", ")"),
        ("EXISTS(SELECT VALUE 1 WHERE ", ")"),
        ("(LET x = 1 IN ", ")"),
        ("(SELECT VALUE MAX(", "))"),
    ] {
        let mut deepest = 0;
        for depth in (8..600).step_by(8) {
            let text = format!(
                "SELECT VALUE {}true{} FROM c",
                open.repeat(depth),
                close.repeat(depth)
            );
            let Ok(query) = orrery_sql::parse(&text) else {
                break;
            };
            deepest = depth;
            if let Ok(program) = orrery_exec::Program::compile(&query, &[]) {
                assert_eq!(scope().pages(&program, 10, 100_000).unwrap().len(), 3);
            }
        }
        assert!(deepest >= 32, "{open} {deepest}");
    }
}
