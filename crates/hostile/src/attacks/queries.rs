//! Queries that cost more than they look.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;

use crate::attack::Outcome;
use crate::attacks::outcome;
use crate::rest::{Client, Request};
use crate::target::{CONTAINER, DATABASE, Target};

pub(super) async fn product(target: Arc<Target>) -> Outcome {
    let query = "SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT a, b, d FROM a IN c.arr JOIN b IN c.arr JOIN d IN c.arr)) FROM c";
    ask(&target, query).await
}

pub(super) async fn texts(target: Arc<Target>) -> Outcome {
    let query = "SELECT VALUE ARRAY(SELECT VALUE REPLICATE('xxxxxxxxxx', 100000 + a) FROM a IN c.arr JOIN b IN c.arr) FROM c";
    ask(&target, query).await
}

/// Works through the product for every row, and then compares with a subquery of several rows.
pub(super) async fn failing(target: Arc<Target>) -> Outcome {
    let query = "SELECT VALUE (SELECT VALUE a + b + d FROM a IN c.arr JOIN b IN c.arr JOIN d IN c.arr WHERE a + b + d > 590) FROM c";
    ask(&target, query).await
}

pub(super) async fn many_values(target: Arc<Target>) -> Outcome {
    let mut query = "SELECT * FROM c WHERE c.x IN (0".to_owned();
    for number in 1..50_000 {
        let _ = write!(query, ",{number}");
    }
    query.push(')');
    ask(&target, &query).await
}

async fn ask(target: &Target, query: &str) -> Outcome {
    let mut client = Client::with_token(target.address, &target.read_token);
    if client.connect().await.is_err() {
        return Outcome::NotConnected;
    }
    let body = json!({ "query": query }).to_string();
    let path = format!("/dbs/{DATABASE}/colls/{CONTAINER}/docs");
    let request = Request {
        method: "POST",
        path: &path,
        headers: &[
            ("x-ms-documentdb-partitionkey", "[\"mine\"]"),
            ("x-ms-documentdb-isquery", "true"),
            ("content-type", "application/query+json"),
        ],
        body: body.as_bytes(),
    };
    outcome(client.ask(request).await)
}
