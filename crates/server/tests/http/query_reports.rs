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
fn without_rows_no_index_is_named() {
    let world = thousand();
    let query = "SELECT * FROM c WHERE c.shelf = 777";
    for form in [ASK_INDEXES, ASK_INDEXES_V2] {
        let response = ask(&world.client(), query, &[form]);
        assert_eq!(response.header(INDEXES), None);
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
