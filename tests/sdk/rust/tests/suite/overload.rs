use std::time::Instant;

use azure_data_cosmos::{CosmosClient, models::ThroughputProperties};
use futures::{StreamExt, stream};
use serde_json::json;

use crate::fixture::{account_at, anywhere, create_in, properties, run};
use crate::server::start;

const RATE: u32 = 400;

/// Several tasks create items, because this SDK has no bulk calls.
#[test]
fn a_load_runs_at_the_rate_of_its_container() {
    run(async {
        let server = start("on");
        let client = CosmosClient::builder()
            .build(account_at(&server.endpoint, &server.key), anywhere())
            .await
            .expect("a client");
        client
            .create_database("db", None)
            .await
            .expect("a database");
        let rate = ThroughputProperties::manual(u64::from(RATE));
        let container = create_in(&client.database_client("db"), properties("c"), Some(rate)).await;
        let text = "x".repeat(1000);
        let begun = Instant::now();
        let charges = stream::iter(0..300).map(|n| {
            let (container, text) = (&container, &text);
            async move {
                let (id, pk) = (n.to_string(), format!("k{}", n % 7));
                let item = json!({"id": id, "pk": pk, "text": text});
                let created = container.create_item(pk, &id, item, None).await;
                let created = created.expect("an item");
                created
                    .headers()
                    .request_charge()
                    .expect("a charge")
                    .value()
            }
        });
        let charges: Vec<f64> = charges.buffer_unordered(8).collect().await;
        let (sum, seconds) = (charges.iter().sum::<f64>(), begun.elapsed().as_secs_f64());
        // The first second began with the container and may be nearly over.
        let fewest = sum / f64::from(RATE) - 2.5;
        // A machine with much to do needs longer.
        let most = 3.0 * sum / f64::from(RATE) + 5.0;
        assert!(
            (fewest..most).contains(&seconds),
            "{seconds} s for {sum} RU"
        );
    });
}
