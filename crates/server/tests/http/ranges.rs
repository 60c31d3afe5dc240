//! The feed of partition key ranges: exact boundaries, and a loop that ends.

use serde_json::json;

use crate::support::{CONTAINER, Client, ITEMS, PK, RANGE_ID, start};

fn with_throughput(client: &Client, id: &str, version: Option<u32>, throughput: &str) -> String {
    let mut definition = json!({"id": id, "partitionKey": {"paths": ["/pk"], "kind": "Hash"}});
    if let Some(version) = version {
        definition["partitionKey"]["version"] = json!(version);
    }
    let headers = [("x-ms-offer-throughput", throughput)];
    client
        .request("POST", "/dbs/d/colls", &headers, &definition.to_string())
        .expect(201);
    format!("/dbs/d/colls/{id}")
}

#[test]
fn initial_boundaries_are_those_of_the_service() {
    let world = start();
    let client = world.client();
    let half = "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";
    for (throughput, version, inner) in [
        ("400", Some(2), &[][..]),
        ("10000", Some(2), &[]),
        ("11000", Some(2), &[half]),
        ("12000", Some(2), &[half]),
        (
            "18000",
            Some(2),
            &[
                "15555555555555555555555555555555",
                "2AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            ],
        ),
        (
            "30000",
            Some(2),
            &[
                "0CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC",
                "19999999999999999999999999999998",
                "26666666666666666666666666666664",
                "33333333333333333333333333333330",
            ],
        ),
        ("12000", Some(1), &["05C1DFFFFFFFFC"]),
        ("12000", None, &["05C1DFFFFFFFFC"]),
        ("18000", None, &["05C1D5AB55AB54", "05C1E5AB55AB54"]),
    ] {
        let id = format!("c{throughput}v{version:?}").replace(['(', ')'], "");
        let container = with_throughput(&client, &id, version, throughput);
        let feed = client
            .get(&format!("{container}/pkranges"))
            .expect(200)
            .json();
        let ranges = feed["PartitionKeyRanges"].as_array().unwrap();
        assert_eq!(feed["_count"], inner.len() + 1);
        let mut bounds = vec![""];
        bounds.extend(inner);
        bounds.push("FF");
        for (index, range) in ranges.iter().enumerate() {
            assert_eq!(range["id"], index.to_string());
            assert_eq!(range["minInclusive"], bounds[index], "{id}");
            assert_eq!(range["maxExclusive"], bounds[index + 1], "{id}");
            assert_eq!(range["status"], "online");
            assert_eq!(range["parents"], json!([]));
            assert!(range["_rid"].as_str().unwrap().ends_with("UA=="), "{range}");
        }
    }
}

#[test]
fn the_incremental_loop_ends_with_304() {
    let world = start();
    let client = world.client();
    let by_name = with_throughput(&client, "m", Some(2), "12000");
    let by_rid = format!(
        "/{}",
        client.get(&by_name).json()["_self"].as_str().unwrap()
    );
    for (path, mode) in [
        (format!("{by_name}/pkranges"), Some("Incremental Feed")),
        (format!("{by_name}/pkranges/"), Some("Incremental feed")),
        (format!("{by_rid}pkranges"), Some("Incremental Feed")),
        (format!("{by_rid}pkranges/"), None),
    ] {
        let mut etag: Option<String> = None;
        let mut seen = 0;
        for round in 0.. {
            assert!(round < 5, "the loop of {path} does not end");
            let mut headers = vec![("x-ms-max-item-count", "-1")];
            headers.extend(mode.map(|mode| ("a-im", mode)));
            headers.extend(etag.as_deref().map(|etag| ("if-none-match", etag)));
            let response = client.request("GET", &path, &headers, "");
            assert_eq!(response.header("x-ms-continuation"), None);
            let next = response.header("etag").expect("always an etag").to_owned();
            if response.status == 304 {
                assert_eq!(Some(&next), etag.as_ref(), "304 repeats the etag");
                response.expect(304);
                break;
            }
            seen += response.expect(200).json()["_count"].as_u64().unwrap();
            etag = Some(next);
        }
        assert_eq!(seen, 2, "{path}");
    }
}

/// Otherwise a client that knew another container of that name would never learn of these ranges.
#[test]
fn an_etag_of_more_ranges_than_there_were_gets_all_of_them() {
    let world = start();
    let client = world.client();
    let path = with_throughput(&client, "m", Some(2), "400") + "/pkranges";
    let headers = [("a-im", "Incremental feed"), ("if-none-match", "\"3\"")];
    let response = client.request("GET", &path, &headers, "").expect(200);
    assert_eq!(response.json()["_count"], 1);
}

#[test]
fn one_range_and_its_names() {
    let world = start();
    let client = world.client();
    let feed = client.get(&format!("{CONTAINER}/pkranges")).expect(200);
    let rid = client.get(CONTAINER).json()["_rid"].clone();
    assert_eq!(feed.json()["_rid"], rid);
    let range = &feed.json()["PartitionKeyRanges"][0];
    let link = range["_self"].as_str().unwrap();
    assert!(link.ends_with(&format!("/pkranges/{}/", range["_rid"].as_str().unwrap())));
    assert_eq!(range["throughputFraction"].as_f64(), Some(1.0));
    assert_eq!(range["ridPrefix"], 0);
    assert_eq!(
        client
            .get(&format!("{CONTAINER}/pkranges/0"))
            .expect(200)
            .json()["id"],
        "0"
    );
    assert_eq!(
        client.get(&format!("/{link}")).expect(200).json()["id"],
        "0"
    );
}

#[test]
fn a_part_of_a_range_must_lie_in_it() {
    let world = start();
    let client = world.client();
    let container = with_throughput(&client, "m", Some(2), "12000");
    let items = format!("{container}/docs");
    for index in 0..20 {
        let body = json!({"id": "a", "pk": index}).to_string();
        let key = json!([index]).to_string();
        client
            .request("POST", &items, &[(PK, &key)], &body)
            .expect(201);
    }
    let count = |headers: &[(&str, &str)]| {
        let page = client
            .request("GET", &items, headers, "")
            .expect(200)
            .json();
        page["_count"].as_u64().unwrap()
    };
    let (first, second) = (count(&[(RANGE_ID, "0")]), count(&[(RANGE_ID, "1")]));
    assert!(first > 0 && second > 0);
    assert_eq!(first + second, 20);
    assert_eq!(count(&[]), 20);
    let kind = ("x-ms-read-key-type", "EffectivePartitionKeyRange");
    let half = "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";
    let part = [
        (RANGE_ID, "0"),
        ("x-ms-start-epk", ""),
        ("x-ms-end-epk", half),
        kind,
    ];
    assert_eq!(count(&part), first);
    let beyond = [
        (RANGE_ID, "0"),
        ("x-ms-start-epk", ""),
        ("x-ms-end-epk", "FF"),
        kind,
    ];
    client
        .request("GET", &items, &beyond, "")
        .refused(410, 1002, "Gone", "");
    let whole = [("x-ms-start-epk", ""), ("x-ms-end-epk", "FF"), kind];
    assert_eq!(count(&whole), 20);
    let response = client.request("GET", ITEMS, &[(RANGE_ID, "1")], "");
    response.refused(410, 1002, "Gone", "");
}
