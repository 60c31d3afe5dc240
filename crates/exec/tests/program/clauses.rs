//! `FROM`, `JOIN`, `SELECT`, `WHERE`, `TOP`, `OFFSET LIMIT`, `LET`.

use super::support::{Scope, program};

fn scope() -> Scope {
    Scope::new(&[
        r#"{"id":"1","a":1,"o":{"b":{"x":7}},"t":[1,2],"n":[{"v":[5,6]},{"v":[7]}]}"#,
        r#"{"id":"2","a":2,"o":{"b":null},"t":[],"n":[]}"#,
        r#"{"id":"3","a":3,"t":"no array"}"#,
        r#"{"id":"4","a":4,"t":[3,null,[4]],"n":[{"v":[8]},{"w":1}]}"#,
    ])
}

#[test]
fn from() {
    scope().check(&[
        ("SELECT VALUE c.id FROM c", r#"["1","2","3","4"]"#),
        ("SELECT VALUE root.id FROM ROOT", r#"["1","2","3","4"]"#),
        (
            "SELECT VALUE x.id FROM anything x WHERE x.a > 3",
            r#"["4"]"#,
        ),
        ("SELECT * FROM c.o.b", r#"[{"x":7},null]"#),
        ("SELECT VALUE b.x FROM c.o.b", "[7]"),
        ("SELECT VALUE y.x FROM c['o'].b AS y", "[7]"),
        ("SELECT * FROM c.n[0]", r#"[{"v":[5,6]},{"v":[8]}]"#),
        ("SELECT VALUE t FROM t IN c.t", "[1,2,3,null,[4]]"),
        ("SELECT * FROM t IN c.t", "[1,2,3,null,[4]]"),
        ("SELECT t FROM t IN c.t WHERE t > 1", r#"[{"t":2},{"t":3}]"#),
        ("SELECT VALUE o FROM o IN c.o", "[]"),
    ]);
}

#[test]
fn joins_are_products_of_one_document() {
    scope().check(&[
        (
            "SELECT c.id, t FROM c JOIN t IN c.t WHERE c.a = 1",
            r#"[{"id":"1","t":1},{"id":"1","t":2}]"#,
        ),
        (
            "SELECT VALUE [t, s] FROM c JOIN t IN c.t JOIN s IN c.t WHERE c.a = 1",
            "[[1,1],[1,2],[2,1],[2,2]]",
        ),
        (
            "SELECT VALUE v FROM c JOIN n IN c.n JOIN v IN n.v",
            "[5,6,7,8]",
        ),
        (
            "SELECT c.a, b FROM c JOIN c.o.b AS b",
            r#"[{"a":1,"b":{"x":7}},{"a":2,"b":null}]"#,
        ),
        ("SELECT VALUE c.id FROM c JOIN t IN c.missing", "[]"),
        (
            "SELECT VALUE [c.id, x] FROM c JOIN (SELECT VALUE t FROM t IN c.t WHERE t > 1) AS x",
            r#"[["1",2],["4",3]]"#,
        ),
        (
            "SELECT VALUE x FROM c JOIN x IN (SELECT VALUE n.v FROM n IN c.n)",
            "[5,6,7,8]",
        ),
        (
            "SELECT VALUE s.k FROM (SELECT c.a AS k FROM c) AS s",
            "[1,2,3,4]",
        ),
        (
            "SELECT * FROM (SELECT VALUE c.a FROM c) s WHERE s > 2",
            "[3,4]",
        ),
    ]);
}

#[test]
fn a_subquery_that_only_filters_is_its_source() {
    scope().check(&[
        (
            r#"SELECT VALUE s.id FROM (SELECT * FROM root c WHERE c.a > 1) s ORDER BY s["a"] DESC"#,
            r#"["4","3","2"]"#,
        ),
        (
            "SELECT VALUE s.id FROM (SELECT VALUE c FROM c WHERE c.a > 1) s WHERE s.a < 4 ORDER BY s.a",
            r#"["2","3"]"#,
        ),
        (
            "SELECT * FROM (SELECT * FROM (SELECT * FROM c.o.b) x) y",
            r#"[{"x":7},null]"#,
        ),
        (
            "SELECT VALUE [s.id, t] FROM (SELECT * FROM c WHERE c.a != 1) s JOIN t IN s.t ORDER BY s.a DESC",
            r#"[["4",3],["4",null],["4",[4]]]"#,
        ),
        (
            "SELECT VALUE [c.id, b] FROM c JOIN (SELECT * FROM c.o.b WHERE IS_NULL(b)) z JOIN c.o.b",
            r#"[["2",null]]"#,
        ),
        (
            "SELECT VALUE [s.k, t] FROM (SELECT * FROM (SELECT c.a AS k, c.t FROM c) x WHERE x.k = 1) s JOIN t IN s.t",
            "[[1,1],[1,2]]",
        ),
        ("SELECT VALUE COUNT(1) FROM (SELECT * FROM c WHERE c.a > 1) s", "[3]"),
    ]);
}

#[test]
fn aggregates_take_scalar_subqueries() {
    scope().check(&[
        (
            "SELECT VALUE SUM((SELECT VALUE MAX(t) FROM t IN c.t WHERE IS_NUMBER(t))) FROM c",
            "[5]",
        ),
        (
            "SELECT VALUE SUM(1 + (SELECT VALUE COUNT(1) FROM t IN c.t)) FROM c",
            "[9]",
        ),
        (
            "SELECT VALUE SUM((SELECT VALUE SUM((SELECT VALUE MAX(v) FROM v IN n.v)) FROM n IN c.n)) FROM c WHERE c.a = 1",
            "[13]",
        ),
        ("SELECT VALUE MAX((SELECT VALUE c.a)) FROM c", "[4]"),
    ]);
}

#[test]
fn rows_without_a_value_are_no_rows() {
    scope().check(&[
        ("SELECT VALUE c.o.b.x FROM c", "[7]"),
        ("SELECT c.o.b.x FROM c", r#"[{"x":7},{},{},{}]"#),
        ("SELECT TOP 1 VALUE c.n[0].v[0] FROM c WHERE c.a > 1", "[8]"),
        ("SELECT VALUE 1 / 0 FROM c", "[]"),
        (
            "SELECT VALUE [1, 1 / 0, {'a': 0 / 0}] FROM c WHERE c.a = 1",
            "[[1,{}]]",
        ),
    ]);
}

#[test]
fn without_from_there_is_one_row() {
    for scope in [scope(), Scope::new(&[])] {
        scope.check(&[
            ("SELECT 1", r#"[{"$1":1}]"#),
            ("SELECT VALUE 1 + 1", "[2]"),
            ("SELECT VALUE 1 WHERE false", "[]"),
            ("SELECT VALUE undefined", "[]"),
            ("SELECT VALUE COUNT(1)", "[1]"),
            (
                "SELECT VALUE {countScalar: COUNT(1)}",
                r#"[{"countScalar":1}]"#,
            ),
            ("SELECT TOP 0 1", "[]"),
            ("SELECT VALUE 1 OFFSET 1 LIMIT 1", "[]"),
            ("SELECT DISTINCT VALUE 1", "[1]"),
            ("SELECT VALUE EXISTS(SELECT 1)", "[true]"),
            ("SELECT VALUE GetCurrentTimestamp()", "[0]"),
        ]);
    }
}

#[test]
fn top_offset_and_limit() {
    scope().check(&[
        ("SELECT TOP 2 VALUE c.a FROM c", "[1,2]"),
        ("SELECT TOP 0 VALUE c.a FROM c", "[]"),
        ("SELECT TOP 9 VALUE c.a FROM c", "[1,2,3,4]"),
        ("SELECT TOP @n VALUE c.a FROM c", "[1,2]"),
        ("SELECT VALUE c.a FROM c OFFSET 1 LIMIT 2", "[2,3]"),
        ("SELECT VALUE c.a FROM c OFFSET @n LIMIT @n", "[3,4]"),
        ("SELECT VALUE c.a FROM c OFFSET 9 LIMIT 2", "[]"),
        ("SELECT VALUE c.a FROM c OFFSET 0 LIMIT 0", "[]"),
        ("SELECT TOP 3 VALUE t FROM t IN c.t", "[1,2,3]"),
        (
            "SELECT VALUE t FROM t IN c.t OFFSET 1 LIMIT 3",
            "[2,3,null]",
        ),
    ]);
}

#[test]
fn let_binds_a_value() {
    scope().check(&[
        ("SELECT VALUE (LET x = c.a * 2 IN x + x) FROM c", "[4,8,12,16]"),
        ("SELECT VALUE (LET x = c.o IN x.b.x) FROM c", "[7]"),
        (
            "SELECT VALUE (LET x = 1 IN (LET y = x + 1 IN [x, y, c.a])) FROM c WHERE c.a = 2",
            "[[1,2,2]]",
        ),
        ("SELECT VALUE (LET c = 5 IN c) FROM c WHERE c.a = 1", "[5]"),
        (
            "SELECT VALUE ARRAY(SELECT VALUE (LET y = t IN y + c.a) FROM t IN c.t) FROM c WHERE c.a = 1",
            "[[2,3]]",
        ),
    ]);
}

#[test]
fn queries_rewritten_by_a_plan() {
    Scope::new(&[
        r#"{"_rid":"r1","id":"1","x":2}"#,
        r#"{"_rid":"r2","id":"2"}"#,
        r#"{"_rid":"r3","id":"3","x":1}"#,
    ])
    .check(&[
        (
            r#"SELECT c._rid, [{"item": c.x}] AS orderByItems, {"x": c.x} AS payload FROM c WHERE (true) ORDER BY c.x"#,
            r#"[{"_rid":"r2","orderByItems":[{}],"payload":{}},{"_rid":"r3","orderByItems":[{"item":1}],"payload":{"x":1}},{"_rid":"r1","orderByItems":[{"item":2}],"payload":{"x":2}}]"#,
        ),
        (
            r#"SELECT c._rid, [{"item": c.x}] AS orderByItems, c.x AS payload FROM c WHERE ((c.x >= 2 OR IS_ARRAY(c.x)) AND IS_DEFINED(c.x)) ORDER BY c.x"#,
            r#"[{"_rid":"r1","orderByItems":[{"item":2}],"payload":2}]"#,
        ),
        (r#"SELECT VALUE [{"item": COUNT(1)}] FROM c"#, r#"[[{"item":3}]]"#),
        (
            r#"SELECT VALUE [{"item": MIN(c.x), "item2": {"min": MIN(c.x), "count": COUNT(c.x)}}] FROM c"#,
            r#"[[{"item":1,"item2":{"min":1,"count":2}}]]"#,
        ),
        (
            r#"SELECT {"n": {"item": COUNT(c.x)}} AS payload FROM c"#,
            r#"[{"payload":{"n":{"item":2}}}]"#,
        ),
        (r#"SELECT VALUE [{"item": {"sum": SUM(c.z), "count": COUNT(c.z)}}] FROM c ORDER BY c.x"#,
            r#"[[{"item":{"sum":0,"count":0}}]]"#),
    ]);
}

#[test]
fn programs_know_what_they_need() {
    for (text, whole_document, whole_scope) in [
        ("SELECT * FROM c", true, false),
        ("SELECT TOP 1 * FROM c x WHERE x.a = 1", true, false),
        ("SELECT VALUE c FROM c JOIN t IN c.t", true, false),
        ("SELECT * FROM c ORDER BY c.a", true, true),
        ("SELECT DISTINCT * FROM c", true, true),
        ("SELECT c FROM c", false, false),
        ("SELECT * FROM c.o", false, false),
        ("SELECT VALUE COUNT(1) FROM c", false, true),
        ("SELECT c.a FROM c GROUP BY c.a", false, true),
    ] {
        let program = program(text);
        assert_eq!(program.selects_whole_document(), whole_document, "{text}");
        assert_eq!(program.needs_whole_scope(), whole_scope, "{text}");
    }
}

#[test]
fn programs_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<orrery_exec::Program>();
    shared::<orrery_exec::Continuation>();
}
