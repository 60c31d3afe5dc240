//! Clients, databases, containers and short words for what the tests do with them.

use std::{
    future::Future,
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

use azure_data_cosmos::{
    AccountReference, ContainerClient, CosmosClient, CosmosError, DatabaseClient, FeedScope,
    PartitionKey, Query, RoutingStrategy,
    models::{ContainerProperties, ItemResponse, PartitionKeyDefinition, ThroughputProperties},
    options::{
        BinaryEncodingOptions, ContentResponseOnWrite, CreateContainerOptions, ItemWriteOptions,
        OperationOptions, OperationOptionsBuilder,
    },
};
use futures::TryStreamExt;
use serde_json::{Value, json};
use tokio::{runtime::Runtime, sync::OnceCell};

use crate::server::SERVER;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));
static CLIENT: OnceCell<CosmosClient> = OnceCell::const_new();
static COUNTER: AtomicU32 = AtomicU32::new(1);

/// Runs one test on the runtime that every test shares.
pub fn run(test: impl Future<Output = ()>) {
    RUNTIME.block_on(test);
}

pub fn account(key: &str) -> AccountReference {
    account_at(&SERVER.endpoint, key)
}

pub fn account_at(endpoint: &str, key: &str) -> AccountReference {
    let endpoint = endpoint.parse().expect("an endpoint");
    AccountReference::with_authentication_key(endpoint, key.to_owned())
}

pub fn anywhere() -> RoutingStrategy {
    RoutingStrategy::PreferredRegions(Vec::new())
}

/// The shared client. It writes text; `binary_encoding` covers the other format.
pub async fn client() -> &'static CosmosClient {
    CLIENT
        .get_or_init(|| async {
            CosmosClient::builder()
                .with_binary_encoding_options(BinaryEncodingOptions::new().with_enabled(false))
                .build(account(&SERVER.key), anywhere())
                .await
                .expect("a client")
        })
        .await
}

pub fn unique_id(prefix: &str) -> String {
    format!("{prefix}{}", COUNTER.fetch_add(1, Ordering::Relaxed))
}

pub async fn new_database() -> DatabaseClient {
    let client = client().await;
    let id = unique_id("db");
    client.create_database(&id, None).await.expect("a database");
    client.database_client(id)
}

/// A container `c` keyed by /pk.
pub async fn new_container() -> ContainerClient {
    new_container_with(properties("c"), None).await
}

pub async fn new_container_with(
    properties: ContainerProperties,
    throughput: Option<ThroughputProperties>,
) -> ContainerClient {
    create_in(&new_database().await, properties, throughput).await
}

pub async fn create_in(
    database: &DatabaseClient,
    properties: ContainerProperties,
    throughput: Option<ThroughputProperties>,
) -> ContainerClient {
    let id = properties.id.to_string();
    let options = throughput.map(|t| CreateContainerOptions::default().with_throughput(t));
    database
        .create_container(properties, options)
        .await
        .expect("a container");
    database
        .container_client(id, None)
        .await
        .expect("a container client")
}

pub fn properties(id: &'static str) -> ContainerProperties {
    ContainerProperties::new(id, PartitionKeyDefinition::from("/pk"))
}

pub fn item(id: &str, pk: &str) -> Value {
    json!({"id": id, "pk": pk})
}

/// Asks for the written item in the response.
pub fn content() -> OperationOptions {
    OperationOptionsBuilder::new()
        .with_content_response_on_write(ContentResponseOnWrite::Enabled)
        .build()
}

pub fn with_content() -> Option<ItemWriteOptions> {
    Some(ItemWriteOptions::default().with_operation_options(content()))
}

pub async fn create(
    container: &ContainerClient,
    pk: impl Into<PartitionKey>,
    item: Value,
) -> ItemResponse {
    let id = item["id"].as_str().expect("an id").to_owned();
    container
        .create_item(pk, &id, item, with_content())
        .await
        .expect("an item")
}

pub async fn read(container: &ContainerClient, pk: impl Into<PartitionKey>, id: &str) -> Value {
    let response = container.read_item(pk, id, None).await.expect("the item");
    response.into_model().expect("JSON")
}

/// Items `{p}-{n}` in logical partitions p0, p1, ...
pub async fn fill(container: &ContainerClient, partitions: usize, items: usize) {
    for p in 0..partitions {
        for n in 0..items {
            let pk = format!("p{p}");
            let item = json!({"id": format!("{p}-{n}"), "pk": pk, "n": n, "even": n % 2 == 0,
                              "nested": {"s": format!("s{n}")}});
            create(container, pk, item).await;
        }
    }
}

/// The sorted ids of the answer, with blanks between.
pub async fn query_ids(
    container: &ContainerClient,
    query: impl Into<Query>,
    scope: FeedScope,
) -> String {
    let items: Vec<Value> = container
        .query_items(query, scope, None)
        .await
        .expect("a query")
        .try_collect()
        .await
        .expect("every page");
    ids(&items)
}

pub fn ids(items: &[Value]) -> String {
    let mut ids: Vec<&str> = items
        .iter()
        .map(|item| item["id"].as_str().expect("an id"))
        .collect();
    ids.sort_unstable();
    ids.join(" ")
}

pub fn status<T>(result: Result<T, CosmosError>) -> u16 {
    match result {
        Ok(_) => panic!("succeeded"),
        Err(error) => u16::from(error.status()),
    }
}

pub fn sub_status<T>(result: Result<T, CosmosError>) -> Option<u16> {
    let error = result.err().expect("a failure");
    error.status().sub_status().map(u16::from)
}
