//! Feeds: envelopes, counts, pages and their ends.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Client, ITEMS, PK, QUERY, start};

/// Follows continuations to the end; gives the ids and the sizes of the pages.
fn drain(
    client: &Client,
    path: &str,
    headers: &[(&str, &str)],
    query: &str,
) -> (Vec<String>, Vec<usize>) {
    let (mut ids, mut sizes) = (Vec::new(), Vec::new());
    let mut token: Option<String> = None;
    loop {
        let mut all = headers.to_vec();
        all.extend(token.as_deref().map(|token| ("x-ms-continuation", token)));
        let response = if query.is_empty() {
            client.request("GET", path, &all, "")
        } else {
            all.push(QUERY);
            client.request("POST", path, &all, &json!({"query": query}).to_string())
        };
        let body = response.clone().expect(200).json();
        let envelope = body.as_object().unwrap().values().find_map(Value::as_array);
        let page = envelope.unwrap();
        assert_eq!(body["_count"], page.len());
        let count = page.len().to_string();
        assert_eq!(response.header("x-ms-item-count"), Some(count.as_str()));
        ids.extend(
            page.iter()
                .map(|one| one["id"].as_str().unwrap().to_owned()),
        );
        sizes.push(page.len());
        token = response.header("x-ms-continuation").map(str::to_owned);
        match &token {
            None => return (ids, sizes),
            Some(token) => assert!(!token.is_empty()),
        }
        assert!(sizes.len() < 100, "the pages of {path} do not end");
    }
}

#[test]
fn envelopes_are_spelled_exactly() {
    let world = start();
    let client = world.client();
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let database = client.get("/dbs/d").json()["_rid"].clone();
    let container = client.get("/dbs/d/colls/c").json()["_rid"].clone();
    let user = client.get("/dbs/d/users/u").json()["_rid"].clone();
    for (path, envelope, parent) in [
        ("/dbs", "Databases", json!("")),
        ("/dbs/d/colls", "DocumentCollections", database.clone()),
        ("/dbs/d/users", "Users", database),
        ("/dbs/d/users/u/permissions", "Permissions", user),
        (ITEMS, "Documents", container.clone()),
        ("/dbs/d/colls/c/pkranges", "PartitionKeyRanges", container),
        ("/offers", "Offers", json!("")),
    ] {
        let body = client.get(path).expect(200).json();
        assert_eq!(body["_rid"], parent, "{path}");
        let list = body[envelope]
            .as_array()
            .unwrap_or_else(|| panic!("{path}: {body}"));
        assert_eq!(body["_count"], list.len());
    }
}

#[test]
fn catalogue_feeds_and_their_queries_have_pages() {
    let world = start();
    let client = world.client();
    for name in ["e", "f", "g", "h"] {
        client
            .post("/dbs", &json!({"id": name}).to_string())
            .expect(201);
        let container = json!({"id": name, "partitionKey": {"paths": ["/pk"]}});
        client
            .post("/dbs/d/colls", &container.to_string())
            .expect(201);
        client
            .post("/dbs/d/users", &json!({"id": name}).to_string())
            .expect(201);
    }
    client.post("/dbs/d/users", r#"{"id":"z"}"#).expect(201);
    for path in ["/dbs", "/dbs/d/colls", "/dbs/d/users"] {
        for query in ["", "SELECT * FROM root r"] {
            for (count, pages) in [("1", 5), ("2", 3), ("5", 1), ("-1", 1), ("1000", 1)] {
                let headers = [("x-ms-max-item-count", count)];
                let (ids, sizes) = drain(&client, path, &headers, query);
                assert_eq!(ids.len(), 5, "{path} {query} {count}");
                assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 5);
                assert_eq!(sizes.len(), pages, "{path} {query} {count}");
            }
        }
        let query = "SELECT * FROM root r WHERE r.id = 'f'";
        let found = (vec!["f".to_owned()], vec![1]);
        assert_eq!(drain(&client, path, &[], query), found);
        // The page of the last row is the last, also where other resources come behind it.
        assert_eq!(
            drain(&client, path, &[("x-ms-max-item-count", "1")], query),
            found
        );
        let bad = client.request("GET", path, &[("x-ms-continuation", "?")], "");
        assert_eq!(bad.status, 400);
    }
}

#[test]
fn item_feeds_have_pages_and_no_empty_last_one() {
    let world = start();
    let client = world.client();
    let headers = [("x-ms-offer-throughput", "18000")];
    let definition = r#"{"id":"m","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
    client
        .request("POST", "/dbs/d/colls", &headers, definition)
        .expect(201);
    let items = "/dbs/d/colls/m/docs";
    let mut expected = BTreeSet::new();
    for index in 0..30 {
        let pk = format!("p{}", index % 10);
        let id = format!("i{index}");
        let body = json!({"id": id, "pk": pk, "n": index}).to_string();
        let key = json!([pk]).to_string();
        client
            .request("POST", items, &[(PK, &key)], &body)
            .expect(201);
        expected.insert(id);
    }
    for query in ["", "SELECT * FROM c", "SELECT c.id FROM c WHERE c.n >= 0"] {
        for count in ["1", "7", "10", "30", "100", "-1"] {
            let (ids, sizes) = drain(&client, items, &[("x-ms-max-item-count", count)], query);
            assert_eq!(ids.len(), 30, "{query} {count} {sizes:?}");
            assert_eq!(ids.iter().cloned().collect::<BTreeSet<_>>(), expected);
            assert_ne!(sizes.last(), Some(&0), "{query} {count} {sizes:?}");
        }
        let key = [(PK, r#"["p3"]"#), ("x-ms-max-item-count", "1")];
        assert_eq!(drain(&client, items, &key, query).0, ["i13", "i23", "i3"]);
    }
    assert_eq!(drain(&client, items, &[(PK, r#"["nobody"]"#)], "").1, [0]);
}

#[test]
fn a_page_ends_at_four_megabytes() {
    let world = start();
    let client = world.client();
    let filler = "x".repeat(1_500_000);
    for index in 0..6 {
        client.create_item(&format!("i{index}"), "p", &json!({"f": filler}));
    }
    for query in ["", "SELECT * FROM c"] {
        let (ids, sizes) = drain(&client, ITEMS, &[("x-ms-max-item-count", "100")], query);
        assert_eq!(ids.len(), 6);
        assert!(
            sizes.len() > 1 && sizes.iter().all(|size| (1..=2).contains(size)),
            "{sizes:?}"
        );
    }
}

#[test]
fn deleting_a_whole_partition_key() {
    let world = start();
    let client = world.client();
    for index in 0..5 {
        client.create_item(&format!("i{index}"), "p", &json!({}));
        client.create_item(&format!("i{index}"), "q", &json!({}));
    }
    let path = "/dbs/d/colls/c/operations/partitionkeydelete";
    client
        .request("POST", path, &[(PK, r#"["p"]"#)], "")
        .expect(200);
    assert_eq!(client.get(ITEMS).json()["_count"], 5);
    client
        .request("POST", path, &[(PK, r#"["nobody"]"#)], "")
        .expect(200);
}
