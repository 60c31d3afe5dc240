//! Queries that are refused, with their codes.

use orrery_exec::CompileError;

use super::support::compile;

#[test]
fn mistakes_have_a_code() {
    for (text, code, message) in [
        (
            "SELECT x.a FROM c",
            "SC2001",
            "Identifier 'x' could not be resolved.",
        ),
        (
            "SELECT c.a FROM c x",
            "SC2001",
            "Identifier 'c' could not be resolved.",
        ),
        (
            "SELECT 1 FROM c JOIN t IN d.t",
            "SC2001",
            "Identifier 'd' could not be resolved.",
        ),
        (
            "SELECT c.a FROM t IN c.t",
            "SC2001",
            "Identifier 'c' could not be resolved.",
        ),
        (
            "SELECT VALUE (SELECT VALUE d.a FROM d) FROM c",
            "SC2001",
            "Identifier 'd' could not be resolved.",
        ),
        (
            "SELECT VALUE (SELECT VALUE d.a FROM d)",
            "SC2001",
            "Identifier 'd' could not be resolved.",
        ),
        (
            "SELECT c.a, (SELECT VALUE COUNT(1) FROM t IN c.t) FROM c GROUP BY c.a",
            "SC2001",
            "Identifier 'c' could not be resolved.",
        ),
        (
            "SELECT NOPE(c.a) FROM c",
            "SC2005",
            "'NOPE' is not a recognized built-in function name.",
        ),
        (
            "SELECT * FROM c GROUP BY c.a",
            "SC2041",
            "'SELECT *' is not allowed with GROUP BY.",
        ),
        (
            "SELECT COUNT() FROM c",
            "SC2050",
            "The COUNT function requires 1 argument(s).",
        ),
        (
            "SELECT SUM(COUNT(1)) FROM c",
            "SC2101",
            "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.",
        ),
        (
            "SELECT SUM(MAX(c.a)) FROM c",
            "SC2101",
            "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.",
        ),
        (
            "SELECT s.score FROM s GROUP BY s.name",
            "SC2102",
            "Property reference 's.score' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.",
        ),
        (
            "SELECT COUNT(1), UPPER(s.name) FROM s",
            "SC2102",
            "Property reference 's.name' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.",
        ),
        (
            "SELECT ARRAY(SELECT VALUE t FROM t IN c.t ORDER BY t) FROM c",
            "SC2202",
            "'ORDER BY' clause is not supported in subqueries.",
        ),
        (
            "SELECT * FROM c JOIN (SELECT TOP 1 VALUE t FROM t IN c.t) x",
            "SC2203",
            "'TOP' clause is not supported in subqueries.",
        ),
        (
            "SELECT (SELECT VALUE t FROM t IN c.t OFFSET 0 LIMIT 1) FROM c",
            "SC2204",
            "'OFFSET LIMIT' clause is not supported in subqueries.",
        ),
        (
            "SELECT * FROM c ORDER BY LOWER(c.a)",
            "2206",
            "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path.",
        ),
        (
            "SELECT * FROM c ORDER BY RANK LOWER(c.a)",
            "SC2221",
            "The ORDER BY RANK clause must be followed by a VectorDistance and/or a FullTextScore function call.",
        ),
    ] {
        let error = compile(text).expect_err(text);
        assert_eq!(error.code(), Some(code), "{text}: {error}");
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn order_items_are_paths_of_the_document() {
    for item in [
        "1",
        "@n",
        "c",
        "c.a + 1",
        "(SELECT VALUE c.a)",
        "t",
        "t.a",
        "UPPER(c.a)",
    ] {
        let text = format!("SELECT 1 FROM c JOIN t IN c.t ORDER BY {item}");
        assert_eq!(
            compile(&text).unwrap_err(),
            CompileError::OrderByExpression,
            "{item}"
        );
    }
    for item in ["c.a", "c.a.b", "c['a'][0]", "c[@name]", "b.c"] {
        compile(&format!("SELECT 1 FROM c JOIN c.b AS b ORDER BY {item}")).unwrap();
    }
    let over_groups = compile("SELECT c.a FROM c GROUP BY c.a ORDER BY COUNT(1)");
    assert_eq!(over_groups.unwrap_err(), CompileError::OrderByExpression);
}

#[test]
fn counts_are_whole_numbers() {
    for (text, code) in [
        ("SELECT TOP @negative 1 FROM c", "SC2060"),
        ("SELECT TOP @name 1 FROM c", "SC2060"),
        ("SELECT 1 FROM c OFFSET @name LIMIT 1", "SC2062"),
        ("SELECT 1 FROM c OFFSET 1 LIMIT @negative", "SC2061"),
    ] {
        assert_eq!(compile(text).unwrap_err().code(), Some(code), "{text}");
    }
    let missing = compile("SELECT TOP @missing 1 FROM c").unwrap_err();
    assert_eq!(missing.code(), Some("SC2060"));
}

#[test]
fn other_mistakes() {
    for (text, expected) in [
        (
            "SELECT * FROM c JOIN t IN c.t",
            "'SELECT *' is only valid with a single input set.",
        ),
        (
            "SELECT *",
            "'SELECT *' is only valid with a single input set.",
        ),
        (
            "SELECT 1 FROM c JOIN c IN c.t",
            "The input alias 'c' is specified more than once in the FROM clause.",
        ),
        (
            "SELECT 1 FROM c WHERE COUNT(1) > 1",
            "An aggregate function is not allowed in this place: COUNT.",
        ),
        (
            "SELECT COUNT(1) FROM c GROUP BY SUM(c.a)",
            "An aggregate function is not allowed in this place: SUM.",
        ),
        (
            "SELECT udf.f(c.a) FROM c",
            "user-defined function 'f' is not supported",
        ),
        (
            "SELECT 1 FROM c ORDER BY RANK FullTextScore(c.a, 'x')",
            "ORDER BY RANK is not supported",
        ),
        (
            "SELECT SUM(_FullTextWordCount(c.a)) FROM c",
            "full-text search (_FullTextWordCount) is not supported",
        ),
        (
            "SELECT 1 FROM c WHERE VectorDistance(c.a, [1]) > 1",
            "vector search (VectorDistance) is not supported",
        ),
        ("SELECT RAND() FROM c", "function RAND is not supported"),
    ] {
        let error = compile(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
    let joins: Vec<String> = (0..11).map(|n| format!("JOIN t{n} IN c.t")).collect();
    let error = compile(&format!("SELECT 1 FROM c {}", joins.join(" "))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "The query has more than 10 JOIN clauses."
    );
}
