//! The facts that a program gives to the planner, in addition to its filter.

use orrery_exec::{ComputedProperties, DocumentPath, PathStep, Predicate, Program, ResultShape};
use orrery_json::{FieldMask, FieldStep};

use super::support::program;

fn names(path: &DocumentPath) -> String {
    let steps = path.0.iter().map(|step| match step {
        PathStep::Name(name) => format!("/{name}"),
        PathStep::Element => "/[]".to_owned(),
    });
    steps.collect()
}

#[test]
fn orders_that_an_index_can_have() {
    for (query, expected) in [
        ("SELECT * FROM c ORDER BY c.a", "/a Ascending"),
        (
            "SELECT * FROM c ORDER BY c.a.b DESC, c.d",
            "/a/b Descending, /d Ascending",
        ),
        ("SELECT * FROM c.o ORDER BY o.a", "/o/a Ascending"),
        ("SELECT * FROM c ORDER BY c.a[0]", ""),
        ("SELECT VALUE t FROM c JOIN t IN c.t ORDER BY c.a", ""),
        (
            "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a ORDER BY c.a",
            "",
        ),
        ("SELECT * FROM c", ""),
    ] {
        let terms: Vec<String> = program(query)
            .order_terms()
            .iter()
            .map(|term| format!("{} {:?}", names(&term.path), term.direction))
            .collect();
        assert_eq!(terms.join(", "), expected, "{query}");
    }
}

#[test]
fn result_shapes_and_row_limits() {
    for (query, shape, rows_max) in [
        ("SELECT * FROM c", ResultShape::Stream, None),
        ("SELECT TOP 3 * FROM c", ResultShape::Stream, Some(3)),
        (
            "SELECT * FROM c ORDER BY c.a OFFSET 2 LIMIT 3",
            ResultShape::Sorted,
            Some(5),
        ),
        (
            "SELECT DISTINCT VALUE c.a FROM c",
            ResultShape::Distinct,
            None,
        ),
        ("SELECT COUNT(1) FROM c", ResultShape::Grouped, None),
    ] {
        let program = program(query);
        assert_eq!(program.shape(), shape, "{query}");
        assert_eq!(program.rows_max(), rows_max, "{query}");
    }
}

#[test]
fn extremes() {
    for (query, expected) in [
        ("SELECT VALUE MIN(c.a) FROM c", "/a Ascending"),
        (
            "SELECT MAX(c.a.b) AS m FROM c WHERE c.d = 1",
            "/a/b Descending",
        ),
        ("SELECT MIN(c.a) AS a, MAX(c.a) AS b FROM c", ""),
        ("SELECT VALUE MAX(c.a) FROM c GROUP BY c.b", ""),
        ("SELECT VALUE MAX(t) FROM c JOIN t IN c.t", ""),
        ("SELECT VALUE MAX(c.a + 1) FROM c", ""),
        ("SELECT VALUE SUM(c.a) FROM c", ""),
        ("SELECT VALUE c.a FROM c", ""),
    ] {
        let extreme = program(query).extreme();
        let text = extreme.map_or(String::new(), |(path, direction)| {
            format!("{} {direction:?}", names(&path))
        });
        assert_eq!(text, expected, "{query}");
    }
}

#[test]
fn parts_that_are_read() {
    for (query, expected) in [
        ("SELECT * FROM c", Some(&[][..])),
        ("SELECT VALUE c FROM c WHERE c.a = 1", Some(&["a"])),
        (
            "SELECT c.a, c.o.x FROM c WHERE c.b = 1 ORDER BY c.d",
            Some(&["a", "o.x", "b", "d"]),
        ),
        ("SELECT COUNT(c) FROM c", Some(&[])),
        ("SELECT MAKELIST(c) FROM c", None),
        ("SELECT DISTINCT * FROM c", None),
        ("SELECT c FROM c", None),
        ("SELECT VALUE [c._rid, c] FROM c", None),
        ("SELECT DISTINCT c.a FROM c", Some(&["a"])),
        ("SELECT VALUE t.x FROM c JOIN t IN c.t", Some(&["t.[].x"])),
        ("SELECT VALUE c.t[0].x FROM c", Some(&["t.[].x"])),
        (
            "SELECT c.a, SUM(c.b) AS s FROM c GROUP BY c.a",
            Some(&["a", "b"]),
        ),
        (
            "SELECT VALUE (SELECT VALUE COUNT(1) FROM t IN c.t WHERE t.x = c.y) FROM c",
            Some(&["t.[].x", "y"]),
        ),
        ("SELECT * FROM c WHERE EXISTS(SELECT VALUE c)", None),
        ("SELECT VALUE DOCUMENTID(c) FROM c", Some(&["_rid"])),
        ("SELECT VALUE c[c.a] FROM c", None),
    ] {
        let expected = expected.map(|paths| {
            let mut fields = FieldMask::default();
            for path in paths {
                fields.include(path.split('.').map(|step| match step {
                    "[]" => FieldStep::Element,
                    name => FieldStep::Name(name.into()),
                }));
            }
            fields
        });
        let program = program(query);
        let order_blind = |fields: Option<&FieldMask>| fields.map(sorted);
        assert_eq!(
            order_blind(program.fields()),
            order_blind(expected.as_ref()),
            "{query}"
        );
    }
}

fn sorted(fields: &FieldMask) -> Vec<String> {
    let text = format!("{fields:?}");
    let mut words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .map(str::to_owned)
        .collect();
    words.sort();
    words
}

#[test]
fn covering_paths() {
    for (query, expected) in [
        ("SELECT DISTINCT VALUE c.a FROM c", "/a"),
        ("SELECT COUNT(1) FROM c WHERE c.a.b > 1", "/a/b"),
        ("SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a", "/a"),
        ("SELECT VALUE c.a FROM c WHERE c.a > 1", "/a"),
        ("SELECT VALUE c.a FROM c WHERE c.b > 1", ""),
        ("SELECT VALUE c.a FROM c ORDER BY c.a", ""),
        ("SELECT * FROM c WHERE c.a > 1", ""),
        ("SELECT COUNT(1) FROM c", ""),
        ("SELECT VALUE t FROM t IN c.t", ""),
    ] {
        let path = program(query).covering_path();
        assert_eq!(
            path.as_ref().map(names).unwrap_or_default(),
            expected,
            "{query}"
        );
    }
}

#[test]
fn computed_properties_are_read_but_are_no_paths() {
    let definition = orrery_sql::parse("SELECT VALUE LOWER(c.name) FROM c").unwrap();
    let computed = ComputedProperties::compile(&[("a".to_owned(), definition)]).unwrap();
    let query = "SELECT c.b FROM c WHERE c.a = 'x' ORDER BY c.a";
    let query = orrery_sql::parse(query).unwrap();
    let program = Program::compile_with(&query, &[], &computed).unwrap();
    assert_eq!(program.sargable_filter().predicate, Predicate::Anything);
    assert!(!program.sargable_filter().is_exact);
    assert!(program.order_terms().is_empty());
    let mut fields = FieldMask::default();
    fields.include([FieldStep::Name("name".into())]);
    fields.include([FieldStep::Name("b".into())]);
    assert_eq!(program.fields(), Some(&fields));
}
