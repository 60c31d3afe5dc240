//! Clients that use a token for one partition key on the items of other partition keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::attack::Outcome;
use crate::rest::{Client, Request};
use crate::target::{CONTAINER, DATABASE, SECRET, Target};

const KEY: (&str, &str) = ("x-ms-documentdb-partitionkey", "[\"mine\"]");
const QUERY: [(&str, &str); 2] = [
    ("x-ms-documentdb-isquery", "true"),
    ("content-type", "application/query+json"),
];
/// The range of all effective partition keys.
const EPK_RANGE: [(&str, &str); 3] = [
    ("x-ms-start-epk", ""),
    ("x-ms-end-epk", "FF"),
    ("x-ms-read-key-type", "EffectivePartitionKeyRange"),
];
const ALL_ITEMS: &str = r#"{"query":"SELECT * FROM c"}"#;

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Reads: by the right key and a range of EPKs, by the number of a range, as change feed, in bulk.
pub(super) async fn foreign_scopes(target: Arc<Target>) -> Outcome {
    let range = ("x-ms-documentdb-partitionkeyrangeid", "0");
    let mut ranged_query = vec![KEY];
    ranged_query.extend(EPK_RANGE);
    let mut query = ranged_query.clone();
    query.extend(QUERY);
    let mut changes = ranged_query.clone();
    changes.push(("a-im", "Incremental feed"));
    let mut by_number = vec![KEY, range];
    by_number.extend(QUERY);
    let mut without_key = vec![range];
    without_key.extend(QUERY);
    let choices = [
        ("POST", query, ALL_ITEMS),
        ("GET", ranged_query, ""),
        ("GET", changes, ""),
        ("POST", by_number, ALL_ITEMS),
        ("POST", without_key, ALL_ITEMS),
    ];
    let (method, headers, body) = &choices[NEXT.fetch_add(1, Ordering::Relaxed) % choices.len()];
    send_request(&target, &target.read_token, method, "docs", headers, body).await
}

/// Writes: a bulk that reads, creates and deletes under other keys, scripts, the container.
pub(super) async fn foreign_writes(target: Arc<Target>) -> Outcome {
    let bulk = json!([
        { "operationType": "Read", "id": "item", "partitionKey": "[\"other-1\"]" },
        { "operationType": "Delete", "id": "item", "partitionKey": "[\"other-2\"]" },
        { "operationType": "Create", "partitionKey": "[\"other-3\"]",
          "resourceBody": { "id": "planted", "pk": "other-3" } },
    ])
    .to_string();
    let batch = vec![
        KEY,
        ("x-ms-cosmos-is-batch-request", "True"),
        ("x-ms-cosmos-batch-atomic", "False"),
        ("x-ms-cosmos-batch-continue-on-error", "True"),
        ("x-ms-documentdb-partitionkeyrangeid", "0"),
    ];
    let script = json!({ "id": "planted", "body": "function f() {}" }).to_string();
    let choices = [
        ("POST", "docs", batch, bulk),
        ("POST", "sprocs", vec![KEY], script.clone()),
        ("POST", "udfs", vec![KEY], script),
        ("DELETE", "", vec![KEY], String::new()),
    ];
    let (method, below, headers, body) =
        &choices[NEXT.fetch_add(1, Ordering::Relaxed) % choices.len()];
    send_request(&target, &target.write_token, method, below, headers, body).await
}

/// Sends one request. An answer with an item of another key is the worst outcome of all.
async fn send_request(
    target: &Target,
    token: &str,
    method: &str,
    below: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Outcome {
    let mut client = Client::with_token(target.address, token);
    if client.connect().await.is_err() {
        return Outcome::NotConnected;
    }
    let path = format!("/dbs/{DATABASE}/colls/{CONTAINER}/{below}");
    let request = Request {
        method,
        path: path.trim_end_matches('/'),
        headers,
        body: body.as_bytes(),
    };
    match client.request(request).await {
        Err(_) => Outcome::Closed,
        // The text of the answer counts, not its status: also an error must not quote a foreign
        // item.
        Ok(answer) if has_secret(&answer.body) => Outcome::Secret,
        Ok(answer) => Outcome::Status(answer.status),
    }
}

fn has_secret(body: &[u8]) -> bool {
    body.windows(SECRET.len())
        .any(|window| window == SECRET.as_bytes())
}
