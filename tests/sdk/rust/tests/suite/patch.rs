//! This client reads, changes and replaces the item itself, guarded by the etag; the server never
//! sees a PATCH. What is tested is that this loop works against us.

use azure_data_cosmos::models::{PatchInstructions, PatchOperation};
use serde_json::{Value, json};

use crate::fixture::{create, new_container, read, run, status};

#[test]
fn every_operation() {
    run(async {
        let container = new_container().await;
        create(
            &container,
            "a",
            json!({"id": "1", "pk": "a", "n": 1, "o": {"p": 1}, "l": [1]}),
        )
        .await;
        let patch = PatchInstructions::from(vec![
            PatchOperation::add("/l/-", json!(2)),
            PatchOperation::set("/s", json!("set")),
            PatchOperation::replace("/o/p", json!(2)),
            PatchOperation::increment("/n", 41),
            PatchOperation::move_value("/o/p", "/moved"),
            PatchOperation::remove("/o"),
        ]);
        container.patch_item("a", "1", patch, None).await.unwrap();
        let got: Value = read(&container, "a", "1").await;
        assert_eq!(got["l"], json!([1, 2]));
        assert_eq!(got["s"], "set");
        assert_eq!(got["n"], 42);
        assert_eq!(got["moved"], 2);
        assert_eq!(got["o"], Value::Null);
    });
}

#[test]
fn missing_item() {
    run(async {
        let container = new_container().await;
        let patch = PatchInstructions::from(vec![PatchOperation::set("/a", json!(1))]);
        assert_eq!(
            status(container.patch_item("a", "absent", patch, None).await),
            404
        );
    });
}
