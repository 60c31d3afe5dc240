//! Triggers around writes of items.

use serde_json::{Value, json};

use crate::support::{Client, ITEMS, PK, UPSERT, World, start};

const TRIGGERS: &str = "/dbs/d/colls/c/triggers";
const KEY: (&str, &str) = (PK, r#"["p"]"#);
const PRE: &str = "x-ms-documentdb-pre-trigger-include";
const POST: &str = "x-ms-documentdb-post-trigger-include";

/// Adds its own letter to the item that is written.
fn mark(letter: &str) -> String {
    format!(
        "function () {{
            var request = getContext().getRequest();
            var item = request.getBody();
            item.marks = (item.marks || '') + '{letter}';
            request.setBody(item);
        }}"
    )
}

/// Counts writes in an item of the same logical partition.
const COUNT: &str = "function () {
    var link = __.getAltLink() + '/docs/count';
    __.readDocument(link, function (err, count) {
        if (err) throw err;
        count.n += 1;
        count.last = getContext().getRequest().getOperationType();
        __.replaceDocument(count._self, count, function (err) { if (err) throw err; });
    });
}";

fn register(client: &Client, id: &str, body: &str, timing: &str, operation: &str) {
    let trigger =
        json!({"id": id, "body": body, "triggerType": timing, "triggerOperation": operation});
    client.post(TRIGGERS, &trigger.to_string()).expect(201);
}

fn started() -> (World, Client) {
    let world = start();
    let client = world.client();
    register(&client, "a", &mark("a"), "pre", "all");
    register(&client, "b", &mark("b"), "Pre", "All");
    register(&client, "creates", &mark("c"), "Pre", "Create");
    register(&client, "count", COUNT, "Post", "All");
    register(
        &client,
        "refuse",
        "() => { throw new Error('not today'); }",
        "Post",
        "All",
    );
    client.create_item("count", "p", &json!({"n": 0}));
    (world, client)
}

fn count(client: &Client) -> Value {
    let item = client.item("GET", "count", "p", "").expect(200).json();
    json!([item["n"], item["last"]])
}

#[test]
fn every_write_runs_what_it_names() {
    let (_world, client) = started();
    let item = r#"{"id":"1","pk":"p"}"#;
    let one = format!("{ITEMS}/1");
    let made = client
        .request("POST", ITEMS, &[KEY, (PRE, "b, a"), (POST, "count")], item)
        .expect(201);
    assert_eq!(made.json()["marks"], "ba");
    assert_eq!(count(&client), json!([1, "Create"]));
    assert!(made.charge() > 0.0);
    let upserted = client
        .request(
            "POST",
            ITEMS,
            &[KEY, UPSERT, (PRE, "a"), (POST, "count")],
            item,
        )
        .expect(200);
    assert_eq!(upserted.json()["marks"], "a");
    assert_eq!(count(&client), json!([2, "Upsert"]));
    let replaced = client.request("PUT", &one, &[KEY, (PRE, "b"), (POST, "count")], item);
    assert_eq!(replaced.expect(200).json()["marks"], "b");
    assert_eq!(count(&client), json!([3, "Replace"]));
    let patch = r#"{"operations":[{"op":"set","path":"/x","value":1}]}"#;
    let patched = client.request("PATCH", &one, &[KEY, (POST, "count")], patch);
    assert_eq!(patched.expect(200).json()["x"], 1);
    assert_eq!(count(&client)[0], 4);
    client
        .request("DELETE", &one, &[KEY, (POST, "count")], "")
        .expect(204);
    assert_eq!(count(&client), json!([5, "Delete"]));
    let plain = client
        .request("POST", ITEMS, &[KEY, (PRE, "")], item)
        .expect(201);
    assert_eq!(plain.json().get("marks"), None);
    assert_eq!(count(&client)[0], 5);
}

#[test]
fn what_a_trigger_throws_undoes_the_write() {
    let (_world, client) = started();
    let item = r#"{"id":"1","pk":"p"}"#;
    client
        .request("POST", ITEMS, &[KEY, (POST, "count,refuse")], item)
        .refused(400, 0, "BadRequest", "Exception = Error: not today");
    client
        .item("GET", "1", "p", "")
        .refused(404, 0, "NotFound", "");
    assert_eq!(count(&client)[0], 0);
    let other_key = "function () {
        var request = getContext().getRequest();
        var item = request.getBody();
        item.pk = 'q';
        request.setBody(item);
    }";
    register(&client, "elsewhere", other_key, "Pre", "All");
    client
        .request("POST", ITEMS, &[KEY, (PRE, "elsewhere")], item)
        .refused(400, 1001, "BadRequest", "Partition key");
    register(
        &client,
        "broken",
        "serverScript() { var x = 10; }",
        "Pre",
        "All",
    );
    client
        .request("POST", ITEMS, &[KEY, (PRE, "broken")], item)
        .refused(400, 65_535, "BadRequest", "compiling Javascript");
    client.create_item("1", "p", &json!({}));
    client
        .request("POST", ITEMS, &[KEY, (PRE, "a"), (POST, "count")], item)
        .refused(409, 0, "Conflict", "");
    let stale = ("if-match", "\"0\"");
    client
        .request(
            "PUT",
            &format!("{ITEMS}/1"),
            &[KEY, stale, (POST, "count")],
            item,
        )
        .refused(412, 0, "PreconditionFailed", "");
    assert_eq!(count(&client)[0], 0);
}

#[test]
fn triggers_that_cannot_be_named() {
    let (_world, client) = started();
    let item = r#"{"id":"1","pk":"p"}"#;
    for (header, name, text) in [
        (PRE, "none", "'none' does not exist"),
        (PRE, "count", "post-trigger"),
        (POST, "a", "pre-trigger"),
    ] {
        client
            .request("POST", ITEMS, &[KEY, (header, name)], item)
            .refused(400, 0, "BadRequest", text);
    }
    client
        .request("POST", ITEMS, &[KEY, UPSERT, (PRE, "creates")], item)
        .refused(400, 0, "BadRequest", "'Create'");
    let batch = r#"[{"operationType":"Create","resourceBody":{"id":"1","pk":"p"}}]"#;
    for atomic in ["True", "False"] {
        let headers = [
            KEY,
            ("x-ms-cosmos-is-batch-request", "True"),
            ("x-ms-cosmos-batch-atomic", atomic),
            (PRE, "a"),
        ];
        client
            .request("POST", ITEMS, &headers, batch)
            .refused(400, 0, "BadRequest", "batch");
    }
    client
        .item("GET", "1", "p", "")
        .refused(404, 0, "NotFound", "");
}

#[test]
fn a_log_is_sent_to_whoever_asks() {
    let (_world, client) = started();
    register(
        &client,
        "tell",
        "() => console.log('wrote %s', getContext().getRequest().getBody().id)",
        "Post",
        "All",
    );
    let item = r#"{"id":"1","pk":"p"}"#;
    let logging = ("x-ms-documentdb-script-enable-logging", "True");
    let results = "x-ms-documentdb-script-log-results";
    let created = client
        .request("POST", ITEMS, &[KEY, UPSERT, logging, (POST, "tell")], item)
        .expect(201);
    assert_eq!(created.header(results), Some("wrote%201"));
    let quiet = client
        .request("POST", ITEMS, &[KEY, UPSERT, (POST, "tell")], item)
        .expect(200);
    assert_eq!(quiet.header(results), None);
    let silent = client
        .request(
            "POST",
            ITEMS,
            &[KEY, UPSERT, logging, (POST, "count")],
            item,
        )
        .expect(200);
    assert_eq!(silent.header(results), None);
}

/// The headers exist, no client has a way to send them, and nothing runs that is not named.
#[test]
fn names_to_exclude_change_nothing() {
    let (_world, client) = started();
    let item = r#"{"id":"1","pk":"p"}"#;
    let exclude = ("x-ms-documentdb-pre-trigger-exclude", "a");
    let made = client
        .request("POST", ITEMS, &[KEY, exclude, (PRE, "b")], item)
        .expect(201);
    assert_eq!(made.json()["marks"], "b");
}
