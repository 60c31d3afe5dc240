//! The change feed on the wire.

use serde_json::{Value, json};

use crate::connection::Response;
use crate::support::{Client, ITEMS, PK, QUERY, RANGE_ID, start};

const LATEST: (&str, &str) = ("a-im", "Incremental Feed");
const ALL: (&str, &str) = ("a-im", "Full-Fidelity Feed");
const ENVELOPE: (&str, &str) = ("x-ms-cosmos-changefeed-wire-format-version", "2021-09-15");

fn changes(client: &Client, headers: &[(&str, &str)]) -> Response {
    client.request("GET", ITEMS, headers, "")
}

fn etag(response: &Response) -> String {
    response.header("etag").unwrap().to_owned()
}

fn ids(response: &Response) -> Vec<String> {
    let body = response.json();
    let items = body["Documents"].as_array().unwrap();
    let id = |item: &Value| item["id"].as_str().unwrap().to_owned();
    items.iter().map(id).collect()
}

#[test]
fn the_newest_version_of_each_item_comes_once_and_in_order() {
    let world = start();
    let client = world.client();
    for id in ["a", "b", "c"] {
        client.create_item(id, "p", &json!({"n": 1})).expect(201);
    }
    client.item("PUT", "a", "p", r#"{"id":"a","pk":"p","n":2}"#);
    client.item("DELETE", "b", "p", "");
    let page = changes(&client, &[LATEST]).expect(200);
    assert_eq!(ids(&page), ["c", "a"]);
    assert_eq!(page.json()["Documents"][0]["_lsn"], 4);
    assert_eq!(page.json()["Documents"][1]["_lsn"], 5);
    assert_eq!(page.header("x-ms-item-count"), Some("2"));
    assert_eq!(etag(&page), "\"6\"");
    assert_eq!(page.header("x-ms-session-token"), Some("0:-1#6"));

    let nothing = changes(&client, &[LATEST, ("if-none-match", "\"6\"")]).expect(304);
    assert_eq!(etag(&nothing), "\"6\"");
    assert_eq!(nothing.header("x-ms-item-count"), Some("0"));
    assert_eq!(nothing.header("x-ms-session-token"), Some("0:-1#6"));
    let one = [LATEST, ("x-ms-max-item-count", "1")];
    let first = changes(&client, &one).expect(200);
    assert_eq!(ids(&first), ["c"]);
    let position = etag(&first);
    let rest = changes(&client, &[LATEST, ("if-none-match", &position)]).expect(200);
    assert_eq!(ids(&rest), ["a"]);
}

#[test]
fn a_feed_may_begin_now_or_at_a_time() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({})).expect(201);
    let now = changes(&client, &[LATEST, ("if-none-match", "*")]).expect(304);
    assert_eq!(etag(&now), "\"2\"");
    world.advance(100);
    let date = client.date();
    world.advance(100);
    client.create_item("b", "p", &json!({})).expect(201);
    let since = changes(&client, &[LATEST, ("if-modified-since", &date)]).expect(200);
    assert_eq!(ids(&since), ["b"]);
    let position = etag(&now);
    let later = changes(&client, &[LATEST, ("if-none-match", &position)]).expect(200);
    assert_eq!(ids(&later), ["b"]);
    let date = client.date();
    changes(&client, &[LATEST, ("if-modified-since", &date)]).expect(304);
}

#[test]
fn a_feed_has_a_scope() {
    let world = start();
    let client = world.client();
    for key in ["p", "q", "r"] {
        client.create_item("a", key, &json!({"k": key})).expect(201);
    }
    let of_key = changes(&client, &[LATEST, (PK, r#"["q"]"#)]).expect(200);
    assert_eq!(of_key.json()["Documents"][0]["k"], "q");
    assert_eq!(of_key.json()["_count"], 1);
    let range = ("x-ms-documentdb-partitionkeyrangeid", "0");
    assert_eq!(
        ids(&changes(&client, &[LATEST, range]).expect(200)).len(),
        3
    );
    let part = [
        LATEST,
        range,
        ("x-ms-read-key-type", "EffectivePartitionKeyRange"),
        ("x-ms-start-epk", ""),
        ("x-ms-end-epk", "01"),
    ];
    changes(&client, &part).expect(304);
    let gone = ("x-ms-documentdb-partitionkeyrangeid", "7");
    changes(&client, &[LATEST, gone]).refused(410, 1002, "Gone", "");
}

#[test]
fn envelopes_say_what_happened() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({"n": 1})).expect(201);
    let latest = changes(&client, &[LATEST, ENVELOPE]).expect(200);
    let change = &latest.json()["Documents"][0];
    assert_eq!(change["current"]["n"], 1);
    assert_eq!(change["metadata"]["lsn"], 2);
    assert!(change["metadata"].get("operationType").is_none());

    changes(&client, &[ALL, ENVELOPE]).refused(400, 0, "BadRequest", "retentionDuration");
    client.create_container(
        &json!({"id": "h", "partitionKey": {"paths": ["/pk"], "kind": "Hash"},
        "defaultTtl": -1, "changeFeedPolicy": {"retentionDuration": 10}}),
    );
    let items = "/dbs/d/colls/h/docs";
    let key = (PK, r#"["p"]"#);
    let feed = |headers: &[(&str, &str)]| client.request("GET", items, headers, "");
    let date = client.date();
    for start in [&[][..], &[("if-modified-since", date.as_str())]] {
        let page = feed(&[&[ALL, ENVELOPE], start].concat());
        let text = "You must read the change feed from within the retention period.";
        page.refused(400, 0, "BadRequest", text);
    }
    let now = feed(&[ALL, ENVELOPE, ("if-none-match", "*")]).expect(304);
    let post = |body: &str| client.request("POST", items, &[key], body).expect(201);
    post(r#"{"id":"a","pk":"p","n":1}"#);
    let item = format!("{items}/a");
    client.request("PUT", &item, &[key], r#"{"id":"a","pk":"p","n":2}"#);
    client.request("DELETE", &item, &[key], "").expect(204);
    post(r#"{"id":"b","pk":"p","ttl":5}"#);
    world.advance(10);
    let position = etag(&now);
    let from = [ALL, ENVELOPE, ("if-none-match", position.as_str())];
    let changes = loop {
        let page = feed(&from).expect(200).json();
        if page["_count"] == 5 {
            break page["Documents"].clone();
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let kinds: Vec<_> = (0..5)
        .map(|number| changes[number]["metadata"]["operationType"].clone())
        .collect();
    assert_eq!(kinds, ["create", "replace", "delete", "create", "delete"]);
    assert!(changes[1].get("previous").is_none(), "nobody asked for it");
    assert_eq!(changes[1]["metadata"]["previousImageLSN"], 2);
    let deleted = &changes[2];
    assert_eq!(deleted["current"], json!({}));
    assert_eq!(deleted["previous"]["n"], 2);
    assert_eq!(deleted["metadata"]["id"], "a");
    assert_eq!(deleted["metadata"]["partitionKey"], json!({"pk": "p"}));
    assert_eq!(deleted["metadata"]["timeToLiveExpired"], false);
    assert_eq!(changes[4]["metadata"]["timeToLiveExpired"], true);

    world.advance(3_600);
    let outside = loop {
        let page = feed(&from);
        if page.status == 400 {
            break page;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    outside.refused(400, 0, "BadRequest", "within the retention period");
}

#[test]
fn a_wrong_position_is_refused() {
    let world = start();
    let client = world.client();
    let page = changes(&client, &[LATEST, ("if-none-match", "\"yesterday\"")]);
    page.refused(400, 0, "BadRequest", "If-None-Match");
}

/// Going on from now would leave out what was changed since.
#[test]
fn a_position_ahead_of_the_container_is_refused() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({})).expect(201);
    for (position, text) in [
        ("\"1000\"", "ahead of the container"),
        ("\"1001000000000000012\"", "all regions of the account"),
        ("\"1@12\"", "all regions of the account"),
    ] {
        let page = changes(&client, &[LATEST, ("if-none-match", position)]);
        page.refused(400, 0, "BadRequest", text);
    }
}

#[test]
fn pages_of_any_size_give_every_change_of_every_partition() {
    let world = start();
    let client = world.client();
    let definition = r#"{"id":"m","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
    let throughput = [("x-ms-offer-throughput", "18000")];
    let made = client.request("POST", "/dbs/d/colls", &throughput, definition);
    made.expect(201);
    let items = "/dbs/d/colls/m/docs";
    for n in 0..12 {
        let body = format!(r#"{{"id":"{n}","pk":"k{n}"}}"#);
        let key = format!(r#"["k{n}"]"#);
        let written = client.request("POST", items, &[(PK, &key)], &body);
        written.expect(201);
    }
    let of_key = |range: &str| {
        let headers = [LATEST, (PK, r#"["k3"]"#), (RANGE_ID, range)];
        client.request("GET", items, &headers, "").status
    };
    let mut answers = ["0", "1", "2"].map(of_key);
    answers.sort_unstable();
    assert_eq!(answers, [200, 304, 304], "one range has the key");
    assert_eq!(of_key("7"), 200, "the key leads");

    for size in 1..=13 {
        let size = size.to_string();
        let mut seen = Vec::new();
        let mut position = String::new();
        loop {
            let mut headers = vec![LATEST, ("x-ms-max-item-count", size.as_str())];
            if !position.is_empty() {
                headers.push(("if-none-match", position.as_str()));
            }
            let page = client.request("GET", items, &headers, "");
            if page.status == 304 {
                break;
            }
            seen.extend(ids(&page));
            position = etag(&page);
        }
        assert_eq!(seen.len(), 12, "pages of {size}: {seen:?}");
    }
}

#[test]
fn a_position_counts_more_than_a_time() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({})).expect(201);
    let position = etag(&changes(&client, &[LATEST]).expect(200));
    client.create_item("b", "p", &json!({})).expect(201);
    world.advance(100);
    let date = client.date();
    let since = ("if-modified-since", date.as_str());
    changes(&client, &[LATEST, since]).expect(304);
    let both = changes(&client, &[LATEST, since, ("if-none-match", &position)]).expect(200);
    assert_eq!(ids(&both), ["b"]);
    changes(&client, &[LATEST, since, ("if-none-match", "")]).expect(304);
}

#[test]
fn a_query_may_ask_for_some_of_the_changes() {
    let world = start();
    let client = world.client();
    for number in 0..4 {
        let id = number.to_string();
        client
            .create_item(&id, "p", &json!({"n": number}))
            .expect(201);
    }
    let ask = |text: &str, headers: &[(&str, &str)]| {
        let body = json!({"query": text}).to_string();
        let headers = [&[LATEST, QUERY], headers].concat();
        client.request("POST", ITEMS, &headers, &body)
    };
    let some = "SELECT c.id, c._lsn FROM c WHERE c.n > 1";
    let page = ask(some, &[]).expect(200);
    assert_eq!(
        page.json()["Documents"],
        json!([{"id": "2", "_lsn": 4}, {"id": "3", "_lsn": 5}])
    );
    let position = etag(&page);
    assert_eq!(position, "\"5\"");
    ask(some, &[("if-none-match", &position)]).expect(304);
    let none = ask(
        "SELECT * FROM c WHERE c.n > 9",
        &[("x-ms-max-item-count", "2")],
    )
    .expect(200);
    assert_eq!(none.json()["_count"], 0);
    assert_eq!(etag(&none), "\"3\"");
    ask(some, &[ENVELOPE]).refused(400, 0, "NotImplemented", "envelopes");
}
