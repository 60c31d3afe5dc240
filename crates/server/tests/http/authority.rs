//! What the bearer of a token tries to reach beyond it: by headers, bodies, names, and time.

use orrery_model::{AccountKeyRole, AccountKeys, Secret};
use serde_json::json;

use crate::batch::BATCH;
use crate::connection::Response;
use crate::resource_tokens::permit;
use crate::support::{
    CONTAINER, Client, Credential, ITEMS, PK, PRIMARY, QUERY, RANGE_ID, SECONDARY, World, start,
};

const MINE: (&str, &str) = (PK, r#"["p"]"#);
const OTHER: (&str, &str) = (PK, r#"["q"]"#);
const EPKS: (&str, &str) = ("x-ms-read-key-type", "EffectivePartitionKeyRange");
const CHANGES: (&str, &str) = ("a-im", "Incremental Feed");
/// Stands in every item of another key.
const SECRET: &str = "marker-of-another-key";

/// A server with items of the keys `p` and `q`.
fn world() -> World {
    let world = start();
    let client = world.client();
    for id in ["a", "b"] {
        client.create_item(id, "p", &json!({"mine": true}));
        client.create_item(id, "q", &json!({"text": SECRET}));
    }
    world
}

/// A token for the key `p`.
fn keyed(world: &World, mode: &str) -> Client {
    permit(
        world,
        &format!("keyed-{mode}"),
        &json!({"permissionMode": mode, "resource": "dbs/d/colls/c", "resourcePartitionKey": ["p"]}),
        &[],
    )
}

fn shows(response: &Response, text: &str) -> bool {
    String::from_utf8_lossy(&response.body).contains(text)
}

fn sproc(id: &str) -> String {
    json!({"id": id, "body": "function () {}"}).to_string()
}

#[test]
fn headers_of_ranges_do_not_widen_a_key() {
    let world = world();
    let epk = |start: &'static str, end: &'static str| {
        [("x-ms-start-epk", start), ("x-ms-end-epk", end), EPKS]
    };
    let query = r#"{"query":"SELECT * FROM c"}"#;
    for mode in ["Read", "All"] {
        let keyed = keyed(&world, mode);
        for (selection, expected) in [
            (&[MINE][..], 200),
            (&[MINE, (RANGE_ID, "0")], 200),
            (&[&[MINE][..], &epk("", "FF")].concat(), 200),
            (
                &[&[MINE, (RANGE_ID, "0")][..], &epk("", "FF")].concat(),
                200,
            ),
            (&[&[MINE][..], &epk("", "01")].concat(), 403),
            (&epk("", "FF"), 403),
            (&[&[(RANGE_ID, "0")][..], &epk("", "FF")].concat(), 403),
            (&[(RANGE_ID, "0")], 403),
            (&[OTHER], 403),
            (&[&[OTHER][..], &epk("", "FF")].concat(), 403),
            (&[(PK, "[]")], 403),
            (&[], 403),
        ] {
            for (method, own, body) in [
                ("GET", &[][..], ""),
                ("GET", &[CHANGES], ""),
                ("POST", &[QUERY], query),
            ] {
                let headers = [selection, own].concat();
                let response = keyed.request(method, ITEMS, &headers, body);
                let description = format!("{mode} {headers:?}");
                assert_eq!(response.status, expected, "{description}");
                assert_eq!(
                    shows(&response, "\"mine\":true"),
                    expected == 200,
                    "{description}"
                );
                assert!(!shows(&response, SECRET), "{description}");
            }
        }
        let named = keyed
            .query(ITEMS, "SELECT * FROM c WHERE c.pk = 'p'")
            .expect(200);
        assert!(shows(&named, "\"mine\":true"));
        let named = keyed.query(ITEMS, "SELECT * FROM c WHERE c.pk = 'q'");
        named.refused(403, 0, "Forbidden", "another partition key");
        for path in [
            format!("{CONTAINER}/conflicts"),
            format!("{CONTAINER}/conflicts/x"),
        ] {
            let response = keyed.request("GET", &path, &[OTHER], "");
            response.refused(403, 0, "Forbidden", "another partition key");
        }
        let permission = format!("/dbs/d/users/u/permissions/keyed-{mode}");
        world.client().delete(&permission).expect(204);
    }
}

#[test]
fn effective_partition_keys_of_the_granted_key_are_enough() {
    let world = world();
    let keyed = keyed(&world, "Read");
    // What an SDK computes for `p`: found by asking with the key of the account.
    let client = world.client();
    let shown = |client: &Client, start: &str, end: &str| {
        let range = [("x-ms-start-epk", start), ("x-ms-end-epk", end), EPKS];
        client.request("GET", ITEMS, &range, "")
    };
    let (mut start, mut digits) = (String::new(), 0);
    while digits < 32 {
        let next = (0..16).rev().map(|digit| format!("{start}{digit:X}"));
        let holds = |from: &String| {
            let padded = format!("{from:0<32}");
            shows(&shown(&client, &padded, "FF"), "\"mine\":true")
        };
        start = next.into_iter().find(holds).unwrap();
        digits += 1;
    }
    let response = shown(&keyed, &start, &format!("{start}FF"));
    assert!(shows(&response.expect(200), "\"mine\":true"));
    shown(&keyed, &start, "FF").refused(403, 0, "Forbidden", "partition key");
}

#[test]
fn a_continuation_of_another_scope_shows_nothing_of_it() {
    let world = world();
    let client = world.client();
    for number in 0..20 {
        for key in ["p", "q", "r", "s"] {
            let text = if key == "p" { "mine" } else { SECRET };
            client.create_item(
                &format!("{number:02}"),
                key,
                &json!({"text": text, "n": number}),
            );
        }
    }
    let keyed = keyed(&world, "Read");
    let one: (&str, &str) = ("x-ms-max-item-count", "1");
    for text in [
        "",
        "SELECT * FROM c",
        "SELECT VALUE c.text FROM c",
        "SELECT * FROM c ORDER BY c.n",
        "SELECT * FROM c ORDER BY c.n DESC",
        "SELECT c.text FROM c WHERE c.n > 3 AND c.text > ''",
        "SELECT DISTINCT VALUE c.text FROM c",
        "SELECT c.text, COUNT(1) AS many FROM c GROUP BY c.text",
    ] {
        let (method, own, body) = if text.is_empty() {
            ("GET", vec![one], String::new())
        } else {
            ("POST", vec![one, QUERY], json!({"query": text}).to_string())
        };
        let mut continuation: Option<String> = None;
        for _ in 0..90 {
            let forged = continuation
                .as_deref()
                .map(|token| ("x-ms-continuation", token));
            let with = |selection: &[(&'static str, &'static str)]| {
                let mut headers = [own.as_slice(), selection].concat();
                headers.extend(forged);
                headers
            };
            let response = keyed.request(method, ITEMS, &with(&[MINE]), &body);
            assert!(response.status < 500, "{text}: {}", response.status);
            assert!(!shows(&response, SECRET), "{text} from {continuation:?}");
            let page = client.request(method, ITEMS, &with(&[]), &body).expect(200);
            continuation = page.header("x-ms-continuation").map(str::to_owned);
            if continuation.is_none() {
                break;
            }
        }
    }
    let feed = keyed
        .request("GET", ITEMS, &[MINE, CHANGES], "")
        .expect(200);
    assert!(!shows(&feed, SECRET));
    for position in ["\"-FF:0\"", "\"00-FF:0\"", "\"0\"", "\"-01:9999\""] {
        let headers = [MINE, CHANGES, ("if-none-match", position)];
        let feed = keyed.request("GET", ITEMS, &headers, "");
        assert!(feed.status < 500 && !shows(&feed, SECRET), "{position}");
    }
}

#[test]
fn bulk_under_a_key_touches_its_items_alone() {
    let world = world();
    let keyed = keyed(&world, "All");
    let other = r#"["q"]"#;
    let operations = json!([
        {"operationType": "Read", "id": "a", "partitionKey": other},
        {"operationType": "Create", "partitionKey": other, "resourceBody": {"id": "c", "pk": "q"}},
        {"operationType": "Upsert", "partitionKey": other, "resourceBody": {"id": "a", "pk": "q"}},
        {"operationType": "Replace", "id": "a", "partitionKey": other, "resourceBody": {"id": "a", "pk": "q"}},
        {"operationType": "Delete", "id": "b", "partitionKey": other},
        {"operationType": "Patch", "id": "b", "partitionKey": other,
         "resourceBody": {"operations": [{"op": "set", "path": "/x", "value": 1}]}},
        {"operationType": "Create", "partitionKey": "[\"p\"]", "resourceBody": {"id": "c", "pk": "q"}},
        {"operationType": "Create", "partitionKey": "[\"p\"]", "resourceBody": {"id": "c", "pk": "p"}},
    ]);
    let bulk = [
        BATCH,
        ("x-ms-cosmos-batch-atomic", "False"),
        ("x-ms-cosmos-batch-continue-on-error", "True"),
    ];
    for selection in [&[][..], &[MINE], &[(RANGE_ID, "0")]] {
        let headers = [&bulk[..], selection].concat();
        let response = keyed
            .request("POST", ITEMS, &headers, &operations.to_string())
            .expect(207);
        assert!(!shows(&response, SECRET), "{selection:?}");
        let results = response.json();
        let statuses = results.as_array().unwrap().iter();
        let statuses: Vec<_> = statuses
            .map(|result| result["statusCode"].as_u64().unwrap())
            .collect();
        assert_eq!(
            statuses,
            [403, 403, 403, 403, 403, 403, 400, 201],
            "{selection:?}"
        );
        keyed.item("DELETE", "c", "p", "").expect(204);
    }
    let headers = [&bulk[..], &[OTHER]].concat();
    keyed
        .request("POST", ITEMS, &headers, &operations.to_string())
        .refused(403, 0, "Forbidden", "another partition key");
    let client = world.client();
    for id in ["a", "b"] {
        let item = client.item("GET", id, "q", "").expect(200).json();
        assert_eq!(item["text"], SECRET);
        assert_eq!(item.get("x"), None);
    }
    client
        .item("GET", "c", "q", "")
        .refused(404, 0, "NotFound", "");
}

#[test]
fn a_token_of_a_key_changes_neither_scripts_nor_the_container() {
    let world = world();
    let client = world.client();
    for kind in ["sprocs", "udfs"] {
        client
            .post(&format!("{CONTAINER}/{kind}"), &sproc("s"))
            .expect(201);
    }
    let before = client.get(CONTAINER).json();
    let definition = json!({"id": "c", "partitionKey": before["partitionKey"], "defaultTtl": 1});
    let keyed = keyed(&world, "All");
    for (method, path, body) in [
        ("PUT", "sprocs/s", sproc("s")),
        ("DELETE", "sprocs/s", String::new()),
        ("GET", "sprocs/s", String::new()),
        ("GET", "sprocs", String::new()),
        ("POST", "sprocs", sproc("t")),
        ("POST", "udfs", sproc("t")),
        ("PUT", "udfs/s", sproc("s")),
        ("DELETE", "udfs/s", String::new()),
        ("PUT", "", definition.to_string()),
        ("DELETE", "", String::new()),
        ("POST", "pkranges", String::new()),
    ] {
        let path = format!("{CONTAINER}/{path}");
        let response = keyed.request(method, path.trim_end_matches('/'), &[MINE], &body);
        response.refused(403, 0, "Forbidden", "Insufficient permissions");
    }
    assert_eq!(client.get(CONTAINER).json(), before);
    client.get(&format!("{CONTAINER}/sprocs/s")).expect(200);
    let run = format!("{CONTAINER}/sprocs/s");
    keyed.request("POST", &run, &[MINE], "[]").expect(200);
    let other = keyed.request("POST", &run, &[OTHER], "[]");
    other.refused(403, 0, "Forbidden", "another partition key");
    let purge = format!("{CONTAINER}/operations/partitionkeydelete");
    let other = keyed.request("POST", &purge, &[OTHER], "");
    other.refused(403, 0, "Forbidden", "another partition key");
    keyed.request("POST", &purge, &[MINE], "").expect(200);
    client.item("GET", "a", "q", "").expect(200);
}

#[test]
fn a_token_of_a_whole_container_has_it_whole() {
    let world = world();
    let all = permit(
        &world,
        "all",
        &json!({"permissionMode": "All", "resource": "dbs/d/colls/c"}),
        &[],
    );
    let scripts = format!("{CONTAINER}/sprocs");
    all.post(&scripts, &sproc("s")).expect(201);
    all.put(&format!("{scripts}/s"), &sproc("s")).expect(200);
    all.request("POST", &format!("{scripts}/s"), &[OTHER], "[]")
        .expect(200);
    all.delete(&format!("{scripts}/s")).expect(204);
    for path in ["/dbs/d/colls", "/dbs/d/users", "/dbs/d/users/u/permissions"] {
        let made = all.post(path, r#"{"id":"x"}"#);
        made.refused(403, 0, "Forbidden", "Insufficient permissions");
    }
    for path in ["", "/partitions", "/throughput"] {
        let response = all.post(&format!("/_orrery{CONTAINER}{path}"), "{}");
        assert!([400, 403].contains(&response.status), "{path}");
    }
    all.delete(CONTAINER).expect(204);
}

#[test]
fn tokens_of_databases_and_users_make_no_permissions() {
    let world = world();
    let client = world.client();
    client.post("/dbs", r#"{"id":"o"}"#).expect(201);
    let collection = r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#;
    client.post("/dbs/o/colls", collection).expect(201);
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let permission = |resource: &str| {
        json!({"id": "x", "permissionMode": "All", "resource": resource}).to_string()
    };
    for resource in ["dbs/d", "dbs/d/users/u"] {
        let body = json!({"permissionMode": "All", "resource": resource});
        let bearer = permit(&world, "w", &body, &[]);
        let permissions = "/dbs/d/users/u/permissions";
        for (method, path, body) in [
            ("GET", permissions, String::new()),
            ("GET", "/dbs/d/users/u/permissions/w", String::new()),
            ("POST", permissions, permission("dbs/o/colls/c")),
            ("POST", permissions, permission("dbs/d/colls/c")),
            ("PUT", "/dbs/d/users/u/permissions/w", permission("dbs/o")),
            ("DELETE", "/dbs/d/users/u/permissions/w", String::new()),
            ("PUT", "/dbs/d/users/u", r#"{"id":"v"}"#.to_owned()),
            ("DELETE", "/dbs/d/users/u", String::new()),
            ("POST", "/dbs/d/users", r#"{"id":"v"}"#.to_owned()),
            ("POST", "/dbs/d/colls", collection.replace("\"c\"", "\"n\"")),
            ("DELETE", "/dbs/d", String::new()),
            ("DELETE", CONTAINER, String::new()),
            ("GET", "/offers", String::new()),
        ] {
            let response = bearer.request(method, path, &[], &body);
            response.refused(403, 0, "Forbidden", "Insufficient permissions");
        }
        client.delete("/dbs/d/users/u/permissions/w").expect(204);
    }
}

#[test]
fn a_permission_names_what_is_in_its_own_database() {
    let world = world();
    let client = world.client();
    client.post("/dbs", r#"{"id":"o"}"#).expect(201);
    let collection = r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#;
    let foreign = client.post("/dbs/o/colls", collection).expect(201).json();
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    client.post("/dbs/o/users", r#"{"id":"u"}"#).expect(201);
    let foreign = foreign["_self"].as_str().unwrap();
    for (resource, key, expected) in [
        ("dbs/d/colls/c", None, ""),
        ("dbs/d/colls/c/docs/a", Some(json!(["p"])), ""),
        ("dbs/o/colls/c", None, "another database"),
        ("dbs/o", None, "another database"),
        ("dbs/o/users/u", None, "another database"),
        (foreign, None, "another database"),
        ("dbs/d/colls/none", None, "does not exist"),
        ("dbs/none", None, "does not exist"),
        ("dbs/d/colls/c/docs/none", None, "does not exist"),
        ("dbs/d/colls/c/docs/a", Some(json!(["z"])), "does not exist"),
        ("dbs/d/colls/c/sprocs/none", None, "does not exist"),
        ("dbs/d/colls/c/docs", None, "names no"),
        ("dbs/d/users/u/permissions/x", None, "names no"),
        ("offers", None, "names no"),
        ("nonsense", None, "names no"),
        ("dbs/d/colls/c", Some(json!([])), "resourcePartitionKey"),
        (
            "dbs/d/colls/c",
            Some(json!(["p", "q"])),
            "resourcePartitionKey",
        ),
        // The service, too, takes links by resource id that lead nowhere.
        ("dbs/AQAAAA==/colls/AQAAAIEAAAA=/", None, ""),
    ] {
        let mut body = json!({"id": "x", "permissionMode": "All", "resource": resource});
        if let Some(key) = key {
            body["resourcePartitionKey"] = key;
        }
        let made = client.post("/dbs/d/users/u/permissions", &body.to_string());
        if expected.is_empty() {
            made.expect(201);
            client.delete("/dbs/d/users/u/permissions/x").expect(204);
        } else {
            made.refused(400, 0, "BadRequest", expected);
        }
    }
}

#[test]
fn a_link_that_leads_nowhere_opens_nothing() {
    let world = world();
    let nowhere = json!({"permissionMode": "All", "resource": "dbs/AQAAAA==/colls/AQAAAIEAAAA=/"});
    let bearer = permit(&world, "n", &nowhere, &[]);
    bearer.get("/").expect(200);
    for path in [
        "/dbs/AQAAAA==/colls/AQAAAIEAAAA=",
        "/dbs/d",
        CONTAINER,
        ITEMS,
    ] {
        bearer.get(path).refused(403, 0, "Forbidden", "");
    }
}

#[test]
fn a_recreated_resource_is_not_covered_by_an_old_token() {
    let world = world();
    let client = world.client();
    let scripts = format!("{CONTAINER}/sprocs");
    client.post(&scripts, &sproc("s")).expect(201);
    let container = json!({"permissionMode": "All", "resource": "dbs/d/colls/c"});
    let item = json!({
        "permissionMode": "All", "resource": "dbs/d/colls/c/docs/a", "resourcePartitionKey": ["p"]
    });
    let bare_item = json!({"permissionMode": "All", "resource": "dbs/d/colls/c/docs/b"});
    let script = json!({"permissionMode": "All", "resource": "dbs/d/colls/c/sprocs/s"});
    let database = json!({"permissionMode": "All", "resource": "dbs/d"});
    let [container, item, bare_item, script, database] = [
        ("c", &container),
        ("i", &item),
        ("b", &bare_item),
        ("s", &script),
        ("d", &database),
    ]
    .map(|(id, body)| permit(&world, id, body, &[]));
    let run = format!("{scripts}/s");
    item.item("GET", "a", "p", "").expect(200);
    item.item("PUT", "a", "p", r#"{"id":"a","pk":"p","n":1}"#)
        .expect(200);
    item.item(
        "PATCH",
        "a",
        "p",
        r#"[{"op":"incr","path":"/n","value":1}]"#,
    )
    .expect(200);
    bare_item.item("GET", "b", "q", "").expect(200);
    script.request("POST", &run, &[MINE], "[]").expect(200);
    database.get(ITEMS).expect(200);

    for (id, key) in [("a", "p"), ("b", "q")] {
        client.item("DELETE", id, key, "").expect(204);
        client.create_item(id, key, &json!({"text": SECRET}));
    }
    for (bearer, id, key) in [(&item, "a", "p"), (&bare_item, "b", "q")] {
        for (method, body) in [
            ("GET", String::new()),
            ("PUT", json!({"id": id, "pk": key}).to_string()),
            (
                "PATCH",
                r#"[{"op":"set","path":"/x","value":1}]"#.to_owned(),
            ),
            ("DELETE", String::new()),
        ] {
            let response = bearer.item(method, id, key, &body);
            response.refused(404, 0, "NotFound", "");
        }
    }
    bare_item.item("GET", "b", "p", "").expect(200);
    client.delete(&run).expect(204);
    client.post(&scripts, &sproc("s")).expect(201);
    for (method, body) in [
        ("POST", "[]"),
        ("GET", ""),
        ("PUT", &sproc("s")),
        ("DELETE", ""),
    ] {
        let response = script.request(method, &run, &[MINE], body);
        response.refused(403, 0, "Forbidden", "");
    }

    let definition = json!({"id": "c", "partitionKey": {"paths": ["/pk"]}});
    client.delete(CONTAINER).expect(204);
    client.create_container(&definition);
    client.create_item("a", "p", &json!({"text": SECRET}));
    for path in [CONTAINER, ITEMS, "/dbs/d/colls/c/pkranges"] {
        container.get(path).refused(403, 0, "Forbidden", "");
        database.get(path).expect(200);
    }
    let rid = client.get(CONTAINER).json()["_self"]
        .as_str()
        .unwrap()
        .to_owned();
    let by_rid = container.get(&format!("/{}", rid.trim_end_matches('/')));
    by_rid.refused(403, 0, "Forbidden", "");

    client.delete("/dbs/d").expect(204);
    client.post("/dbs", r#"{"id":"d"}"#).expect(201);
    client.create_container(&definition);
    for path in ["/dbs/d", "/dbs/d/colls", CONTAINER, ITEMS] {
        database.get(path).refused(403, 0, "Forbidden", "");
    }
}

#[test]
fn a_token_of_an_item_is_for_that_item() {
    let world = world();
    let client = world.client();
    let trigger = json!({
        "id": "t", "triggerType": "Pre", "triggerOperation": "All",
        "body": "function () { getContext().getCollection().createDocument(
            getContext().getCollection().getSelfLink(), {id: 'z', pk: 'p'}); }"
    });
    client
        .post(&format!("{CONTAINER}/triggers"), &trigger.to_string())
        .expect(201);
    let body = json!({
        "permissionMode": "All", "resource": "dbs/d/colls/c/docs/a", "resourcePartitionKey": ["p"]
    });
    let bearer = permit(&world, "i", &body, &[]);
    for path in [CONTAINER, "/dbs/d/colls/c/pkranges"] {
        bearer.get(path).expect(200);
    }
    let read = bearer.item("GET", "a", "p", "").expect(200);
    let etag = read.header("etag").unwrap().to_owned();
    let path = format!("{ITEMS}/a");
    bearer
        .request("GET", &path, &[MINE, ("if-none-match", &etag)], "")
        .expect(304);
    let stale = [MINE, ("if-match", "\"stale\"")];
    let replaced = bearer.request("PUT", &path, &stale, r#"{"id":"a","pk":"p"}"#);
    replaced.refused(412, 0, "PreconditionFailed", "");
    for (method, path, headers, body) in [
        ("GET", "docs/b", &[MINE][..], ""),
        ("GET", "docs/none", &[MINE], ""),
        ("GET", "docs/a", &[OTHER], ""),
        ("DELETE", "docs/b", &[MINE], ""),
        ("PUT", "docs/a", &[MINE], r#"{"id":"renamed","pk":"p"}"#),
        (
            "PUT",
            "docs/a",
            &[MINE, ("x-ms-documentdb-pre-trigger-include", "t")],
            r#"{"id":"a","pk":"p"}"#,
        ),
        ("GET", "docs", &[MINE], ""),
        ("GET", "docs", &[MINE, CHANGES], ""),
        ("POST", "docs", &[MINE], r#"{"id":"n","pk":"p"}"#),
        (
            "POST",
            "docs",
            &[MINE, QUERY],
            r#"{"query":"SELECT * FROM c"}"#,
        ),
        ("POST", "docs", &[MINE, BATCH], "[]"),
        ("POST", "operations/partitionkeydelete", &[MINE], ""),
        ("GET", "conflicts", &[MINE], ""),
        ("GET", "triggers", &[MINE], ""),
    ] {
        let response = bearer.request(method, &format!("{CONTAINER}/{path}"), headers, body);
        response.refused(403, 0, "Forbidden", "Insufficient permissions");
    }
    bearer
        .request("DELETE", &path, &[MINE, ("if-match", "*")], "")
        .expect(204);
    client.item("GET", "b", "p", "").expect(200);

    let link = client.item("GET", "b", "p", "").json()["_self"]
        .as_str()
        .unwrap()
        .to_owned();
    let by_rid = permit(
        &world,
        "r",
        &json!({"permissionMode": "Read", "resource": link}),
        &[],
    );
    let path = format!("/{}", link.trim_end_matches('/'));
    for path in [path.as_str(), "/dbs/d/colls/c/docs/b"] {
        by_rid.request("GET", path, &[MINE], "").expect(200);
        by_rid
            .request("GET", path, &[OTHER], "")
            .expect_one_of(&[403, 404]);
    }
    let other = client.item("GET", "a", "q", "").json()["_self"]
        .as_str()
        .unwrap()
        .to_owned();
    let other = by_rid.request(
        "GET",
        &format!("/{}", other.trim_end_matches('/')),
        &[OTHER],
        "",
    );
    other.refused(403, 0, "Forbidden", "another item");
}

#[test]
fn tokens_end_with_the_account_key_they_were_made_with() {
    let world = world();
    let made_with = |key: &[u8], id: &str| {
        let client = world.client_of(key);
        let body =
            json!({"id": id, "permissionMode": "Read", "resource": format!("dbs/d/colls/{id}")});
        client.create_container(&json!({"id": id, "partitionKey": {"paths": ["/pk"]}}));
        client.request(
            "POST",
            "/dbs/d/users",
            &[crate::support::UPSERT],
            r#"{"id":"u"}"#,
        );
        let made = client.post("/dbs/d/users/u/permissions", &body.to_string());
        let token = made.expect(201).json()["_token"]
            .as_str()
            .unwrap()
            .to_owned();
        (
            world.client_with(Credential::Token(token)),
            format!("/dbs/d/colls/{id}"),
        )
    };
    let (primary, one) = made_with(PRIMARY, "x");
    let (secondary, two) = made_with(SECONDARY, "y");
    let set = |first: &[u8]| {
        let key = |secret: &[u8]| (Secret::new(secret.to_vec()), AccountKeyRole::ReadWrite);
        let keys = vec![key(first), key(SECONDARY)];
        world.handle.set_keys(&AccountKeys { keys });
    };
    primary.get(&one).expect(200);
    secondary.get(&two).expect(200);
    set(b"a primary key that replaces the other");
    primary
        .get(&one)
        .refused(401, 0, "Unauthorized", "replaced");
    secondary.get(&two).expect(200);
    set(PRIMARY);
    primary.get(&one).expect(200);
}

#[test]
fn a_grant_of_the_first_levels_covers_the_keys_below_them() {
    let world = start();
    let client = world.client();
    client.create_container(&json!({
        "id": "h", "partitionKey": {"paths": ["/t", "/u"], "kind": "MultiHash", "version": 2}
    }));
    let items = "/dbs/d/colls/h/docs";
    for (tenant, user) in [("a", "1"), ("a", "2"), ("b", "1")] {
        let text = if tenant == "a" { "mine" } else { SECRET };
        let body = json!({"id": "i", "t": tenant, "u": user, "text": text}).to_string();
        let key = json!([tenant, user]).to_string();
        client
            .request("POST", items, &[(PK, &key)], &body)
            .expect(201);
    }
    let body = json!({
        "permissionMode": "All", "resource": "dbs/d/colls/h", "resourcePartitionKey": ["a"]
    });
    let bearer = permit(&world, "h", &body, &[]);
    let all = [("x-ms-start-epk", ""), ("x-ms-end-epk", "FF"), EPKS];
    for (key, expected, count) in [
        (r#"["a"]"#, 200, 2),
        (r#"["a","1"]"#, 200, 1),
        (r#"["b"]"#, 403, 0),
        (r#"["b","1"]"#, 403, 0),
        ("[]", 403, 0),
    ] {
        for more in [&[][..], &all] {
            let headers = [&[(PK, key)][..], more].concat();
            let response = bearer.request("GET", items, &headers, "");
            assert_eq!(response.status, expected, "{key}");
            assert!(!shows(&response, SECRET), "{key}");
            let found = response.json()["_count"].as_u64().unwrap_or_default();
            assert_eq!(found, count, "{key} {more:?}");
        }
    }
    bearer
        .request("GET", items, &all, "")
        .refused(403, 0, "Forbidden", "");
    let path = format!("{items}/i");
    bearer
        .request("GET", &path, &[(PK, r#"["a","2"]"#)], "")
        .expect(200);
    let other = bearer.request("GET", &path, &[(PK, r#"["b","1"]"#)], "");
    other.refused(403, 0, "Forbidden", "another partition key");
    let body = r#"{"id":"j","t":"b","u":"1"}"#;
    bearer
        .request("POST", items, &[], body)
        .refused(403, 0, "Forbidden", "");
}

/// Has the hash of `a`: such names are quickly found, because the hash is no secret and can be inverted.
const HASH_OF_A: &str = "tenant-hds0xim0`$eHM`|&wj#+Wy}";

#[test]
fn a_first_level_with_the_hash_of_another_is_not_that_one() {
    let world = start();
    let client = world.client();
    client.create_container(&json!({
        "id": "h", "partitionKey": {"paths": ["/t", "/u"], "kind": "MultiHash", "version": 2},
        "changeFeedPolicy": {"retentionDuration": 600}
    }));
    let items = "/dbs/d/colls/h/docs";
    let full = ("a-im", "Full-Fidelity Feed");
    let begin = client
        .request("GET", items, &[full, ("if-none-match", "*")], "")
        .expect(304);
    let begin = begin.header("etag").unwrap().to_owned();
    for number in 0..20 {
        for (tenant, text) in [("a", SECRET), (HASH_OF_A, "mine")] {
            let id = format!("{text}-{number}");
            let user = (number % 4).to_string();
            let body = json!({"id": id, "t": tenant, "u": user, "text": text, "n": number});
            let key = json!([tenant, user]).to_string();
            client
                .request("POST", items, &[(PK, &key)], &body.to_string())
                .expect(201);
        }
    }
    let body = json!({
        "permissionMode": "Read", "resource": "dbs/d/colls/h", "resourcePartitionKey": [HASH_OF_A]
    });
    let bearer = permit(&world, "h", &body, &[]);
    let key = json!([HASH_OF_A]).to_string();
    let all = [("x-ms-start-epk", ""), ("x-ms-end-epk", "FF"), EPKS];
    for selection in [
        &[(PK, key.as_str())][..],
        &[&[(PK, key.as_str())][..], &all].concat(),
    ] {
        let count_of = |method: &str, own: &[(&str, &str)], body: &str| {
            let headers = [selection, own].concat();
            let response = bearer.request(method, items, &headers, body).expect(200);
            assert!(
                !shows(&response, SECRET),
                "{headers:?} {body}: {}",
                response.text()
            );
            response.json()["_count"].as_u64().unwrap()
        };
        assert_eq!(count_of("GET", &[], ""), 20);
        assert_eq!(count_of("GET", &[CHANGES], ""), 20);
        assert_eq!(count_of("GET", &[full, ("if-none-match", &begin)], ""), 20);
        for (query, count) in [
            ("SELECT * FROM c", 20),
            ("SELECT * FROM c WHERE c.n >= 0 ORDER BY c.n", 20),
            ("SELECT * FROM c WHERE c.n = 3", 1),
            ("SELECT * FROM c WHERE c.n IN (3, 4) AND c.text > ''", 2),
            ("SELECT VALUE c.text FROM c WHERE c.text > ''", 20),
            ("SELECT DISTINCT VALUE c.text FROM c", 1),
            ("SELECT c.text, COUNT(1) AS many FROM c GROUP BY c.text", 1),
            ("SELECT VALUE MAX(c.text) FROM c", 1),
            ("SELECT VALUE MIN(c.text) FROM c", 1),
        ] {
            let body = json!({"query": query}).to_string();
            assert_eq!(count_of("POST", &[QUERY], &body), count, "{query}");
        }
        let body = r#"{"query":"SELECT VALUE COUNT(1) FROM c"}"#;
        let headers = [selection, &[QUERY]].concat();
        let counted = bearer
            .request("POST", items, &headers, body)
            .expect(200)
            .json();
        assert_eq!(counted["Documents"], json!([20]));
    }
}

#[test]
fn a_token_of_one_key_reveals_nothing_about_other_keys() {
    let world = world();
    let keyed = keyed(&world, "Read");
    let wants = [
        ("x-ms-documentdb-populatequotainfo", "True"),
        ("x-ms-documentdb-populatepartitionstatistics", "True"),
    ];
    let client = world.client();
    let usage = |response: &Response| -> Option<String> {
        let usage = response.header("x-ms-resource-usage")?;
        usage.contains("documentsCount=").then(|| usage.to_owned())
    };
    let whole = client.request("GET", CONTAINER, &wants, "").expect(200);
    assert!(usage(&whole).is_some());
    assert_ne!(whole.json().get("statistics"), None);
    let part = keyed.request("GET", CONTAINER, &wants, "").expect(200);
    assert_eq!(usage(&part), None);
    assert_eq!(part.json().get("statistics"), None);
    let explain = [MINE, QUERY, ("x-orrery-explain", "True")];
    let query = r#"{"query":"SELECT * FROM c"}"#;
    let response = keyed.request("POST", ITEMS, &explain, query);
    response.refused(403, 0, "Forbidden", "the plan of a query");
}
