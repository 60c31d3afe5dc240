use std::time::Duration;

use azure_data_cosmos::{ContainerClient, FeedScope, models::TimeToLive};
use serde_json::{Value, json};

use crate::fixture::{create, item, new_container_with, properties, query_ids, read, run, status};

#[test]
fn items_expire() {
    run(async {
        let properties = properties("c").with_default_ttl(TimeToLive::NoDefault);
        let container = new_container_with(properties, None).await;
        create(&container, "a", json!({"id": "gone", "pk": "a", "ttl": 1})).await;
        create(&container, "a", item("stays", "a")).await;
        expires(&container, "gone").await;
        let left = query_ids(&container, "SELECT * FROM c", FeedScope::partition("a")).await;
        assert_eq!(left, "stays");
        create(&container, "a", item("gone", "a")).await;
    });
}

#[test]
fn container_default() {
    run(async {
        let properties = properties("c").with_default_ttl(TimeToLive::Seconds(1));
        let container = new_container_with(properties, None).await;
        create(&container, "a", item("gone", "a")).await;
        create(
            &container,
            "a",
            json!({"id": "stays", "pk": "a", "ttl": -1}),
        )
        .await;
        expires(&container, "gone").await;
        read(&container, "a", "stays").await;
    });
}

#[test]
fn values() {
    run(async {
        let properties = properties("c").with_default_ttl(TimeToLive::NoDefault);
        let container = new_container_with(properties, None).await;
        for ttl in [json!(0), json!(-10), json!("5"), Value::Null] {
            let item = json!({"id": "1", "pk": "a", "ttl": ttl});
            assert_eq!(
                status(container.create_item("a", "1", item, None).await),
                400
            );
        }
    });
}

/// Polls, because the server's clock counts whole seconds.
async fn expires(container: &ContainerClient, id: &str) {
    for _ in 0..30 {
        if let Err(error) = container.read_item("a", id, None).await {
            return assert_eq!(u16::from(error.status()), 404);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{id} did not expire");
}
