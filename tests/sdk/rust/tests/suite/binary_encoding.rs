//! The client's default: item bodies go out in the service's binary JSON, and the client offers to
//! read it. The answer may be text.

use azure_data_cosmos::{CosmosClient, FeedScope};
use serde_json::json;

use crate::fixture::{
    account, anywhere, client as text_client, create, properties, query_ids, read, run, unique_id,
};
use crate::server::SERVER;

#[test]
fn items_written_in_binary() {
    run(async {
        let client = CosmosClient::builder()
            .build(account(&SERVER.key), anywhere())
            .await
            .unwrap();
        let id = unique_id("db");
        client.create_database(&id, None).await.unwrap();
        let database = client.database_client(&id);
        database
            .create_container(properties("c"), None)
            .await
            .unwrap();
        let container = database.container_client("c", None).await.unwrap();

        let item = json!({
            "id": "1", "pk": "a", "text": "čeština 🚀", "long": "x".repeat(300),
            "numbers": [0, -1, 200, 70000, 5_000_000_000_i64, 1.5, -2.5e-9],
            "others": {"null": null, "true": true, "false": false, "empty": [], "object": {}},
        });
        create(&container, "a", item.clone()).await;
        let got = read(&container, "a", "1").await;
        for name in ["text", "long", "numbers", "others"] {
            assert_eq!(got[name], item[name], "{name}");
        }
        // Text and binary are two spellings of the same item.
        let same = text_client().await.database_client(&id);
        let same = same.container_client("c", None).await.unwrap();
        assert_eq!(read(&same, "a", "1").await, got);
        let all = FeedScope::full_container();
        assert_eq!(query_ids(&container, "SELECT * FROM c", all).await, "1");
    });
}
