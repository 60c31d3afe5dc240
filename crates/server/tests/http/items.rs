//! Items are read as they were written, except for the properties that the server adds.

use serde_json::{Value, json};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::support::{CONTAINER, ITEMS, PK, Response, START_SECONDS, UPSERT, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);

#[test]
fn what_is_written_is_read() {
    let world = start();
    let client = world.client();
    let sent = r#"{"z":1,"id":"a","pk":"p","a":[1,-1,0.5,1e21,9007199254740992,true,null,"\u00fc\u0000\"\\"],"":{"":[]},"nested":{"b":{"c":{}}}}"#;
    let created = client.request("POST", ITEMS, &[KEY], sent).expect(201);
    let read = client.item("GET", "a", "p", "").expect(200);
    assert_eq!(created.text(), read.text());
    let Value::Object(mut item) = read.json() else {
        panic!("an item is an object")
    };
    assert_eq!(item["_ts"], START_SECONDS);
    assert_eq!(item["_attachments"], "attachments/");
    for name in ["_rid", "_self", "_etag", "_ts", "_attachments"] {
        assert!(item.shift_remove(name).is_some(), "{name}");
    }
    let expected: Value = serde_json::from_str(sent).unwrap();
    let names: Vec<&String> = item.keys().collect();
    let sent_names: Vec<&String> = expected.as_object().unwrap().keys().collect();
    assert_eq!(names, sent_names, "properties keep their order");
    assert_eq!(Value::Object(item), expected);
}

#[test]
fn system_properties_of_a_client_are_replaced() {
    let world = start();
    let client = world.client();
    let sent = r#"{"id":"a","pk":"p","_rid":"x","_self":"x","_etag":"x","_ts":1,"_attachments":"x","_lsn":5,"_own":1}"#;
    let created = client.request("POST", ITEMS, &[KEY], sent).expect(201);
    let item = created.json();
    for name in ["_rid", "_self", "_etag", "_attachments"] {
        assert_ne!(item[name], "x", "{name}");
    }
    assert_eq!(item["_ts"], START_SECONDS);
    assert_eq!(item["_own"], 1);
    assert_eq!(item.get("_lsn"), None, "only a change feed shows it");
    let replaced = client.item("PUT", "a", "p", sent).expect(200).json();
    assert_eq!(replaced["_rid"], item["_rid"]);
}

#[test]
fn upserts_create_or_replace() {
    let world = start();
    let client = world.client();
    let body = r#"{"id":"a","pk":"p","n":1}"#;
    let first = client
        .request("POST", ITEMS, &[KEY, UPSERT], body)
        .expect(201);
    let second = client
        .request("POST", ITEMS, &[KEY, UPSERT], body)
        .expect(200);
    assert_eq!(first.json()["_rid"], second.json()["_rid"]);
    assert_ne!(first.json()["_etag"], second.json()["_etag"]);
    client.item("DELETE", "a", "p", "").expect(204);
    let third = client
        .request("POST", ITEMS, &[KEY, UPSERT], body)
        .expect(201);
    assert_ne!(
        first.json()["_rid"],
        third.json()["_rid"],
        "resource ids are never given twice"
    );
}

#[test]
fn numbers_at_the_edges() {
    let world = start();
    let client = world.client();
    for (number, status) in [
        ("9007199254740993", 201),
        ("-9223372036854775808", 201),
        ("18446744073709551615", 201),
        ("1e308", 201),
        ("5e-324", 201),
        ("-0", 201),
        ("0.1", 201),
        ("01", 400),
        ("+1", 400),
        (".5", 400),
        ("NaN", 400),
        ("Infinity", 400),
    ] {
        let body = format!(r#"{{"id":"n{number}","pk":"p","n":{number}}}"#);
        let response = client.request("POST", ITEMS, &[KEY], &body);
        assert_eq!(response.status, status, "{number} {}", response.text());
    }
    let huge = client.request("POST", ITEMS, &[KEY], r#"{"id":"h","pk":"p","n":1e999}"#);
    assert!([201, 400].contains(&huge.status));
    let exact = client.item("GET", "n9007199254740993", "p", "");
    assert!(
        exact.text().contains("\"n\":9007199254740993"),
        "{}",
        exact.text()
    );
}

#[test]
fn resource_ids_have_their_layout() {
    let world = start();
    let client = world.client();
    let bytes = |value: &Value| {
        let text = value["_rid"].as_str().unwrap();
        assert_eq!(text.len() % 4, 0);
        STANDARD.decode(text.replace('-', "/")).unwrap()
    };
    let database = bytes(&client.get("/dbs/d").json());
    let container = bytes(&client.get(CONTAINER).json());
    let user = bytes(
        &client
            .post("/dbs/d/users", r#"{"id":"u"}"#)
            .expect(201)
            .json(),
    );
    assert_eq!((database.len(), container.len(), user.len()), (4, 8, 8));
    assert_eq!(container[..4], database[..]);
    assert_eq!(user[..4], database[..]);
    assert_eq!((container[4] & 0x80, user[4] & 0x80), (0x80, 0));
    let mut last = 0;
    for id in ["c", "a", "b"] {
        let item = client.create_item(id, "p", &json!({})).json();
        let rid = bytes(&item);
        assert_eq!((rid.len(), &rid[..8]), (16, &container[..]));
        let counter = u64::from_le_bytes(rid[8..].try_into().unwrap());
        assert!(counter > last, "counters follow the order of creation");
        assert_eq!(rid[15] >> 4, 0);
        last = counter;
        assert!(
            item["_self"]
                .as_str()
                .unwrap()
                .ends_with(&format!("/docs/{}/", item["_rid"].as_str().unwrap()))
        );
    }
    let ranges = client.get(&format!("{CONTAINER}/pkranges")).json();
    let range = bytes(&ranges["PartitionKeyRanges"][0]);
    assert_eq!((range.len(), range[15] >> 4), (16, 5));
    let offer = client.get("/offers").json();
    assert_eq!(bytes(&offer["Offers"][0]).len(), 3);
}

#[test]
fn a_batch_is_charged_for_its_operations() {
    let world = start();
    let client = world.client();
    let headers = [
        KEY,
        ("x-ms-cosmos-is-batch-request", "True"),
        ("x-ms-cosmos-batch-atomic", "True"),
    ];
    let body = json!([
        {"operationType": "Create", "resourceBody": {"id": "a", "pk": "p"}},
        {"operationType": "Read", "id": "a"}
    ]);
    let response = client
        .request("POST", ITEMS, &headers, &body.to_string())
        .expect(200);
    let sum: f64 = response
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["requestCharge"].as_f64().unwrap())
        .sum();
    assert!(
        sum > 0.0 && (response.charge() - sum).abs() < 0.005,
        "{sum} {}",
        response.charge()
    );
}

/// As the tests of the .NET SDK have it: the write decides whether the item has the two properties,
/// and a reader gets an item without them only if it excludes them too.
#[test]
fn an_item_may_be_written_without_its_links() {
    const EXCLUDE: &str = "x-ms-exclude-system-properties";
    let world = start();
    let client = world.client();
    let links = |response: Response| {
        let item = response.json();
        let has = |name: &str| item.get(name).is_some();
        assert!(has("_rid") && has("_etag") && has("_ts"), "{item}");
        assert_eq!(has("_self"), has("_attachments"), "{item}");
        has("_self")
    };
    let read = |id: &str, headers: &[(&str, &str)]| {
        let path = format!("{ITEMS}/{id}");
        links(
            client
                .request("GET", &path, &[&[KEY], headers].concat(), "")
                .expect(200),
        )
    };
    for (id, headers, keeps) in [
        ("bare", &[(EXCLUDE, "True")][..], false),
        ("whole", &[(EXCLUDE, "False")], true),
        ("plain", &[], true),
    ] {
        let body = json!({"id": id, "pk": "p", "nested": {"_self": "mine"}}).to_string();
        let created = client.request("POST", ITEMS, &[&[KEY], headers].concat(), &body);
        assert_eq!(links(created.expect(201)), keeps, "{id}");
        assert_eq!(read(id, &[(EXCLUDE, "True")]), keeps, "{id}");
        assert!(read(id, &[(EXCLUDE, "False")]) && read(id, &[]), "{id}");
    }
    let excluding = |method: &str, body: &str| {
        let path = format!("{ITEMS}/bare");
        let headers = [KEY, (EXCLUDE, "true")];
        links(client.request(method, &path, &headers, body).expect(200))
    };
    // A patch leaves the item as it is, and a replace decides anew.
    let patch = r#"[{"op":"set","path":"/n","value":1}]"#;
    assert!(!excluding("PATCH", patch));
    assert!(!excluding("PUT", r#"{"id":"bare","pk":"p"}"#));
    client
        .item("PUT", "bare", "p", r#"{"id":"bare","pk":"p"}"#)
        .expect(200);
    assert!(read("bare", &[(EXCLUDE, "True")]));
}
