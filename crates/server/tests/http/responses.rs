//! The headers of every answer, whatever its status.

use serde_json::json;

use crate::support::{CONTAINER, ITEMS, PK, QUERY, Response, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);

/// Answers of every kind, with names.
fn answers() -> Vec<(String, Response)> {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let offer = client.get("/offers").json()["Offers"][0]["_self"]
        .as_str()
        .unwrap()
        .to_owned();
    let offer = format!("/{offer}");
    let item = format!("{ITEMS}/a");
    let ranges = format!("{CONTAINER}/pkranges");
    let scripts = format!("{CONTAINER}/sprocs");
    let batch = [
        KEY,
        ("x-ms-cosmos-is-batch-request", "True"),
        ("x-ms-cosmos-batch-atomic", "True"),
    ];
    let star = ("if-none-match", "*");
    let mut list = Vec::new();
    for (method, path, headers, body) in [
        ("GET", "/", &[][..], ""),
        ("GET", "/dbs", &[], ""),
        ("GET", "/dbs/d", &[], ""),
        ("GET", "/dbs/d", &[star], ""),
        ("GET", "/dbs/n", &[], ""),
        ("POST", "/dbs", &[], r#"{"id":"e"}"#),
        ("POST", "/dbs", &[], r#"{"id":"e"}"#),
        ("DELETE", "/dbs/e", &[], ""),
        ("GET", CONTAINER, &[], ""),
        ("GET", CONTAINER, &[star], ""),
        ("GET", &ranges, &[], ""),
        ("GET", &ranges, &[star], ""),
        ("GET", &item, &[KEY], ""),
        ("GET", &item, &[KEY, star], ""),
        ("GET", &item, &[], ""),
        ("POST", ITEMS, &[KEY], r#"{"id":"b","pk":"p"}"#),
        ("POST", ITEMS, &[KEY], r#"{"id":"b","pk":"p"}"#),
        ("POST", ITEMS, &[KEY], "nonsense"),
        (
            "POST",
            ITEMS,
            &batch,
            r#"[{"operationType":"Read","id":"a"}]"#,
        ),
        (
            "POST",
            ITEMS,
            &batch,
            r#"[{"operationType":"Read","id":"n"}]"#,
        ),
        ("POST", ITEMS, &[QUERY], r#"{"query":"SELECT * FROM c"}"#),
        ("POST", ITEMS, &[QUERY], r#"{"query":"SELECT"}"#),
        ("DELETE", &format!("{ITEMS}/b"), &[KEY], ""),
        ("GET", ITEMS, &[], ""),
        ("GET", ITEMS, &[("x-ms-max-item-count", "x")], ""),
        ("GET", "/offers", &[], ""),
        ("GET", &offer, &[], ""),
        ("GET", "/dbs/d/users/u", &[], ""),
        ("GET", "/dbs/d/users/u/permissions", &[], ""),
        ("GET", &scripts, &[], ""),
        ("PATCH", "/dbs", &[], ""),
        ("GET", "/nonsense", &[], ""),
        ("GET", "/dbs/%zz", &[], ""),
        ("GET", "/dbs/d", &[("authorization", "nonsense")], ""),
    ] {
        let name = format!("{method} {path} {headers:?} {body}");
        list.push((name, client.request(method, path, headers, body)));
    }
    list
}

#[test]
fn headers_that_are_always_there() {
    for (name, response) in answers() {
        println!("{name} -> {}", response.status);
        assert!(response.charge() > 0.0);
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(
            response.header("x-ms-gatewayversion"),
            Some("version=2.14.0")
        );
        assert_eq!(response.header("strict-transport-security"), None);
        for required in [
            "date",
            "server",
            "x-ms-activity-id",
            "x-ms-request-duration-ms",
            "x-ms-version",
            "x-ms-serviceversion",
            "x-ms-schemaversion",
            "x-ms-last-state-change-utc",
            "x-ms-number-of-read-regions",
            "x-ms-transport-request-id",
        ] {
            let value = response
                .header(required)
                .unwrap_or_else(|| panic!("no {required}"));
            assert!(!value.is_empty(), "{required}");
        }
        assert!(
            response
                .header("x-ms-schemaversion")
                .unwrap()
                .starts_with("1.")
        );
        assert!(
            response
                .header("x-ms-transport-request-id")
                .unwrap()
                .parse::<u32>()
                .is_ok()
        );
        assert!(
            response
                .header("x-ms-request-duration-ms")
                .unwrap()
                .parse::<f64>()
                .is_ok()
        );
        for (header, value) in &response.headers {
            assert!(!value.is_empty(), "{header} is empty");
            let same = response.headers.iter().filter(|(other, _)| other == header);
            assert_eq!(same.count(), 1, "{header} is there twice");
        }
        if response.status >= 400 {
            let body = response.json();
            assert!(body["code"].is_string() && body["message"].is_string());
            assert_eq!(response.header("etag"), None);
        }
        if let Some(etag) = response.header("etag")
            && !response.body.is_empty()
            && let Some(own) = response.json()["_etag"].as_str()
        {
            assert_eq!(etag, own);
        }
    }
}

#[test]
fn activity_ids_are_echoed_or_made() {
    let world = start();
    let client = world.client();
    let id = "11111111-2222-3333-4444-555555555555";
    for path in ["/", "/dbs/n", ITEMS, "/nonsense"] {
        let response = client.request("GET", path, &[("x-ms-activity-id", id)], "");
        assert_eq!(response.header("x-ms-activity-id"), Some(id), "{path}");
        let (one, two) = (client.get(path), client.get(path));
        let made = one.header("x-ms-activity-id").unwrap();
        assert_eq!(made.len(), 36);
        assert_ne!(Some(made), two.header("x-ms-activity-id"));
    }
    for odd in [r#"a"b\c"#, "a\tb", "{}"] {
        let response = client.request("GET", "/dbs/n", &[("x-ms-activity-id", odd)], "");
        response.refused(404, 0, "NotFound", "");
    }
    let long = "x".repeat(5_000);
    for odd in ["", "\u{e9}", long.as_str()] {
        let response = client.request("GET", "/", &[("x-ms-activity-id", odd)], "");
        assert!(
            response
                .header("x-ms-activity-id")
                .is_some_and(|id| !id.is_empty())
        );
    }
}

#[test]
fn paths_of_the_owner() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let database = client.get("/dbs/d").json()["_rid"]
        .as_str()
        .unwrap()
        .to_owned();
    let container = client.get(CONTAINER).json()["_rid"]
        .as_str()
        .unwrap()
        .to_owned();
    let item = format!("{ITEMS}/a");
    let by_rid = format!("/dbs/{database}/colls/{container}/docs");
    let items = ("dbs/d/colls/c", container.as_str());
    let containers = ("dbs/d", database.as_str());
    for (method, path, body, (alt, rid)) in [
        ("GET", item.as_str(), "", items),
        ("PUT", &item, r#"{"id":"a","pk":"p"}"#, items),
        ("GET", &format!("{ITEMS}/none"), "", items),
        ("POST", ITEMS, r#"{"id":"a","pk":"p"}"#, items),
        ("GET", ITEMS, "", items),
        ("GET", &by_rid, "", items),
        ("GET", "/dbs/d/colls/c/pkranges", "", items),
        ("GET", CONTAINER, "", containers),
        (
            "POST",
            "/dbs/d/colls",
            r#"{"id":"x","partitionKey":{"paths":["/pk"]}}"#,
            containers,
        ),
    ] {
        let response = client.request(method, path, &[KEY], body);
        println!("{method} {path} -> {}", response.status);
        assert_eq!(response.header("x-ms-alt-content-path"), Some(alt));
        // An answer of 404 has no resource id of the owner, as in Cosmos DB.
        let rid = Some(rid).filter(|_| response.status != 404);
        assert_eq!(response.header("x-ms-content-path"), rid);
    }
    let deleted = client.delete(CONTAINER).expect(204);
    assert!(deleted.header("x-ms-content-path").is_some());
}

#[test]
fn the_account_document() {
    let world = start();
    let account = world.client().get("/").expect(200).json();
    let endpoint = format!("http://{}", world.address);
    for field in [
        "id",
        "_rid",
        "_self",
        "addresses",
        "queryEngineConfiguration",
    ] {
        assert!(account.get(field).is_some(), "{field}");
    }
    for field in ["writableLocations", "readableLocations"] {
        let location = &account[field][0];
        let sent = location["databaseAccountEndpoint"].as_str().unwrap();
        assert_eq!(sent.trim_end_matches('/'), endpoint);
        assert!(location["name"].is_string());
    }
    assert_eq!(
        account["userConsistencyPolicy"]["defaultConsistencyLevel"],
        "Session"
    );
    assert_eq!(account["enableMultipleWriteLocations"], false);
    assert_eq!(account.get("thinClientReadableLocations"), None);
    let configuration = account["queryEngineConfiguration"].as_str().unwrap();
    assert!(
        serde_json::from_str::<serde_json::Value>(configuration)
            .unwrap()
            .is_object()
    );
}
