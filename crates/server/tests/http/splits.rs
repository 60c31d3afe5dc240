//! Physical partitions that are split and merged, as clients and operators see it.

use serde_json::{Value, json};

use crate::connection::Response;
use crate::support::{Client, ITEMS, PK, start};

const PARTITIONS: &str = "/_orrery/dbs/d/colls/c/partitions";
const RANGES: &str = "/dbs/d/colls/c/pkranges";
const INCREMENTAL: (&str, &str) = ("a-im", "Incremental Feed");
const TOKEN: &str = "x-ms-session-token";

fn fill(client: &Client) {
    for number in 0..20 {
        let key = format!("k{number}");
        client
            .create_item("i", &key, &json!({"n": number}))
            .expect(201);
    }
}

fn ids(response: &Response, list: &str) -> Vec<String> {
    let body = response.json();
    let list = body[list].as_array().unwrap();
    let id = |range: &Value| range["id"].as_str().unwrap().to_owned();
    list.iter().map(id).collect()
}

#[test]
fn a_client_discovers_child_partitions_and_continues() {
    let world = start();
    let client = world.client();
    fill(&client);
    let ranges = client
        .request("GET", RANGES, &[INCREMENTAL], "")
        .expect(200);
    let etag = ranges.header("etag").unwrap().to_owned();
    assert_eq!(ids(&ranges, "PartitionKeyRanges"), ["0"]);
    let token = client.get(ITEMS).header(TOKEN).unwrap().to_owned();
    assert_eq!(token, "0:-1#21");
    let first = [
        ("x-ms-documentdb-partitionkeyrangeid", "0"),
        ("x-ms-max-item-count", "7"),
    ];
    let page = client.request("GET", ITEMS, &first, "").expect(200);
    let continuation = page.header("x-ms-continuation").unwrap().to_owned();

    let split = client
        .post(PARTITIONS, r#"{"split":{"id":"0"}}"#)
        .expect(200);
    assert_eq!(ids(&split, "partitions"), ["1", "2"]);
    assert_eq!(split.json()["partitions"][0]["parents"], json!(["0"]));

    let since = [INCREMENTAL, ("if-none-match", etag.as_str())];
    let news = client.request("GET", RANGES, &since, "").expect(200);
    assert_eq!(ids(&news, "PartitionKeyRanges"), ["1", "2"]);
    for range in news.json()["PartitionKeyRanges"].as_array().unwrap() {
        assert_eq!(range["parents"], json!(["0"]));
    }
    client
        .request("GET", ITEMS, &first, "")
        .refused(410, 1002, "Gone", "");
    // The rest of the page before, from both parts.
    let mut seen = page.json()["Documents"].as_array().unwrap().len();
    for range in ["1", "2"] {
        let rest = [
            ("x-ms-documentdb-partitionkeyrangeid", range),
            ("x-ms-continuation", &continuation),
            (TOKEN, &token),
        ];
        let rest = client.request("GET", ITEMS, &rest, "").expect(200);
        seen += rest.json()["Documents"].as_array().unwrap().len();
    }
    assert_eq!(seen, 20);
    // Tokens of the parent hold for its children.
    let key = (PK, r#"["k3"]"#);
    let item = format!("{ITEMS}/i");
    client
        .request("GET", &item, &[key, (TOKEN, &token)], "")
        .expect(200);
    let ahead = [key, (TOKEN, "0:-1#99")];
    client
        .request("GET", &item, &ahead, "")
        .refused(404, 1002, "NotFound", "session");

    let merge = client
        .post(PARTITIONS, r#"{"merge":["2","1"]}"#)
        .expect(200);
    assert_eq!(ids(&merge, "partitions"), ["3"]);
    let parents = &merge.json()["partitions"][0]["parents"];
    assert_eq!(*parents, json!(["0", "1", "2"]));
    client
        .request("GET", &item, &[key, (TOKEN, &token)], "")
        .expect(200);
    let news = client.request("GET", RANGES, &since, "").expect(200);
    assert_eq!(ids(&news, "PartitionKeyRanges"), ["3"]);
}

#[test]
fn invalid_splits_and_merges_are_refused() {
    let world = start();
    let client = world.client();
    client.create_item("i", "only", &json!({})).expect(201);
    for (body, status, text) in [
        ("{}", 400, "split"),
        (
            r#"{"split":{"id":"0"}}"#,
            400,
            "between two logical partitions",
        ),
        (r#"{"split":{"id":"7"}}"#, 410, ""),
        (
            r#"{"split":{"id":"0","at":"FF"}}"#,
            400,
            "cannot be cut there",
        ),
        (r#"{"merge":["0","7"]}"#, 410, ""),
        (r#"{"merge":["0","0"]}"#, 400, "not neighbours"),
    ] {
        let answer = client.post(PARTITIONS, body);
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        assert!(answer.text().contains(text), "{body}: {}", answer.text());
    }
}
