use azure_data_cosmos::{Query, models::DatabaseProperties};
use futures::TryStreamExt;

use crate::fixture::{client, new_database, run, status, unique_id};

#[test]
fn life_cycle() {
    run(async {
        let client = client().await;
        let id = unique_id("db");
        let created = client.create_database(&id, None).await.unwrap();
        assert_eq!(u16::from(created.status()), 201);
        assert!(created.headers().request_charge().unwrap().value() > 0.0);
        let etag = created.headers().etag().cloned();
        let properties = created.into_model().unwrap();
        assert_eq!(properties.id.as_deref(), Some(id.as_str()));
        assert_eq!(properties.system_properties.etag, etag);

        let database = client.database_client(&id);
        let read = database.read(None).await.unwrap().into_model().unwrap();
        assert_eq!(
            read.system_properties.resource_id,
            properties.system_properties.resource_id
        );
        assert_eq!(status(client.create_database(&id, None).await), 409);

        let deleted = database.delete(None).await.unwrap();
        assert_eq!(u16::from(deleted.status()), 204);
        assert_eq!(status(database.read(None).await), 404);
        assert_eq!(status(database.delete(None).await), 404);
    });
}

#[test]
fn query() {
    run(async {
        let wanted = new_database().await.name().unwrap().to_owned();
        let other = new_database().await.name().unwrap().to_owned();
        let query = Query::from("SELECT * FROM c WHERE c.id = @id")
            .with_parameter("@id", &wanted)
            .unwrap();
        assert_eq!(found(query).await, std::slice::from_ref(&wanted));
        let all = found(Query::from("SELECT * FROM c")).await;
        assert!(all.contains(&wanted) && all.contains(&other), "{all:?}");
    });
}

async fn found(query: Query) -> Vec<String> {
    let databases: Vec<DatabaseProperties> = client()
        .await
        .query_databases(query, None)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    databases.into_iter().filter_map(|d| d.id).collect()
}
