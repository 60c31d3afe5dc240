//! Computed properties of a container.

use orrery_exec::{CompileError, ComputedProperties, Program};

use super::support::Scope;

fn definition(name: &str, text: &str) -> (String, orrery_sql::Query) {
    (name.to_owned(), orrery_sql::parse(text).expect("a query"))
}

#[test]
fn computed_properties_are_properties_of_the_document() {
    let computed = ComputedProperties::compile(&[
        definition("low", "SELECT VALUE LOWER(x.n) FROM x"),
        definition(
            "size",
            "SELECT VALUE (SELECT VALUE COUNT(1) FROM t IN c.t) FROM c",
        ),
        definition("twice", "SELECT VALUE (LET k = c.k IN k + k) FROM c"),
    ])
    .unwrap();
    let scope = Scope::new(&[
        r#"{"n":"B","k":1,"t":[1,2]}"#,
        r#"{"n":"A","k":2,"t":[3],"low":"stored"}"#,
    ]);
    for (text, expected) in [
        ("SELECT VALUE c.low FROM c", r#"["b","a"]"#),
        ("SELECT VALUE c['size'] FROM c", "[2,1]"),
        ("SELECT VALUE c.n FROM c WHERE c.low = 'a'", r#"["A"]"#),
        ("SELECT VALUE c.n FROM c ORDER BY c.low", r#"["A","B"]"#),
        (
            "SELECT VALUE [t, c.twice] FROM c JOIN t IN c.t",
            "[[1,2],[2,2],[3,4]]",
        ),
        ("SELECT VALUE SUM(c.size) FROM c", "[3]"),
        (
            "SELECT c.low, COUNT(1) AS n FROM c WHERE c.k = 1 GROUP BY c.low",
            r#"[{"low":"b","n":1}]"#,
        ),
        (
            "SELECT * FROM c WHERE c.k = 1",
            r#"[{"n":"B","k":1,"t":[1,2]}]"#,
        ),
        ("SELECT VALUE d.low FROM c JOIN c.t[5] AS d", "[]"),
    ] {
        let query = orrery_sql::parse(text).unwrap();
        let program = Program::compile_with(&query, &[], &computed).unwrap();
        let rows = scope.pages(&program, 1, 1 << 20).unwrap();
        assert_eq!(
            orrery_json::Value::Array(rows).to_string(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn one_expression_defines_a_computed_property() {
    for text in [
        "SELECT c.a FROM c",
        "SELECT VALUE c.a FROM c WHERE true",
        "SELECT VALUE t FROM t IN c.a",
        "SELECT VALUE c.a FROM c ORDER BY c.a",
        "SELECT VALUE 1",
    ] {
        let refused = ComputedProperties::compile(&[definition("p", text)]).unwrap_err();
        assert!(
            matches!(refused, CompileError::ComputedProperty { .. }),
            "{text}"
        );
    }
}
