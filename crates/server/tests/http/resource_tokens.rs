//! The requests that a resource token allows, and the requests that the server refuses under a
//! token.

use serde_json::{Value, json};

use crate::support::{Client, Credential, ITEMS, PK, World, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);

pub(crate) fn permit(world: &World, id: &str, body: &Value, headers: &[(&str, &str)]) -> Client {
    let client = world.client();
    client.request(
        "POST",
        "/dbs/d/users",
        &[crate::support::UPSERT],
        r#"{"id":"u"}"#,
    );
    let mut body = body.clone();
    body["id"] = json!(id);
    let created = client
        .request(
            "POST",
            "/dbs/d/users/u/permissions",
            headers,
            &body.to_string(),
        )
        .expect(201);
    let token = created.json()["_token"].as_str().unwrap().to_owned();
    assert!(token.starts_with("type=resource&ver=1"), "{token}");
    world.client_with(Credential::Token(crate::signature::encode(&token)))
}

#[test]
fn a_token_of_a_container() {
    let world = start();
    world.client().create_item("a", "p", &json!({}));
    world
        .client()
        .create_container(&json!({"id": "o", "partitionKey": {"paths": ["/pk"]}}));
    let reader = permit(
        &world,
        "r",
        &json!({"permissionMode": "Read", "resource": "dbs/d/colls/c"}),
        &[],
    );
    for path in ["/", "/dbs/d/colls/c", "/dbs/d/colls/c/pkranges", ITEMS] {
        reader.get(path).expect(200);
    }
    reader.item("GET", "a", "p", "").expect(200);
    reader.query(ITEMS, "SELECT * FROM c").expect(200);
    for path in [
        "/dbs",
        "/dbs/d",
        "/dbs/d/colls",
        "/dbs/d/colls/o",
        "/dbs/d/users",
        "/offers",
    ] {
        reader.get(path).refused(403, 0, "Forbidden", "");
    }
    for (method, body) in [
        ("PUT", r#"{"id":"a","pk":"p"}"#),
        ("PATCH", r#"[{"op":"set","path":"/x","value":1}]"#),
        ("DELETE", ""),
    ] {
        reader
            .item(method, "a", "p", body)
            .refused(403, 0, "Forbidden", "");
    }
    let create = reader.request("POST", ITEMS, &[KEY], r#"{"id":"b","pk":"p"}"#);
    create.refused(403, 0, "Forbidden", "");

    let writer = permit(
        &world,
        "w",
        &json!({"permissionMode": "All", "resource": "dbs/d/colls/o"}),
        &[],
    );
    let items = "/dbs/d/colls/o/docs";
    writer
        .request("POST", items, &[KEY], r#"{"id":"b","pk":"p"}"#)
        .expect(201);
    writer
        .request("DELETE", &format!("{items}/b"), &[KEY], "")
        .expect(204);
    writer
        .item("GET", "a", "p", "")
        .refused(403, 0, "Forbidden", "");
}

#[test]
fn a_token_by_resource_id_opens_the_names_too() {
    let world = start();
    world.client().create_item("a", "p", &json!({}));
    let link = world.client().get("/dbs/d/colls/c").json()["_self"]
        .as_str()
        .unwrap()
        .to_owned();
    let reader = permit(
        &world,
        "r",
        &json!({"permissionMode": "read", "resource": link}),
        &[],
    );
    reader.item("GET", "a", "p", "").expect(200);
    reader.get(&format!("/{link}pkranges")).expect(200);
    reader
        .get(&format!("/{}", link.trim_end_matches('/')))
        .expect(200);
}

#[test]
fn a_token_of_an_item_and_of_one_partition_key() {
    let world = start();
    let client = world.client();
    for (id, pk) in [("a", "p"), ("b", "p"), ("a", "q")] {
        client.create_item(id, pk, &json!({}));
    }
    let one = permit(
        &world,
        "i",
        &json!({"permissionMode": "Read", "resource": "dbs/d/colls/c/docs/a"}),
        &[],
    );
    one.get("/").expect(200);
    one.item("GET", "a", "p", "").expect(200);
    one.item("GET", "b", "p", "")
        .refused(403, 0, "Forbidden", "");
    // Clients need both before they ask for an item.
    for path in ["/dbs/d/colls/c", "/dbs/d/colls/c/pkranges"] {
        one.get(path).expect(200);
    }
    one.get(ITEMS).refused(403, 0, "Forbidden", "");

    let keyed = permit(
        &world,
        "k",
        &json!({
            "permissionMode": "All", "resource": "dbs/d/colls/c", "resourcePartitionKey": ["p"]
        }),
        &[],
    );
    keyed.item("GET", "a", "p", "").expect(200);
    keyed
        .item("GET", "a", "q", "")
        .refused(403, 0, "Forbidden", "");
    keyed.get(ITEMS).refused(403, 0, "Forbidden", "");
    let other = keyed.request("POST", ITEMS, &[(PK, r#"["q"]"#)], r#"{"id":"z","pk":"q"}"#);
    other.refused(403, 0, "Forbidden", "");
}

#[test]
fn tokens_expire_and_cannot_be_altered() {
    let world = start();
    let grant = json!({"permissionMode": "Read", "resource": "dbs/d/colls/c"});
    let expiry = "x-ms-documentdb-expiry-seconds";
    let short = permit(&world, "s", &grant, &[(expiry, "600")]);
    short.get("/dbs/d/colls/c").expect(200);
    world.advance(599);
    short.get("/dbs/d/colls/c").expect(200);
    world.advance(2);
    let text = "The authorization token is not valid at the current time.";
    short
        .get("/dbs/d/colls/c")
        .refused(403, 0, "Forbidden", text);

    let token = world.client().get("/dbs/d/users/u/permissions/s").json()["_token"].clone();
    let token = token.as_str().unwrap();
    let start = token.find("sig=").unwrap() + 4;
    for at in [start, start + 5, token.len() - 3] {
        let mut altered = token.as_bytes().to_vec();
        altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
        let altered = String::from_utf8(altered).unwrap();
        let client = world.client_with(Credential::Token(crate::signature::encode(&altered)));
        client
            .get("/dbs/d/colls/c")
            .refused(401, 0, "Unauthorized", "");
    }
    let raw = world.client_with(Credential::Token(token.to_owned()));
    raw.get("/dbs/d/colls/c").expect(200);

    for seconds in ["0", "1", "86401"] {
        let response = world.client().request(
            "GET",
            "/dbs/d/users/u/permissions/s",
            &[(expiry, seconds)],
            "",
        );
        response.refused(400, 0, "BadRequest", "x-ms-documentdb-expiry-seconds");
    }
}

#[test]
fn each_read_mints_another_token() {
    let world = start();
    let body = json!({"permissionMode": "all", "resource": "dbs/d/colls/c"});
    permit(&world, "p", &body, &[]);
    let client = world.client();
    let read = || client.get("/dbs/d/users/u/permissions/p").expect(200);
    let (first, second) = (read(), read());
    assert_ne!(first.json()["_token"], second.json()["_token"]);
    assert_eq!(first.json()["_etag"], second.json()["_etag"]);
    assert_eq!(
        first.json()["permissionMode"],
        "all",
        "echoed as it was written"
    );
    let feed = client.get("/dbs/d/users/u/permissions").expect(200).json();
    assert_ne!(feed["Permissions"][0]["_token"], first.json()["_token"]);
    let again = json!({"id": "p2", "permissionMode": "Read", "resource": "dbs/d/colls/c"});
    let twice = client.post("/dbs/d/users/u/permissions", &again.to_string());
    twice.refused(409, 0, "Conflict", "");
}

#[test]
fn a_token_of_a_database_and_names_that_begin_alike() {
    let world = start();
    let client = world.client();
    client.post("/dbs", r#"{"id":"dd"}"#).expect(201);
    client.create_container(&json!({"id": "cc", "partitionKey": {"paths": ["/pk"]}}));
    let body = json!({"permissionMode": "Read", "resource": "dbs/d"});
    let database = permit(&world, "d", &body, &[]);
    for path in ["/dbs/d", "/dbs/d/colls", "/dbs/d/colls/cc", ITEMS] {
        database.get(path).expect(200);
    }
    database.get("/dbs/dd").refused(403, 0, "Forbidden", "");
    let body = json!({"permissionMode": "Read", "resource": "/dbs/d/colls/c/"});
    let container = permit(&world, "c", &body, &[]);
    container.get(ITEMS).expect(200);
    for path in [
        "/dbs/d/colls/cc",
        "/dbs/d/colls/cc/docs",
        "/dbs/d/colls/c%2Fdocs",
    ] {
        container.get(path).refused(403, 0, "Forbidden", "");
    }
}
