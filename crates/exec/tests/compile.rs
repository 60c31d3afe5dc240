//! Names, projections and refusals.

use orrery_exec::{CompileError, ConstantQuery, FilterQuery, compile_condition};
use orrery_json::{Value, parse};

fn compile(text: &str) -> Result<FilterQuery, CompileError> {
    FilterQuery::compile(&orrery_sql::parse(text).expect("a query"), &[])
}

fn document() -> Value {
    parse(br#"{"id":"1","a":2,"b":{"c":3},"d":[4]}"#).expect("a document")
}

#[test]
fn filter_queries_project_rows() {
    for (text, expected) in [
        ("SELECT * FROM c", r#"{"id":"1","a":2,"b":{"c":3},"d":[4]}"#),
        (
            "SELECT VALUE c FROM c",
            r#"{"id":"1","a":2,"b":{"c":3},"d":[4]}"#,
        ),
        ("SELECT VALUE x.a FROM c AS x", "2"),
        ("SELECT VALUE r.a FROM root r", "2"),
        ("SELECT VALUE root.a FROM ROOT", "2"),
        ("SELECT VALUE anything.a FROM anything", "2"),
        ("SELECT c.a, c.b.c FROM c", r#"{"a":2,"c":3}"#),
        ("SELECT c['a'], c.d[0] FROM c", r#"{"a":2,"$1":4}"#),
        ("SELECT 1, c.a, 2 FROM c", r#"{"$1":1,"a":2,"$2":2}"#),
        (
            "SELECT c.a x, c.a AS y, c.a AS 'z z' FROM c",
            r#"{"x":2,"y":2,"z z":2}"#,
        ),
        ("SELECT c.b FROM c", r#"{"b":{"c":3}}"#),
        ("SELECT c.missing FROM c", "{}"),
        ("SELECT VALUE c.missing FROM c", ""),
        ("SELECT VALUE {n: c.a} FROM c", r#"{"n":2}"#),
    ] {
        let query = compile(text).unwrap();
        assert_eq!(query.project(&document()).to_string(), expected, "{text}");
    }
    let alias = compile("SELECT c FROM c").unwrap().project(&document());
    assert_eq!(alias.get("c"), &document());
}

#[test]
fn whole_documents_are_recognised() {
    for (text, expected) in [
        ("SELECT * FROM c", true),
        ("SELECT * FROM c x WHERE x.a = 1", true),
        ("SELECT VALUE c FROM c", true),
        ("SELECT c FROM c", false),
        ("SELECT VALUE c.a FROM c", false),
    ] {
        assert_eq!(
            compile(text).unwrap().selects_whole_document(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn mistakes_have_a_code_and_a_place() {
    for (text, code, message, place) in [
        (
            "SELECT * FROM root AS r WHERE c.a = 1",
            "SC2001",
            "Identifier 'c' could not be resolved.",
            (30, 31),
        ),
        (
            "SELECT products.id FROM products p",
            "SC2001",
            "Identifier 'products' could not be resolved.",
            (7, 15),
        ),
        (
            "SELECT C.id FROM c",
            "SC2001",
            "Identifier 'C' could not be resolved.",
            (7, 8),
        ),
        (
            "SELECT BADFUNC(r.age) FROM Root r",
            "SC2005",
            "'BADFUNC' is not a recognized built-in function name.",
            (7, 14),
        ),
        (
            "SELECT * FROM Root r WHERE STARTSWITH(r.key, 'a', 'b', 'c')",
            "SC2050",
            "The STARTSWITH function requires 2 to 3 argument(s).",
            (27, 59),
        ),
        (
            "SELECT VALUE LOWER() FROM c",
            "SC2050",
            "The LOWER function requires 1 argument(s).",
            (13, 20),
        ),
        (
            "SELECT * FROM c GROUP BY c.a",
            "SC2041",
            "'SELECT *' is not allowed with GROUP BY.",
            (7, 8),
        ),
    ] {
        let error = compile(text).unwrap_err();
        assert_eq!(error.code(), Some(code), "{text}");
        assert_eq!(error.to_string(), message, "{text}");
        let span = error.span().unwrap();
        assert_eq!((span.start, span.end), place, "{text}");
    }
}

#[test]
fn a_parameter_without_a_value_is_undefined() {
    let query = orrery_sql::parse("SELECT * FROM c WHERE c.a = @a").unwrap();
    let without = FilterQuery::compile(&query, &[("@b".to_owned(), Value::Null)]).unwrap();
    assert!(!without.matches(&document()));
    let supplied = [
        ("@a".to_owned(), Value::from(2)),
        ("@unused".to_owned(), Value::Null),
    ];
    assert!(
        FilterQuery::compile(&query, &supplied)
            .unwrap()
            .matches(&document())
    );
}

#[test]
fn what_is_missing_is_named() {
    for (text, expected) in [
        ("SELECT * FROM c JOIN t IN c.d", "JOIN"),
        ("SELECT * FROM t IN c.d", "FROM ... IN"),
        ("SELECT * FROM c.b", "path in FROM"),
        ("SELECT * FROM (SELECT * FROM c) x", "subquery in FROM"),
        ("SELECT * FROM c ORDER BY c.a", "ORDER BY"),
        ("SELECT c.a FROM c GROUP BY c.a", "GROUP BY"),
        ("SELECT DISTINCT c.a FROM c", "DISTINCT"),
        ("SELECT TOP 1 * FROM c", "TOP"),
        ("SELECT * FROM c OFFSET 0 LIMIT 1", "OFFSET LIMIT"),
        ("SELECT udf.f(c.a) FROM c", "user-defined function 'f'"),
        ("SELECT VALUE (SELECT 1) FROM c", "scalar subquery"),
        ("SELECT * FROM c WHERE EXISTS(SELECT 1)", "EXISTS"),
        ("SELECT VALUE ARRAY(SELECT 1) FROM c", "ARRAY subquery"),
        ("SELECT VALUE (LET x = 1 IN x) FROM c", "LET"),
        ("SELECT VALUE RAND() FROM c", "function RAND"),
        ("SELECT 1", "SELECT without FROM"),
    ] {
        match compile(text) {
            Err(CompileError::Unsupported { what }) => assert_eq!(what, expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn queries_without_from_give_one_row() {
    for (text, expected) in [
        ("SELECT 1", Some(r#"{"$1":1}"#)),
        ("SELECT VALUE 1 + 1", Some("2")),
        ("SELECT VALUE 1 WHERE false", None),
        ("SELECT VALUE undefined", None),
    ] {
        let query = orrery_sql::parse(text).unwrap();
        let row = ConstantQuery::compile(&query, &[]).unwrap().row();
        assert_eq!(
            row.map(|row| row.to_string()).as_deref(),
            expected,
            "{text}"
        );
    }
    for text in ["SELECT *", "SELECT c.a", "SELECT VALUE 1 FROM c"] {
        let query = orrery_sql::parse(text).unwrap();
        assert!(ConstantQuery::compile(&query, &[]).is_err(), "{text}");
    }
}

#[test]
fn conditions() {
    for (text, expected) in [
        ("from c where c.a = 2", true),
        ("FROM x WHERE x.a > 2", false),
        ("from c where IS_DEFINED(c.a) AND NOT IS_DEFINED(c.z)", true),
        ("from c where c.missing = 1", false),
    ] {
        assert_eq!(
            compile_condition(text).unwrap().holds(&document()),
            Ok(expected),
            "{text}"
        );
    }
    assert!(matches!(
        compile_condition("from c"),
        Err(CompileError::Syntax(_))
    ));
    assert!(matches!(
        compile_condition("from c where x.a = 1"),
        Err(CompileError::UnresolvedIdentifier { .. })
    ));
}
