//! One container over three physical partitions with items that no test changes, and what the
//! query tests compute from them.

use std::{cmp::Ordering, num::NonZeroU32};

use azure_data_cosmos::{
    ContainerClient, CosmosClient, CosmosError, FeedScope, Query,
    models::ThroughputProperties,
    options::{BinaryEncodingOptions, MaxItemCountHint, QueryOptions},
};
use futures::TryStreamExt;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{
    fixture::{account, anywhere, client, create, create_in, properties, unique_id},
    server::SERVER,
};

pub const PAGE_SIZES: [u32; 3] = [1, 7, 100];

static CATALOGUE: OnceCell<(String, ContainerClient)> = OnceCell::const_new();

async fn shared() -> &'static (String, ContainerClient) {
    CATALOGUE
        .get_or_init(|| async {
            let client = client().await;
            let id = unique_id("catalogue");
            client.create_database(&id, None).await.expect("a database");
            let throughput = ThroughputProperties::manual(18000);
            let database = client.database_client(id.clone());
            let container = create_in(&database, properties("c"), Some(throughput)).await;
            for item in items() {
                create(&container, text(&item["pk"]), item).await;
            }
            (id, container)
        })
        .await
}

pub async fn catalogue() -> ContainerClient {
    shared().await.1.clone()
}

/// The same container, seen by a client that has not answered anything yet.
pub async fn catalogue_of_a_new_client() -> ContainerClient {
    let client = CosmosClient::builder()
        .with_binary_encoding_options(BinaryEncodingOptions::new().with_enabled(false))
        .build(account(&SERVER.key), anywhere())
        .await
        .expect("a client");
    let database = client.database_client(shared().await.0.clone());
    database
        .container_client("c", None)
        .await
        .expect("a container client")
}

pub fn items() -> Vec<Value> {
    (0..300).map(item).collect()
}

pub fn items_of(pk: &str) -> Vec<Value> {
    items()
        .into_iter()
        .filter(|item| item["pk"] == pk)
        .collect()
}

fn item(i: i32) -> Value {
    let kind = if i % 2 == 0 { "Lamp" } else { "chair" };
    let parts: Vec<Value> = (0..i % 4)
        .map(|p| json!({"name": format!("part{p}"), "count": (i + p) % 6}))
        .collect();
    let mut item = json!({
        "id": format!("{i:03}"), "pk": format!("k{}", i % 20), "n": i * 7 % 300,
        "kind": format!("g{}", i % 7), "price": f64::from(i * 37 % 101) / 4.0,
        "name": format!("{kind} {}", i % 50), "parts": parts,
    });
    if let Some(mixed) = mixed(i) {
        item["mixed"] = mixed;
    }
    item
}

/// Missing or of any primitive type, each with and without equals.
fn mixed(i: i32) -> Option<Value> {
    Some(match i % 10 {
        0 => return None,
        1 => Value::Null,
        2 => json!(false),
        3 => json!(true),
        4 => json!(i),
        5 => json!(-f64::from(i) - 0.5),
        6 => json!(i % 3),
        7 => json!(""),
        8 => json!(format!("s{i}")),
        _ => json!(format!("S{}", i % 20)),
    })
}

pub fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Undefined, null, booleans, numbers, strings.
pub fn total_order(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    type_rank(a).cmp(&type_rank(b)).then_with(|| match (a, b) {
        (Some(Value::Bool(a)), Some(Value::Bool(b))) => a.cmp(b),
        (Some(Value::Number(a)), Some(Value::Number(b))) => a
            .as_f64()
            .partial_cmp(&b.as_f64())
            .expect("numbers have an order"),
        (Some(Value::String(a)), Some(Value::String(b))) => a.cmp(b),
        _ => Ordering::Equal,
    })
}

fn type_rank(value: Option<&Value>) -> u8 {
    match value {
        None => 0,
        Some(Value::Null) => 1,
        Some(Value::Bool(_)) => 2,
        Some(Value::Number(_)) => 3,
        Some(_) => 4,
    }
}

pub fn sorted_by(mut items: Vec<Value>, property: &str) -> Vec<Value> {
    items.sort_by(|a, b| total_order(a.get(property), b.get(property)));
    items
}

pub fn column(items: &[Value], property: &str) -> Vec<Value> {
    items
        .iter()
        .filter_map(|i| i.get(property).cloned())
        .collect()
}

pub fn page_size(size: u32) -> QueryOptions {
    let limit = MaxItemCountHint::Limit(NonZeroU32::new(size).expect("not zero"));
    QueryOptions::default().with_max_item_count(limit)
}

pub async fn try_rows(
    query: impl Into<Query>,
    scope: FeedScope,
    size: u32,
) -> Result<Vec<Value>, CosmosError> {
    catalogue()
        .await
        .query_items(query, scope, Some(page_size(size)))
        .await?
        .try_collect()
        .await
}

pub async fn rows(query: impl Into<Query>, scope: FeedScope, size: u32) -> Vec<Value> {
    try_rows(query, scope, size).await.expect("every page")
}

/// Checks rows in their order, for every page size.
pub async fn answers_in_order(query: impl Into<Query>, scope: FeedScope, want: &[Value]) {
    let query = query.into();
    for size in PAGE_SIZES {
        let got = rows(query.clone(), scope.clone(), size).await;
        assert_eq!(
            comparable(&got),
            comparable(want),
            "{query:?} in pages of {size}"
        );
    }
}

/// Checks rows whose order the query does not fix.
pub async fn answers(query: impl Into<Query>, scope: FeedScope, want: &[Value]) {
    let query = query.into();
    let mut want = comparable(want);
    want.sort_unstable();
    for size in PAGE_SIZES {
        let mut got = comparable(&rows(query.clone(), scope.clone(), size).await);
        got.sort_unstable();
        assert_eq!(got, want, "{query:?} in pages of {size}");
    }
}

/// Texts that are equal for equal values: 1 and 1.0 are.
fn comparable(rows: &[Value]) -> Vec<String> {
    fn plain(value: &Value) -> Value {
        match value {
            Value::Number(n) => json!(n.as_f64()),
            Value::Array(values) => values.iter().map(plain).collect(),
            Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), plain(v))).collect(),
            other => other.clone(),
        }
    }
    rows.iter().map(|row| plain(row).to_string()).collect()
}
