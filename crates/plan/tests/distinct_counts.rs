//! A client that follows the plan of a distinct count gets the same result as the query itself.

mod common;

use bytes::Bytes;
use common::Setting;
use orrery_exec::{Flow, InputDocument, PageLimits, Program, ResultRow};
use orrery_json::{Object, Value, parse};

/// Two partitions with common values.
const PARTITIONS: [&[&str]; 2] = [
    &[
        r#"{"pk":1,"x":1,"o":{"a":1,"b":2},"tags":["p","q"]}"#,
        r#"{"pk":1,"x":1.0,"tags":[]}"#,
        r#"{"pk":1,"x":"1"}"#,
    ],
    &[
        r#"{"pk":2,"x":1,"o":{"b":2,"a":1},"tags":["q","r"]}"#,
        r#"{"pk":2,"x":null}"#,
        r#"{"pk":2}"#,
    ],
];

#[test]
fn the_count_is_that_of_the_whole() {
    for (query, expected) in [
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c)",
            "[3]",
        ),
        (
            "SELECT COUNT(1) AS n FROM (SELECT DISTINCT c.x FROM c) AS s",
            r#"[{"n":4}]"#,
        ),
        (
            "SELECT COUNT(s) FROM (SELECT DISTINCT VALUE c.o FROM c) AS s",
            r#"[{"$1":1}]"#,
        ),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE t FROM c JOIN t IN c.tags)",
            "[3]",
        ),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c WHERE c.x = @x)",
            "[1]",
        ),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c WHERE c.x = 'none')",
            "[0]",
        ),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE 1)",
            "[1]",
        ),
        (
            "SELECT COUNT(1) AS n FROM (SELECT DISTINCT 1 AS a)",
            r#"[{"n":1}]"#,
        ),
    ] {
        let whole = PARTITIONS.concat();
        assert_eq!(
            Value::Array(rows(query, &whole)).to_string(),
            expected,
            "{query}"
        );
        let row = merged(query);
        assert_eq!(Value::Array(vec![row]).to_string(), expected, "{query}");
    }
}

#[test]
fn a_row_without_from_is_asked_of_every_partition() {
    let query = "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE 1)";
    let plan = Setting::with_key(&["/pk"]).plan(query).expect("a plan");
    assert!(!plan.is_single_point());
    let info = plan.info.expect("not a hybrid search");
    assert_eq!(info.rewritten_query, "SELECT DISTINCT VALUE 1");
}

/// Simulates the client: collects the distinct rows of all partitions and counts them under the
/// plan's name.
fn merged(query: &str) -> Value {
    let mut setting = Setting::with_key(&["/pk"]);
    setting.parameters = parameters();
    let plan = setting.plan(query).expect("a plan");
    let info = plan.info.expect("not a hybrid search");
    let alias = info.distinct_count.expect("a count of distinct rows");
    let mut distinct: Vec<Value> = Vec::new();
    for partition in PARTITIONS {
        for row in rows(&info.rewritten_query, partition) {
            if !distinct.contains(&row) {
                distinct.push(row);
            }
        }
    }
    let count = i64::try_from(distinct.len()).expect("a few rows");
    if alias.is_empty() {
        return Value::from(count);
    }
    Value::Object(Object::from_iter([(alias, Value::from(count))]))
}

fn rows(query: &str, documents: &[&'static str]) -> Vec<Value> {
    let query = orrery_sql::parse(query).expect("a query");
    let program = Program::compile(&query, &parameters()).expect("a program");
    let limits = PageLimits {
        items_max: 100,
        bytes_max: 1 << 20,
        deadline: None,
        now_ticks: 0,
        position_bytes_max: 480,
    };
    let mut page = program.page(None, limits).expect("a page");
    let documents = if program.reads_documents() {
        documents
    } else {
        &[]
    };
    for (number, text) in (1_u64..).zip(documents) {
        let document = InputDocument {
            value: &parse(text.as_bytes()).expect("JSON of a test"),
            rid: number,
            text: &Bytes::from_static(text.as_bytes()),
            scan_position: &number.to_be_bytes(),
        };
        assert_eq!(page.push(document), Ok(Flow::More));
    }
    let rows = page.finish().expect("a page").rows;
    rows.into_iter()
        .map(|row| match row {
            ResultRow::Value(value) => value,
            ResultRow::Text(text) => parse(&text).expect("stored text"),
        })
        .collect()
}

fn parameters() -> Vec<(String, Value)> {
    vec![("@x".to_owned(), Value::from(1))]
}
