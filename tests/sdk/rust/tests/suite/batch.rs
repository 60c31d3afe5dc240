use azure_data_cosmos::{
    ContainerClient, CosmosError, FeedScope, TransactionalBatch,
    options::{BatchDeleteOptions, BatchOptions, Precondition},
};
use serde_json::{Value, json};

use crate::fixture::{content, create, item, new_container, query_ids, run, status};

#[test]
fn commits() {
    run(async {
        let container = new_container().await;
        for id in ["read", "replace", "delete"] {
            create(&container, "a", item(id, "a")).await;
        }
        let batch = TransactionalBatch::new("a")
            .create_item(item("create", "a"))
            .unwrap()
            .upsert_item(item("upsert", "a"), None)
            .unwrap()
            .read_item("read", None)
            .replace_item("replace", json!({"id": "replace", "pk": "a", "n": 7}), None)
            .unwrap()
            .delete_item("delete", None);
        let options = BatchOptions::default().with_operation_options(content());
        let response = container
            .execute_transactional_batch(batch, Some(options))
            .await
            .unwrap();
        assert_eq!(u16::from(response.status()), 200);
        assert!(response.headers().session_token().is_some());
        let response = response.into_model().unwrap();
        let statuses: Vec<u16> = response.results().iter().map(|r| r.status_code()).collect();
        assert_eq!(statuses, [201, 201, 200, 200, 204]);
        assert!(
            response
                .results()
                .iter()
                .all(|r| r.request_charge() > Some(0.0))
        );
        let replaced: Value = response.results()[3].into_model().unwrap().unwrap();
        assert_eq!(replaced["n"], 7);
        assert_eq!(response.results()[3].etag(), replaced["_etag"].as_str());
        assert_eq!(all(&container).await, "create read replace upsert");
    });
}

#[test]
fn rolls_back() {
    run(async {
        let container = new_container().await;
        create(&container, "a", item("taken", "a")).await;
        let stale =
            BatchDeleteOptions::default().with_precondition(Precondition::if_match("\"stale\""));
        let first = || {
            TransactionalBatch::new("a")
                .create_item(item("first", "a"))
                .unwrap()
        };
        for (batch, failing) in [
            (first().create_item(item("taken", "a")).unwrap(), 409),
            (first().delete_item("absent", None), 404),
            (first().read_item("absent", None), 404),
            (first().delete_item("taken", Some(stale)), 412),
        ] {
            let batch = batch.create_item(item("last", "a")).unwrap();
            let response = container
                .execute_transactional_batch(batch, None)
                .await
                .unwrap();
            assert_eq!(u16::from(response.status()), 207);
            let response = response.into_model().unwrap();
            let statuses: Vec<u16> = response.results().iter().map(|r| r.status_code()).collect();
            assert_eq!(statuses, [424, failing, 424]);
            assert_eq!(all(&container).await, "taken");
        }
    });
}

#[test]
fn limits() {
    run(async {
        let container = new_container().await;
        upserts(&container, 100, 10).await.unwrap();
        assert_eq!(status(upserts(&container, 101, 10).await), 400);
        assert_eq!(status(upserts(&container, 3, 900 << 10).await), 413);
    });
}

async fn upserts(
    container: &ContainerClient,
    count: usize,
    bytes: usize,
) -> Result<(), CosmosError> {
    let mut batch = TransactionalBatch::new("a");
    for n in 0..count {
        let item = json!({"id": n.to_string(), "pk": "a", "s": "x".repeat(bytes)});
        batch = batch.upsert_item(item, None)?;
    }
    container
        .execute_transactional_batch(batch, None)
        .await
        .map(drop)
}

async fn all(container: &ContainerClient) -> String {
    query_ids(container, "SELECT * FROM c", FeedScope::partition("a")).await
}
