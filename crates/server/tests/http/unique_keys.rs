//! Unique keys within a logical partition.

use serde_json::json;

use crate::support::{Client, PK, UPSERT, World, start};

const ITEMS: &str = "/dbs/d/colls/k/docs";
const KEY: (&str, &str) = (PK, r#"["p"]"#);
const TEXT: &str = "Resource with specified id, name, or unique index already exists.";

fn begin() -> (World, Client) {
    let world = start();
    let client = world.client();
    client.create_container(&json!({
        "id": "k", "partitionKey": {"paths": ["/pk"]},
        "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}, {"paths": ["/x/y", "/z"]}]}
    }));
    (world, client)
}

#[test]
fn violations_on_every_kind_of_write() {
    let (_world, client) = begin();
    let create = |body: &str| client.request("POST", ITEMS, &[KEY], body);
    create(r#"{"id":"a","pk":"p","u":1,"z":1}"#).expect(201);
    create(r#"{"id":"b","pk":"p","u":2,"z":2}"#).expect(201);
    create(r#"{"id":"c","pk":"p","u":1,"z":3}"#).refused(409, 3301, "Conflict", TEXT);
    let upsert = client.request(
        "POST",
        ITEMS,
        &[KEY, UPSERT],
        r#"{"id":"c","pk":"p","u":1,"z":3}"#,
    );
    upsert.refused(409, 3301, "Conflict", TEXT);
    let b = format!("{ITEMS}/b");
    let replace = client.request("PUT", &b, &[KEY], r#"{"id":"b","pk":"p","u":1,"z":2}"#);
    replace.refused(409, 3301, "Conflict", TEXT);
    let patch = client.request(
        "PATCH",
        &b,
        &[KEY],
        r#"[{"op":"set","path":"/u","value":1}]"#,
    );
    patch.refused(409, 3301, "Conflict", TEXT);
    client
        .request("PUT", &b, &[KEY], r#"{"id":"b","pk":"p","u":2,"z":9}"#)
        .expect(200);
    client
        .request("DELETE", &format!("{ITEMS}/a"), &[KEY], "")
        .expect(204);
    client
        .request(
            "PATCH",
            &b,
            &[KEY],
            r#"[{"op":"set","path":"/u","value":1}]"#,
        )
        .expect(200);
    let other = [(PK, r#"["q"]"#)];
    client
        .request("POST", ITEMS, &other, r#"{"id":"a","pk":"q","u":1,"z":9}"#)
        .expect(201);
}

#[test]
fn missing_values_are_values() {
    let (_world, client) = begin();
    let create = |body: &str| client.request("POST", ITEMS, &[KEY], body);
    create(r#"{"id":"a","pk":"p","z":1}"#).expect(201);
    create(r#"{"id":"b","pk":"p","z":2}"#).refused(409, 3301, "Conflict", TEXT);
    create(r#"{"id":"b","pk":"p","u":null,"z":2}"#).refused(409, 3301, "Conflict", TEXT);
    create(r#"{"id":"b","pk":"p","u":1,"z":1}"#).refused(409, 3301, "Conflict", TEXT);
    create(r#"{"id":"b","pk":"p","u":1,"x":{"y":1},"z":1}"#).expect(201);
}
