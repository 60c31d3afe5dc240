//! Definitions: defaults are filled in, what was left out stays out, what cannot change does not.

use serde_json::{Value, json};

use crate::support::{CONTAINER, start};

#[test]
fn defaults_are_filled_in() {
    let world = start();
    let client = world.client();
    let created = client.create_container(&json!({"id": "x", "partitionKey": {"paths": ["/pk"]}}));
    let read = client.get("/dbs/d/colls/x").expect(200).json();
    assert_eq!(created, read);
    assert_eq!(
        read["indexingPolicy"],
        json!({
            "indexingMode": "consistent", "automatic": true,
            "includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/\"_etag\"/?"}]
        })
    );
    assert_eq!(
        read["partitionKey"],
        json!({"paths": ["/pk"], "kind": "Hash"})
    );
    assert_eq!(
        read["conflictResolutionPolicy"],
        json!({
            "mode": "LastWriterWins", "conflictResolutionPath": "/_ts",
            "conflictResolutionProcedure": ""
        })
    );
    assert_eq!(read["geospatialConfig"], json!({"type": "Geography"}));
    assert_eq!(read["uniqueKeyPolicy"], json!({"uniqueKeys": []}));
    for (name, value) in [
        ("_docs", "docs/"),
        ("_sprocs", "sprocs/"),
        ("_triggers", "triggers/"),
        ("_udfs", "udfs/"),
        ("_conflicts", "conflicts/"),
    ] {
        assert_eq!(read[name], value);
    }
    let database = client.get("/dbs/d").json();
    let link = format!(
        "dbs/{}/colls/{}/",
        database["_rid"].as_str().unwrap(),
        read["_rid"].as_str().unwrap()
    );
    assert_eq!(read["_self"], link);
    assert_eq!(read.get("defaultTtl"), None);
    assert_eq!(read.get("statistics"), None);
}

#[test]
fn the_version_of_the_key_is_what_was_sent() {
    let world = start();
    let client = world.client();
    for (id, key, shown) in [
        ("v0", json!({"paths": ["/pk"], "kind": "Hash"}), None),
        (
            "v1",
            json!({"paths": ["/pk"], "kind": "Hash", "version": 1}),
            Some(1),
        ),
        (
            "v2",
            json!({"paths": ["/pk"], "kind": "Hash", "version": 2}),
            Some(2),
        ),
    ] {
        client.create_container(&json!({"id": id, "partitionKey": key}));
        let path = format!("/dbs/d/colls/{id}");
        let read = client.get(&path).json();
        assert_eq!(
            read["partitionKey"].get("version").and_then(Value::as_u64),
            shown,
            "{id}"
        );
        let replaced = client.put(&path, &read.to_string()).expect(200).json();
        assert_eq!(replaced["partitionKey"], read["partitionKey"]);
    }
}

#[test]
fn default_ttl_absent_is_not_null() {
    let world = start();
    let client = world.client();
    let mut definition = json!({"id": "x", "partitionKey": {"paths": ["/pk"]}, "defaultTtl": 5});
    assert_eq!(client.create_container(&definition)["defaultTtl"], 5);
    definition["defaultTtl"] = json!(-1);
    let path = "/dbs/d/colls/x";
    assert_eq!(
        client.put(path, &definition.to_string()).expect(200).json()["defaultTtl"],
        -1
    );
    definition.as_object_mut().unwrap().remove("defaultTtl");
    let without = client.put(path, &definition.to_string()).expect(200).json();
    assert_eq!(
        without.get("defaultTtl"),
        None,
        "a PUT without it turns it off"
    );
    assert_eq!(client.get(path).json().get("defaultTtl"), None);
    for wrong in [
        json!(0),
        json!(-10),
        json!("5"),
        json!(1.5),
        json!(2_147_483_648_u64),
    ] {
        definition["defaultTtl"] = wrong.clone();
        client
            .put(path, &definition.to_string())
            .refused(400, 0, "BadRequest", "");
        definition["id"] = json!("y");
        client
            .post("/dbs/d/colls", &definition.to_string())
            .refused(400, 0, "BadRequest", "");
        definition["id"] = json!("x");
    }
    definition["defaultTtl"] = Value::Null;
    let null = client.put(path, &definition.to_string());
    assert!([200, 400].contains(&null.status));
    assert_eq!(client.get(path).json().get("defaultTtl"), None);
}

#[test]
fn definitions_that_are_refused() {
    let world = start();
    let client = world.client();
    let with = |name: &str, value: Value| {
        let mut definition = json!({"id": "x", "partitionKey": {"paths": ["/pk"]}});
        definition[name] = value;
        client.post("/dbs/d/colls", &definition.to_string())
    };
    for (name, value, text) in [
        (
            "partitionKey",
            json!({"paths": ["/a", "/b", "/c", "/d"], "kind": "MultiHash", "version": 2}),
            "Too many partition key paths (4) specified. A maximum of 3 is allowed.",
        ),
        ("partitionKey", json!({"paths": [], "kind": "Hash"}), ""),
        (
            "partitionKey",
            json!({"paths": ["/a", "/b"], "kind": "Hash", "version": 2}),
            "",
        ),
        ("partitionKey", json!({"paths": ["a"], "kind": "Hash"}), ""),
        (
            "partitionKey",
            json!({"paths": ["/a"], "kind": "Hash", "version": 3}),
            "",
        ),
        (
            "indexingPolicy",
            json!({"includedPaths": [{"path": "/a/*"}]}),
            "Please ensure that the path",
        ),
        (
            "conflictResolutionPolicy",
            json!({"mode": "LastWriterWins", "conflictResolutionPath": "/a/b"}),
            "Invalid path '/a/b' for last writer wins conflict resolution",
        ),
        (
            "vectorEmbeddingPolicy",
            json!({"vectorEmbeddings": [{
                "path": "/v", "dataType": "float32", "dimensions": 10,
                "distanceFunction": "handMeasured"
            }]}),
            "The Vector Embedding Policy has an invalid DistanceFunction:handMeasured",
        ),
        (
            "fullTextPolicy",
            json!({"defaultLanguage": "fr-FR", "fullTextPaths": []}),
            "The Full Text Policy contains an unsupported language fr-FR. Supported languages are:",
        ),
    ] {
        println!("{name}");
        with(name, value).refused(400, 0, "BadRequest", text);
    }
    client.get("/dbs/d/colls/x").refused(404, 0, "NotFound", "");
}

#[test]
fn what_cannot_change() {
    let world = start();
    let client = world.client();
    let definition = client.get(CONTAINER).json();
    for (name, value) in [
        ("id", json!("other")),
        (
            "partitionKey",
            json!({"paths": ["/other"], "kind": "Hash", "version": 2}),
        ),
        (
            "partitionKey",
            json!({"paths": ["/pk"], "kind": "Hash", "version": 1}),
        ),
        (
            "uniqueKeyPolicy",
            json!({"uniqueKeys": [{"paths": ["/u"]}]}),
        ),
        (
            "conflictResolutionPolicy",
            json!({"mode": "LastWriterWins", "conflictResolutionPath": "/a"}),
        ),
    ] {
        let mut changed = definition.clone();
        changed[name] = value;
        println!("{name}");
        client
            .put(CONTAINER, &changed.to_string())
            .refused(400, 0, "BadRequest", "");
    }
    let mut changed = definition.clone();
    changed["indexingPolicy"]["excludedPaths"] = json!([{"path": "/a/*"}]);
    let replaced = client
        .put(CONTAINER, &changed.to_string())
        .expect(200)
        .json();
    let excluded = replaced["indexingPolicy"]["excludedPaths"].to_string();
    assert!(
        excluded.contains("/a/*") && excluded.contains("_etag"),
        "{excluded}"
    );
    assert_eq!(replaced["_rid"], definition["_rid"]);
    assert_ne!(replaced["_etag"], definition["_etag"]);
}

#[test]
fn quota_and_statistics_on_request() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let quota = [("x-ms-documentdb-populatequotainfo", "True")];
    let response = client.request("GET", CONTAINER, &quota, "").expect(200);
    for name in ["x-ms-resource-quota", "x-ms-resource-usage"] {
        let text = response.header(name).unwrap_or_else(|| panic!("{name}"));
        let names: Vec<&str> = text
            .split(';')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').expect(text);
                value.parse::<i64>().expect(text);
                name
            })
            .collect();
        for expected in [
            "documentSize",
            "documentsSize",
            "documentsCount",
            "collectionSize",
        ] {
            assert!(names.contains(&expected), "{text}");
        }
    }
    assert!(
        response
            .header("x-ms-resource-usage")
            .unwrap()
            .contains("documentsCount=1;")
    );
    let progress = "x-ms-documentdb-collection-index-transformation-progress";
    assert_eq!(response.header(progress), Some("100"));
    let statistics = [("x-ms-documentdb-populatepartitionstatistics", "True")];
    let body = client
        .request("GET", CONTAINER, &statistics, "")
        .expect(200)
        .json();
    assert_eq!(body["statistics"][0]["id"], "0");
    assert_eq!(body["statistics"][0]["documentCount"], 1);
    assert_eq!(body["statistics"][0]["partitionKeys"], json!([]));
}

#[test]
fn databases_look_like_this() {
    let world = start();
    let client = world.client();
    let created = client.post("/dbs", r#"{"id":"e"}"#).expect(201);
    let body = created.json();
    let rid = body["_rid"].as_str().unwrap();
    assert_eq!((rid.len(), &rid[6..]), (8, "=="));
    assert_eq!(body["_self"], format!("dbs/{rid}/"));
    assert_eq!(
        (&body["_colls"], &body["_users"]),
        (&json!("colls/"), &json!("users/"))
    );
    assert_eq!(created.header("etag"), body["_etag"].as_str());
    client.delete("/dbs/e").expect(204);
    client.get("/dbs/e").refused(404, 0, "NotFound", "");
    let again = client.post("/dbs", r#"{"id":"e"}"#).expect(201).json();
    assert_ne!(
        again["_rid"], body["_rid"],
        "resource ids are never given twice"
    );
}
