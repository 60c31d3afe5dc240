//! The predicates that programs imply for single paths.

use std::ops::Bound;

use orrery_exec::{DocumentPath, PathStep, Predicate, SargableFilter, SpatialRelation, ValueRange};
use orrery_json::Value;

use super::support::{json, program};

fn path_text(path: &DocumentPath) -> String {
    let steps = path.0.iter().map(|step| match step {
        PathStep::Name(name) => format!("/{name}"),
        PathStep::Element => "/[]".to_owned(),
    });
    steps.collect()
}

fn range_text(range: &ValueRange) -> String {
    let end = |bound: &Bound<Value>, open: &str, closed: &str| match bound {
        Bound::Included(value) => format!("{closed}{value}"),
        Bound::Excluded(value) => format!("{open}{value}"),
        Bound::Unbounded => String::new(),
    };
    match range {
        ValueRange::Equal(value) => value.to_string(),
        ValueRange::Between { low, high } => {
            let ends = [end(low, ">", ">="), end(high, "<", "<=")];
            ends.join(" ").trim().to_owned()
        }
        ValueRange::Prefix(text) => format!("{text}..."),
        ValueRange::OfType(value_type) => format!("{value_type:?}"),
        ValueRange::Defined => "any".to_owned(),
    }
}

fn predicate_text(predicate: &Predicate) -> String {
    let all = |terms: &[Predicate], word: &str| {
        let terms: Vec<String> = terms.iter().map(predicate_text).collect();
        format!("({})", terms.join(word))
    };
    match predicate {
        Predicate::Anything => "anything".to_owned(),
        Predicate::Nothing => "nothing".to_owned(),
        Predicate::And(terms) => all(terms, " and "),
        Predicate::Or(terms) => all(terms, " or "),
        Predicate::Value { path, ranges } => {
            let ranges: Vec<String> = ranges.iter().map(range_text).collect();
            format!("{}: {}", path_text(path), ranges.join(" | "))
        }
        Predicate::Spatial { path, relation, .. } => {
            let relation = match relation {
                SpatialRelation::Within => "within".to_owned(),
                SpatialRelation::Intersects => "intersects".to_owned(),
                SpatialRelation::Distance { metres_max } => format!("within {metres_max} m"),
            };
            format!("{}: {relation}", path_text(path))
        }
    }
}

fn text(narrowing: &SargableFilter) -> String {
    let exact = if narrowing.is_exact { "" } else { "~ " };
    format!("{exact}{}", predicate_text(&narrowing.predicate))
}

fn check(table: &[(&str, &str)]) {
    for (query, expected) in table {
        assert_eq!(
            text(&program(query).sargable_filter()),
            *expected,
            "{query}"
        );
    }
}

fn check_filters(table: &[(&str, &str)]) {
    for (filter, expected) in table {
        let query = format!("SELECT * FROM c WHERE {filter}");
        assert_eq!(
            text(&program(&query).sargable_filter()),
            *expected,
            "{filter}"
        );
    }
}

#[test]
fn comparisons() {
    check_filters(&[
        ("c.a = 1", "/a: 1"),
        ("c.a = -1", "/a: -1"),
        ("1 = c.a", "/a: 1"),
        ("c.a.b[\"c\"] = 'x'", "/a/b/c: \"x\""),
        ("c.a = @n", "/a: 2"),
        ("c.a = null", "/a: null"),
        ("c.a = undefined", "nothing"),
        ("c.a = [1]", "~ /a: Array"),
        ("c.a = {'b': 1}", "~ /a: Object"),
        ("c.a != 1", "~ /a: any"),
        ("c.a > 1", "/a: >1"),
        ("1 > c.a", "/a: <1"),
        ("c.a >= 'x'", "/a: >=\"x\""),
        ("c.a <= true", "/a: Bool"),
        ("c.a < true", "/a: false"),
        ("c.a < false", "nothing"),
        ("c.a < null", "nothing"),
        ("c.a >= null", "/a: null"),
        ("c.a < [1]", "nothing"),
        ("c.a BETWEEN 1 AND 5", "/a: >=1 <=5"),
        ("c.a BETWEEN 5 AND 1", "nothing"),
        ("c.a BETWEEN 1 AND 'x'", "nothing"),
        ("c.a NOT BETWEEN 1 AND 5", "/a: <1 | >5"),
        ("3 BETWEEN c.a AND c.b", "(/a: <=3 and /b: >=3)"),
        ("c.a IN (1, 'x', 1.0, undefined)", "/a: 1 | \"x\""),
        ("c.a NOT IN (1, 2)", "~ /a: any"),
        ("c.a IN (1, c.b)", "~ /a: any"),
        ("5 IN (c.a, c.b)", "(/a: 5 or /b: 5)"),
        ("c.a = c.b", "~ (/a: any and /b: any)"),
        ("c.a = 9007199254740993", "~ /a: 9007199254740993"),
        ("c.a", "/a: true"),
        ("NOT c.a", "/a: false"),
        ("c.t[0] = 1", "~ /t/[]: 1"),
        ("c.t[c.i] = 1", "~ anything"),
        ("c.a + 1 = 2", "~ anything"),
        ("(c.a ?? 1) = 1", "~ anything"),
        ("LOWER(c.a) = 'x'", "~ anything"),
        ("1 = 1", "anything"),
        ("1 = 2", "nothing"),
    ]);
}

#[test]
fn logic() {
    check_filters(&[
        (
            "c.a = 1 AND c.b = 2 AND c.d = 3",
            "(/a: 1 and /b: 2 and /d: 3)",
        ),
        (
            "c.a = 1 AND (c.b = 2 AND c.d = 3)",
            "(/a: 1 and /b: 2 and /d: 3)",
        ),
        ("c.a > 1 AND c.a < 5", "/a: >1 <5"),
        ("c.a >= 1 AND c.a <= 1", "/a: 1"),
        ("c.a > 5 AND c.a < 1", "nothing"),
        ("c.a = 1 AND c.a = 'x'", "nothing"),
        ("c.a IN (1, 2, 3) AND c.a > 1", "/a: 2 | 3"),
        ("c.a = 1 OR c.a = 2", "/a: 1 | 2"),
        ("c.a = 1 OR c.b = 2", "(/a: 1 or /b: 2)"),
        ("c.a = 1 OR c.b + 1 = 2", "~ anything"),
        ("c.a = 1 AND c.b + 1 = 2", "~ /a: 1"),
        ("c.a = 1 OR true", "anything"),
        ("c.a = 1 OR false", "/a: 1"),
        ("c.a = 1 AND false", "nothing"),
        ("NOT (c.a = 1 AND c.b > 2)", "~ (/a: any or /b: <=2)"),
        ("NOT (c.a > 1 OR c.b > 2)", "(/a: <=1 and /b: <=2)"),
        ("NOT (NOT (c.a = 1))", "/a: 1"),
        ("IS_DEFINED(c.a) AND c.a > 1", "/a: >1"),
        ("c.a > 1 AND c.a > 0 OR c.b", "(/a: >1 or /b: true)"),
        ("c.t[0] = 1 AND c.t[1] = 2", "~ (/t/[]: 1 and /t/[]: 2)"),
    ]);
}

#[test]
fn functions() {
    check_filters(&[
        ("IS_DEFINED(c.a)", "/a: any"),
        ("NOT IS_DEFINED(c.a)", "~ anything"),
        ("IS_NULL(c.a)", "/a: Null"),
        ("IS_NUMBER(c.a) OR IS_STRING(c.a)", "/a: Number | String"),
        ("IS_PRIMITIVE(c.a)", "/a: Null | Bool | Number | String"),
        ("IS_INTEGER(c.a)", "~ /a: Number"),
        ("STARTSWITH(c.a, 'ab')", "/a: ab..."),
        ("startswith(c.a, 'ab', false)", "/a: ab..."),
        ("STARTSWITH(c.a, 'ab', true)", "~ /a: String"),
        ("STARTSWITH(c.a, '')", "/a: String"),
        ("STARTSWITH(c.a, 1)", "nothing"),
        ("NOT STARTSWITH(c.a, 'ab')", "~ /a: String"),
        ("STARTSWITH('ab', c.a)", "~ /a: String"),
        ("CONTAINS(c.a, 'ab')", "~ /a: String"),
        ("ENDSWITH(c.a, c.b)", "~ (/a: String and /b: String)"),
        ("REGEXMATCH(c.a, 'x')", "~ /a: String"),
        ("STRINGEQUALS(c.a, 'x')", "/a: \"x\""),
        ("STRINGEQUALS(c.a, 'x', true)", "~ /a: String"),
        ("c.a LIKE 'ab%'", "/a: ab..."),
        ("c.a LIKE 'ab'", "/a: \"ab\""),
        ("c.a LIKE 'ab%c'", "~ /a: ab..."),
        ("c.a LIKE '%'", "/a: String"),
        ("c.a LIKE '%x'", "~ /a: String"),
        ("c.a NOT LIKE 'ab%'", "~ /a: String"),
        ("ARRAY_CONTAINS(c.t, 'x')", "/t/[]: \"x\""),
        (
            "ARRAY_CONTAINS(c.t, {'x': 1, 'y': {'z': 2}}, true)",
            "~ (/t/[]/x: 1 and /t/[]/y/z: 2)",
        ),
        ("ARRAY_CONTAINS(c.t, {'x': 1})", "~ /t/[]: Object"),
        ("NOT ARRAY_CONTAINS(c.t, 'x')", "~ /t: Array"),
        ("ARRAY_CONTAINS([1, 2], c.a)", "/a: 1 | 2"),
        ("ARRAY_CONTAINS_ANY(c.t, 1, 2)", "/t/[]: 1 | 2"),
        ("ARRAY_CONTAINS_ALL(c.t, 1, 2)", "(/t/[]: 1 and /t/[]: 2)"),
        ("IIF(c.a, true, false)", "~ anything"),
    ]);
}

#[test]
fn shapes() {
    let shape = "{'type': 'Point', 'coordinates': [1, 2]}";
    check_filters(&[
        (
            &format!("ST_DISTANCE(c.p, {shape}) < 100"),
            "~ /p: within 100 m",
        ),
        (
            &format!("100 >= ST_DISTANCE({shape}, c.p)"),
            "~ /p: within 100 m",
        ),
        (&format!("ST_DISTANCE(c.p, {shape}) > 100"), "~ anything"),
        (&format!("ST_WITHIN(c.p, {shape})"), "~ /p: within"),
        (&format!("ST_INTERSECTS({shape}, c.p)"), "~ /p: intersects"),
        ("ST_WITHIN(c.p, {'type': 'Nothing'})", "nothing"),
    ]);
}

#[test]
fn joins_and_subqueries() {
    check(&[
        ("SELECT * FROM c", "anything"),
        ("SELECT VALUE 1", "~ anything"),
        ("SELECT * FROM c.a", "/a: any"),
        (
            "SELECT VALUE t FROM c JOIN t IN c.t WHERE t = 'x'",
            "~ /t/[]: \"x\"",
        ),
        (
            "SELECT VALUE t FROM c JOIN t IN c.t WHERE t.a = 1 AND c.b = 2",
            "~ (/t/[]/a: 1 and /b: 2)",
        ),
        ("SELECT VALUE t FROM t IN c.t", "~ /t/[]: any"),
        (
            "SELECT VALUE s FROM c JOIN t IN c.t JOIN s IN t.s WHERE s > 1",
            "~ /t/[]/s/[]: >1",
        ),
        (
            "SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.t WHERE t = 'x')",
            "~ /t/[]: \"x\"",
        ),
        (
            "SELECT * FROM c WHERE NOT EXISTS(SELECT VALUE t FROM t IN c.t WHERE t = 'x')",
            "~ anything",
        ),
        (
            "SELECT * FROM c WHERE (SELECT VALUE COUNT(1) FROM t IN c.t) > 1",
            "~ anything",
        ),
        (
            "SELECT VALUE t FROM c JOIN (SELECT VALUE t FROM t IN c.t WHERE t > 1) AS t WHERE t < 5",
            "~ (/t/[]: >1 and /t/[]: <5)",
        ),
        ("SELECT COUNT(1) FROM c WHERE c.a = 1", "/a: 1"),
        (
            "SELECT c.b, COUNT(1) AS n FROM c WHERE c.a = 1 GROUP BY c.b",
            "/a: 1",
        ),
    ]);
}

#[test]
fn ordered_results_that_begin_later() {
    for (query, value, expected) in [
        (
            "SELECT * FROM c ORDER BY c.a",
            "5",
            "~ /a: >=5 | String | Array | Object",
        ),
        ("SELECT * FROM c ORDER BY c.a", "[]", "~ anything"),
        (
            "SELECT * FROM c WHERE c.a > 1 ORDER BY c.a",
            "5",
            "~ /a: >=5",
        ),
        ("SELECT * FROM c ORDER BY c.a DESC", "5", "~ anything"),
        (
            "SELECT * FROM c WHERE c.a > 1 ORDER BY c.a DESC",
            "5",
            "~ /a: >1 <=5",
        ),
        (
            "SELECT * FROM c WHERE c.a > 1 ORDER BY c.b DESC",
            "5",
            "~ /a: >1",
        ),
    ] {
        let program = program(query).with_resume_filter(&[json(value)], None, false);
        assert_eq!(
            text(&program.unwrap().sargable_filter()),
            expected,
            "{query} from {value}"
        );
    }
}
