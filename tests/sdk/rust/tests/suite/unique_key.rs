use azure_data_cosmos::models::{UniqueKey, UniqueKeyPolicy};
use serde_json::{Value, json};

use crate::fixture::{create, item, new_container_with, properties, run, status};

#[test]
fn every_write_is_checked() {
    run(async {
        let key = UniqueKey::default().with_path("/a").with_path("/b");
        let policy = UniqueKeyPolicy::default().with_unique_key(key);
        let container =
            new_container_with(properties("c").with_unique_key_policy(policy), None).await;
        create(&container, "x", values("1", "x", 1, 1)).await;
        create(&container, "x", values("2", "x", 1, 2)).await;
        create(&container, "y", values("1", "y", 1, 1)).await;

        let taken = values("2", "x", 1, 1);
        let other = values("3", "x", 1, 1);
        assert_eq!(
            status(container.create_item("x", "3", other, None).await),
            409
        );
        assert_eq!(
            status(container.replace_item("x", "2", &taken, None).await),
            409
        );
        assert_eq!(
            status(container.upsert_item("x", "2", &taken, None).await),
            409
        );

        create(&container, "x", item("4", "x")).await;
        assert_eq!(
            status(container.create_item("x", "5", item("5", "x"), None).await),
            409
        );

        container.delete_item("x", "1", None).await.unwrap();
        container
            .replace_item("x", "2", &taken, None)
            .await
            .unwrap();
    });
}

fn values(id: &str, pk: &str, a: i32, b: i32) -> Value {
    json!({"id": id, "pk": pk, "a": a, "b": b})
}
