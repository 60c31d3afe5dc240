use azure_data_cosmos::{CosmosClient, RoutingStrategy, options::Region};

use crate::fixture::{account, anywhere, client, run, status, unique_id};
use crate::server::SERVER;

const OTHER_KEY: &str = "bm90IHRoZSBrZXkgb2YgdGhpcyBzZXJ2ZXIhIQ==";

#[test]
fn client_is_built_from_the_account() {
    run(async {
        assert_eq!(client().await.endpoint().as_str(), SERVER.endpoint);
    });
}

#[test]
fn preferred_region_that_does_not_exist() {
    run(async {
        let strategy = RoutingStrategy::ProximityTo(Region::from("Atlantis"));
        let client = CosmosClient::builder()
            .build(account(&SERVER.key), strategy)
            .await
            .expect("a client");
        let id = unique_id("db");
        client.create_database(&id, None).await.expect("a database");
    });
}

#[test]
fn wrong_key_is_unauthorized() {
    run(async {
        let client = match CosmosClient::builder()
            .build(account(OTHER_KEY), anywhere())
            .await
        {
            Ok(client) => client,
            Err(error) => return assert_eq!(u16::from(error.status()), 401),
        };
        assert_eq!(status(client.create_database("db", None).await), 401);
    });
}
