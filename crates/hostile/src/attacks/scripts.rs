//! Scripts, and items that are expensive to index.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

use crate::attack::Outcome;
use crate::attacks::outcome;
use crate::rest::{Client, Request};
use crate::target::{CONTAINER, DATABASE, SCRIPTS_CONTAINER, Target};

const PROPERTIES: u64 = 20_000;

pub(super) async fn shared_references(target: Arc<Target>) -> Outcome {
    execute(&target, "doubling").await
}

pub(super) async fn shared_answer(target: Arc<Target>) -> Outcome {
    execute(&target, "doubling-answer").await
}

pub(super) async fn doubled_strings(target: Arc<Target>) -> Outcome {
    execute(&target, "strings").await
}

pub(super) async fn endless(target: Arc<Target>) -> Outcome {
    execute(&target, "forever").await
}

pub(super) async fn huge_rows(target: Arc<Target>) -> Outcome {
    let body = json!({ "query": "SELECT VALUE udf.huge() FROM c" }).to_string();
    let path = format!("/dbs/{DATABASE}/colls/{SCRIPTS_CONTAINER}/docs");
    let headers = [
        ("x-ms-documentdb-isquery", "true"),
        ("content-type", "application/query+json"),
    ];
    post(&target, &path, &headers, &body).await
}

pub(super) async fn new_properties(target: Arc<Target>) -> Outcome {
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
    outcome(client.ask(request).await)
}

async fn execute(target: &Target, procedure: &str) -> Outcome {
    let path = format!("/dbs/{DATABASE}/colls/{SCRIPTS_CONTAINER}/sprocs/{procedure}");
    post(target, &path, &[], "[]").await
}

async fn post(target: &Target, path: &str, headers: &[(&str, &str)], body: &str) -> Outcome {
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
    outcome(client.ask(request).await)
}
