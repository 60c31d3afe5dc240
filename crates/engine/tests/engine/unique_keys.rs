//! Unique keys: scope, missing values, and what frees them.

use orrery_json::Value;
use orrery_model::{ConflictKind, Failure, JsonPointer, PatchAction, PatchOperation};

use crate::support::{World, create, delete, patch, replace, upsert};

const KEY: &str = r#"["a"]"#;
const TAKEN: Failure = Failure::Conflict(ConflictKind::UniqueKey);
const UNIQUE: &str =
    r#","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]},{"paths":["/v","/w/x"]}]}"#;

#[tokio::test]
async fn values_are_unique_in_their_logical_partition() {
    let world = World::in_memory().await;
    let container = world.container("c", UNIQUE).await;
    world
        .ok(
            &container,
            KEY,
            create(r#"{"id":"1","p":"a","u":1,"v":1,"w":{"x":1}}"#),
        )
        .await;
    let taken = [
        r#"{"id":"2","p":"a","u":1,"v":2}"#,
        r#"{"id":"2","p":"a","u":1.0,"v":2}"#,
        r#"{"id":"2","p":"a","u":2,"v":1,"w":{"x":1}}"#,
    ];
    for item in taken {
        assert_eq!(
            world.refused(&container, KEY, create(item)).await,
            TAKEN,
            "{item}"
        );
        assert_eq!(
            world.refused(&container, KEY, upsert(item)).await,
            TAKEN,
            "{item}"
        );
    }
    for (id, item) in [
        ("2", r#"{"id":"2","p":"a","u":"1","v":1,"w":{"x":2}}"#),
        ("3", r#"{"id":"3","p":"a","u":[1],"v":2,"w":{"x":1}}"#),
    ] {
        world.ok(&container, KEY, create(item)).await;
        world.ok(&container, KEY, replace(id, item)).await;
    }
    world
        .ok(
            &container,
            r#"["b"]"#,
            create(r#"{"id":"1","p":"b","u":1,"v":1,"w":{"x":1}}"#),
        )
        .await;
}

#[tokio::test]
async fn a_missing_value_is_null() {
    let world = World::in_memory().await;
    let container = world.container("c", UNIQUE).await;
    world
        .ok(&container, KEY, create(r#"{"id":"1","p":"a","v":1}"#))
        .await;
    for item in [
        r#"{"id":"2","p":"a","v":2}"#,
        r#"{"id":"2","p":"a","u":null,"v":2}"#,
    ] {
        assert_eq!(
            world.refused(&container, KEY, create(item)).await,
            TAKEN,
            "{item}"
        );
    }
    let item = r#"{"id":"2","p":"a","u":2,"v":1,"w":{"x":null}}"#;
    assert_eq!(world.refused(&container, KEY, create(item)).await, TAKEN);
}

#[tokio::test]
async fn delete_replace_patch_rename_and_expiry_free_values() {
    let world = World::in_memory().await;
    let settings = format!(r#"{UNIQUE},"defaultTtl":-1"#);
    let container = world.container("c", &settings).await;
    let item = |id: &str, u: u32| format!(r#"{{"id":"{id}","p":"a","u":{u},"v":"{id}"}}"#);

    world.ok(&container, KEY, create(&item("1", 1))).await;
    world.ok(&container, KEY, delete("1")).await;
    world.ok(&container, KEY, create(&item("2", 1))).await;

    world.ok(&container, KEY, replace("2", &item("2", 2))).await;
    world.ok(&container, KEY, create(&item("3", 1))).await;
    assert_eq!(
        world
            .refused(&container, KEY, replace("3", &item("3", 2)))
            .await,
        TAKEN
    );

    let set = |u: i64| {
        let (path, action) = (
            JsonPointer::parse("/u").unwrap(),
            PatchAction::Set(Value::from(u)),
        );
        vec![PatchOperation { path, action }]
    };
    assert_eq!(
        world.refused(&container, KEY, patch("3", set(2))).await,
        TAKEN
    );
    world.ok(&container, KEY, patch("3", set(3))).await;
    world.ok(&container, KEY, create(&item("4", 1))).await;

    world.ok(&container, KEY, replace("4", &item("5", 1))).await;
    assert_eq!(
        world.refused(&container, KEY, create(&item("4", 1))).await,
        TAKEN
    );
    world.ok(&container, KEY, delete("5")).await;

    world
        .ok(
            &container,
            KEY,
            create(r#"{"id":"6","p":"a","u":1,"v":6,"ttl":5}"#),
        )
        .await;
    assert_eq!(
        world.refused(&container, KEY, create(&item("7", 1))).await,
        TAKEN
    );
    world.advance(5);
    world.ok(&container, KEY, create(&item("7", 1))).await;
    world.engine.remove_expired().await.unwrap();
    assert_eq!(
        world.refused(&container, KEY, create(&item("8", 1))).await,
        TAKEN
    );
    assert_eq!(container.partitions[0].counters().items, 3);
}

#[tokio::test]
async fn values_can_be_exchanged_in_a_batch_only_through_a_third() {
    let world = World::in_memory().await;
    let container = world.container("c", UNIQUE).await;
    let item = |id: &str, u: u32| format!(r#"{{"id":"{id}","p":"a","u":{u},"v":"{id}"}}"#);
    world.ok(&container, KEY, create(&item("1", 1))).await;
    world.ok(&container, KEY, create(&item("2", 2))).await;
    let direct = vec![replace("1", &item("1", 2)), replace("2", &item("2", 1))];
    let results = world.batch(&container, KEY, direct).await.result.unwrap();
    assert_eq!(results[0].as_ref().unwrap_err(), &TAKEN);
    let by_third = vec![
        replace("1", &item("1", 3)),
        replace("2", &item("2", 1)),
        replace("1", &item("1", 2)),
    ];
    let results = world.batch(&container, KEY, by_third).await.result.unwrap();
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(
        world.refused(&container, KEY, create(&item("3", 1))).await,
        TAKEN
    );
    assert_eq!(
        world.refused(&container, KEY, create(&item("3", 2))).await,
        TAKEN
    );
    world.ok(&container, KEY, create(&item("3", 3))).await;
}
