//! What clients may use of a server: connections, time, memory. The server refuses the request of a
//! client that takes more, or closes its connection, and meanwhile serves the other clients.

use std::time::{Duration, Instant, SystemTime};

use orrery_model::ConsistencyLevel;
use orrery_server::{Limits, TlsIdentity, self_signed};
use serde_json::{Value, json};

use crate::support::{Connection, ITEMS, PK, World, start, start_limited};

const KEY: (&str, &str) = (PK, r#"["p"]"#);

/// A test that waits this long has found a hang.
const WAIT_MAX: Duration = Duration::from_mins(1);

fn hasty() -> Limits {
    Limits {
        header_time: Duration::from_millis(500),
        stall_time: Duration::from_secs(1),
        ..Limits::default()
    }
}

/// A metric of the page of metrics. While clients hold all places or all memory, the server answers
/// no other client, and the page is asked for again.
fn metric(world: &World, line: &str) -> f64 {
    let begun = Instant::now();
    let page = loop {
        if let Some(page) = world.metrics_if_answered() {
            break page;
        }
        assert!(begun.elapsed() < WAIT_MAX, "no page of metrics comes");
        std::thread::sleep(Duration::from_millis(20));
    };
    let metric = page
        .lines()
        .find_map(|other| other.strip_prefix(line))
        .unwrap_or_else(|| panic!("no {line} in {page}"));
    metric.trim().parse().unwrap()
}

fn closed(world: &World, reason: &str) -> f64 {
    let name = "orrery_connections_closed_total";
    metric(
        world,
        &format!(r#"{name}{{listener="clients",reason="{reason}"}}"#),
    )
}

#[track_caller]
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < WAIT_MAX, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn connections_without_a_request_are_closed() {
    let world = start_limited(hasty(), None);
    let request = world.client().bytes("GET", "/dbs/d", &[], b"");
    for sent in [
        &b""[..],
        b"G",
        b"PRI * HTTP/2.0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01",
        &request[..request.len() - 3],
    ] {
        let mut connection = world.connect();
        connection.send(sent);
        connection.ends_with();
    }
    assert!(closed(&world, "header") >= 5.0);
}

#[test]
fn headers_that_come_byte_by_byte_are_not_waited_for() {
    let world = start_limited(hasty(), None);
    let client = world.client();
    let request = client.bytes("GET", "/dbs/d", &[], b"");
    let mut connection = world.connect();
    // Also those of a later request.
    connection.send(&request);
    connection.receive("GET").expect(200);
    let before = closed(&world, "header");
    let filler = std::iter::repeat(b'x');
    for byte in request[..request.len() - 4].iter().copied().chain(filler) {
        connection.try_send(&[byte]);
        if connection.hears_within(Duration::from_millis(20)) {
            break;
        }
        client.get("/dbs/d").expect(200);
    }
    connection.ends_with();
    assert!(closed(&world, "header") > before);
}

#[test]
fn a_handshake_that_is_not_finished_is_given_up() {
    let tls = self_signed(&["localhost".to_owned()], SystemTime::now()).unwrap();
    let world = start_limited(hasty(), Some(TlsIdentity::new(tls).unwrap()));
    for sent in [&b""[..], b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"] {
        let mut connection = world.connect();
        connection.send(sent);
        connection.ends_with();
    }
}

#[test]
fn connections_of_known_clients_may_be_idle() {
    let limits = Limits {
        idle_time: Duration::from_secs(4),
        ..hasty()
    };
    let world = start_limited(limits, None);
    let known = world.client().bytes("GET", "/dbs/d", &[], b"");
    let (mut trusted, mut unauthenticated) = (world.connect(), world.connect());
    trusted.send(&known);
    trusted.receive("GET").expect(200);
    unauthenticated.send(b"GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(unauthenticated.receive("GET").status, 200);
    let begun = Instant::now();
    assert_eq!(unauthenticated.ends_with(), "");
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "idle unauthenticated connections stay"
    );
    trusted.send(&known);
    trusted.receive("GET").expect(200);
    assert_eq!(trusted.ends_with(), "");
    assert!(closed(&world, "idle") >= 2.0);
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let world = start_limited(hasty(), None);
    let client = world.client();
    let length = ("content-length", "100000");
    let bytes = client.bytes("POST", ITEMS, &[KEY, length], br#"{"id":"a""#);
    let mut silent = world.connect();
    silent.send(&bytes);
    let mut slow = world.connect();
    slow.send(&bytes);
    while !slow.hears_within(Duration::from_millis(50)) {
        slow.try_send(b" ");
        client.get("/dbs/d").expect(200);
    }
    for mut connection in [silent, slow] {
        connection
            .receive("POST")
            .refused(408, 0, "RequestTimeout", "timed out");
        assert_eq!(connection.ends_with(), "");
    }
}

#[test]
fn silent_connections_make_room_for_clients() {
    let limits = Limits {
        connections: 50,
        ..Limits::default()
    };
    let world = start_limited(limits, None);
    let known = world.client();
    known.get("/dbs/d").expect(200);
    let mut silent: Vec<_> = (0..50).map(|_| world.connect()).collect();
    for round in 0..100 {
        silent.push(world.connect());
        // A client with an open connection and a client with a new connection both get answers.
        if round % 10 == 0 {
            known.get("/dbs/d").expect(200);
            world.client().get("/dbs/d").expect(200);
        }
    }
    let open = metric(&world, r#"orrery_connections{listener="clients"}"#);
    assert!(open <= 50.0, "{open}");
    assert!(closed(&world, "replaced") >= 100.0);
}

#[test]
fn silent_connections_go_before_those_that_speak() {
    let limits = Limits {
        connections: 50,
        ..Limits::default()
    };
    let world = start_limited(limits, None);
    let client = world.client();
    let request = client.bytes("GET", "/dbs/d", &[], b"");
    let (first, rest) = request.split_at(20);
    let mut slow = world.connect();
    // The answer shows that the server has read bytes of this connection, which shows no credential.
    slow.send(b"GET /dbs/d HTTP/1.1\r\nhost: localhost\r\n\r\n");
    slow.receive("GET").expect(401);
    slow.send(first);
    let mut silent = Vec::new();
    for _ in 0..330 {
        silent.push(world.connect());
    }
    slow.send(rest);
    slow.receive("GET").expect(200);
}

#[test]
fn operators_have_places_of_their_own() {
    let world = crate::region_world::start_regions(ConsistencyLevel::Session);
    let silent: Vec<_> = (0..100)
        .map(|_| Connection::open(world.operators))
        .collect();
    let mut operator = Connection::open(world.operators);
    operator.send(b"GET /account HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(operator.receive("GET").status, 401);
    operator.send(b"GET /account HTTP/1.1\r\nhost: rebound.example\r\n\r\n");
    assert_eq!(operator.receive("GET").status, 403);
    let metrics = world.client("West US").get("/metrics").text();
    for (listener, expected) in [("operators", 64.0), ("clients", 10.0)] {
        let name = format!(r#"orrery_connections{{listener="{listener}"}} "#);
        let open = metrics.lines().find_map(|line| line.strip_prefix(&name));
        let open: f64 = open.unwrap().parse().unwrap();
        assert!(open <= expected, "{listener}: {open}");
    }
    drop(silent);
}

#[test]
fn busy_connections_are_not_given_up_for_new_ones() {
    let limits = Limits {
        connections: 4,
        ..Limits::default()
    };
    let world = start_limited(limits, None);
    let first = world.client();
    let only_first = "orrery_connections{listener=\"clients\"} 1\n";
    // The server may still have the connection that set the world up.
    eventually("an end of the first connection", || {
        first.get("/metrics").text().contains(only_first)
    });
    let mut known: Vec<_> = (0..3).map(|_| world.client()).collect();
    known.insert(0, first);
    for client in &known {
        client.get("/dbs/d").expect(200);
    }
    let mut extra = world.connect();
    assert_eq!(extra.ends_with(), "");
    for client in &known {
        client.get("/dbs/d").expect(200);
    }
    known.pop();
    eventually("a place", || {
        let mut connection = world.connect();
        connection.try_send(&known[0].bytes("GET", "/dbs/d", &[], b""));
        connection.try_receive("GET").is_some()
    });
}

#[test]
fn a_body_that_nobody_may_send_is_not_kept() {
    let world = start();
    let client = world.client_of(b"another key");
    let peak = || metric(&world, "orrery_request_memory_peak_bytes");
    let before = peak();
    let length = ("content-length", "2000000");
    let mut waiting: Vec<Connection> = Vec::new();
    let body = vec![b'x'; 100_000];
    for _ in 0..40 {
        let mut connection = world.connect();
        connection.send(&client.bytes("POST", ITEMS, &[KEY, length], &body));
        waiting.push(connection);
    }
    for mut connection in waiting {
        // Although the body has not come to its end.
        let response = connection.receive("POST");
        response.refused(401, 0, "Unauthorized", "");
    }
    // Connections and answers take their part.
    assert!(peak() - before < 40.0 * 50_000.0, "{}", peak());
}

#[test]
fn large_headers_are_paid_for() {
    let limits = Limits {
        memory_bytes: 4 * 1024 * 1024,
        ..Limits::default()
    };
    let world = start_limited(limits, None);
    let client = world.client();
    let (length, filler) = (("content-length", "10"), "x".repeat(110_000));
    let bytes = client.bytes("POST", ITEMS, &[KEY, length, ("x-ms-filler", &filler)], b"");
    let mut waiting: Vec<_> = (0..30).map(|_| world.connect()).collect();
    for connection in &mut waiting {
        connection.send(&bytes);
    }
    // The server waits for the body of each request whose headers found memory, and answers the
    // others at once.
    let mut refused = waiting.iter().cycle().take(10_000);
    assert!(refused.any(|connection| connection.hears_within(Duration::from_millis(10))));
    drop(waiting);
    eventually("all memory is given back", || {
        metric(&world, "orrery_request_memory_bytes") < 200_000.0
    });
}

#[test]
fn bodies_and_what_is_read_from_them_have_a_limit() {
    let limits = Limits {
        memory_bytes: 8 * 1024 * 1024,
        ..Limits::default()
    };
    let world = start_limited(limits, None);
    let client = world.client();
    let body = |count: usize| {
        let values = vec!["[]"; count].join(",");
        format!(r#"{{"id":"a","pk":"p","v":[{values}]}}"#)
    };
    client
        .request("POST", ITEMS, &[KEY], &body(1_000))
        .expect(201);
    let refused = client.request("POST", ITEMS, &[KEY], &body(200_000));
    refused.refused(413, 0, "RequestEntityTooLarge", "--memory-for-requests");
    client.item("GET", "a", "p", "").expect(200);
    eventually("all memory is given back", || {
        metric(&world, "orrery_request_memory_bytes") < 200_000.0
    });
}

#[test]
fn answers_that_nobody_reads_are_paid_for_and_given_up() {
    let limits = Limits {
        memory_bytes: 64 * 1024 * 1024,
        ..hasty()
    };
    let world = start_limited(limits, None);
    let client = world.client();
    client.create_item("a", "p", &json!({"t": "x".repeat(1_900_000)}));
    let bytes = client.bytes("GET", &format!("{ITEMS}/a"), &[KEY], b"");
    // The answers to each connection have more bytes than the system buffers of a connection hold.
    let mut lazy: Vec<_> = (0..8).map(|_| world.connect()).collect();
    for connection in &mut lazy {
        for _ in 0..8 {
            connection.send(&bytes);
        }
    }
    eventually("answers wait", || closed(&world, "unread") >= 8.0);
    let peak = metric(&world, "orrery_request_memory_peak_bytes");
    assert!(peak >= 8.0 * 1_900_000.0, "{peak}");
    eventually("all memory is given back", || {
        metric(&world, "orrery_request_memory_bytes") < 300_000.0
    });
    // The first connection may have been closed in favour of another one.
    let whole = world.client().item("GET", "a", "p", "").expect(200);
    assert!(whole.body.len() > 1_900_000);
}

#[test]
fn the_reads_of_a_batch_have_four_megabytes_together() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({"t": "x".repeat(1_500_000)}));
    let operation = json!({"operationType": "Read", "id": "a", "partitionKey": r#"["p"]"#});
    let body = Value::from(vec![operation; 100]).to_string();
    let batch = |atomic: &str, go_on: &str| {
        let headers = [
            KEY,
            ("x-ms-cosmos-is-batch-request", "True"),
            ("x-ms-cosmos-batch-atomic", atomic),
            ("x-ms-cosmos-batch-continue-on-error", go_on),
        ];
        let response = client.request("POST", ITEMS, &headers, &body);
        let response = response.expect(207);
        assert!(response.body.len() < 4_300_000, "{}", response.body.len());
        let results: Value = response.json();
        let results = results.as_array().unwrap().clone();
        results.into_iter().map(|result| {
            let substatus = result["subStatusCode"].as_u64().unwrap_or(0);
            (result["statusCode"].as_u64().unwrap(), substatus)
        })
    };
    for (number, status) in batch("False", "True").enumerate() {
        let expected = if number < 2 { (200, 0) } else { (413, 3402) };
        assert_eq!(status, expected, "{number}");
    }
    for (number, status) in batch("False", "False").enumerate() {
        let expected = [(200, 0), (200, 0), (413, 3402)];
        assert_eq!(status, *expected.get(number).unwrap_or(&(424, 0)));
    }
    for (number, status) in batch("True", "False").enumerate() {
        let expected = if number == 2 { (413, 3402) } else { (424, 0) };
        assert_eq!(status, expected, "{number}");
    }
}

#[test]
fn a_slow_reader_gets_its_answer() {
    let world = start_limited(hasty(), None);
    let client = world.client();
    client.create_item("a", "p", &json!({"t": "x".repeat(1_900_000)}));
    let bytes = client.bytes("GET", &format!("{ITEMS}/a"), &[KEY], b"");
    let mut connection = world.connect();
    for _ in 0..4 {
        connection.send(&bytes);
    }
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(400));
        assert!(connection.receive("GET").expect(200).body.len() > 1_900_000);
    }
}

#[test]
fn a_request_has_its_time() {
    let limits = Limits {
        request_time: Duration::from_millis(300),
        ..Limits::default()
    };
    let world = start_limited(limits, None);
    let client = world.client();
    let script = json!({"id": "s", "body": "function () { while (true) {} }"}).to_string();
    client.post("/dbs/d/colls/c/sprocs", &script).expect(201);
    let path = "/dbs/d/colls/c/sprocs/s";
    client
        .request("POST", path, &[KEY], "[]")
        .refused(408, 0, "RequestTimeout", "");
}

#[test]
fn names_of_the_public_dns_are_refused_on_loopback() {
    let limits = Limits {
        allowed_hosts: vec!["db.example".to_owned()],
        ..Limits::default()
    };
    let world = start_limited(limits, None);
    let client = world.client();
    for (host, status) in [
        ("localhost:1", 200),
        ("db:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:1", 200),
        ("db.example:1", 200),
        ("rebound.example:1", 403),
    ] {
        for path in ["/dbs/d", "/_explorer/config.json", "/metrics"] {
            let response = client.request("GET", path, &[("host", host)], "");
            assert_eq!(response.status, status, "{host} {path}");
        }
        if status == 403 {
            let response = client.request("GET", "/dbs/d", &[("host", host)], "");
            let message: Value = response.json()["message"].clone();
            let message = message.as_str().unwrap();
            assert!(
                message.contains("--allowed-host rebound.example"),
                "{message}"
            );
        }
    }
}
