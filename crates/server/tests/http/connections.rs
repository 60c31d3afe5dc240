//! HTTP/1.1 as clients use and misuse it.

use serde_json::json;

use crate::support::{ITEMS, PK, World, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);
const BODY: &[u8] = br#"{"id":"a","pk":"p"}"#;

/// Other clients of the server must not notice the attack.
fn check_alive(world: &World) {
    world.client().get("/dbs/d").expect(200);
}

#[test]
fn many_requests_on_one_connection() {
    let world = start();
    let client = world.client();
    let mut connection = world.connect();
    for index in 0..50 {
        let method = if index % 2 == 0 { "GET" } else { "DELETE" };
        connection.send(&client.bytes(method, "/dbs/n", &[], b""));
        assert_eq!(connection.receive(method).status, 404);
    }
    connection.send(&client.bytes("GET", "/dbs/d", &[("connection", "close")], b""));
    connection.receive("GET").expect(200);
    assert!(connection.is_closed());
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let world = start();
    let client = world.client();
    let mut bytes = Vec::new();
    for path in ["/dbs/d", "/dbs/n", "/dbs/d/colls/c", ITEMS] {
        bytes.extend(client.bytes("GET", path, &[], b""));
    }
    let mut connection = world.connect();
    connection.send(&bytes);
    for status in [200, 404, 200, 200] {
        assert_eq!(connection.receive("GET").status, status);
    }
}

#[test]
fn expect_100_continue() {
    let world = start();
    let client = world.client();
    let bytes = client.bytes("POST", ITEMS, &[KEY, ("expect", "100-continue")], BODY);
    let (head, body) = bytes.split_at(bytes.len() - BODY.len());
    let mut connection = world.connect();
    connection.send(head);
    let first = connection.receive_any("POST").unwrap();
    assert_eq!(first.status, 100);
    connection.send(body);
    connection.receive("POST").expect(201);
    connection.send(&client.bytes("GET", "/dbs/d", &[], b""));
    connection.receive("GET").expect(200);
}

#[test]
fn chunked_bodies() {
    let world = start();
    let client = world.client();
    let headers = [
        KEY,
        ("transfer-encoding", "chunked"),
        ("content-type", "application/json"),
    ];
    let head = String::from_utf8(client.bytes("POST", ITEMS, &headers, b"")).unwrap();
    let head = head.replace("content-length: 0\r\n", "");
    let mut connection = world.connect();
    connection.send(head.as_bytes());
    for chunk in BODY.chunks(5) {
        connection.send(format!("{:x}\r\n", chunk.len()).as_bytes());
        connection.send(chunk);
        connection.send(b"\r\n");
    }
    connection.send(b"0\r\n\r\n");
    connection.receive("POST").expect(201);
    client.item("GET", "a", "p", "").expect(200);

    let mut connection = world.connect();
    connection.send(head.as_bytes());
    let megabyte = vec![b'x'; 1 << 20];
    for _ in 0..4 {
        connection.send(b"100000\r\n");
        connection.send(&megabyte);
        connection.send(b"\r\n");
    }
    connection.send(b"0\r\n\r\n");
    connection.receive("POST").refused(
        413,
        0,
        "RequestEntityTooLarge",
        "Request size is too large",
    );
}

#[test]
fn head_and_options_do_not_hang() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    for method in ["HEAD", "OPTIONS", "TRACE", "PROPFIND"] {
        for path in [
            "/",
            "/dbs",
            "/dbs/d",
            ITEMS,
            &format!("{ITEMS}/a"),
            "/nonsense",
            "/ready",
        ] {
            let response = client.request(method, path, &[KEY], "");
            assert!(response.status < 500, "{method} {path} {}", response.status);
        }
    }
    client.get("/dbs/d").expect(200);
}

#[test]
fn bytes_that_are_no_http_hurt_nobody() {
    let world = start();
    let client = world.client();
    let mut after_good = client.bytes("GET", "/dbs/d", &[], b"");
    after_good.extend_from_slice(b"\x00\x01garbage\r\n\r\n");
    let mut connection = world.connect();
    connection.send(&after_good);
    while let Some(response) = connection.try_receive("GET") {
        assert!([200, 400].contains(&response.status));
    }
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"\r\n\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\ngarbage garbage garbage garbage",
    ] {
        let mut connection = world.connect();
        connection.try_send(garbage);
        connection.end_sending();
        if !garbage.starts_with(b"PRI")
            && let Some(response) = connection.try_receive("GET")
        {
            assert!(
                response.status < 500,
                "{}",
                String::from_utf8_lossy(garbage)
            );
        }
        check_alive(&world);
    }
}

#[test]
fn slow_and_half_closed_connections_do_not_hurt_others() {
    let world = start();
    let client = world.client();
    let bytes = client.bytes("POST", ITEMS, &[KEY], BODY);
    let mut waiting: Vec<_> = (0..40).map(|_| world.connect()).collect();
    for (index, connection) in waiting.iter_mut().enumerate() {
        connection.send(&bytes[..bytes.len() * index / 40]);
    }
    check_alive(&world);
    let mut slow = world.connect();
    for byte in &bytes {
        slow.send(std::slice::from_ref(byte));
    }
    slow.receive("POST").expect(201);
    for connection in &waiting {
        connection.end_sending();
    }
    check_alive(&world);
    drop(waiting);
    let mut half = world.connect();
    half.send(&client.bytes("GET", "/dbs/d", &[], b""));
    half.end_sending();
    if let Some(response) = half.try_receive("GET") {
        response.expect(200);
    }
    check_alive(&world);
}

#[test]
fn a_body_cut_short_writes_nothing() {
    let world = start();
    let client = world.client();
    let bytes = client.bytes("POST", ITEMS, &[KEY, ("content-length", "500")], BODY);
    let mut connection = world.connect();
    connection.send(&bytes);
    connection.end_sending();
    if let Some(response) = connection.try_receive("POST") {
        assert_eq!(response.status, 400);
    }
    client
        .item("GET", "a", "p", "")
        .refused(404, 0, "NotFound", "");
}

#[test]
fn many_clients_at_once() {
    let world = start();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let client = world.client();
            scope.spawn(move || {
                for index in 0..20 {
                    let id = format!("{thread}-{index}");
                    client.create_item(&id, "p", &json!({}));
                    client.item("GET", &id, "p", "").expect(200);
                }
            });
        }
    });
    let page = world
        .client()
        .request("GET", ITEMS, &[("x-ms-max-item-count", "1000")], "");
    let page = page.expect(200);
    assert_eq!(page.json()["_count"], 160);
    assert_eq!(page.lsn(), world.client().get(ITEMS).lsn());
}
