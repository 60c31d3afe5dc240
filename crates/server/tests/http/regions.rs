//! What clients meet in an account of several regions.

use std::time::{Duration, Instant};

use orrery_account::{LinkOrder, OperatorOrder};
use orrery_engine::ReplicationRole;
use orrery_model::ConsistencyLevel;
use serde_json::{Value, json};

use crate::region_world::{NORTH, RegionWorld, WAIT_MAX, WEST, eventually, start_regions};
use crate::support::{Client, ITEMS, PK, QUERY, Response};

const TOKEN: &str = "x-ms-session-token";
const KEY: (&str, &str) = (PK, r#"["p"]"#);
const ITEM: &str = "/dbs/d/colls/c/docs/a";

fn session() -> RegionWorld {
    start_regions(ConsistencyLevel::Session)
}

fn token(response: &Response) -> String {
    response.header(TOKEN).expect("a session token").to_owned()
}

/// The version of a token of one range.
fn version(token: &str) -> i64 {
    let (_, token) = token.split_once(':').unwrap();
    token.split_once('#').unwrap().0.parse().unwrap()
}

fn read(client: &Client, token: &str) -> Response {
    client.request("GET", ITEM, &[KEY, (TOKEN, token)], "")
}

#[test]
fn every_region_has_the_account_document() {
    let world = start_regions(ConsistencyLevel::BoundedStaleness);
    let location =
        |region: &str| json!({"name": region, "databaseAccountEndpoint": world.endpoint(region)});
    let documents = |writable: &str| {
        for region in [WEST, NORTH] {
            let client = world.client(region);
            let expected = json!([location(writable)]);
            eventually(|| client.get("/").json()["writableLocations"] == expected);
            let document = client.get("/").expect(200).json();
            let readable = document["readableLocations"].as_array().unwrap();
            assert_eq!(readable.len(), 2);
            assert!(
                [WEST, NORTH]
                    .iter()
                    .all(|region| readable.contains(&location(region)))
            );
            assert_eq!(document["enableMultipleWriteLocations"], false);
            assert_eq!(
                document["userConsistencyPolicy"],
                json!({
                    "defaultConsistencyLevel": "BoundedStaleness",
                    "maxStalenessPrefix": 100, "maxIntervalInSeconds": 5
                })
            );
            let response = client.get("/dbs/d/colls/c");
            assert_eq!(response.header("x-ms-number-of-read-regions"), Some("1"));
        }
    };
    documents(WEST);
    world.fail_over();
    documents(NORTH);
}

#[test]
fn only_the_write_region_takes_writes() {
    let world = session();
    world.client(WEST).create_item("a", "p", &json!({}));
    let client = world.client(NORTH);
    eventually(|| read(&client, "0:0#0").status == 200);
    let body = r#"{"id":"b","pk":"p"}"#;
    for (method, path, headers, body) in [
        ("POST", ITEMS, &[KEY][..], body),
        ("PUT", ITEM, &[KEY], r#"{"id":"a","pk":"p"}"#),
        ("DELETE", ITEM, &[KEY], ""),
        ("POST", "/dbs", &[], r#"{"id":"e"}"#),
        ("DELETE", "/dbs/d/colls/c", &[], ""),
        ("POST", "/dbs/d/colls/c/sprocs/s", &[KEY], "[]"),
    ] {
        let response = client.request(method, path, headers, body);
        response.refused(403, 3, "Forbidden", "writes are not allowed");
        for name in ["lsn", TOKEN, "etag"] {
            assert_eq!(response.header(name), None, "{method} {path}");
        }
    }
    let query = json!({"query": "SELECT * FROM c", "parameters": []}).to_string();
    let rows = client
        .request("POST", ITEMS, &[QUERY, KEY], &query)
        .expect(200);
    assert_eq!(rows.json()["_count"], 1);
    client.get(ITEMS).expect(200);
}

#[test]
fn requests_for_the_hub_are_refused_in_other_regions() {
    let world = session();
    world.client(WEST).create_item("a", "p", &json!({}));
    let hub = ("x-ms-cosmos-hub-region-processing-only", "True");
    let ask = |region: &str| world.client(region).request("GET", ITEM, &[KEY, hub], "");
    ask(WEST).expect(200);
    ask(NORTH).refused(403, 3, "Forbidden", "");
}

#[test]
fn a_region_that_is_behind_says_so() {
    let world = session();
    let (west, north) = (world.client(WEST), world.client(NORTH));
    world.link(LinkOrder::Pause);
    let seen = token(&west.create_item("a", "p", &json!({})));
    assert!(version(&seen) >= 0, "{seen}");
    let behind = read(&north, &seen);
    behind.refused(404, 1002, "NotFound", "The read session is not available");
    assert_eq!(token(&behind), seen);
    // At weaker levels it answers with what it has.
    let eventual = ("x-ms-consistency-level", "Eventual");
    let headers = [KEY, (TOKEN, seen.as_str()), eventual];
    north
        .request("GET", ITEM, &headers, "")
        .refused(404, 0, "NotFound", "");
    world.link(LinkOrder::Resume);
    eventually(|| read(&north, &seen).status == 200);
}

#[test]
fn tokens_of_another_version() {
    let world = session();
    let client = world.client(WEST);
    let seen = token(&client.create_item("a", "p", &json!({})));
    let version = version(&seen);
    let status = |token: String| read(&client, &token).status;
    assert_eq!(status(format!("0:{}#1", version + 1)), 404);
    assert_eq!(status(format!("0:{}#999", version - 1)), 200);
    assert_eq!(status("0:-1#999".to_owned()), 200);
    // A token of a newer version proves that another region takes the writes.
    let newer = format!("0:{}#1", version + 1);
    let body = r#"{"id":"b","pk":"p"}"#;
    let write = |token: &str| client.request("POST", ITEMS, &[KEY, (TOKEN, token)], body);
    write(&newer).refused(403, 3, "Forbidden", "");
    write("nonsense").refused(400, 0, "BadRequest", "is invalid");
}

#[test]
fn after_a_failover_writes_go_on_elsewhere() {
    let world = session();
    let before = token(&world.client(WEST).create_item("a", "p", &json!({})));
    world.fail_over();
    let north = world.client(NORTH);
    eventually(|| read(&north, &before).status == 200);
    let body = r#"{"id":"b","pk":"p"}"#;
    let mut after = String::new();
    eventually(|| {
        let written = north.request("POST", ITEMS, &[KEY], body);
        if written.status == 201 {
            after = token(&written);
        }
        written.status == 201
    });
    assert!(version(&after) > version(&before), "{before} {after}");
    let refused = world.client(WEST).item("DELETE", "a", "p", "");
    refused.refused(403, 3, "Forbidden", "");
    let west = world.client(WEST);
    eventually(|| read(&west, &after).status == 200);
}

#[test]
fn a_region_that_is_down_answers_nothing_else() {
    let world = session();
    let region = || NORTH.to_owned();
    world.order(OperatorOrder::TakeDown { region: region() });
    let client = world.client(NORTH);
    for path in ["/", "/ready", "/metrics", "/dbs/d", ITEMS] {
        let response = client.get(path);
        response.refused(503, 0, "ServiceUnavailable", "North Europe");
    }
    world.order(OperatorOrder::BringUp { region: region() });
    eventually(|| client.get("/dbs/d").status == 200);
}

#[test]
fn a_region_that_left_is_no_account() {
    let world = session();
    world.order(OperatorOrder::Remove {
        region: NORTH.to_owned(),
        forced: false,
    });
    let client = world.client(NORTH);
    eventually(|| client.get("/").status == 403);
    let response = client.get("/dbs/d");
    assert_eq!(response.header("x-ms-substatus"), Some("1008"));
    let expected: Value = json!({
        "code": "Forbidden", "message": "Database Account orrery does not exist",
        "writableLocations": [], "readableLocations": [], "id": "orrery"
    });
    assert_eq!(response.json(), expected);
    let document = world.client(WEST).get("/").expect(200).json();
    assert_eq!(document["readableLocations"].as_array().unwrap().len(), 1);
}

#[test]
fn strong_reads_see_what_was_written_anywhere() {
    let world = start_regions(ConsistencyLevel::Strong);
    let (west, north) = (world.client(WEST), world.client(NORTH));
    for n in 0..20 {
        let body = json!({"id": "a", "pk": "p", "n": n}).to_string();
        let upsert = ("x-ms-documentdb-is-upsert", "True");
        let written = west.request("POST", ITEMS, &[KEY, upsert], &body);
        assert!(written.status < 300, "{}", written.text());
        let seen = north.item("GET", "a", "p", "").expect(200).json();
        assert_eq!(seen["n"], n);
    }
}

#[test]
fn a_region_that_returns_reads_nothing_before_it_has_heard_of_the_account() {
    let world = session();
    let client = world.client(WEST);
    client.create_item("a", "p", &json!({}));
    world.links(LinkOrder::Cut);
    let region = || WEST.to_owned();
    world.order(OperatorOrder::TakeDown { region: region() });
    // Before it follows another region, the region continues in its former role.
    let all_follow = || {
        let regions = world.account.regions();
        regions
            .iter()
            .all(|region| region.engine().role() == ReplicationRole::Follower)
    };
    eventually(all_follow);
    // After three seconds it goes on alone.
    let started = Instant::now();
    let (reads, document, write) = loop {
        let begun = Instant::now();
        world.order(OperatorOrder::BringUp { region: region() });
        let read = |path| client.request("GET", path, &[KEY], "");
        let reads = [ITEM, "/dbs/d/colls/c", "/dbs"].map(read);
        let document = client.get("/");
        let write = client.request("POST", ITEMS, &[KEY], r#"{"id":"b","pk":"p"}"#);
        if begun.elapsed() < Duration::from_millis(2_500) {
            break (reads, document, write);
        }
        assert!(started.elapsed() < WAIT_MAX, "the machine is too slow");
        world.order(OperatorOrder::TakeDown { region: region() });
        eventually(all_follow);
    };
    for response in reads {
        response.refused(503, 0, "ServiceUnavailable", "up to date");
    }
    // The account document lists the other regions, and the refusal sends writes to them.
    document.expect(200);
    write.refused(403, 3, "Forbidden", "writes are not allowed");
    world.links(LinkOrder::Resume);
    eventually(|| client.request("GET", ITEM, &[KEY], "").status == 200);
}

#[test]
fn a_region_waits_a_moment_for_what_a_session_has_seen() {
    let world = session();
    let (west, north) = (world.client(WEST), world.client(NORTH));
    west.create_item("a", "p", &json!({}));
    let write = |n: u32| {
        let body = json!({"id": "a", "pk": "p", "n": n}).to_string();
        token(&west.item("PUT", "a", "p", &body).expect(200))
    };
    let delay = Duration::from_millis(15);
    world.links(LinkOrder::Delay(delay));
    let query = json!({"query": "SELECT * FROM c", "parameters": []}).to_string();
    let ask = |is_query: bool, seen: &str| {
        let headers = [QUERY, KEY, (TOKEN, seen)];
        if is_query {
            north.request("POST", ITEMS, &headers, &query)
        } else {
            read(&north, seen)
        }
    };
    let started = Instant::now();
    for is_query in [false, true] {
        let mut waited = 0;
        for n in 0.. {
            let begun = Instant::now();
            let seen = write(n);
            // The record is on its way when the client reads; a busy machine may be late.
            let is_early = begun.elapsed() < delay;
            let answer = ask(is_query, &seen);
            if answer.status == 200 {
                waited += u32::from(is_early);
                let found = answer.json();
                let document = if is_query {
                    &found["Documents"][0]
                } else {
                    &found
                };
                assert_eq!(document["n"], n);
            } else {
                answer.refused(404, 1002, "NotFound", "The read session is not available");
            }
            if waited == 5 {
                break;
            }
            assert!(started.elapsed() < WAIT_MAX, "{waited} of {n} waited");
        }
    }
    world.links(LinkOrder::Pause);
    let seen = write(10);
    let newer = format!("0:{}#1", version(&seen) + 1);
    loop {
        let begun = Instant::now();
        ask(false, &seen).refused(404, 1002, "NotFound", "The read session is not available");
        let waited = begun.elapsed();
        assert!(waited >= Duration::from_millis(45), "{waited:?}");
        // No record is on its way to the write region, so the read fails without a wait.
        let begun = Instant::now();
        read(&west, &newer).refused(404, 1002, "NotFound", "");
        let at_once = begun.elapsed();
        if waited < Duration::from_secs(1) && at_once < Duration::from_millis(45) {
            break;
        }
        assert!(started.elapsed() < 2 * WAIT_MAX, "{waited:?} {at_once:?}");
    }
}
