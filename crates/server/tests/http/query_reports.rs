//! What a query tells of itself: metrics, indexes, its plan, and how far an index is.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::batch::BATCH;
use crate::support::{CONTAINER, Client, ITEMS, PK, QUERY, Response, World, start};

const METRICS: &str = "x-ms-documentdb-query-metrics";
const INDEXES: &str = "x-ms-cosmos-index-utilization";
const PLAN: &str = "x-orrery-query-plan";

const ASK_METRICS: (&str, &str) = ("x-ms-documentdb-populatequerymetrics", "True");
const ASK_INDEXES: (&str, &str) = ("x-ms-cosmos-populateindexmetrics", "True");
const ASK_INDEXES_V2: (&str, &str) = ("x-ms-cosmos-populateindexmetrics-V2", "true");
const ASK_PLAN: (&str, &str) = ("x-orrery-explain", "true");

/// A thousand items of one key, ten for each of a hundred shelves.
fn thousand() -> World {
    let world = start();
    fill(&world.client(), 10);
    world
}

fn fill(client: &Client, batches: usize) {
    for batch in 0..batches {
        let create = |number: usize| {
            let n = batch * 100 + number;
            json!({"operationType": "Create", "resourceBody": {
                "id": format!("i{n}"), "pk": "p", "n": n, "shelf": n % 100
            }})
        };
        let operations: Vec<Value> = (0..100).map(create).collect();
        let headers = [
            (PK, r#"["p"]"#),
            BATCH,
            ("x-ms-cosmos-batch-atomic", "True"),
        ];
        let body = json!(operations).to_string();
        client.request("POST", ITEMS, &headers, &body).expect(200);
    }
}

fn ask(client: &Client, text: &str, ask: &[(&str, &str)]) -> Response {
    let body = json!({"query": text, "parameters": []}).to_string();
    let headers = [&[QUERY], ask].concat();
    client.request("POST", ITEMS, &headers, &body).expect(200)
}

fn metrics(response: &Response) -> HashMap<String, f64> {
    let text = response.header(METRICS).unwrap();
    let pairs = text.split(';').map(|pair| pair.split_once('=').unwrap());
    pairs
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

/// `%XX` back to bytes.
fn decoded(text: &str) -> Value {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let hex = std::str::from_utf8(&after[..2]).unwrap();
            bytes.push(u8::from_str_radix(hex, 16).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn metrics_count_what_was_read_and_given() {
    let world = thousand();
    let client = world.client();
    let equal = "SELECT * FROM c WHERE c.shelf = 7";
    let computed = "SELECT * FROM c WHERE c.shelf + 1 = 8";
    let nothing = "SELECT * FROM c WHERE c.shelf = 777";
    for (query, read, rows, ratio) in [
        (equal, 10.0, 10.0, 1.0),
        (computed, 1_000.0, 10.0, 0.01),
        (nothing, 0.0, 0.0, 1.0),
    ] {
        let found = metrics(&ask(&client, query, &[ASK_METRICS]));
        assert_eq!(found.len(), 16, "{found:?}");
        for (name, expected) in [
            ("retrievedDocumentCount", read),
            ("outputDocumentCount", rows),
            ("indexUtilizationRatio", ratio),
        ] {
            let value = found[name];
            assert!((value - expected).abs() < 1e-9, "{query}: {name}={value}");
        }
        assert_eq!(found["retrievedDocumentSize"] > 0.0, read > 0.0, "{query}");
        assert_eq!(found["outputDocumentSize"] > 0.0, rows > 0.0, "{query}");
        assert_eq!(found["documentLoadTimeInMs"] > 0.0, read > 0.0, "{query}");
        let parts: f64 = found
            .iter()
            .filter(|(name, _)| name.ends_with("InMs") && *name != "totalExecutionTimeInMs")
            .map(|(_, value)| value)
            .sum();
        let total = found["totalExecutionTimeInMs"];
        assert!(total > 0.0 && (parts - total).abs() < 0.01, "{found:?}");
    }
}

#[test]
fn the_items_of_a_key_are_counted_by_the_index() {
    let world = thousand();
    let client = world.client();
    client.create_item("other", "q", &json!({}));
    let key = (PK, r#"["p"]"#);
    for (query, headers) in [
        ("SELECT VALUE COUNT(1) FROM c", &[ASK_METRICS, key][..]),
        (
            "SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'p'",
            &[ASK_METRICS],
        ),
    ] {
        let answer = ask(&client, query, headers);
        assert_eq!(answer.json()["Documents"], json!([1000]), "{query}");
        assert!(
            metrics(&answer)["retrievedDocumentCount"].abs() < 1e-9,
            "{query}"
        );
    }
}

/// Version 1 reads the first hundred characters of a key: items of several texts are one logical
/// partition.
#[test]
fn items_of_a_long_key_of_version_1_are_all_counted() {
    let world = start();
    let client = world.client();
    client.create_container(
        &json!({"id": "one", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}}),
    );
    let items = "/dbs/d/colls/one/docs";
    let long = |end: &str| format!("{}{end}", "x".repeat(500));
    let texts = [long("a"), long("b"), "x".repeat(100), "x".repeat(99)];
    // So many that the planner prefers entries where they tell the texts apart.
    for (number, pk) in texts.iter().enumerate() {
        let create = |item: usize| {
            let id = format!("{number}.{item}");
            json!({"operationType": "Create", "resourceBody": {"id": id, "pk": pk}})
        };
        let operations: Vec<Value> = (0..100).map(create).collect();
        let key = json!([pk]).to_string();
        let headers = [
            (PK, key.as_str()),
            BATCH,
            ("x-ms-cosmos-batch-atomic", "True"),
        ];
        let body = json!(operations).to_string();
        client.request("POST", items, &headers, &body).expect(200);
    }
    for (pk, expected) in texts.iter().zip([300, 300, 300, 100]) {
        let key = json!([pk]).to_string();
        let rows = |text: &str| {
            let body = json!({"query": text, "parameters": []}).to_string();
            let headers = [QUERY, (PK, key.as_str()), ("x-ms-max-item-count", "1000")];
            let answer = client.request("POST", items, &headers, &body);
            answer.expect(200).json()["Documents"].clone()
        };
        let all = rows("SELECT * FROM c");
        assert_eq!(all.as_array().unwrap().len(), expected, "{pk}");
        assert_eq!(
            rows("SELECT VALUE COUNT(1) FROM c"),
            json!([expected]),
            "{pk}"
        );
    }
}

/// A client that names features can carry out a plan, whatever its user agent is.
#[test]
fn a_client_that_names_features_gets_the_plan() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({"n": 1})).expect(201);
    let body = r#"{"query":"SELECT * FROM c ORDER BY c.n"}"#;
    let features = ("x-ms-cosmos-supported-query-features", "OrderBy");
    client.request("POST", ITEMS, &[QUERY], body).expect(200);
    let refused = client.request("POST", ITEMS, &[QUERY, features], body);
    refused.refused(400, 1004, "BadRequest", "");
    let plan = refused.json()["additionalErrorInfo"].clone();
    let plan: Value = serde_json::from_str(plan.as_str().unwrap()).unwrap();
    assert_eq!(plan["queryInfo"]["orderBy"], json!(["Ascending"]));
}

/// The SDK would send the continuation of one range to every range, and each range would leave out
/// the rows before it.
#[test]
fn a_client_that_merges_does_not_resume_from_a_page_of_one_range() {
    let world = start();
    let client = world.client();
    for n in 0..3 {
        let key = format!("p{n}");
        client.create_item("a", &key, &json!({"n": n})).expect(201);
    }
    let body = r#"{"query":"SELECT * FROM c ORDER BY c.n"}"#;
    let features = ("x-ms-cosmos-supported-query-features", "OrderBy");
    let range = ("x-ms-documentdb-partitionkeyrangeid", "0");
    let one = ("x-ms-max-item-count", "1");
    let page = client.request("POST", ITEMS, &[QUERY, features, range, one], body);
    let page = page.expect(200);
    let token = (
        "x-ms-continuation",
        page.header("x-ms-continuation").unwrap(),
    );
    let resumed = client.request("POST", ITEMS, &[QUERY, features, token], body);
    resumed.refused(
        400,
        0,
        "BadRequest",
        "Invalid Continuation Token: your SDK merges",
    );
    for more in [range, ("x-orrery-whole-query", "True")] {
        let headers = [QUERY, features, token, more];
        let rest = client.request("POST", ITEMS, &headers, body).expect(200);
        assert_eq!(rest.json()["_count"], 2, "{more:?}");
    }
    let empty = [QUERY, features, ("x-ms-continuation", "")];
    client
        .request("POST", ITEMS, &empty, body)
        .refused(400, 1004, "BadRequest", "");
}

/// The server sends a plan only to a client whose headers list every feature of that plan, whatever
/// its user agent.
#[test]
fn a_plan_beyond_the_features_of_the_client_is_refused() {
    let world = start();
    let client = world.client();
    let ask = |query: &str, features: &[(&str, &str)]| {
        let plan = [QUERY, ("x-ms-cosmos-is-query-plan-request", "True")];
        let body = json!({"query": query}).to_string();
        client.request("POST", ITEMS, &[&plan[..], features].concat(), &body)
    };
    for (query, missing, enough) in [
        ("SELECT * FROM c ORDER BY c.n", "OrderBy", "OrderBy"),
        (
            "SELECT TOP 3 * FROM c ORDER BY c.a, c.n",
            "MultipleOrderBy",
            "MultipleOrderBy, Top",
        ),
        (
            "SELECT * FROM c OFFSET 1 LIMIT 2",
            "OffsetAndLimit",
            "OffsetAndLimit",
        ),
        ("SELECT DISTINCT c.n FROM c", "Distinct", "Distinct"),
        (
            "SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n",
            "GroupBy",
            "Aggregate, GroupBy, NonValueAggregate",
        ),
        (
            "SELECT VALUE COUNT(1) FROM c",
            "Aggregate",
            "Distinct,Aggregate",
        ),
    ] {
        for other in ["None", "CountIf, NonStreamingOrderBy"] {
            let refused = ask(query, &[("x-ms-cosmos-supported-query-features", other)]);
            refused.refused(
                400,
                1004,
                "BadRequest",
                "the calling client does not support",
            );
            assert!(
                refused.text().contains(missing),
                "{query}: {}",
                refused.text()
            );
        }
        ask(query, &[("x-ms-cosmos-supported-query-features", enough)]).expect(200);
    }
}

#[test]
fn nothing_is_told_unasked() {
    let world = thousand();
    let client = world.client();
    let query = "SELECT * FROM c WHERE c.shelf = 7";
    let off = [
        ("x-ms-documentdb-populatequerymetrics", "False"),
        ("x-ms-cosmos-populateindexmetrics", "False"),
        ("x-orrery-explain", "no"),
    ];
    let all = [ASK_METRICS, ASK_INDEXES, ASK_PLAN];
    let feed = client.request("GET", ITEMS, &all, "").expect(200);
    for response in [ask(&client, query, &[]), ask(&client, query, &off), feed] {
        for name in [METRICS, INDEXES, PLAN] {
            assert_eq!(response.header(name), None, "{name}");
        }
    }
}

#[test]
fn indexes_are_named_in_the_form_that_was_asked() {
    let world = start();
    let client = world.client();
    client.delete(CONTAINER).expect(204);
    client.create_container(&json!({
        "id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
        "indexingPolicy": {"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/n/*"}]}
    }));
    fill(&client, 1);
    let query = "SELECT * FROM c WHERE c.shelf = 7 AND c.n < 50";

    let flat = ask(&client, query, &[ASK_INDEXES]);
    let flat = STANDARD.decode(flat.header(INDEXES).unwrap()).unwrap();
    let flat: Value = serde_json::from_slice(&flat).unwrap();
    assert_eq!(flat["UtilizedSingleIndexes"][0]["IndexSpec"], "/shelf/?");
    assert_eq!(flat["UtilizedSingleIndexes"][0]["IndexImpactScore"], "High");
    assert_eq!(flat["PotentialSingleIndexes"][0]["IndexSpec"], "/n/?");
    assert_eq!(flat["UtilizedCompositeIndexes"], json!([]));
    let specs = json!(["/shelf ASC", "/n ASC"]);
    assert_eq!(flat["PotentialCompositeIndexes"][0]["IndexSpecs"], specs);

    for asked in [&[ASK_INDEXES_V2][..], &[ASK_INDEXES, ASK_INDEXES_V2]] {
        let nested = ask(&client, query, asked);
        let nested = decoded(nested.header(INDEXES).unwrap());
        let used = json!({"SingleIndexes": [{"IndexSpec": "/shelf/?"}], "CompositeIndexes": []});
        assert_eq!(nested["UtilizedIndexes"], used);
        let potential = &nested["PotentialIndexes"];
        assert_eq!(potential["SingleIndexes"][0]["IndexSpec"], "/n/?");
        assert_eq!(potential["CompositeIndexes"][0]["IndexSpecs"], specs);
    }
}

#[test]
fn indexes_are_named_without_rows_too() {
    let world = thousand();
    let query = "SELECT * FROM c WHERE c.shelf = 777";
    let response = ask(&world.client(), query, &[ASK_INDEXES_V2]);
    let found = decoded(response.header(INDEXES).unwrap());
    let used = json!([{"IndexSpec": "/shelf/?"}]);
    assert_eq!(found["UtilizedIndexes"]["SingleIndexes"], used);
}

#[test]
fn a_partition_key_is_named_as_an_index() {
    let world = thousand();
    let client = world.client();
    let key = (PK, r#"["p"]"#);
    for (query, headers, expected) in [
        (
            "SELECT * FROM c",
            &[ASK_INDEXES_V2, key][..],
            &["/pk/?"][..],
        ),
        (
            "SELECT * FROM c WHERE c.pk = 'p'",
            &[ASK_INDEXES_V2],
            &["/pk/?"],
        ),
        (
            "SELECT * FROM c WHERE c.shelf = 7",
            &[ASK_INDEXES_V2, key],
            &["/shelf/?", "/pk/?"],
        ),
        ("SELECT * FROM c", &[ASK_INDEXES_V2], &[]),
    ] {
        let found = decoded(ask(&client, query, headers).header(INDEXES).unwrap());
        let named = found["UtilizedIndexes"]["SingleIndexes"]
            .as_array()
            .unwrap();
        let named: Vec<_> = named
            .iter()
            .map(|index| index["IndexSpec"].as_str().unwrap())
            .collect();
        assert_eq!(named, expected, "{query}");
    }
}

#[test]
fn a_plan_is_explained_with_what_it_took() {
    let world = thousand();
    let query = "SELECT * FROM c WHERE c.shelf = 7";
    let response = ask(&world.client(), query, &[ASK_PLAN]);
    let plan = decoded(response.header(PLAN).unwrap());
    let first = plan["plan"][0].as_str().unwrap();
    assert!(first.contains("/shelf/?"), "{plan}");
    let actual = json!({"entries": 10, "documents": 10, "rows": 10});
    assert_eq!(plan["actual"], actual);
    assert!(plan["estimated"]["documents"].is_u64());
    let times = plan["microseconds"].as_object().unwrap();
    let names: Vec<&str> = times.keys().map(String::as_str).collect();
    assert_eq!(names, ["compile", "plan", "index", "load", "total"]);
    assert!(times["total"].as_u64() > Some(0));
}

#[test]
fn the_plan_of_a_huge_filter_fits_a_header() {
    let world = thousand();
    let values: Vec<String> = (0..2_000).map(|n| format!("'é {n}'")).collect();
    let query = format!(
        "SELECT * FROM c WHERE c.name IN ({}) OR c.n = 1",
        values.join(",")
    );
    let response = ask(&world.client(), &query, &[ASK_PLAN]);
    let header = response.header(PLAN).unwrap();
    assert!(header.len() <= 8 * 1024, "{}", header.len());
    assert!(decoded(header)["plan"][0].is_string());
}

#[test]
fn a_policy_is_followed_step_by_step_and_answers_stay_right() {
    let world = start();
    let client = world.client();
    fill(&client, 30);
    let mut definition = client.get(CONTAINER).expect(200).json();
    for paths in [["/*", "/n/*"], ["/n/*", "/*"], ["/*", "/shelf/*"]] {
        definition["indexingPolicy"] = json!({
            "includedPaths": [{"path": paths[0]}], "excludedPaths": [{"path": paths[1]}]
        });
        client.put(CONTAINER, &definition.to_string()).expect(200);
        let mut last = 0;
        while last < 100 {
            let query = "SELECT VALUE c.n FROM c WHERE c.shelf = 7 AND c.n >= 1500";
            let rows = ask(&client, query, &[]).json();
            let expected: Vec<usize> = (0..15).map(|ten| 1507 + ten * 100).collect();
            let mut found: Vec<usize> = serde_json::from_value(rows["Documents"].clone()).unwrap();
            found.sort_unstable();
            assert_eq!(found, expected, "at {last}");
            let progress = progress(&client);
            assert!((last..=100).contains(&progress), "{progress} after {last}");
            last = progress;
        }
    }
}

fn progress(client: &Client) -> u8 {
    let quota = [("x-ms-documentdb-populatequotainfo", "True")];
    let response = client.request("GET", CONTAINER, &quota, "").expect(200);
    let name = "x-ms-documentdb-collection-index-transformation-progress";
    response.header(name).unwrap().parse().unwrap()
}
