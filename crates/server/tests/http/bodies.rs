//! Bodies that are refused: not JSON, properties that are missing or wrong, illegal ids.

use serde_json::json;

use crate::support::{CONTAINER, ITEMS, PK, QUERY, UPSERT, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);
const BATCH: (&str, &str) = ("x-ms-cosmos-is-batch-request", "True");
const ATOMIC: (&str, &str) = ("x-ms-cosmos-batch-atomic", "True");

#[test]
fn what_is_not_json() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let item = format!("{ITEMS}/a");
    for (method, path, headers) in [
        ("POST", "/dbs", &[][..]),
        ("POST", "/dbs/d/colls", &[]),
        ("PUT", CONTAINER, &[]),
        ("POST", "/dbs/d/users", &[]),
        ("POST", ITEMS, &[KEY]),
        ("POST", ITEMS, &[KEY, UPSERT]),
        ("POST", ITEMS, &[KEY, QUERY]),
        ("POST", ITEMS, &[KEY, BATCH, ATOMIC]),
        ("PUT", &item, &[KEY]),
        ("PATCH", &item, &[KEY]),
    ] {
        for body in ["", "{", "nonsense", r#"{"id":"x"}}"#, "{'id':'x'}", "[1,]"] {
            let response = client.request(method, path, headers, body);
            let what = format!("{method} {path} {headers:?} {body:?}");
            assert_eq!(response.status, 400, "{what}: {}", response.text());
            let message = response.json()["message"].to_string();
            let known = [
                "One of the input values is invalid",
                "One of the specified inputs is invalid",
            ];
            assert!(
                known.iter().any(|text| message.contains(text)),
                "{what}: {message}"
            );
            response.refused(400, 0, "BadRequest", "invalid");
        }
    }
}

#[test]
fn what_is_json_of_the_wrong_type() {
    let world = start();
    let client = world.client();
    for path in ["/dbs", "/dbs/d/colls", "/dbs/d/users", ITEMS] {
        for body in ["1", "null", "[]", "\"x\"", "true"] {
            let response = client.request("POST", path, &[KEY], body);
            response.refused(400, 0, "BadRequest", "");
        }
    }
    for id in ["1", "null", "true", "{}", "[]"] {
        for path in ["/dbs", "/dbs/d/colls", "/dbs/d/users", ITEMS] {
            let body = format!(
                r#"{{"id":{id},"pk":"p","partitionKey":{{"paths":["/pk"],"kind":"Hash"}}}}"#
            );
            let response = client.request("POST", path, &[KEY], &body);
            response.refused(400, 0, "BadRequest", "");
        }
    }
}

#[test]
fn missing_properties_are_named() {
    let world = start();
    let client = world.client();
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let permissions = "/dbs/d/users/u/permissions";
    for (path, body, missing) in [
        ("/dbs", "{}", "'id; '"),
        (
            "/dbs/d/colls",
            r#"{"partitionKey":{"paths":["/pk"],"kind":"Hash"}}"#,
            "'id; '",
        ),
        ("/dbs/d/users", "{}", "'id; '"),
        (ITEMS, r#"{"pk":"p"}"#, "'id; '"),
        (
            permissions,
            r#"{"permissionMode":"All","resource":"dbs/d"}"#,
            "'id; '",
        ),
        (
            permissions,
            r#"{"id":"p","resource":"dbs/d"}"#,
            "'permissionMode; '",
        ),
        (
            permissions,
            r#"{"id":"p","permissionMode":"All"}"#,
            "'resource; '",
        ),
    ] {
        let text = format!(
            "The input content is invalid because the required properties - {missing} - are missing"
        );
        let response = client.request("POST", path, &[KEY], body);
        response.refused(400, 0, "BadRequest", &text);
    }
    let no_key = client.post("/dbs/d/colls", r#"{"id":"x"}"#);
    no_key.refused(400, 0, "BadRequest", "partitionKey");
}

#[test]
fn illegal_ids() {
    let world = start();
    let client = world.client();
    let long = "x".repeat(256);
    for (id, text) in [
        ("a/b", "invalid character"),
        ("a\\b", "invalid character"),
        ("a?b", "invalid character"),
        ("a#b", "invalid character"),
        ("a ", "end with space"),
        (
            "",
            "Ensure to provide a unique non-empty string less than '255' characters.",
        ),
        (
            long.as_str(),
            "Ensure to provide a unique non-empty string less than '255' characters.",
        ),
    ] {
        let database = json!({"id": id}).to_string();
        let container = json!({"id": id, "partitionKey": {"paths": ["/pk"], "kind": "Hash"}});
        for (path, body) in [
            ("/dbs", &database),
            ("/dbs/d/users", &database),
            ("/dbs/d/colls", &container.to_string()),
        ] {
            client.post(path, body).refused(400, 0, "BadRequest", text);
        }
    }
    let long = "x".repeat(1024);
    for (id, text) in [
        ("a\\b", "invalid character"),
        (
            "",
            "Ensure to provide a unique non-empty string less than '1024' characters.",
        ),
        (
            long.as_str(),
            "Ensure to provide a unique non-empty string less than '1024' characters.",
        ),
    ] {
        let body = json!({"id": id, "pk": "p"}).to_string();
        let response = client.request("POST", ITEMS, &[KEY], &body);
        response.refused(400, 0, "BadRequest", text);
    }
}

#[test]
fn nesting_is_bounded_and_deep_bodies_do_not_hurt() {
    let world = start();
    let client = world.client();
    for (depth, status) in [(100, 201), (200, 400), (500_000, 400)] {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        let body = format!(r#"{{"id":"n","pk":"p","a":{open}{close}}}"#);
        let response = client.request("POST", ITEMS, &[KEY], &body);
        assert_eq!(response.status, status, "depth {depth}");
        for (path, headers) in [
            ("/dbs", &[][..]),
            ("/dbs/d/colls", &[]),
            (ITEMS, &[KEY, QUERY]),
        ] {
            if depth == 500_000 {
                let response = client.request("POST", path, headers, &body);
                response.refused(400, 0, "BadRequest", "");
            }
        }
    }
}

#[test]
fn a_byte_order_mark_and_invalid_utf8_are_refused_or_read_but_never_fail() {
    let world = start();
    let client = world.client();
    for body in [
        &b"\xEF\xBB\xBF{\"id\":\"bom\",\"pk\":\"p\"}"[..],
        b"{\"id\":\"\xFF\",\"pk\":\"p\"}",
        b"{\"id\":\"\\ud800\",\"pk\":\"p\"}",
        b"\x80\x01\x02",
    ] {
        let bytes = client.bytes("POST", ITEMS, &[KEY], body);
        let mut connection = world.connect();
        connection.send(&bytes);
        let response = connection.receive("POST");
        assert!(response.status < 500, "{}", response.text());
    }
}
