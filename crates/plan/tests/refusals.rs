//! Queries without a plan, and the error messages that clients receive.

mod common;

use common::Setting;
use orrery_json::Value;
use orrery_plan::Features;

/// The query is rejected with this code or with this text.
fn refused(query: &str, expected: &str) {
    let error = Setting::with_key(&["/pk"])
        .plan(query)
        .expect_err(query)
        .to_string();
    assert!(error.contains(expected), "{query}: {error}");
}

fn planned(query: &str) {
    if let Err(error) = Setting::with_key(&["/pk"]).plan(query) {
        panic!("{query}: {error}");
    }
}

#[test]
fn names() {
    refused("SELECT * FROM food WHERE c.x = 1", "SC2001");
    refused("SELECT products.id FROM products p", "SC2001");
    refused("SELECT c.id FROM x IN c.tags", "SC2001");
    refused("SELECT t FROM c JOIN t IN d.tags", "SC2001");
    refused("SELECT x", "SC2001");
    refused("SELECT c.a FROM c JOIN c IN c.tags", "more than once");
    planned("SELECT b FROM c.a.b");
    planned("SELECT Root.id FROM root");
    planned("SELECT (LET x = c.a IN x + 1) FROM c");
    planned("SELECT VALUE s FROM (SELECT VALUE c.a FROM c) AS s");
    planned("SELECT ARRAY(SELECT VALUE t FROM t IN c.tags JOIN u IN t.us WHERE c.a = u) FROM c");
    refused("SELECT EXISTS(SELECT VALUE s FROM s IN c.tags)", "SC2001");
}

#[test]
fn places_are_offsets_of_characters() {
    let error = Setting::with_key(&[]).plan("SELECT 'é', BADFUNC(c.a) FROM c");
    let expected = concat!(
        r#"{"errors":[{"severity":"Error","location":{"start":12,"end":19},"code":"SC2005","#,
        r#""message":"'BADFUNC' is not a recognized built-in function name."}]}"#
    );
    assert_eq!(error.expect_err("no such function").to_string(), expected);
}

#[test]
fn stars() {
    refused("SELECT * FROM c JOIN t IN c.tags", "single input set");
    refused("SELECT *", "SC1021");
    refused("SELECT * FROM x IN (SELECT VALUE [1])", "SC2042");
    planned("SELECT EXISTS(SELECT *) FROM c");
    planned("SELECT EXISTS(SELECT * FROM c JOIN t IN c.t) FROM c");
    refused("SELECT * FROM c GROUP BY c.a", "SC2041");
}

#[test]
fn subqueries() {
    refused(
        "SELECT (SELECT VALUE t FROM t IN c.a ORDER BY t) FROM c",
        "SC2202",
    );
    refused(
        "SELECT ARRAY(SELECT TOP 1 t FROM t IN c.a) FROM c",
        "SC2203",
    );
    refused(
        "SELECT * FROM c WHERE EXISTS(SELECT t FROM t IN c.a OFFSET 0 LIMIT 1)",
        "SC2204",
    );
    refused(
        "SELECT (SELECT VALUE t FROM t IN c.a ORDER BY RANK FullTextScore(t.x, 'a')) FROM c",
        "SC2228",
    );
    planned("SELECT (SELECT VALUE {n: COUNT(1)} FROM t IN c.a) FROM c");
}

#[test]
fn aggregates() {
    refused("SELECT VALUE SUM(COUNT(1)) FROM c", "SC2101");
    refused(
        "SELECT VALUE SUM((SELECT VALUE n FROM n IN c.list)) FROM c",
        "SC2201",
    );
    refused(
        "SELECT VALUE SUM((SELECT VALUE s FROM (SELECT VALUE n FROM n IN c.list) s)) FROM c",
        "SC2201",
    );
    planned("SELECT VALUE SUM((SELECT VALUE c.x)) FROM c");
    planned("SELECT VALUE SUM((SELECT VALUE COUNT(1) FROM n IN c.list)) FROM c");
    planned("SELECT VALUE SUM(ARRAY_LENGTH(ARRAY(SELECT VALUE n FROM n IN c.list))) FROM c");
    planned("SELECT VALUE SUM(EXISTS(SELECT 1 FROM n IN c.list) ? 1 : 0) FROM c");
    planned("SELECT c.g, SUM((SELECT VALUE MAX(n) FROM n IN c.list)) AS s FROM c GROUP BY c.g");
    refused("SELECT udf.f(COUNT(1)) FROM c", "Compositions of");
    refused("SELECT c.a FROM c WHERE COUNT(1) > 1", "SC2104");
    refused("SELECT COUNT() FROM c", "requires 1 argument(s).");
    refused("SELECT c.a, COUNT(1) FROM c", "'c.a'");
    refused("SELECT c.a.b FROM c GROUP BY c.a.d", "'c.a.b'");
    refused("SELECT (SELECT VALUE c.b) FROM c GROUP BY c.a", "'c.b'");
    refused("SELECT [AVG(c.a)] FROM c", r#"{"Errors":["Compositions of"#);
    planned("SELECT 1, COUNT(1) FROM c");
    planned("SELECT c.a.b, UPPER(c.a.c) FROM c GROUP BY c.a");
    planned("SELECT (SELECT VALUE COUNT(1) FROM t IN c.a) FROM c GROUP BY c.a");
    planned("SELECT VALUE {n: COUNT(1)}");
}

#[test]
fn indexes_are_strings_or_numbers_known_before() {
    let mut setting = Setting::with_key(&["/pk"]);
    setting.parameters = vec![
        ("@text".to_owned(), Value::from("x")),
        ("@number".to_owned(), Value::from(1.5)),
        ("@null".to_owned(), Value::Null),
        ("@list".to_owned(), Value::Array(Vec::new())),
    ];
    for (query, expected) in [
        ("SELECT VALUE c.arr[(2)] FROM c", None),
        ("SELECT VALUE c.arr[-1] FROM c", None),
        ("SELECT VALUE c.arr[1.5] FROM c", None),
        ("SELECT VALUE {a: 1}['a'] FROM c", None),
        ("SELECT VALUE c.arr[@text] FROM c", None),
        ("SELECT VALUE c.arr[(@number)] FROM c", None),
        ("SELECT VALUE c.arr[(SELECT VALUE @number)] FROM c", None),
        ("SELECT VALUE c.arr[@null] FROM c", Some((13, 25))),
        ("SELECT VALUE c.arr[@list] FROM c", Some((13, 25))),
        ("SELECT VALUE c.arr[@unsent] FROM c", Some((13, 27))),
        ("SELECT VALUE c.arr[2 + 2] FROM c", Some((13, 25))),
        ("SELECT VALUE c.arr[- 1] FROM c", Some((13, 23))),
        ("SELECT VALUE c.arr[true] FROM c", Some((13, 24))),
        ("SELECT VALUE c.arr[LOWER('A')] FROM c", Some((13, 30))),
        (
            "SELECT VALUE c.arr[(SELECT VALUE c.x)] FROM c",
            Some((13, 38)),
        ),
        (
            "SELECT VALUE c['a'][(c['Id'] - 1)]['Int'] FROM c",
            Some((13, 34)),
        ),
        ("SELECT VALUE c.arr[1+1][2+2] FROM c", Some((13, 28))),
        ("SELECT VALUE (c.arr)[1+1] FROM c", Some((13, 25))),
        ("SELECT VALUE ((c).arr)[ 1+1 ].x FROM c", Some((13, 29))),
        ("SELECT VALUE [1,2][0 + 1] FROM c", Some((13, 25))),
        ("SELECT VALUE c FROM c ORDER BY c.arr[1+1]", Some((31, 41))),
        (
            "SELECT * FROM c ORDER BY RANK FullTextScore(c.a[1+1], 'x')",
            Some((44, 52)),
        ),
    ] {
        let errors = setting.plan(query).err().map(|error| error.to_string());
        let expected = expected.map(|(start, end)| {
            format!(
                r#"{{"errors":[{{"severity":"Error","location":{{"start":{start},"end":{end}}},"code":"SC2990","message":"The specified query includes 'member indexer' which is currently not supported."}}]}}"#
            )
        });
        assert_eq!(errors, expected, "{query}");
    }
}

#[test]
fn order_by() {
    refused("SELECT * FROM c ORDER BY LOWER(c.a)", r#""code":2206"#);
    refused("SELECT * FROM c ORDER BY 1", r#""code":2206"#);
    refused("SELECT * FROM c ORDER BY @p", r#""code":2206"#);
    planned("SELECT * FROM c ORDER BY c");
    refused(
        "SELECT c.a FROM c GROUP BY c.a ORDER BY c.b",
        "'c.b' is invalid in the ORDER BY clause",
    );
    planned("SELECT COUNT(1) FROM c ORDER BY c.b");
    refused("SELECT COUNT(1) FROM c ORDER BY c.b, LOWER(c.d)", "SC2103");
    refused(
        "SELECT c.id FROM c JOIN t IN c.tags ORDER BY t.a",
        "correlated",
    );
    refused(
        "SELECT VALUE s FROM (SELECT VALUE t FROM t IN c.tags) s ORDER BY s.a",
        "correlated",
    );
    refused(
        "SELECT VALUE s FROM (SELECT DISTINCT VALUE c FROM c) s ORDER BY s.a",
        "correlated",
    );
    planned("SELECT c.id FROM c JOIN t IN c.tags ORDER BY c.a");
    planned("SELECT a FROM c.a ORDER BY a");
}

#[test]
fn rank() {
    refused("SELECT * FROM c ORDER BY RANK LOWER(c.a)", "SC2221");
    refused("SELECT * FROM c ORDER BY RANK RRF(LOWER(c.a))", "SC2221");
    planned("SELECT * FROM c ORDER BY RANK FullTextScore(ARRAY(SELECT VALUE c.t), 'a')");
    for (query, code) in [
        (
            "SELECT * FROM c ORDER BY RANK FullTextScore(c.t, ['a'])",
            "SC2241",
        ),
        (
            "SELECT * FROM c ORDER BY RANK FullTextScore(c.t, 'a') DESC",
            "SC2222",
        ),
        (
            "SELECT DISTINCT c.a FROM c ORDER BY RANK FullTextScore(c.t, 'a')",
            "SC2220",
        ),
        (
            "SELECT c.a FROM c GROUP BY c.a ORDER BY RANK FullTextScore(c.t, 'a')",
            "SC2227",
        ),
        (
            "SELECT * FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'a'))",
            "SC2233",
        ),
        ("SELECT VectorDistance(c.v, [1], 1) FROM c", "SC2212"),
        (
            "SELECT VectorDistance(c.v, [1], true, 'cosine') FROM c",
            "SC2210",
        ),
        (
            "SELECT VectorDistance(c.v, [1], true, {distanceFunction: 'far'}) FROM c",
            "SC2210",
        ),
        (
            "SELECT * FROM c ORDER BY VectorDistance(c.v, [1]) DESC",
            "SC2210",
        ),
    ] {
        refused(query, code);
    }
    refused(
        "SELECT c FROM c JOIN t IN c.a ORDER BY RANK FullTextScore(c.t, 'a')",
        "SC2224",
    );
    refused(
        "SELECT * FROM t IN c.a ORDER BY RANK FullTextScore(t.t, 'a')",
        "SC2223",
    );
    refused(
        "SELECT * FROM (SELECT * FROM c) s ORDER BY RANK FullTextScore(s.t, 'a')",
        "SC2225",
    );
    refused(
        "SELECT * FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'a'), [1, 2])",
        "SC2229",
    );
    refused(
        "SELECT * FROM c WHERE FullTextScore(c.t, 'a') > 1",
        "SC2240",
    );
    refused(
        "SELECT * FROM c WHERE RRF(c.a) > 1",
        "'RRF' is not a recognized built-in function name.",
    );
    refused(
        "SELECT * FROM c ORDER BY RANK FullTextScore(c[c.x], 'a')",
        "SC2990",
    );
    refused(
        "SELECT COUNT(1) FROM c ORDER BY RANK FullTextScore(c.t, 'a')",
        "SC2226",
    );
    refused(
        "SELECT * FROM c ORDER BY VectorDistance(c.v, [1], true, {searchListSizeMultiplier: -100})",
        "The 'searchListSizeMultiplier' value -100 specified",
    );
}

#[test]
fn the_path_of_a_score_may_be_named_by_a_parameter() {
    let mut setting = Setting::with_key(&["/pk"]);
    setting.parameters = vec![("@p".to_owned(), "t".into())];
    for query in [
        "SELECT * FROM c ORDER BY RANK FullTextScore(c[@p], 'a')",
        "SELECT * FROM c ORDER BY RANK RRF(FullTextScore(c[@p].b, 'a'), FullTextScore(c.t, 'a'))",
    ] {
        assert!(setting.plan(query).is_ok(), "{query}");
    }
}

#[test]
fn limits() {
    let list = |count: usize| vec!["1"; count].join(",");
    planned(&format!("SELECT * FROM c WHERE c.a IN ({})", list(16_000)));
    refused(
        &format!("SELECT * FROM c WHERE c.a IN ({})", list(16_001)),
        "16000",
    );
    let chain = |count: usize| vec!["c.a"; count].join(" OR ");
    planned(&format!("SELECT * FROM c WHERE {}", chain(2_000)));
    refused(&format!("SELECT * FROM c WHERE {}", chain(2_001)), "2000");
    let calls = |count: usize| vec!["udf.f(1)"; count].join(",");
    planned(&format!("SELECT {} FROM c", calls(10)));
    refused(&format!("SELECT {} FROM c", calls(11)), "10 calls");
    let joins = |count: usize| {
        let joins: Vec<String> = (0..count)
            .map(|index| format!("JOIN t{index} IN c.t"))
            .collect();
        joins.join(" ")
    };
    planned(&format!("SELECT 1 FROM c {}", joins(10)));
    refused(&format!("SELECT 1 FROM c {}", joins(11)), "10 JOIN");
}

#[test]
fn counts_need_whole_numbers() {
    let mut setting = Setting::with_key(&["/pk"]);
    for value in ["-1", "1.5", "\"1\"", "4294967296", "null"] {
        let value = orrery_json::parse(value.as_bytes()).expect("JSON of a test");
        setting.parameters = vec![("@n".to_owned(), value)];
        setting
            .plan("SELECT TOP @n * FROM c")
            .expect_err("not a count");
    }
}

/// The clauses are checked in the order of the service, whose first error is what clients show.
#[test]
fn problems_come_in_the_order_of_the_service() {
    let query = "SELECT f(z1), c.a, c.b AS a FROM c JOIN d IN z2.a WHERE z3 GROUP BY z4 ORDER BY z5 \
                 OFFSET 1 LIMIT @q";
    let error = Setting::with_key(&["/pk"]).plan(query).expect_err(query);
    let error = orrery_json::parse(error.to_string().as_bytes()).expect("an error is JSON");
    let found: Vec<String> = error
        .get("errors")
        .as_array()
        .expect("a list")
        .iter()
        .map(|error| {
            let start = error.get("location").get("start");
            format!("{}@{start}", error.get("code").as_str().unwrap_or_default())
        })
        .collect();
    let expected = [
        "SC2001@45",
        "SC2001@56",
        "SC2001@68",
        "SC2110@68",
        "SC2001@80",
        "SC2001@9",
        "SC2022@26",
        "SC2061@98",
    ];
    assert_eq!(found, expected);
}

#[test]
fn names_of_a_row_are_unique() {
    for (query, place) in [
        (
            "SELECT c.a, d.a FROM c JOIN d IN c.d",
            r#""start":14,"end":15"#,
        ),
        ("SELECT c.a, c['a'] FROM c", r#""start":14,"end":17"#),
        ("SELECT c.x, c.y AS 'x' FROM c", r#""start":19,"end":22"#),
        (
            "SELECT VALUE {a: 1, 'a': 2} FROM c",
            r#""start":20,"end":23"#,
        ),
    ] {
        refused(query, "SC2022");
        refused(query, place);
    }
    planned("SELECT c.a A, c.b a, 1, 2 FROM c");
}

#[test]
fn a_value_has_at_most_one_row() {
    refused("SELECT (SELECT VALUE t FROM t IN c.t) FROM c", "SC2201");
    refused(
        "SELECT * FROM c WHERE (SELECT VALUE t FROM t IN c.t WHERE t = 1) = 1",
        "SC2201",
    );
    planned("SELECT (SELECT VALUE c.a) FROM c");
    planned("SELECT FIRST(SELECT VALUE t FROM t IN c.t) FROM c");
    refused("SELECT TOP 1 * FROM c OFFSET 1 LIMIT 2", "SC2205");
}

/// A path is one key, whatever the form of its names, and is quoted as the query has it.
#[test]
fn keys_are_paths_in_any_form() {
    planned("SELECT c.a FROM c GROUP BY c['a']");
    planned("SELECT c['a']['b'] FROM c GROUP BY c.a.b");
    refused(
        "SELECT c['b'] FROM c GROUP BY c.a",
        "Property reference 'c['b']'",
    );
    refused(
        "SELECT EXISTS(SELECT 1 FROM t IN c['t'] WHERE t) FROM c GROUP BY c.a",
        "'c['t']'",
    );
}

#[test]
fn clients_must_support_the_plan() {
    let mut setting = Setting::with_key(&["/pk"]);
    setting.features = Some(Features::parse("Aggregate, Distinct, OrderBy, Top"));
    let error = setting
        .plan("SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a")
        .expect_err("no GROUP BY");
    assert_eq!(
        error.to_string(),
        "Query contains the following features, which the calling client does not support:\n\
         None GroupBy NonValueAggregate"
    );
    for (query, missing) in [
        ("SELECT TOP 1 * FROM c ORDER BY c.a", ""),
        ("SELECT VALUE SUM(c.a) FROM c", ""),
        ("SELECT VALUE COUNTIF(c.a) FROM c", "CountIf"),
        ("SELECT VALUE MAKELIST(c.a) FROM c", "ListAndSetAggregate"),
        ("SELECT * FROM c ORDER BY c.a, c.b", "MultipleOrderBy"),
        ("SELECT * FROM c OFFSET 1 LIMIT 2", "OffsetAndLimit"),
        ("SELECT * FROM c WHERE c.pk = 1 OFFSET 1 LIMIT 2", ""),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c)",
            "DCount",
        ),
        (
            "SELECT * FROM c ORDER BY VectorDistance(c.v, [1])",
            "NonStreamingOrderBy",
        ),
        (
            "SELECT * FROM c ORDER BY RANK FullTextScore(c.t, 'a')",
            "HybridSearch",
        ),
    ] {
        let outcome = setting
            .plan(query)
            .map_or_else(|error| error.to_string(), |_| String::new());
        assert!(outcome.ends_with(missing), "{query}: {outcome}");
        assert_eq!(outcome.is_empty(), missing.is_empty(), "{query}: {outcome}");
    }
}

/// The parser bounds the height of a syntax tree, and planning must have enough stack for that
/// height.
#[test]
fn high_trees_are_planned_or_refused() {
    let nested = |open: &str, middle: &str, close: &str, count: usize| {
        format!("{}{middle}{}", open.repeat(count), close.repeat(count))
    };
    for count in [200, 250, 500] {
        for expr in [
            nested("1 + ", "1", "", count),
            nested("NOT ", "c.pk", "", count),
            nested("[", "COUNT(1)", "]", count),
            nested("{a: ", "c.pk", "}", count),
            nested("c.x ?? (", "1", ")", count),
            nested("f(", "c.pk", ")", count),
            nested("(c.pk = 1 OR (c.a AND ", "c.pk = 2", "))", count / 2),
            nested("(c.pk = (SELECT VALUE ", "1", "))", count.min(60)),
            nested(
                "(SELECT VALUE c.a FROM c WHERE c.pk = ",
                "1",
                ")",
                count.min(60),
            ),
            nested("(true ? ", "1", " : 2)", count),
        ] {
            for query in [
                format!("SELECT VALUE {expr} FROM c GROUP BY {expr}"),
                format!("SELECT * FROM c WHERE {expr} ORDER BY c.a"),
            ] {
                let _either = Setting::with_key(&["/pk"]).plan(&query);
            }
        }
    }
}
