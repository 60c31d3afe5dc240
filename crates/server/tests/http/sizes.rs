//! Requests that are too large: the client hears so, and the connection lives on.

use serde_json::json;

use crate::support::{ITEMS, PK, QUERY, UPSERT, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);
const TEXT: &str = "Request size is too large";

#[test]
fn an_item_of_three_megabytes() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let body = json!({"id": "a", "pk": "p", "f": "x".repeat(3_000_000)}).to_string();
    let item = format!("{ITEMS}/a");
    for (method, path, headers) in [
        ("POST", ITEMS, &[KEY][..]),
        ("POST", ITEMS, &[KEY, UPSERT]),
        ("PUT", &item, &[KEY]),
        ("PATCH", &item, &[KEY]),
        ("POST", ITEMS, &[QUERY]),
        ("POST", "/dbs", &[]),
    ] {
        let response = client.request(method, path, headers, &body);
        response.refused(413, 0, "RequestEntityTooLarge", TEXT);
    }
    client.item("GET", "a", "p", "").expect(200);
}

#[test]
fn the_limit_is_two_megabytes() {
    let world = start();
    let client = world.client();
    let limit = 2 * 1024 * 1024;
    let empty = json!({"id": "a", "pk": "p", "f": ""}).to_string().len();
    for (size, status) in [(limit - 1_000, 201), (limit + 1, 413)] {
        let body = json!({"id": "a", "pk": "p", "f": "x".repeat(size - empty)}).to_string();
        assert_eq!(body.len(), size);
        let response = client.request("POST", ITEMS, &[KEY], &body);
        assert_eq!(response.status, status, "{}", &response.text()[..100]);
    }
}

#[test]
fn an_item_cannot_be_patched_beyond_the_limit() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({"f": "x".repeat(1_500_000)}));
    let body = json!([{"op": "set", "path": "/g", "value": "x".repeat(1_000_000)}]).to_string();
    let response = client.item("PATCH", "a", "p", &body);
    response.refused(413, 0, "RequestEntityTooLarge", TEXT);
}

#[test]
fn a_refused_request_with_a_large_body_is_heard() {
    let world = start();
    let body = "x".repeat(10_000_000);
    let wrong = world.client_of(b"another key");
    wrong
        .post("/dbs", &body)
        .refused(401, 0, "Unauthorized", "");
    let client = world.client();
    for path in ["/nonsense", "/dbs/n/colls/n/docs", "/dbs/%zz"] {
        let response = client.request("POST", path, &[KEY], &body);
        assert!((400..500).contains(&response.status), "{path}");
    }
    client.get("/dbs/d").expect(200);
}

#[test]
fn headers_of_sixteen_kilobytes_are_taken() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let token: Vec<String> = (1..1_000)
        .map(|range| format!("{range}:-1#{range}"))
        .collect();
    let token = token.join(",");
    assert!(token.len() > 10_000);
    let filler = "x".repeat(20_000);
    let headers = [
        KEY,
        ("x-ms-session-token", &token),
        ("x-ms-filler", &filler),
    ];
    client
        .request("GET", &format!("{ITEMS}/a"), &headers, "")
        .expect(200);
}

#[test]
fn headers_of_ten_megabytes_are_an_error_and_not_a_hang() {
    let world = start();
    let client = world.client();
    let filler = "x".repeat(10_000_000);
    let bytes = client.bytes("GET", "/dbs/d", &[("x-ms-filler", &filler)], b"");
    let mut connection = world.connect();
    connection.try_send(&bytes);
    if let Some(response) = connection.try_receive("GET") {
        assert!((400..500).contains(&response.status));
    }
    let many: Vec<String> = (0..5_000).map(|index| format!("x-h{index}")).collect();
    let headers: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "1")).collect();
    let mut connection = world.connect();
    connection.try_send(&client.bytes("GET", "/dbs/d", &headers, b""));
    if let Some(response) = connection.try_receive("GET") {
        assert!((400..500).contains(&response.status));
    }
    let long = format!("/dbs/{}", "x".repeat(200_000));
    let mut connection = world.connect();
    connection.try_send(&client.bytes("GET", &long, &[], b""));
    if let Some(response) = connection.try_receive("GET") {
        assert!((400..500).contains(&response.status));
    }
    client.get("/dbs/d").expect(200);
}
