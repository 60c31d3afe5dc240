//! Containers without a partition key, which clients of old versions of the protocol create.

use serde_json::json;

use crate::support::{PK, start};

/// The second one is the newest whose clients need no key; the old .NET SDK sends it.
const OLD_VERSIONS: [&str; 2] = ["2018-06-18", "2018-09-17"];
const CONTAINER: &str = "/dbs/d/colls/n";
const ITEMS: &str = "/dbs/d/colls/n/docs";

#[test]
fn old_clients_need_no_key_and_new_ones_find_the_key_of_the_system() {
    for version in OLD_VERSIONS {
        without_a_key(("x-ms-version", version));
    }
}

fn without_a_key(old: (&str, &str)) {
    let world = start();
    let client = world.client();
    let body = r#"{"id":"n"}"#;
    client
        .post("/dbs/d/colls", body)
        .refused(400, 0, "BadRequest", "partitionKey");
    let created = client
        .request("POST", "/dbs/d/colls", &[old], body)
        .expect(201);
    assert!(created.json().get("partitionKey").is_none());
    let read = client
        .request("GET", CONTAINER, &[old], "")
        .expect(200)
        .json();
    assert!(read.get("partitionKey").is_none());
    let read = client.get(CONTAINER).expect(200).json();
    let system = json!({"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": true});
    assert_eq!(read["partitionKey"], system);

    let item = format!("{ITEMS}/a");
    client
        .request("POST", ITEMS, &[old], r#"{"id":"a","n":1}"#)
        .expect(201);
    client
        .request("PUT", &item, &[old], r#"{"id":"a","n":2}"#)
        .expect(200);
    assert_eq!(
        client.request("GET", &item, &[old], "").expect(200).json()["n"],
        2
    );
    // New clients name the empty key, or the value of the property that only they write.
    let none = [(PK, "[]")];
    assert_eq!(
        client.request("GET", &item, &none, "").expect(200).json()["n"],
        2
    );
    client
        .request("POST", ITEMS, &none, r#"{"id":"b"}"#)
        .expect(201);
    let keyed = [(PK, r#"["k"]"#)];
    let with_key = r#"{"id":"a","_partitionKey":"k"}"#;
    client.request("POST", ITEMS, &keyed, with_key).expect(201);
    client
        .request("POST", ITEMS, &none, r#"{"id":"c","_partitionKey":"k"}"#)
        .refused(400, 1001, "BadRequest", "");
    for (headers, expected) in [(&none[..], 2), (&keyed, 1), (&[], 3)] {
        let feed = client.request("GET", ITEMS, headers, "").expect(200).json();
        assert_eq!(feed["_count"], expected, "{headers:?}");
    }
    let cross = ("x-ms-documentdb-query-enablecrosspartition", "False");
    let query = json!({"query": "SELECT * FROM c"}).to_string();
    let headers = [old, cross, ("content-type", "application/query+json")];
    let found = client.request("POST", ITEMS, &headers, &query).expect(200);
    assert_eq!(found.json()["_count"], 3);
    client.request("DELETE", &item, &[old], "").expect(204);
    client.request("GET", &item, &keyed, "").expect(200);
}
