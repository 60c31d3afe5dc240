use serde_json::{Value, json};

use crate::fixture::{create, item, new_container, read, run, status, with_content};

#[test]
fn life_cycle() {
    run(async {
        let container = new_container().await;
        let created = create(&container, "a", json!({"id": "1", "pk": "a", "n": 1})).await;
        assert_eq!(u16::from(created.status()), 201);
        assert_eq!(read(&container, "a", "1").await["n"], 1);

        let second = json!({"id": "1", "pk": "a", "n": 2});
        let replaced = container
            .replace_item("a", "1", second, with_content())
            .await
            .unwrap();
        assert_eq!(u16::from(replaced.status()), 200);
        assert_eq!(replaced.into_model::<Value>().unwrap()["n"], 2);

        let upserted = container
            .upsert_item("a", "1", item("1", "a"), None)
            .await
            .unwrap();
        assert_eq!(u16::from(upserted.status()), 200);
        let upserted = container
            .upsert_item("a", "2", item("2", "a"), None)
            .await
            .unwrap();
        assert_eq!(u16::from(upserted.status()), 201);

        let deleted = container.delete_item("a", "1", None).await.unwrap();
        assert_eq!(u16::from(deleted.status()), 204);
        assert_eq!(status(container.read_item("a", "1", None).await), 404);
    });
}

#[test]
fn system_properties() {
    run(async {
        let container = new_container().await;
        let sent = json!({"id": "1", "pk": "a", "_etag": "x", "_ts": 1, "_rid": "x"});
        let response = create(&container, "a", sent).await;
        let etag = response.headers().etag().unwrap().to_string();
        let first: Value = response.into_model().unwrap();
        assert_eq!(first["_etag"], etag);
        assert!(etag.starts_with('"'), "{etag}");
        assert!(first["_ts"].as_u64().unwrap() > 1_000_000_000);
        let rid = first["_rid"].as_str().unwrap();
        assert!(
            first["_self"]
                .as_str()
                .unwrap()
                .ends_with(&format!("/docs/{rid}/"))
        );

        let replaced = container
            .replace_item("a", "1", item("1", "a"), with_content())
            .await
            .unwrap();
        let second: Value = replaced.into_model().unwrap();
        assert_eq!(second["_rid"], first["_rid"]);
        assert_ne!(second["_etag"], first["_etag"]);
    });
}

#[test]
fn errors() {
    run(async {
        let container = new_container().await;
        create(&container, "a", item("1", "a")).await;
        assert_eq!(
            status(container.create_item("a", "1", item("1", "a"), None).await),
            409
        );
        create(&container, "b", item("1", "b")).await;

        assert_eq!(status(container.read_item("a", "absent", None).await), 404);
        assert_eq!(status(container.read_item("other", "1", None).await), 404);
        let absent = container
            .replace_item("a", "absent", item("absent", "a"), None)
            .await;
        assert_eq!(status(absent), 404);
        assert_eq!(
            status(container.delete_item("a", "absent", None).await),
            404
        );
        assert_eq!(status(container.delete_item("other", "1", None).await), 404);
        let no_id = container
            .create_item("a", "2", json!({"pk": "a"}), None)
            .await;
        assert_eq!(status(no_id), 400);
    });
}

#[test]
fn too_large() {
    run(async {
        let container = new_container().await;
        let large = json!({"id": "1", "pk": "a", "s": "x".repeat(2 << 20)});
        assert_eq!(
            status(container.create_item("a", "1", large, None).await),
            413
        );
    });
}

#[test]
fn json_survives() {
    run(async {
        let container = new_container().await;
        let sent = json!({
            "id": "1", "pk": "a",
            "text": "čeština \u{0} \u{2028} 🚀 \"quoted\" back\\slash",
            "large": 9_007_199_254_740_991_i64,
            "small": -1.5e-7,
            "nested": {"a": [1, "b", null, true, {}], "": "empty name"},
        });
        create(&container, "a", sent.clone()).await;
        let got = read(&container, "a", "1").await;
        for name in ["text", "large", "small", "nested"] {
            assert_eq!(got[name], sent[name], "{name}");
        }
    });
}
