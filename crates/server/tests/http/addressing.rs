//! The same resource by other ways: slashes, cases of keywords, resource ids.

use serde_json::json;

use crate::support::{CONTAINER, ITEMS, PK, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);

#[test]
fn slashes_and_cases() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    for path in [
        "/dbs/d/colls/c/docs/a",
        "/dbs/d/colls/c/docs/a/",
        "//dbs/d/colls/c/docs/a",
        "//dbs//d//colls//c//docs//a//",
        "/DBS/d/Colls/c/DOCS/a",
        "/dbs/d/colls/c/docs/%61",
    ] {
        let response = client.request("GET", path, &[KEY], "");
        assert_eq!(response.status, 200, "{path} {}", response.text());
    }
    for path in [
        "/dbs/",
        "//dbs",
        "/dbs/d/",
        "/dbs/d/colls/",
        "/dbs/d/colls/c/",
        "/offers/",
        "//",
    ] {
        let response = client.get(path);
        assert_eq!(response.status, 200, "{path} {}", response.text());
    }
    client
        .request(
            "POST",
            &format!("{ITEMS}/"),
            &[KEY],
            r#"{"id":"b","pk":"p"}"#,
        )
        .expect(201);
    for path in ["/dbs/D", "/dbs/d/colls/C"] {
        client.get(path).refused(404, 0, "NotFound", "");
    }
    let absolute = format!("http://{}/dbs/d", world.address);
    let bytes = String::from_utf8(client.bytes("GET", "/dbs/d", &[], b"")).unwrap();
    let mut connection = world.connect();
    connection.send(bytes.replacen("/dbs/d", &absolute, 1).as_bytes());
    connection.receive("GET").expect(200);
}

#[test]
fn by_resource_id() {
    let world = start();
    let client = world.client();
    let item = client.create_item("a", "p", &json!({"n": 1})).json();
    let database = client.get("/dbs/d").json();
    let container = client.get(CONTAINER).json();
    let link = |resource: &serde_json::Value| format!("/{}", resource["_self"].as_str().unwrap());
    for slash in ["", "/"] {
        let at = |resource| link(resource).trim_end_matches('/').to_owned() + slash;
        assert_eq!(client.get(&at(&database)).expect(200).json(), database);
        assert_eq!(client.get(&at(&container)).expect(200).json(), container);
        let read = client.request("GET", &at(&item), &[KEY], "").expect(200);
        assert_eq!(read.json(), item);
    }
    client.get(&format!("{}colls", link(&database))).expect(200);
    client
        .get(&format!("{}pkranges", link(&container)))
        .expect(200);
    let items = format!("{}docs", link(&container));
    assert_eq!(client.get(&items).expect(200).json()["_count"], 1);
    client
        .request("POST", &items, &[KEY], r#"{"id":"b","pk":"p"}"#)
        .expect(201);
    let replaced = client.request("PUT", &link(&item), &[KEY], r#"{"id":"a","pk":"p","n":2}"#);
    assert_eq!(replaced.expect(200).json()["_rid"], item["_rid"]);
    client
        .request("DELETE", &link(&item), &[KEY], "")
        .expect(204);
    client
        .request("GET", &link(&item), &[KEY], "")
        .refused(404, 0, "NotFound", "");
    let query = client.query(&items, "SELECT * FROM c").expect(200);
    assert_eq!(query.json()["_count"], 1);
}

#[test]
fn names_and_resource_ids_do_not_mix() {
    let world = start();
    let client = world.client();
    let database = client.get("/dbs/d").json()["_rid"]
        .as_str()
        .unwrap()
        .to_owned();
    let container = client.get(CONTAINER).json()["_rid"]
        .as_str()
        .unwrap()
        .to_owned();
    let mixed = client.get(&format!("/dbs/{database}/colls/c"));
    mixed.refused(
        400,
        0,
        "BadRequest",
        "Failed to parse the value 'c' as ResourceId",
    );
    let item = client.request(
        "GET",
        &format!("/dbs/{database}/colls/{container}/docs/a"),
        &[KEY],
        "",
    );
    item.refused(
        400,
        0,
        "BadRequest",
        "Failed to parse the value 'a' as ResourceId",
    );
    let named = client.get(&format!("/dbs/d/colls/{container}"));
    named.refused(404, 0, "NotFound", "");
    let offer = client.get("/offers/not-a-rid");
    offer.refused(400, 0, "BadRequest", "as ResourceId");
    let unknown = client.get("/dbs/AQIDBA==");
    unknown.refused(404, 0, "NotFound", "");
}
