//! What a `POST` to a feed is: plan, batch, query, upsert, create, in this order.

use serde_json::json;

use crate::support::{CROSS_PARTITION, ITEMS, PK, QUERY, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);
const BODY: &str = r#"{"id":"a","pk":"p"}"#;
const SELECT: &str = r#"{"query":"SELECT * FROM c"}"#;
const OPERATIONS: &str = r#"[{"operationType":"Read","id":"a"}]"#;

#[test]
fn the_first_mark_that_applies_counts() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let plan = ("x-ms-cosmos-is-query-plan-request", "True");
    let batch = ("x-ms-cosmos-is-batch-request", "true");
    let atomic = ("x-ms-cosmos-batch-atomic", "TRUE");
    let is_query = ("x-ms-documentdb-isquery", "True");
    let go_query = ("x-ms-documentdb-query", "true");
    let upsert = ("x-ms-documentdb-is-upsert", "true");
    let charset = ("content-type", "application/query+json; charset=utf-8");
    for (headers, body, mark) in [
        (
            &[plan, batch, atomic, is_query, upsert][..],
            SELECT,
            "queryRanges",
        ),
        (&[batch, atomic, is_query, upsert], OPERATIONS, "statusCode"),
        (&[is_query, upsert], SELECT, "Documents"),
        (&[go_query, upsert], SELECT, "Documents"),
        (&[QUERY, upsert], SELECT, "Documents"),
        (&[charset], SELECT, "Documents"),
    ] {
        let mut headers = headers.to_vec();
        headers.push(KEY);
        let response = client.request("POST", ITEMS, &headers, body).expect(200);
        assert!(
            response.text().contains(mark),
            "{headers:?} {}",
            response.text()
        );
    }
    client
        .request("POST", ITEMS, &[KEY, upsert], BODY)
        .expect(200);
    let off = [
        KEY,
        ("x-ms-documentdb-is-upsert", "false"),
        ("x-ms-documentdb-isquery", "no"),
    ];
    client
        .request("POST", ITEMS, &off, BODY)
        .refused(409, 0, "Conflict", "");
    for path in ["/dbs", "/dbs/d/colls", "/dbs/d/users", "/offers"] {
        for mark in [is_query, go_query, QUERY] {
            let feed = client.request("POST", path, &[mark], r#"{"query":"SELECT * FROM r"}"#);
            assert_eq!(feed.status, 200, "{path} {mark:?} {}", feed.text());
        }
    }
}

#[test]
fn a_query_over_partitions_must_be_allowed() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let text = "Cross partition query is required but disabled. Please set \
                x-ms-documentdb-query-enablecrosspartition to true, specify \
                x-ms-documentdb-partitionkey, or revise your query to avoid this exception.";
    let not = (CROSS_PARTITION, "false");
    client
        .request("POST", ITEMS, &[QUERY, not], SELECT)
        .refused(400, 0, "BadRequest", text);
    for headers in [
        &[QUERY, not, KEY][..],
        &[QUERY, (CROSS_PARTITION, "true")],
        &[QUERY, not, ("x-ms-documentdb-partitionkeyrangeid", "0")],
    ] {
        client.request("POST", ITEMS, headers, SELECT).expect(200);
    }
    let pinned = r#"{"query":"SELECT * FROM c WHERE c.pk = 'p'"}"#;
    client
        .request("POST", ITEMS, &[QUERY, not], pinned)
        .expect(200);
}

#[test]
fn queries_that_are_refused() {
    let world = start();
    let client = world.client();
    for body in [
        "{}",
        "[]",
        r#"{"query":1}"#,
        r#"{"query":""}"#,
        r#"{"query":"SELECT"}"#,
        r#"{"query":"SELECT * FROM c WHERE"}"#,
        r#"{"query":"SELECT * FROM c WHERE NOPE(c.x)"}"#,
        r#"{"query":"SELECT TOP @x * FROM c"}"#,
        r#"{"query":"SELECT * FROM c","parameters":1}"#,
        r#"{"query":"SELECT * FROM c","parameters":[{"name":1}]}"#,
    ] {
        let response = client.request("POST", ITEMS, &[QUERY], body);
        println!("{body}");
        response.refused(400, 0, "BadRequest", "");
    }
}

#[test]
fn a_query_without_from_needs_no_partition() {
    let world = start();
    let headers = [QUERY, (CROSS_PARTITION, "false")];
    let body = r#"{"query":"SELECT VALUE 1 + @n","parameters":[{"name":"@n","value":2}]}"#;
    let answer = world
        .client()
        .request("POST", ITEMS, &headers, body)
        .expect(200);
    assert_eq!(answer.json()["Documents"], serde_json::json!([3]));
    let with_from = r#"{"query":"SELECT VALUE 1 FROM c"}"#;
    assert_eq!(
        world
            .client()
            .request("POST", ITEMS, &headers, with_from)
            .status,
        400
    );
}

#[test]
fn the_order_of_an_aggregate_is_ignored() {
    let world = start();
    let client = world.client();
    for n in 0..3 {
        client.create_item(&n.to_string(), "p", &serde_json::json!({"n": n}));
    }
    for text in [
        "SELECT VALUE COUNT(1) FROM c ORDER BY c.n",
        "SELECT VALUE COUNT(1) FROM c ORDER BY c.n DESC, c.other",
        "SELECT VALUE MAX(c.n) + 1 FROM c ORDER BY c.other",
    ] {
        let answer = client.query(ITEMS, text).expect(200).json();
        assert_eq!(answer["Documents"], serde_json::json!([3]), "{text}");
    }
    let refused = client.query(ITEMS, "SELECT * FROM c ORDER BY c.n DESC, c.other");
    refused.refused(400, 0, "BadRequest", "composite index");
}
