//! The listener of operators over HTTP.

use std::io::{Read, Write};
use std::net::TcpStream;

use orrery_account::RegionState;
use orrery_model::ConsistencyLevel;
use serde_json::{Value, json};

use crate::region_world::{KEY, NORTH, RegionWorld, WEST, eventually, start_regions};

struct Answer {
    status: u16,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

fn send(world: &RegionWorld, request: &str, key: Option<&str>, body: &str) -> Answer {
    let mut stream = TcpStream::connect(world.operators).unwrap();
    let key = key.map(|key| format!("Authorization: Bearer {key}\r\n"));
    let message = format!(
        "{request} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n{body}",
        body.len(),
        key.unwrap_or_default()
    );
    stream.write_all(message.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap();
    Answer {
        status: status.parse().unwrap(),
        body: body.to_owned(),
    }
}

fn state_of(world: &RegionWorld, name: &str) -> RegionState {
    let regions = world.report().regions;
    let region = regions.iter().find(|region| region.name == name);
    region.unwrap().state
}

#[test]
fn nothing_is_told_without_the_key() {
    let world = start_regions(ConsistencyLevel::Session);
    for key in [None, Some(""), Some("other"), Some("key-of-operator")] {
        for request in ["GET /account", "POST /regions/westus/down", "GET /nothing"] {
            let answer = send(&world, request, key, "");
            assert_eq!(answer.status, 401, "{request} {key:?}");
            assert_eq!(answer.json()["code"], "Unauthorized");
        }
    }
    assert_eq!(state_of(&world, WEST), RegionState::Write);
}

#[test]
fn the_page_of_operators_needs_no_key_and_tells_nothing() {
    let world = start_regions(ConsistencyLevel::Session);
    for (request, expected) in [
        ("GET /_explorer/", 200),
        ("GET /_explorer/regions.html", 200),
        ("GET /_explorer/icon.svg", 200),
        // The explorer would find no account here.
        ("GET /_explorer/index.html", 404),
        ("GET /_explorer/config.json", 404),
        ("POST /_explorer/", 401),
        ("GET /", 401),
    ] {
        let answer = send(&world, request, None, "");
        assert_eq!(answer.status, expected, "{request}");
        assert!(!answer.body.contains(WEST), "{request}");
    }
}

#[test]
fn orders_are_carried_out_and_answered_with_the_report() {
    let world = start_regions(ConsistencyLevel::Session);
    let ask = |request: &str, body: &str| send(&world, request, Some(KEY), body);
    let report = ask("GET /account", "").json();
    assert_eq!(report["writeRegion"], WEST);
    assert_eq!(report["regions"][0]["endpoint"], world.endpoint(WEST));
    assert_eq!(report["links"].as_array().unwrap().len(), 2);

    let delayed = ask("POST /links/West%20US/*", r#"{"order":"delay","millis":3}"#);
    let delay = |from: &str| {
        let links = delayed.json()["links"].as_array().unwrap().clone();
        let link = links.into_iter().find(|link| link["from"] == from);
        link.unwrap()["delayMillis"].clone()
    };
    assert_eq!((delay(WEST), delay(NORTH)), (json!(3), json!(0)));

    let moved = ask("POST /account/failover", r#"{"to":"northeurope"}"#);
    assert_eq!(moved.status, 200, "{}", moved.body);
    assert_eq!(moved.json()["writeRegion"], NORTH);

    assert_eq!(ask("POST /regions/West%20US/down", "").status, 200);
    assert_eq!(state_of(&world, WEST), RegionState::Down);
    assert_eq!(ask("POST /regions/westus/up", "").status, 200);
    eventually(|| state_of(&world, WEST) == RegionState::Read);

    let metrics = ask("GET /metrics", "").body;
    let line = r#"orrery_region_state{region="North Europe",state="write"} 1"#;
    assert!(metrics.lines().any(|other| other == line), "{metrics}");

    assert_eq!(ask("DELETE /regions/West%20US", "").status, 200);
    eventually(|| world.client(WEST).get("/").status == 403);
}

#[test]
fn mistakes_are_told() {
    let world = start_regions(ConsistencyLevel::Session);
    for (request, body, status, phrase) in [
        ("GET /", "", 404, "docs/regions.md"),
        ("PUT /account", "", 405, "GET"),
        ("POST /account/failover", "{", 400, "body"),
        (
            "POST /account/failover",
            r#"{"to":"x"}"#,
            404,
            "'West US', 'North Europe'",
        ),
        ("DELETE /regions/x", "", 404, "no region 'x'"),
        (
            "POST /links/westus/westus",
            r#"{"order":"cut"}"#,
            409,
            "no such link",
        ),
    ] {
        let answer = send(&world, request, Some(KEY), body);
        assert_eq!(answer.status, status, "{request}: {}", answer.body);
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains(phrase), "{message}");
    }
}

#[test]
fn additions_go_to_whoever_has_listeners() {
    let mut world = start_regions(ConsistencyLevel::Session);
    let (_, additions) = tokio::sync::mpsc::channel(1);
    let mut wanted = std::mem::replace(&mut world.additions, additions);
    let adding = std::thread::spawn(move || {
        let addition = wanted.blocking_recv().unwrap();
        assert_eq!(addition.name, "East Asia");
        assert_eq!(addition.listen, Some("127.0.0.1:1".parse().unwrap()));
        addition.reply.send(Ok("http://h/".to_owned())).unwrap();
    });
    let body = r#"{"name":"East Asia","listen":"127.0.0.1:1"}"#;
    let answer = send(&world, "POST /regions", Some(KEY), body);
    assert_eq!(answer.status, 201);
    assert_eq!(
        answer.json(),
        json!({"name": "East Asia", "endpoint": "http://h/"})
    );
    adding.join().unwrap();
    let answer = send(&world, "POST /regions", Some(KEY), body);
    assert_eq!(answer.status, 503, "{}", answer.body);
}
