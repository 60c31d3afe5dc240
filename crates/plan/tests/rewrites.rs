//! The rewritten queries that clients send in place of the user's query.

mod common;

use common::{AnyFunction, Setting};
use orrery_plan::{DistinctType, QueryInfo, QueryPlan, check};
use proptest::prelude::*;

fn plan(query: &str) -> QueryPlan {
    match Setting::with_key(&["/pk"]).plan(query) {
        Ok(plan) => plan,
        Err(error) => panic!("{query}: {error}"),
    }
}

fn info(query: &str) -> QueryInfo {
    plan(query).info.expect("not a hybrid search")
}

/// The text on one line, with `F` for the placeholder.
fn rewritten(query: &str) -> String {
    info(query)
        .rewritten_query
        .replace('\n', " ")
        .replace("{documentdb-formattableorderbyquery-filter}", "F")
}

#[test]
fn clauses_that_no_vector_combines() {
    for (query, expected) in [
        ("SELECT c.a FROM c", ""),
        (
            "SELECT DISTINCT TOP 5 c.a FROM c ORDER BY c.a",
            concat!(
                r#"SELECT c._rid, [{"item": c.a}] AS orderByItems, {"a": c.a} AS payload "#,
                "FROM c WHERE (F) ORDER BY c.a"
            ),
        ),
        (
            "SELECT * FROM c WHERE c.a AND c.b ORDER BY c.x OFFSET 2 LIMIT 3",
            concat!(
                r#"SELECT c._rid, [{"item": c.x}] AS orderByItems, c AS payload "#,
                "FROM c WHERE ((c.a AND c.b) AND (F)) ORDER BY c.x OFFSET 0 LIMIT 5"
            ),
        ),
        (
            "SELECT c.id, t FROM c JOIN t IN c.tags ORDER BY c.x",
            concat!(
                r#"SELECT c._rid, [{"item": c.x}] AS orderByItems, {"id": c.id, "t": t} AS payload "#,
                "FROM c JOIN t IN c.tags WHERE (F) ORDER BY c.x"
            ),
        ),
        (
            r#"SELECT VALUE s FROM (SELECT * FROM root c WHERE c.x > 1) s ORDER BY s["id"]"#,
            concat!(
                r#"SELECT s._rid, [{"item": s["id"]}] AS orderByItems, s AS payload "#,
                "FROM (     SELECT *     FROM root AS c     WHERE (c.x > 1) ) AS s ",
                r#"WHERE ((F) AND IS_DEFINED(s)) ORDER BY s["id"]"#
            ),
        ),
        (
            "SELECT VALUE z FROM (SELECT VALUE s FROM (SELECT * FROM c) s) z ORDER BY z.a DESC",
            concat!(
                r#"SELECT z._rid, [{"item": z.a}] AS orderByItems, z AS payload "#,
                "FROM (     SELECT VALUE s     FROM (         SELECT *         FROM c     ) AS s ) AS z ",
                "WHERE ((F) AND IS_DEFINED(z)) ORDER BY z.a DESC"
            ),
        ),
        (
            r#"SELECT VALUE SUM((SELECT VALUE MAX(n["Int"]) FROM n IN c.list)) FROM root c"#,
            concat!(
                r#"SELECT VALUE [{"item": SUM((     SELECT VALUE MAX(n["Int"])     FROM n IN c.list ))}] "#,
                "FROM root AS c"
            ),
        ),
        (
            "SELECT VALUE c.a + NaN FROM c GROUP BY c.a + NaN",
            "SELECT [{\"item\": (c.a + NaN)}] AS groupByItems, (c.a + NaN) AS payload FROM c GROUP BY (c.a + NaN)",
        ),
        (
            "SELECT DISTINCT c.a FROM c GROUP BY c.a",
            concat!(
                r#"SELECT DISTINCT [{"item": c.a}] AS groupByItems, {"a": c.a} AS payload "#,
                "FROM c GROUP BY c.a"
            ),
        ),
        (
            "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a ORDER BY c.a",
            concat!(
                r#"SELECT [{"item": c.a}] AS groupByItems, "#,
                r#"{"a": c.a, "n": {"item": COUNT(1)}} AS payload "#,
                "FROM c GROUP BY c.a ORDER BY c.a"
            ),
        ),
    ] {
        assert_eq!(rewritten(query), expected, "{query}");
    }
}

#[test]
fn distinct_values_follow_each_other_if_sorted_by_themselves() {
    for (query, expected) in [
        (
            "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a",
            DistinctType::Ordered,
        ),
        (
            "SELECT DISTINCT c.a FROM c ORDER BY c.a",
            DistinctType::Unordered,
        ),
        (
            "SELECT DISTINCT c.a, c.b FROM c ORDER BY c.b, c.a",
            DistinctType::Unordered,
        ),
        (
            "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a, c.b",
            DistinctType::Unordered,
        ),
        (
            "SELECT DISTINCT c.a FROM c ORDER BY c.b, c.a",
            DistinctType::Unordered,
        ),
        (
            "SELECT DISTINCT c.a, c.b FROM c ORDER BY c.a",
            DistinctType::Unordered,
        ),
        (
            "SELECT DISTINCT * FROM c ORDER BY c.a",
            DistinctType::Unordered,
        ),
        ("SELECT DISTINCT VALUE 1", DistinctType::None),
    ] {
        assert_eq!(info(query).distinct, expected, "{query}");
    }
}

/// The client counts distinct rows, so the plan has no aggregate to combine.
#[test]
fn counts_of_distinct_rows() {
    for (query, alias, expected) in [
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c)",
            "",
            "SELECT DISTINCT VALUE c.x FROM c",
        ),
        (
            "SELECT COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c)",
            "$1",
            "SELECT DISTINCT VALUE c.x FROM c",
        ),
        (
            "SELECT count(1) AS n FROM (SELECT DISTINCT c.x, c.y FROM c WHERE c.z > 1) AS s",
            "n",
            "SELECT DISTINCT c.x, c.y FROM c WHERE (c.z > 1)",
        ),
        (
            "SELECT VALUE COUNT(s) FROM (SELECT DISTINCT t FROM c JOIN t IN c.tags) AS s",
            "",
            "SELECT DISTINCT t FROM c JOIN t IN c.tags",
        ),
        (
            "SELECT VALUE COUNT('x') FROM (SELECT DISTINCT * FROM c)",
            "",
            "SELECT DISTINCT * FROM c",
        ),
        (
            "SELECT DISTINCT TOP 5 COUNT(1) AS n FROM (SELECT DISTINCT VALUE c.x FROM c)",
            "n",
            "SELECT DISTINCT VALUE c.x FROM c",
        ),
    ] {
        let info = info(query);
        assert_eq!(info.distinct_count.as_deref(), Some(alias), "{query}");
        assert_eq!(info.rewritten_query.replace('\n', " "), expected, "{query}");
        assert_eq!(info.has_select_value, alias.is_empty(), "{query}");
        assert_eq!(info.distinct, DistinctType::Unordered, "{query}");
        assert!(info.aggregates.is_empty() && info.group_by_aliases.is_empty());
        assert!(plan(query).needs_merge(), "{query}");
    }
    let json = plan("SELECT COUNT(1) AS n FROM (SELECT DISTINCT VALUE c.x FROM c)").to_json();
    let found = json.get("queryInfo").get("dCountInfo").to_string();
    assert_eq!(found, r#"{"dCountAlias":"n"}"#);
}

#[test]
fn a_counted_subquery_is_read_for_its_key() {
    let plan = plan("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.x FROM c WHERE c.pk = 1)");
    assert!(plan.is_single_point());
}

/// The client first merges the groups or the aggregates of the subquery and then counts.
#[test]
fn counts_of_distinct_groups() {
    let groups = info("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c GROUP BY c.x)");
    assert_eq!(groups.distinct_count.as_deref(), Some(""));
    assert_eq!(groups.group_by_expressions, ["c.x"]);
    assert_eq!(groups.distinct, DistinctType::Unordered);
    let expected =
        r#"SELECT DISTINCT [{"item": c.x}] AS groupByItems, c.x AS payload FROM c GROUP BY c.x"#;
    assert_eq!(groups.rewritten_query.replace('\n', " "), expected);
    let counts = info("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE COUNT(1) FROM c)");
    assert_eq!(counts.distinct_count.as_deref(), Some(""));
    assert_eq!(counts.aggregates.len(), 1);
    let expected = r#"SELECT DISTINCT VALUE [{"item": COUNT(1)}] FROM c"#;
    assert_eq!(counts.rewritten_query.replace('\n', " "), expected);
}

/// As Microsoft's planner, which combines partial aggregates of distinct rows. A row of two
/// partitions therefore enters a combined value twice.
#[test]
fn other_queries_over_distinct_rows_are_ordinary() {
    for (query, expected) in [
        (
            "SELECT VALUE s FROM (SELECT DISTINCT VALUE c.x FROM c) AS s",
            "",
        ),
        (
            "SELECT s, COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c) AS s GROUP BY s",
            r#"SELECT [{"item": s}] AS groupByItems, {"s": s, "$1": {"item": COUNT(1)}} AS payload "#,
        ),
        (
            "SELECT VALUE SUM(s) FROM (SELECT DISTINCT VALUE c.x FROM c) AS s",
            r#"SELECT VALUE [{"item": SUM(s)}] "#,
        ),
        (
            "SELECT VALUE COUNT(s.x) FROM (SELECT DISTINCT c.x FROM c) AS s",
            r#"SELECT VALUE [{"item": COUNT(s.x)}] "#,
        ),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c) AS s WHERE s > 1",
            r#"SELECT VALUE [{"item": COUNT(1)}] "#,
        ),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c) OFFSET 0 LIMIT 1",
            r#"SELECT VALUE [{"item": COUNT(1)}] "#,
        ),
        (
            "SELECT COUNT(1) AS n, SUM(s) AS t FROM (SELECT DISTINCT VALUE c.x FROM c) AS s",
            r#"SELECT {"n": {"item": COUNT(1)}, "t": {"item": SUM(s)}} AS payload "#,
        ),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT VALUE c.x FROM c) AS s",
            r#"SELECT VALUE [{"item": COUNT(1)}] "#,
        ),
        (
            "SELECT VALUE COUNT(1) FROM c JOIN (SELECT DISTINCT VALUE t FROM t IN c.tags) AS s",
            r#"SELECT VALUE [{"item": COUNT(1)}] "#,
        ),
    ] {
        let info = info(query);
        assert_eq!(info.distinct_count, None, "{query}");
        assert_eq!(info.distinct, DistinctType::None, "{query}");
        let found = info.rewritten_query.replace('\n', " ");
        let (rows, _) = found.split_once("FROM").unwrap_or_default();
        assert_eq!(rows, expected, "{query}");
    }
}

#[test]
fn plans_that_need_merging() {
    for (query, has_state, is_single_point) in [
        ("SELECT * FROM c", false, false),
        ("SELECT c.a FROM c WHERE c.pk = 1", false, true),
        (
            "SELECT * FROM c WHERE c.pk = 1 OFFSET 1 LIMIT 1",
            false,
            true,
        ),
        ("SELECT TOP 1 * FROM c WHERE c.pk = 1", false, true),
        ("SELECT * FROM c ORDER BY c.a", true, false),
        ("SELECT COUNT(1) FROM c", true, false),
        ("SELECT VALUE COUNT(1) FROM c", true, false),
        ("SELECT VALUE c.a FROM c GROUP BY c.a", true, false),
        ("SELECT DISTINCT c.a FROM c", true, false),
        (
            "SELECT * FROM c ORDER BY RANK FullTextScore(c.t, 'a')",
            true,
            false,
        ),
        ("SELECT 1", false, true),
    ] {
        let plan = plan(query);
        let found = (plan.needs_merge(), plan.is_single_point());
        assert_eq!(found, (has_state, is_single_point), "{query}");
    }
}

#[test]
fn every_field_is_there() {
    let plan = plan("SELECT * FROM c").to_json().to_string();
    let expected = concat!(
        r#"{"partitionedQueryExecutionInfoVersion":2,"#,
        r#""queryInfo":{"distinctType":"None","top":null,"offset":null,"limit":null,"#,
        r#""orderBy":[],"orderByExpressions":[],"groupByExpressions":[],"groupByAliases":[],"#,
        r#""aggregates":[],"groupByAliasToAggregateType":{},"rewrittenQuery":"","#,
        r#""hasSelectValue":false,"dCountInfo":null,"hasNonStreamingOrderBy":false},"#,
        r#""queryRanges":[{"min":"","max":"FF","isMinInclusive":true,"isMaxInclusive":false}]}"#
    );
    assert_eq!(plan, expected);
}

/// The text as a client sends it, without placeholders.
fn sent(text: &str) -> String {
    let mut text = text.replace("{documentdb-formattableorderbyquery-filter}", "true");
    while let Some(start) = text.find("{documentdb-") {
        let length = text[start..].find('}').expect("a placeholder ends");
        text.replace_range(start..=start + length, "1");
    }
    text
}

fn texts(plan: &QueryPlan) -> Vec<&str> {
    let components = plan.hybrid.iter().flat_map(|hybrid| {
        let components = &hybrid.component_queries;
        std::iter::once(hybrid.global_statistics_query.as_str())
            .chain(components.iter().map(|info| info.rewritten_query.as_str()))
    });
    plan.info
        .iter()
        .map(|info| info.rewritten_query.as_str())
        .filter(|text| !text.is_empty())
        .chain(components)
        .collect()
}

/// Queries with all clauses; queries without a plan are skipped.
fn query() -> impl Strategy<Value = String> {
    let one_of = |choices: &[&'static str]| prop::sample::select(choices.to_vec());
    (
        one_of(&["", "DISTINCT "]),
        one_of(&["", "TOP 3 "]),
        one_of(&[
            "*",
            "c",
            "c.a",
            "VALUE c.a",
            "c.a, c['b c'], c.a + 1",
            "VALUE {'x': c.a, y: [c.b]}",
            "COUNT(1)",
            "VALUE AVG(c.a)",
            "c.a, Min(c.b) AS \"odd name\"",
            "VALUE c.a ?? 'it\\'s'",
        ]),
        one_of(&[
            "c",
            "Root AS c",
            "c JOIN t IN c.tags",
            "c JOIN (SELECT VALUE x FROM x IN c.a) s",
        ]),
        one_of(&[
            "",
            "WHERE c.pk = 1",
            "WHERE c.a",
            "WHERE c.a = 1 AND c.b LIKE 'x!%' ESCAPE '!'",
            "WHERE c.a OR EXISTS(SELECT VALUE y FROM y IN c.a WHERE y = 'é\\n')",
        ]),
        one_of(&["", "GROUP BY c.a"]),
        one_of(&[
            "",
            "ORDER BY c.a",
            "ORDER BY c.a DESC, c['b c'] ASC",
            "ORDER BY VectorDistance(c.v, [1, 2])",
            "ORDER BY RANK RRF(FullTextScore(c.t, 'a', 'b'), VectorDistance(c.v, [1]), [2, -1])",
        ]),
        one_of(&["", "OFFSET 1 LIMIT 2"]),
    )
        .prop_map(|(distinct, top, list, from, filter, group, order, page)| {
            format!("SELECT {distinct}{top}{list} FROM {from} {filter} {group} {order} {page}")
        })
}

proptest! {
    #[test]
    fn rewritten_texts_are_queries(query in query()) {
        if let Ok(plan) = Setting::with_key(&["/pk"]).plan(&query) {
            for text in texts(&plan) {
                let sent = sent(text);
                let bound = orrery_sql::parse(&sent)
                    .map_err(Into::into)
                    .and_then(|query| check(&query, &[], &AnyFunction));
                prop_assert_eq!(bound, Ok(()), "{}: {}", query, sent);
            }
        }
    }
}
