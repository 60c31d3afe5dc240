//! Partition keys: missing, wrong, too many, none at all, hierarchical.

use serde_json::{Value, json};

use crate::support::{CONTAINER, Client, ITEMS, PK, RANGE_ID, UPSERT, start};

const MISMATCH: &str = "Partition key provided either doesn't correspond to definition in the collection or \
                        doesn't match partition key field values specified in the document.";
const KEY_TYPE: (&str, &str) = ("x-ms-read-key-type", "EffectivePartitionKeyRange");

#[test]
fn point_operations_need_a_key() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let item = format!("{ITEMS}/a");
    for (method, path, body) in [
        ("GET", item.as_str(), ""),
        ("PUT", &item, r#"{"id":"a","pk":"p"}"#),
        ("PATCH", &item, r#"[{"op":"set","path":"/x","value":1}]"#),
        ("DELETE", &item, ""),
        ("POST", "/dbs/d/colls/c/operations/partitionkeydelete", ""),
    ] {
        let response = client.request(method, path, &[], body);
        let text = "PartitionKey value must be supplied for this operation.";
        response.refused(400, 0, "BadRequest", text);
    }
    // Creating takes the key from the body.
    client.post(ITEMS, r#"{"id":"b","pk":"q"}"#).expect(201);
    client.item("GET", "b", "q", "").expect(200);
}

#[test]
fn header_and_body_must_agree() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let item = format!("{ITEMS}/a");
    for (method, path, headers, body) in [
        (
            "POST",
            ITEMS,
            &[(PK, r#"["q"]"#)][..],
            r#"{"id":"x","pk":"p"}"#,
        ),
        ("POST", ITEMS, &[(PK, r#"["p"]"#)], r#"{"id":"x"}"#),
        ("POST", ITEMS, &[(PK, "[{}]")], r#"{"id":"x","pk":null}"#),
        ("POST", ITEMS, &[(PK, "[null]")], r#"{"id":"x"}"#),
        ("POST", ITEMS, &[(PK, "[1]")], r#"{"id":"x","pk":"1"}"#),
        (
            "POST",
            ITEMS,
            &[(PK, r#"["q"]"#), UPSERT],
            r#"{"id":"x","pk":"p"}"#,
        ),
        ("PUT", &item, &[(PK, r#"["p"]"#)], r#"{"id":"a","pk":"q"}"#),
    ] {
        let response = client.request(method, path, headers, body);
        response.refused(400, 1001, "BadRequest", MISMATCH);
    }
}

#[test]
fn an_object_or_an_array_is_a_missing_key() {
    let world = start();
    let client = world.client();
    let none = [(PK, "[{}]")];
    for (number, body) in [
        r#"{"id":"0","pk":{}}"#,
        r#"{"id":"1","pk":["a"]}"#,
        r#"{"id":"2","pk":{"a":1}}"#,
        r#"{"id":"3"}"#,
    ]
    .into_iter()
    .enumerate()
    {
        let headers = if number % 2 == 0 { &none[..] } else { &[] };
        client.request("POST", ITEMS, headers, body).expect(201);
        let item = format!("{ITEMS}/{number}");
        client.request("GET", &item, &none, "").expect(200);
    }
    // The partition key is the same, and the filter still tells the items apart.
    for (filter, expected) in [
        ("c.pk = {}", 1),
        ("c.pk = [\"a\"]", 1),
        ("IS_DEFINED(c.pk)", 3),
        ("true", 4),
    ] {
        let found = client.query(ITEMS, &format!("SELECT VALUE c.id FROM c WHERE {filter}"));
        assert_eq!(found.expect(200).json()["_count"], expected, "{filter}");
    }
}

#[test]
fn malformed_keys() {
    let world = start();
    let client = world.client();
    for key in [
        "",
        "x",
        "[",
        "\"p\"",
        "{}",
        "[[1]]",
        "[{\"a\":1}]",
        "[1e999]",
        "[\"a\"]x",
    ] {
        let response = client.request("GET", &format!("{ITEMS}/a"), &[(PK, key)], "");
        response.refused(400, 0, "BadRequest", "");
    }
}

#[test]
fn too_many_and_too_few_components() {
    let world = start();
    let client = world.client();
    let body = r#"{"id":"x","pk":"p"}"#;
    let many = [(PK, r#"["p","q"]"#)];
    let response = client.request("POST", ITEMS, &many, body);
    response.refused(400, 1001, "BadRequest", "");
    let text = "PartitionKey has more components than defined the collection resource.";
    let feed = client.request("GET", ITEMS, &many, "");
    feed.refused(400, 0, "BadRequest", text);

    create_hierarchy(&client);
    for key in [r#"["t"]"#, r#"["t","u"]"#, "[]"] {
        let response = client.request("GET", "/dbs/d/colls/h/docs/1", &[(PK, key)], "");
        response.refused(400, 1001, "BadRequest", "");
        let body = r#"{"id":"9","t":"t","u":"u","s":1}"#;
        let response = client.request("POST", "/dbs/d/colls/h/docs", &[(PK, key)], body);
        response.refused(400, 1001, "BadRequest", "");
    }
    let four = [(PK, "[1,2,3,4]")];
    let response = client.request("GET", "/dbs/d/colls/h/docs/1", &four, "");
    response.refused(400, 1001, "BadRequest", "");
}

#[test]
fn none_and_null_are_different_partitions() {
    let world = start();
    let client = world.client();
    for (key, body) in [
        ("[{}]", r#"{"id":"a","kind":"none"}"#),
        ("[null]", r#"{"id":"a","pk":null,"kind":"null"}"#),
    ] {
        client
            .request("POST", ITEMS, &[(PK, key)], body)
            .expect(201);
    }
    let item = format!("{ITEMS}/a");
    for (key, kind) in [("[{}]", "none"), ("[null]", "null")] {
        let read = client.request("GET", &item, &[(PK, key)], "").expect(200);
        assert_eq!(read.json()["kind"], kind);
        let feed = client.request("GET", ITEMS, &[(PK, key)], "").expect(200);
        assert_eq!(feed.json()["_count"], 1);
        assert_eq!(feed.json()["Documents"][0]["kind"], kind);
    }
    client
        .request("DELETE", &item, &[(PK, "[{}]")], "")
        .expect(204);
    client
        .request("GET", &item, &[(PK, "[{}]")], "")
        .refused(404, 0, "NotFound", "");
    client
        .request("GET", &item, &[(PK, "[null]")], "")
        .expect(200);
}

#[test]
fn numbers_are_compared_as_doubles_and_text_may_be_escaped() {
    let world = start();
    let client = world.client();
    client
        .request("POST", ITEMS, &[(PK, "[1]")], r#"{"id":"a","pk":1.0}"#)
        .expect(201);
    let item = format!("{ITEMS}/a");
    for key in ["[1]", "[1.0]", "[1e0]", "[ 1 ]"] {
        client.request("GET", &item, &[(PK, key)], "").expect(200);
    }
    let body = json!({"id": "a", "pk": "\u{fc}\u{1F600}"}).to_string();
    client
        .request("POST", ITEMS, &[(PK, r#"["\u00fc\ud83d\ude00"]"#)], &body)
        .expect(201);
    let raw = "[\"\u{fc}\u{1F600}\"]";
    client.request("GET", &item, &[(PK, raw)], "").expect(200);
}

#[test]
fn the_intended_container() {
    let world = start();
    let client = world.client();
    let rid = client.get(CONTAINER).json()["_rid"]
        .as_str()
        .unwrap()
        .to_owned();
    let intended = "x-ms-cosmos-intended-collection-rid";
    client.create_item("a", "p", &json!({}));
    let item = format!("{ITEMS}/a");
    let key = (PK, r#"["p"]"#);
    client
        .request("GET", &item, &[key, (intended, &rid)], "")
        .expect(200);
    client.delete(CONTAINER).expect(204);
    client.create_container(&json!({"id": "c", "partitionKey": {"paths": ["/pk"]}}));
    assert_ne!(client.get(CONTAINER).json()["_rid"], rid.as_str());
    for (method, path, body) in [
        ("GET", item.as_str(), ""),
        ("GET", ITEMS, ""),
        ("POST", ITEMS, r#"{"id":"b","pk":"p"}"#),
    ] {
        let response = client.request(method, path, &[key, (intended, &rid)], body);
        response.refused(400, 1024, "BadRequest", "");
    }
    let database = client.get("/dbs/d").json()["_rid"]
        .as_str()
        .unwrap()
        .to_owned();
    let cached = client.get(&format!("/dbs/{database}/colls/{rid}/pkranges"));
    assert_eq!(cached.status, 404, "ranges of a container that is gone");
}

#[test]
fn unknown_ranges_are_gone() {
    let world = start();
    let client = world.client();
    let text = "The requested resource is no longer available at the server.";
    for id in ["1", "99", "x", "M", "AAAA,7"] {
        let response = client.request("GET", ITEMS, &[(RANGE_ID, id)], "");
        response.refused(410, 1002, "Gone", text);
    }
    let rid = client.get(CONTAINER).json()["_rid"]
        .as_str()
        .unwrap()
        .to_owned();
    for id in ["0", &format!("{rid},0")] {
        client
            .request("GET", ITEMS, &[(RANGE_ID, id)], "")
            .expect(200);
    }
}

fn create_hierarchy(client: &Client) {
    client.create_container(&json!({
        "id": "h",
        "partitionKey": {"paths": ["/t", "/u", "/s"], "kind": "MultiHash", "version": 2}
    }));
    for (id, t, u, s) in [
        ("1", json!("redmond"), json!("u"), json!(1)),
        ("2", json!("redmond"), json!("u"), json!(true)),
        ("3", json!("redmond"), json!("v"), Value::Null),
        ("4", json!("w"), json!("u"), json!(1)),
    ] {
        let body = json!({"id": id, "t": t, "u": u, "s": s}).to_string();
        let key = json!([t, u, s]).to_string();
        client
            .request("POST", "/dbs/d/colls/h/docs", &[(PK, &key)], &body)
            .expect(201);
    }
}

fn ids(client: &Client, headers: &[(&str, &str)]) -> Vec<String> {
    let page = client
        .request("GET", "/dbs/d/colls/h/docs", headers, "")
        .expect(200)
        .json();
    let items = page["Documents"].as_array().unwrap();
    let mut ids: Vec<String> = items
        .iter()
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

#[test]
fn prefixes_of_hierarchical_keys() {
    let world = start();
    let client = world.client();
    create_hierarchy(&client);
    for (key, expected) in [
        (r#"["redmond"]"#, &["1", "2", "3"][..]),
        (r#"["redmond","u"]"#, &["1", "2"]),
        (r#"["redmond","u",true]"#, &["2"]),
        (r#"["w"]"#, &["4"]),
        (r#"["nobody"]"#, &[]),
    ] {
        assert_eq!(ids(&client, &[(PK, key)]), expected, "{key}");
    }
    // What a client computes for the prefix ["redmond"], whose hash is published.
    let start = "22E342F38A486A088463DFF7838A5963";
    let end = format!("{start}FF");
    let bounds = [("x-ms-start-epk", start), ("x-ms-end-epk", &end), KEY_TYPE];
    assert_eq!(ids(&client, &bounds), ["1", "2", "3"]);
    let with_range = [bounds[0], bounds[1], KEY_TYPE, (RANGE_ID, "0")];
    assert_eq!(ids(&client, &with_range), ["1", "2", "3"]);
    let with_key = [bounds[0], bounds[1], KEY_TYPE, (PK, r#"["redmond"]"#)];
    assert_eq!(ids(&client, &with_key), ["1", "2", "3"]);
    let key = [(PK, r#"["redmond","v",null]"#)];
    client
        .request("DELETE", "/dbs/d/colls/h/docs/3", &key, "")
        .expect(204);
    assert_eq!(ids(&client, &bounds), ["1", "2"]);
}

#[test]
fn bounds_by_effective_key() {
    let world = start();
    let client = world.client();
    client.create_container(&json!({
        "id": "h", "partitionKey": {"paths": ["/t"], "kind": "Hash", "version": 2}
    }));
    // Published vectors of version 2: 19C0…, 22E3…, 0E71…, 3788….
    for (id, key) in [
        ("5", json!(5)),
        ("r", json!("redmond")),
        ("t", json!(true)),
        ("n", Value::Null),
    ] {
        let body = json!({"id": id, "t": key}).to_string();
        client
            .request(
                "POST",
                "/dbs/d/colls/h/docs",
                &[(PK, &json!([key]).to_string())],
                &body,
            )
            .expect(201);
    }
    let redmond = "22E342F38A486A088463DFF7838A5963";
    for (start, end, expected) in [
        ("", "FF", &["5", "n", "r", "t"][..]),
        ("0E711127C5B5A8E4726AC6DD306A3E59", redmond, &["5", "t"]),
        (redmond, "FF", &["n", "r"]),
        (redmond, "22E342F38A486A088463DFF7838A5964", &["r"]),
        ("", "0E711127C5B5A8E4726AC6DD306A3E59", &[]),
    ] {
        let bounds = [("x-ms-start-epk", start), ("x-ms-end-epk", end), KEY_TYPE];
        assert_eq!(ids(&client, &bounds), expected, "{start}..{end}");
        let with_range = [bounds[0], bounds[1], KEY_TYPE, (RANGE_ID, "0")];
        assert_eq!(
            ids(&client, &with_range),
            expected,
            "{start}..{end} in range 0"
        );
    }
    let path = "/dbs/d/colls/h/docs";
    for headers in [
        &[("x-ms-start-epk", "00")][..],
        &[("x-ms-end-epk", "FF"), ("x-ms-read-key-type", "ResourceId")],
        &[("x-ms-start-epk", "xyz"), KEY_TYPE],
    ] {
        let response = client.request("GET", path, headers, "");
        response.refused(400, 0, "BadRequest", "invalid");
    }
}

#[test]
fn a_replace_of_no_item_is_not_found_whatever_its_key_says() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let body = r#"{"id":"a","pk":"q"}"#;
    client
        .item("PUT", "a", "p", body)
        .refused(400, 1001, "BadRequest", MISMATCH);
    client
        .item("PUT", "a", "r", body)
        .refused(404, 0, "NotFound", "");
    client
        .item("PUT", "b", "p", body)
        .refused(404, 0, "NotFound", "");
}
