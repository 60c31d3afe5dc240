//! Time to live, as a client sees it; the clock is moved by hand.

use serde_json::json;

use crate::support::{ITEMS, PK, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);

#[test]
fn the_ttl_of_an_item_is_checked_everywhere() {
    let world = start();
    let client = world.client();
    client.create_container(&json!({
        "id": "t", "partitionKey": {"paths": ["/pk"]}, "defaultTtl": 100
    }));
    for (ttl, status) in [
        (json!(null), 400),
        (json!(0), 400),
        (json!(-10), 400),
        (json!("5"), 400),
        (json!(1.5), 400),
        (json!(2_147_483_648_u64), 400),
        (json!(-1), 201),
        (json!(5), 201),
    ] {
        let body = json!({"id": ttl.to_string(), "pk": "p", "ttl": ttl}).to_string();
        let response = client.request("POST", "/dbs/d/colls/t/docs", &[KEY], &body);
        assert_eq!(response.status, status, "{ttl} {}", response.text());
        client.request("POST", ITEMS, &[KEY], &body).expect(status);
    }
}

#[test]
fn expired_items_are_gone_at_once() {
    let world = start();
    let client = world.client();
    client.create_container(&json!({
        "id": "t", "partitionKey": {"paths": ["/pk"]}, "defaultTtl": 100
    }));
    let items = "/dbs/d/colls/t/docs";
    for (id, ttl) in [("short", json!(10)), ("never", json!(-1))] {
        let body = json!({"id": id, "pk": "p", "ttl": ttl}).to_string();
        client.request("POST", items, &[KEY], &body).expect(201);
    }
    client
        .request("POST", items, &[KEY], r#"{"id":"default","pk":"p"}"#)
        .expect(201);
    let alive = || {
        let feed = client.get(items).expect(200).json();
        let query = client.query(items, "SELECT * FROM c").expect(200).json();
        assert_eq!(feed["_count"], query["_count"]);
        feed["_count"].as_u64().unwrap()
    };
    assert_eq!(alive(), 3);
    world.advance(11);
    assert_eq!(alive(), 2);
    let read = client.request("GET", &format!("{items}/short"), &[KEY], "");
    read.refused(404, 0, "NotFound", "");
    let delete = client.request("DELETE", &format!("{items}/short"), &[KEY], "");
    delete.refused(404, 0, "NotFound", "");
    client
        .request("POST", items, &[KEY], r#"{"id":"short","pk":"p","ttl":-1}"#)
        .expect(201);
    world.advance(100);
    assert_eq!(alive(), 2);
}
