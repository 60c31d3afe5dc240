//! What a client in direct mode may not do, and that it harms its own connection alone.

use std::time::{Duration, Instant};

use orrery_model::ConsistencyLevel;
use orrery_rntbd::OperationType::{Create, Read};
use orrery_server::Limits;
use serde_json::json;

use crate::direct_client::{Ask, DirectClient};
use crate::support::{World, start_direct};

const TIME: Duration = Duration::from_secs(1);

fn start() -> World {
    let limits = Limits {
        header_time: TIME,
        stall_time: TIME,
        ..Limits::default()
    };
    start_direct(ConsistencyLevel::Session, limits)
}

fn metric(world: &World, name: &str) -> u64 {
    let page = world.client().get("/metrics");
    let page = String::from_utf8(page.body).unwrap();
    let mut lines = page.lines();
    let line = lines.find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap().parse().unwrap()
}

#[test]
fn malformed_frames_close_one_connection_only() {
    let world = start();
    let mut other = DirectClient::open(&world);
    other.ask(Ask::item(Read, "x")).expect(404, 0);
    let frames: [&[u8]; 6] = [
        // Lengths of 0 and of 4 GB; a head of zeros; a token beyond its frame; a token of an
        // unknown type; a request without a number.
        &[0, 0, 0, 0],
        &[0xFF, 0xFF, 0xFF, 0xFF],
        &[
            24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ],
        &[
            28, 0, 0, 0, 3, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 8, 9,
        ],
        &[
            28, 0, 0, 0, 3, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0x20, 9,
        ],
        b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ];
    for frame in frames {
        let mut client = DirectClient::open(&world);
        client.send_bytes(frame);
        assert!(client.receive(false).is_none(), "{frame:?}");
    }
    assert_eq!(metric(&world, "orrery_direct_malformed_total"), 6);
    other.ask(Ask::item(Read, "x")).expect(404, 0);
}

#[test]
fn a_connection_begins_with_its_context() {
    let world = start();
    let mut client = DirectClient::connect(&world, rustls::ALL_VERSIONS);
    client.send(Ask::item(Read, "x"));
    let refusal = client.receive(true).unwrap();
    assert_eq!(refusal.status, 400);
    let object: serde_json::Value = serde_json::from_slice(&refusal.payload).unwrap();
    assert!(object["message"].as_str().unwrap().contains("context"));
    assert!(client.receive(false).is_none());
}

/// An old SDK offers TLS 1.2 only, and never gives up.
#[test]
fn both_versions_of_tls() {
    let world = start();
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut client = DirectClient::connect(&world, &[version]);
        let context = client.negotiate();
        assert_eq!(context.status, 200);
        client.ask(Ask::item(Read, "x")).expect(404, 0);
    }
}

#[test]
fn connections_without_a_credential_end_soon() {
    let world = start();
    let began = Instant::now();
    let mut silent = DirectClient::connect(&world, rustls::ALL_VERSIONS);
    let mut greeted = DirectClient::open(&world);
    let mut refused = DirectClient::open(&world);
    let wrong = "type=master&ver=1.0&sig=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let wrong = Ask::item(Read, "x").authorization(wrong);
    refused.ask(wrong).expect(401, 0);
    let mut trusted = DirectClient::open(&world);
    trusted.ask(Ask::item(Read, "x")).expect(404, 0);
    for client in [&mut silent, &mut greeted, &mut refused] {
        assert!(client.receive(false).is_none());
    }
    assert!(began.elapsed() > TIME / 2);
    trusted.ask(Ask::item(Read, "x")).expect(404, 0);
}

#[test]
fn a_frame_that_stays_behind_ends_its_connection() {
    let world = start();
    let mut client = DirectClient::open(&world);
    client.ask(Ask::item(Read, "x")).expect(404, 0);
    client.send_bytes(&[60, 0, 0, 0, 3, 0]);
    assert!(client.receive(false).is_none());
}

#[test]
fn a_client_that_reads_nothing_is_disconnected() {
    let world = start();
    let mut client = DirectClient::open(&world);
    let text = "t".repeat(1024 * 1024);
    let item = json!({"id": "x", "pk": "p", "t": text}).to_string();
    let item = Ask::items(Create, r#"["p"]"#).body(item);
    client.ask(item).expect(201, 0);
    // Far more than the buffers of the machine hold.
    for _ in 0..100 {
        client.send(Ask::item(Read, "x"));
    }
    std::thread::sleep(TIME * 4);
    let mut read = 0;
    while client.receive(false).is_some() {
        read += 1;
    }
    assert!(read < 100, "{read}");
    DirectClient::open(&world)
        .ask(Ask::item(Read, "y"))
        .expect(404, 0);
}

#[test]
fn a_stop_waits_for_answers_and_not_for_connections() {
    let mut world = start_direct(ConsistencyLevel::Session, Limits::default());
    let (direct, _) = world.direct.as_ref().unwrap();
    let _silent = std::net::TcpStream::connect(direct).unwrap();
    let mut greeted = DirectClient::connect(&world, rustls::ALL_VERSIONS);
    greeted.send_bytes(&[]);
    let mut idle = DirectClient::open(&world);
    idle.ask(Ask::item(Read, "x")).expect(404, 0);
    let began = Instant::now();
    world.stop();
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(idle.receive(false).is_none());
}
