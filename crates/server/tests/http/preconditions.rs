//! Etags: 304, 412, and the conflicts of ids.

use serde_json::json;

use crate::support::{CONTAINER, ITEMS, PK, UPSERT, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);
const BODY: &str = r#"{"id":"a","pk":"p"}"#;

#[test]
fn an_unchanged_resource_is_304_without_a_body() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let item = format!("{ITEMS}/a");
    for path in [item.as_str(), CONTAINER, "/dbs/d"] {
        let etag = client
            .request("GET", path, &[KEY], "")
            .header("etag")
            .unwrap()
            .to_owned();
        for known in [etag.as_str(), "*"] {
            let headers = [KEY, ("if-none-match", known)];
            let response = client.request("GET", path, &headers, "").expect(304);
            assert_eq!(
                response.header("etag"),
                Some(etag.as_str()),
                "{path} {known}"
            );
            assert!(response.body.is_empty());
        }
        let headers = [KEY, ("if-none-match", "\"other\"")];
        client.request("GET", path, &headers, "").expect(200);
        // The connection is still in step: nothing followed the 304.
        client.request("GET", path, &[KEY], "").expect(200);
    }
}

#[test]
fn etags_are_quoted_and_change_with_each_write() {
    let world = start();
    let client = world.client();
    let created = client.create_item("a", "p", &json!({}));
    let first = created.json();
    assert_eq!(created.header("etag"), first["_etag"].as_str());
    assert!(first["_etag"].as_str().unwrap().starts_with('"'));
    world.advance(5);
    let replaced = client.item("PUT", "a", "p", BODY).expect(200);
    let second = replaced.json();
    assert_eq!(replaced.header("etag"), second["_etag"].as_str());
    assert_ne!(first["_etag"], second["_etag"]);
    assert_eq!(first["_rid"], second["_rid"]);
    assert_eq!(first["_self"], second["_self"]);
    assert_eq!(
        second["_ts"].as_u64(),
        first["_ts"].as_u64().map(|ts| ts + 5)
    );
    let same = client.item("PUT", "a", "p", BODY).expect(200).json();
    assert_ne!(
        same["_etag"], second["_etag"],
        "also a write of the same content"
    );
}

#[test]
fn writes_with_preconditions() {
    let world = start();
    let client = world.client();
    let item = format!("{ITEMS}/a");
    let patch = r#"[{"op":"set","path":"/x","value":1}]"#;
    let refused = "One of the specified pre-condition is not met";
    for (method, path, upsert, body) in [
        ("PUT", item.as_str(), false, BODY),
        ("PATCH", &item, false, patch),
        ("DELETE", &item, false, ""),
        ("POST", ITEMS, true, BODY),
    ] {
        let write = |header: &str, value: &str| {
            let mut headers = vec![KEY, (header, value)];
            headers.extend(upsert.then_some(UPSERT));
            client.request(method, path, &headers, body)
        };
        let created = client.request("POST", ITEMS, &[KEY, UPSERT], BODY);
        let etag = created.header("etag").unwrap().to_owned();
        println!("{method} upsert {upsert}");
        write("if-match", "\"other\"").refused(412, 0, "PreconditionFailed", refused);
        let unquoted = etag.trim_matches('"');
        write("if-match", unquoted).refused(412, 0, "PreconditionFailed", refused);
        write("if-none-match", &etag).refused(412, 0, "PreconditionFailed", refused);
        if upsert {
            write("if-none-match", "*").refused(412, 0, "PreconditionFailed", refused);
        }
        assert!(write("if-match", &etag).status < 300);
        client.request("POST", ITEMS, &[KEY, UPSERT], BODY);
        assert!(write("if-match", "*").status < 300);
    }
    let absent = r#"{"id":"new","pk":"p"}"#;
    let headers = [KEY, UPSERT, ("if-match", "\"x\"")];
    client.request("POST", ITEMS, &headers, absent).expect(201);
    let star = [KEY, ("if-match", "*")];
    let gone = client.request(
        "PUT",
        &format!("{ITEMS}/none"),
        &star,
        r#"{"id":"none","pk":"p"}"#,
    );
    assert!([404, 412].contains(&gone.status));
}

#[test]
fn control_plane_preconditions() {
    let world = start();
    let client = world.client();
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let wrong = [("if-match", "\"other\"")];
    let definition = client.get(CONTAINER).text();
    for (method, path, body) in [
        ("PUT", CONTAINER, definition.as_str()),
        ("DELETE", CONTAINER, ""),
        ("DELETE", "/dbs/d", ""),
        ("PUT", "/dbs/d/users/u", r#"{"id":"u"}"#),
        ("DELETE", "/dbs/d/users/u", ""),
    ] {
        let response = client.request(method, path, &wrong, body);
        response.refused(412, 0, "PreconditionFailed", "precondition");
    }
    let etag = client.get(CONTAINER).header("etag").unwrap().to_owned();
    client
        .request("PUT", CONTAINER, &[("if-match", &etag)], &definition)
        .expect(200);
    let etag = client.get("/dbs/d").header("etag").unwrap().to_owned();
    client
        .request("DELETE", "/dbs/d", &[("if-match", &etag)], "")
        .expect(204);
}

#[test]
fn ids_that_exist() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    client.create_item("b", "p", &json!({}));
    client.create_item("a", "q", &json!({}));
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let container = r#"{"id":"c","partitionKey":{"paths":["/other"]}}"#;
    let text = "Entity with the specified id already exists in the system.";
    for (path, body) in [
        ("/dbs", r#"{"id":"d"}"#),
        ("/dbs/d/colls", container),
        ("/dbs/d/users", r#"{"id":"u"}"#),
        (ITEMS, BODY),
    ] {
        let response = client.request("POST", path, &[KEY], body);
        response.refused(409, 0, "Conflict", text);
        let other = "Resource with specified id, name, or unique index already exists.";
        response.refused(409, 0, "Conflict", other);
    }
    client.get(CONTAINER).expect(200);
    assert_eq!(
        client.get(CONTAINER).json()["partitionKey"]["paths"][0],
        "/pk"
    );
    let rename = client.item("PUT", "a", "p", r#"{"id":"b","pk":"p"}"#);
    rename.refused(409, 0, "Conflict", text);
    client
        .item("PUT", "a", "p", r#"{"id":"c","pk":"p"}"#)
        .expect(200);
    client
        .item("GET", "a", "p", "")
        .refused(404, 0, "NotFound", "");
    client.item("GET", "c", "p", "").expect(200);
}

#[test]
fn minimal_answers_have_headers_but_no_body() {
    let world = start();
    let client = world.client();
    let minimal = [KEY, ("prefer", "return=minimal")];
    let item = format!("{ITEMS}/a");
    let patch = r#"[{"op":"set","path":"/x","value":1}]"#;
    for (method, path, body, status) in [
        ("POST", ITEMS, BODY, 201),
        ("PUT", &item, BODY, 200),
        ("PATCH", &item, patch, 200),
    ] {
        let response = client.request(method, path, &minimal, body).expect(status);
        assert!(response.body.is_empty());
        assert!(response.header("etag").is_some());
        assert!(response.header("x-ms-session-token").is_some());
    }
    assert!(
        !client
            .request("GET", &item, &minimal, "")
            .expect(200)
            .body
            .is_empty()
    );
}
