use azure_data_cosmos::{
    FeedScope, PartitionKey,
    models::{ContainerProperties, PartitionKeyDefinition, PartitionKeyValue},
};
use serde_json::{Value, json};

use crate::fixture::{
    create, item, new_container, new_container_with, query_ids, read, run, status, sub_status,
};

#[test]
fn values_of_every_type() {
    run(async {
        let container = new_container().await;
        let cases: Vec<(PartitionKey, Option<Value>)> = vec![
            ("a".into(), Some(json!("a"))),
            ("".into(), Some(json!(""))),
            ("žluťoučký 日本 🚀".into(), Some(json!("žluťoučký 日本 🚀"))),
            ("a\"b\\c".into(), Some(json!("a\"b\\c"))),
            (5.into(), Some(json!(5))),
            (PartitionKey::try_from(-0.25).unwrap(), Some(json!(-0.25))),
            (true.into(), Some(json!(true))),
            (false.into(), Some(json!(false))),
            (PartitionKey::NULL.into(), Some(Value::Null)),
            (PartitionKey::UNDEFINED.into(), None),
        ];
        for (key, value) in &cases {
            let mut item = json!({"id": "1", "name": format!("{value:?}")});
            if let Some(value) = value {
                item["pk"] = value.clone();
            }
            create(&container, key.clone(), item).await;
        }
        for (key, value) in &cases {
            let got = read(&container, key.clone(), "1").await;
            assert_eq!(got["name"], format!("{value:?}"));
            let scope = FeedScope::partition(key.clone());
            assert_eq!(
                query_ids(&container, "SELECT * FROM c", scope).await,
                "1",
                "{value:?}"
            );
        }
        for (key, _) in cases {
            container.delete_item(key, "1", None).await.unwrap();
        }
    });
}

#[test]
fn mismatch() {
    run(async {
        let container = new_container().await;
        let result = container.create_item("a", "1", item("1", "b"), None).await;
        assert_eq!(sub_status(result), Some(1001));
        create(&container, "a", item("1", "a")).await;
        let result = container.replace_item("a", "1", item("1", "b"), None).await;
        assert_eq!(status(result), 400);
    });
}

#[test]
fn hierarchical() {
    run(async {
        let definition = PartitionKeyDefinition::from(("/a", "/b", "/c"));
        let container = new_container_with(ContainerProperties::new("c", definition), None).await;
        for (a, b, c) in [("x", "y", 1), ("x", "y", 2), ("x", "z", 1), ("w", "y", 1)] {
            let item = json!({"id": format!("{a}{b}{c}"), "a": a, "b": b, "c": c});
            create(&container, (a, b, c), item).await;
        }
        assert_eq!(read(&container, ("x", "z", 1), "xz1").await["b"], "z");
        let odd = ("x", PartitionKeyValue::NULL, true);
        create(
            &container,
            odd.clone(),
            json!({"id": "odd", "a": "x", "b": null, "c": true}),
        )
        .await;
        read(&container, odd, "odd").await;

        let full = FeedScope::partition(("x", "y", 2));
        assert_eq!(query_ids(&container, "SELECT * FROM c", full).await, "xy2");
        let two = FeedScope::partition(("x", "y"));
        assert_eq!(
            query_ids(&container, "SELECT * FROM c", two).await,
            "xy1 xy2"
        );
        let one = FeedScope::partition("x");
        assert_eq!(
            query_ids(&container, "SELECT * FROM c", one).await,
            "odd xy1 xy2 xz1"
        );
        let all = FeedScope::full_container();
        assert_eq!(
            query_ids(&container, "SELECT * FROM c", all).await,
            "odd wy1 xy1 xy2 xz1"
        );
    });
}
