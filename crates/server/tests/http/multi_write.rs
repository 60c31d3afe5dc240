//! Sessions and change feeds of accounts in which every region writes.

use std::time::{Duration, Instant};

use orrery_account::LinkOrder;
use serde_json::{Value, json};

use crate::region_world::{NORTH, RegionWorld, WEST, eventually, start_multi_write};
use crate::support::{Client, ITEMS, PK, Response, UPSERT};

const TOKEN: &str = "x-ms-session-token";
const KEY: (&str, &str) = (PK, r#"["p"]"#);
const CHANGES: (&str, &str) = ("a-im", "Incremental feed");

fn start() -> RegionWorld {
    start_multi_write(&json!({"mode": "LastWriterWins", "conflictResolutionPath": "/n"}))
}

fn write(client: &Client, token: Option<&str>, id: &str, n: u64) -> Response {
    let mut headers = vec![KEY, UPSERT];
    headers.extend(token.map(|token| (TOKEN, token)));
    let body = json!({"id": id, "pk": "p", "n": n}).to_string();
    client.request("POST", ITEMS, &headers, &body)
}

fn read(client: &Client, token: &str, id: &str) -> Response {
    client.request("GET", &format!("{ITEMS}/{id}"), &[KEY, (TOKEN, token)], "")
}

fn token(response: &Response) -> String {
    response.header(TOKEN).unwrap().to_owned()
}

#[test]
fn tokens_name_every_region_in_one_order() {
    let regions = start();
    let written = |region| write(&regions.client(region), None, "1", 1);
    for region in [WEST, NORTH] {
        let response = written(region);
        let token = token(&response);
        let (range, rest) = token.split_once(':').unwrap();
        let names: Vec<_> = rest.split('#').skip(2).collect();
        let ids: Vec<_> = names.iter().map(|name| name.split('=').next()).collect();
        assert_eq!((range, ids), ("0", vec![Some("0"), Some("1")]), "{token}");
    }
}

#[test]
fn a_region_that_lacks_a_write_does_not_answer_its_author() {
    let regions = start();
    let (west, north) = (regions.client(WEST), regions.client(NORTH));
    regions.link(LinkOrder::Pause);
    let written = token(&write(&west, None, "1", 1).expect(201));
    read(&west, &written, "1").expect(200);
    let refused = read(&north, &written, "1");
    refused.refused(404, 1002, "NotFound", "The read session is not available");
    assert_eq!(refused.header(TOKEN), Some(written.as_str()));
    let headers = [KEY, (TOKEN, written.as_str())];
    for path in [ITEMS, "/dbs/d/colls/c/conflicts"] {
        let feed = north.request("GET", path, &headers, "");
        feed.refused(404, 1002, "NotFound", "");
    }
    // A client without a session token reads whatever the region has.
    let missing = north.request("GET", &format!("{ITEMS}/1"), &[KEY], "");
    missing.refused(404, 0, "NotFound", "");
    regions.link(LinkOrder::Resume);
    eventually(|| read(&north, &written, "1").status == 200);
}

#[test]
fn what_an_author_has_seen_comes_before_what_it_writes() {
    let regions = start();
    let (west, north) = (regions.client(WEST), regions.client(NORTH));
    regions.link(LinkOrder::Pause);
    let seen = token(&write(&west, None, "cause", 1).expect(201));
    let refused = write(&north, Some(&seen), "effect", 2);
    refused.refused(404, 1002, "NotFound", "");
    let gone = north.request("GET", &format!("{ITEMS}/effect"), &[KEY], "");
    gone.refused(404, 0, "NotFound", "");
    std::thread::scope(|scope| {
        let begun = Instant::now();
        let waiting = scope.spawn(|| write(&regions.client(NORTH), Some(&seen), "effect", 2));
        std::thread::sleep(Duration::from_millis(100));
        let is_waiting = !waiting.is_finished();
        regions.link(LinkOrder::Resume);
        let mut written = waiting.join().unwrap();
        // It waits for two seconds.
        if begun.elapsed() < Duration::from_secs(2) {
            assert!(is_waiting);
        } else if written.status == 404 {
            eventually(|| read(&north, &seen, "cause").status == 200);
            written = write(&north, Some(&seen), "effect", 2);
        }
        let written = written.expect(201);
        read(&north, &token(&written), "cause").expect(200);
        eventually(|| read(&west, &token(&written), "effect").status == 200);
    });
}

fn changes(client: &Client, after: Option<&str>) -> (Vec<Value>, String) {
    let mut headers = vec![CHANGES];
    headers.extend(after.map(|after| ("if-none-match", after)));
    let response = client.request("GET", ITEMS, &headers, "");
    let etag = response.header("etag").unwrap().to_owned();
    match response.status {
        304 => (Vec::new(), etag),
        _ => {
            let body = response.expect(200).json();
            (body["Documents"].as_array().unwrap().clone(), etag)
        }
    }
}

#[test]
fn a_change_feed_that_moves_begins_anew_and_misses_nothing() {
    let regions = start();
    let (west, north) = (regions.client(WEST), regions.client(NORTH));
    for n in 0..5 {
        write(&west, None, &format!("w{n}"), n).expect(201);
    }
    let (seen, position) = changes(&west, None);
    assert_eq!(seen.len(), 5);
    assert_eq!(changes(&west, Some(&position)).0.len(), 0);
    write(&north, None, "n", 1).expect(201);
    eventually(|| changes(&north, None).0.len() == 6 && changes(&west, None).0.len() == 6);
    assert_eq!(changes(&west, Some(&position)).0.len(), 1);
    let (again, moved) = changes(&north, Some(&position));
    assert_eq!(again.len(), 6);
    assert_eq!(changes(&north, Some(&moved)).0.len(), 0);
    for (wrong, path) in [("\"5\"", ITEMS), ("\"9@x\"", ITEMS)] {
        let headers = [CHANGES, ("if-none-match", wrong)];
        let response = north.request("GET", path, &headers, "");
        response.refused(400, 0, "BadRequest", "not a continuation");
    }
}

#[test]
fn the_catalogue_is_changed_in_the_hub() {
    let regions = start();
    let refused = regions.client(NORTH).post("/dbs", r#"{"id":"e"}"#);
    refused.refused(403, 3, "Forbidden", "");
    regions
        .client(WEST)
        .post("/dbs", r#"{"id":"e"}"#)
        .expect(201);
}
