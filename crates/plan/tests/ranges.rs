//! The partition keys that filters imply.

mod common;

use common::Setting;
use orrery_json::Value;
use orrery_plan::{KeyScope, PlannedRange};
use proptest::prelude::*;

fn ranges(setting: &Setting, filter: &str) -> Vec<PlannedRange> {
    let query = format!("SELECT * FROM c WHERE {filter}");
    match setting.plan(&query) {
        Ok(plan) => plan.ranges,
        Err(error) => panic!("{query}: {error}"),
    }
}

/// The keys in sorted order; a prefix ends in an ellipsis.
fn keys(setting: &Setting, filter: &str) -> String {
    keys_of(ranges(setting, filter))
}

fn keys_of(ranges: Vec<PlannedRange>) -> String {
    let mut keys: Vec<String> = ranges
        .into_iter()
        .map(|range| match range.key {
            KeyScope::All => "all".to_owned(),
            KeyScope::Nothing => "nothing".to_owned(),
            KeyScope::Point(key) => key.to_json(),
            KeyScope::Prefix(key) => format!("{}...", key.to_json()),
        })
        .collect();
    keys.sort();
    keys.join(" ")
}

#[test]
fn subqueries_that_only_filter() {
    let setting = Setting::with_key(&["/pk"]);
    for (query, expected) in [
        (
            "SELECT VALUE s FROM (SELECT * FROM c) s WHERE s.pk = 'b'",
            r#"["b"]"#,
        ),
        (
            "SELECT VALUE s FROM (SELECT * FROM root c WHERE c.pk IN ('a', 'b')) s WHERE s.pk != 'a'",
            r#"["a"] ["b"]"#,
        ),
        (
            "SELECT VALUE s FROM (SELECT * FROM c WHERE c.pk = 'a') s ORDER BY s.id",
            r#"["a"]"#,
        ),
        (
            "SELECT VALUE s FROM (SELECT * FROM c WHERE c.pk = 'a') s WHERE s.pk = 'b'",
            "nothing",
        ),
        (
            "SELECT VALUE s FROM (SELECT VALUE c.x FROM c) s WHERE s.pk = 'b'",
            "all",
        ),
    ] {
        let plan = setting.plan(query).expect(query);
        assert_eq!(keys_of(plan.ranges), expected, "{query}");
    }
}

#[test]
fn one_level() {
    let mut setting = Setting::with_key(&["/pk"]);
    setting.parameters = vec![
        ("@a".to_owned(), Value::from("a")),
        (
            "@list".to_owned(),
            Value::Array(vec![Value::from(1), Value::from(2)]),
        ),
    ];
    for (filter, expected) in [
        ("c.pk = 'a'", r#"["a"]"#),
        ("'a' = c.pk", r#"["a"]"#),
        ("c['pk'] = @a", r#"["a"]"#),
        ("c.pk = @missing", "nothing"),
        ("c.pk = 'a' AND c.x = @missing", "nothing"),
        ("c.pk = 1 + 1", "[2]"),
        ("c.pk = -1", "[-1]"),
        ("c.pk = 'a' || 'b'", r#"["ab"]"#),
        ("c.pk = undefined", "nothing"),
        ("c.pk IN ('a', @a, 'b')", r#"["a"] ["b"]"#),
        ("c.pk IN ('a', c.x)", "all"),
        ("NOT (c.pk != 'a')", r#"["a"]"#),
        ("NOT (c.pk NOT IN (1, 2))", "[1] [2]"),
        ("NOT (c.pk = 'a')", "all"),
        ("NOT (c.pk != 1 OR c.x = 2)", "[1]"),
        ("c.pk = 'a' OR c.x = 1", "all"),
        ("(c.pk = 'a' AND c.pk = 'b') OR c.pk = 'c'", r#"["c"]"#),
        ("c.pk IN (1, 2) AND c.pk IN (2, 3)", "[2]"),
        ("ARRAY_CONTAINS(@list, c.pk)", "[1] [2]"),
        ("ABS(c.pk) = -1", "nothing"),
        ("c.pk LIKE 'ab'", r#"["ab"]"#),
        ("c.pk LIKE 'a_'", "all"),
        ("c.pk NOT LIKE 'ab'", "all"),
        ("c.pk > 1", "all"),
        ("1 = 1", "all"),
        ("1 > 2", "nothing"),
        ("1 < 'a'", "nothing"),
        ("2 BETWEEN 1 AND 3", "all"),
        ("null", "nothing"),
        ("true AND c.pk = 1", "[1]"),
        ("c.x AND false", "nothing"),
        ("c.x = 1 AND (true ? false : true)", "nothing"),
        ("c.pk = 9007199254740993", "[9007199254740992]"),
        (
            "EXISTS(SELECT VALUE t FROM t IN c.tags WHERE c.pk = 1)",
            "all",
        ),
        ("c.x = (SELECT VALUE 1 WHERE c.pk = 1)", "[1]"),
        (
            "c.x = (SELECT VALUE COUNT(1) FROM t IN c.a WHERE c.pk = 1)",
            "all",
        ),
        ("c.x = (SELECT VALUE d.y FROM c.a d WHERE d.pk = 1)", "all"),
        ("udf.f(c.pk) AND c.pk = 1", "[1]"),
    ] {
        assert_eq!(keys(&setting, filter), expected, "{filter}");
    }
}

#[test]
fn several_levels() {
    let setting = Setting::with_key(&["/a", "/b/c"]);
    for (filter, expected) in [
        ("c.a = 1 AND c.b.c = 2", "[1,2]"),
        ("c.a = 1", "[1]..."),
        ("c.b.c = 2", "all"),
        (
            "c.a IN (1, 2) AND c.b.c IN (3, 4)",
            "[1,3] [1,4] [2,3] [2,4]",
        ),
        ("c.a = 1 OR c.b.c = 2", "all"),
        (
            "(c.a = 1 AND c.b.c = 2) OR (c.a = 3 AND c.b.c = 4)",
            "[1,2] [3,4]",
        ),
        ("(c.a = 1 AND c.b.c = 2) OR c.a = 1", "[1]..."),
        ("c.a = 1 AND c.b.c = 2 AND c.a = 3", "nothing"),
    ] {
        assert_eq!(keys(&setting, filter), expected, "{filter}");
    }
}

#[test]
fn levels_of_a_hierarchy() {
    let setting = Setting::with_key(&["/a", "/b", "/c"]);
    for (filter, expected) in [
        ("c.a = 1 AND c.b = 2", "[1,2]..."),
        ("c.a = 1 AND c.c = 3", "[1]..."),
        ("c.a IN (1, 2)", "[1]... [2]..."),
        ("c.a IN (1, 2, 1) AND c.b = 'x'", r#"[1,"x"]... [2,"x"]..."#),
        ("c.a = 1 OR c.a = 2 OR c.a = 1", "[1]... [2]..."),
        (
            "(c.a = 1 OR c.a = 2) AND (c.b = 3 OR c.b = 4)",
            "[1,3]... [1,4]... [2,3]... [2,4]...",
        ),
        ("c.a = 1 AND (c.b = 2 OR c.c = 3)", "[1]..."),
        (
            "(c.a = 1 AND c.b = 2 AND c.c = 3) OR (c.a = 1 AND c.b = 2)",
            "[1,2]...",
        ),
        (
            "(c.a = 1 AND c.b = 2 AND c.c = 3) OR c.a = 4",
            "[1,2,3] [4]...",
        ),
        ("c.a IN (1, 2) AND c.a IN (2, 3) AND c.b = 5", "[2,5]..."),
        ("c.a = 1 OR c.b = 2", "all"),
        ("c.a IN (1, 2) AND c.b > 3", "[1]... [2]..."),
        (
            "c.a = 1 AND c.b = 2 AND c.c IN (3, null, undefined)",
            "[1,2,3] [1,2,null]",
        ),
    ] {
        assert_eq!(keys(&setting, filter), expected, "{filter}");
    }
}

/// Clients query partitions in the order of the ranges, and rely on that order.
#[test]
fn several_points_come_in_the_order_of_their_hashes() {
    let setting = Setting::with_key(&["/pk"]);
    for filter in [
        "c.pk IN ('a', 'b', 'c', 'd', 'a')",
        "c.pk = 'd' OR c.pk = 'c' OR c.pk IN ('b', 'a')",
        "NOT (c.pk != 'a' AND c.pk != 'b' AND c.pk != 'c' AND c.pk != 'd')",
    ] {
        let ranges = ranges(&setting, filter);
        assert_eq!(ranges.len(), 4, "{filter}");
        assert!(ranges.iter().all(PlannedRange::is_point), "{filter}");
        assert!(ranges.is_sorted_by(|a, b| a.min < b.min), "{filter}");
    }
}

#[test]
fn sources_other_than_the_document() {
    let setting = Setting::with_key(&["/a/b"]);
    let kind = |query: &str| setting.plan(query).expect("a plan").ranges[0].key.clone();
    assert!(matches!(
        kind("SELECT x FROM c.a AS x WHERE x.b = 1"),
        KeyScope::Point(_)
    ));
    assert!(matches!(
        kind("SELECT x FROM c JOIN c.a AS x WHERE x.b = 1"),
        KeyScope::Point(_)
    ));
    assert_eq!(kind("SELECT x FROM x IN c.a WHERE x.b = 1"), KeyScope::All);
    assert!(matches!(
        kind("SELECT x FROM (SELECT VALUE c FROM c) x WHERE x.a.b = 1"),
        KeyScope::Point(_)
    ));
    assert_eq!(
        kind("SELECT x FROM (SELECT DISTINCT VALUE c FROM c) x WHERE x.a.b = 1"),
        KeyScope::All
    );
    assert_eq!(kind("SELECT 1"), KeyScope::Nothing);
}

#[test]
fn ranges_as_json() {
    let json = |setting: &Setting, filter: &str| {
        let plan = setting.plan(&format!("SELECT * FROM c WHERE {filter}"));
        plan.expect("a plan")
            .to_json()
            .get("queryRanges")
            .to_string()
    };
    let setting = Setting::with_key(&["/pk"]);
    assert_eq!(
        json(&setting, "true"),
        r#"[{"min":"","max":"FF","isMinInclusive":true,"isMaxInclusive":false}]"#
    );
    assert_eq!(
        json(&setting, "false"),
        r#"[{"min":"","max":"","isMinInclusive":true,"isMaxInclusive":true}]"#
    );
    let point = &ranges(&setting, "c.pk = 'a'")[0];
    assert_eq!((&point.min, point.is_max_inclusive), (&point.max, true));
    let prefix = &ranges(&Setting::with_key(&["/a", "/b"]), "c.a = 1")[0];
    assert_eq!(prefix.max.to_string(), format!("{}FF", prefix.min));
    assert!(prefix.is_max_inclusive);
    let hierarchical = Setting::with_key(&["/a", "/b"]);
    assert_eq!(
        json(&hierarchical, "false"),
        r#"[{"min":"","max":"FF","isMinInclusive":true,"isMaxInclusive":true}]"#
    );
}

#[test]
fn too_many_combinations_shorten_the_prefix() {
    let list = (0..300)
        .map(|number| number.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let setting = Setting::with_key(&["/a", "/b"]);
    let ranges = ranges(&setting, &format!("c.a IN ({list}) AND c.b IN ({list})"));
    assert_eq!(ranges.len(), 300);
}

fn value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "undefined",
        "null",
        "true",
        "false",
        "0",
        "1",
        "2",
        "'a'",
        "'b'",
        "[1]",
        "{\"x\": 1}",
    ])
}

/// Conditions in which `K` stands for the key path.
fn condition() -> impl Strategy<Value = String> {
    let comparison = prop::sample::select(vec!["=", "!=", "<", ">="]);
    let leaf = prop_oneof![
        Just("K".to_owned()),
        value().prop_map(str::to_owned),
        (comparison, value()).prop_map(|(op, value)| format!("(K {op} {value})")),
        value().prop_map(|value| format!("({value} = K)")),
        (value(), value()).prop_map(|(a, b)| format!("(K IN ({a}, {b}))")),
        (value(), value()).prop_map(|(a, b)| format!("(K NOT IN ({a}, {b}))")),
        (value(), value()).prop_map(|(a, b)| format!("(K BETWEEN {a} AND {b})")),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|part| format!("(NOT {part})")),
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|parts| format!("({})", parts.join(" AND "))),
            prop::collection::vec(inner, 2..4)
                .prop_map(|parts| format!("({})", parts.join(" OR "))),
        ]
    })
}

proptest! {
    /// With a constant in place of the key the whole filter is constant. The plan then tells
    /// exactly whether the filter holds.
    #[test]
    fn no_document_is_missed(condition in condition(), value in value()) {
        let setting = Setting::with_key(&["/pk"]);
        let holds = keys(&setting, &condition.replace('K', value)) == "all";
        let planned = ranges(&setting, &condition.replace('K', "c.pk"));
        let component = if value == "undefined" { "{}" } else { value };
        let component = ranges(&setting, &format!("c.pk = {component}"))[0].clone();
        let found = planned
            .iter()
            .any(|range| range.key == KeyScope::All || range.key == component.key);
        prop_assert!(!holds || found, "{condition} misses {value}");
    }

    #[test]
    fn ranges_are_sorted_and_apart(numbers in prop::collection::vec(0..50_i32, 1..40)) {
        let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let filter = format!("c.a IN ({}) AND (c.b = 1 OR c.b = 2)", list.join(","));
        for paths in [&["/a"][..], &["/a", "/b"], &["/a", "/b", "/c"]] {
            let ranges = ranges(&Setting::with_key(paths), &filter);
            for pair in ranges.windows(2) {
                prop_assert!(pair[0].max <= pair[1].min && pair[0].min < pair[1].min);
            }
        }
    }
}
