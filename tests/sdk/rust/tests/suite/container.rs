use azure_data_cosmos::{
    Query,
    models::{
        CompositeIndex, CompositeIndexOrder, CompositeIndexProperty, ConflictResolutionMode,
        ConflictResolutionPolicy, ContainerProperties, IndexingMode, IndexingPolicy,
        PartitionKeyDefinition, PartitionKeyKind, PartitionKeyVersion, SpatialIndex, SpatialType,
        TimeToLive, UniqueKey, UniqueKeyPolicy,
    },
};
use futures::TryStreamExt;

use crate::fixture::{
    create, create_in, item, new_container, new_container_with, new_database, properties, read,
    run, status,
};

#[test]
fn life_cycle() {
    run(async {
        let database = new_database().await;
        let created = database
            .create_container(properties("c"), None)
            .await
            .unwrap();
        assert_eq!(u16::from(created.status()), 201);
        let container = database.container_client("c", None).await.unwrap();
        let read = container.read(None).await.unwrap().into_model().unwrap();
        assert_eq!(
            read.system_properties.resource_id,
            created.into_model().unwrap().system_properties.resource_id
        );
        assert_eq!(
            status(database.create_container(properties("c"), None).await),
            409
        );

        let deleted = container.delete(None).await.unwrap();
        assert_eq!(u16::from(deleted.status()), 204);
        assert_eq!(status(container.read(None).await), 404);
    });
}

#[test]
fn missing() {
    run(async {
        let database = new_database().await;
        assert_eq!(status(database.container_client("absent", None).await), 404);
    });
}

#[test]
fn defaults_are_filled_in() {
    run(async {
        let read = read_back(properties("c")).await;
        let policy = read.indexing_policy.unwrap();
        assert_eq!(policy.indexing_mode, Some(IndexingMode::Consistent));
        assert!(policy.automatic);
        assert_eq!(policy.included_paths, vec!["/*".into()]);
        assert_eq!(policy.excluded_paths, vec![r#"/"_etag"/?"#.into()]);
        let conflicts = read.conflict_resolution_policy.unwrap();
        assert_eq!(conflicts.mode, ConflictResolutionMode::LastWriterWins);
        assert_eq!(conflicts.resolution_path, "/_ts");
        assert_eq!(read.default_ttl, TimeToLive::Forever);
    });
}

#[test]
fn policies_round_trip() {
    run(async {
        let indexing = IndexingPolicy::default()
            .with_indexing_mode(IndexingMode::Consistent)
            .with_included_path("/*")
            .with_excluded_path("/big/*")
            .with_composite_index(
                CompositeIndex::default()
                    .with_property(CompositeIndexProperty::new(
                        "/a",
                        CompositeIndexOrder::Ascending,
                    ))
                    .with_property(CompositeIndexProperty::new(
                        "/b",
                        CompositeIndexOrder::Descending,
                    )),
            )
            .with_spatial_index(SpatialIndex::new("/place/*").with_type(SpatialType::Point));
        let unique = UniqueKeyPolicy::default()
            .with_unique_key(UniqueKey::default().with_path("/a").with_path("/b"));
        let conflicts = ConflictResolutionPolicy::new(ConflictResolutionMode::LastWriterWins)
            .with_resolution_path("/rank");
        let read = read_back(
            properties("c")
                .with_indexing_policy(indexing.clone())
                .with_unique_key_policy(unique.clone())
                .with_conflict_resolution_policy(conflicts)
                .with_default_ttl(TimeToLive::Seconds(3600)),
        )
        .await;

        let got = read.indexing_policy.unwrap();
        assert_eq!(got.composite_indexes, indexing.composite_indexes);
        assert_eq!(got.spatial_indexes[0].path, "/place/*");
        assert!(got.excluded_paths.contains(&"/big/*".into()));
        assert!(got.excluded_paths.contains(&r#"/"_etag"/?"#.into()));
        assert_eq!(read.unique_key_policy, Some(unique));
        assert_eq!(
            read.conflict_resolution_policy.unwrap().resolution_path,
            "/rank"
        );
        assert_eq!(read.default_ttl, TimeToLive::Seconds(3600));
    });
}

#[test]
fn partition_key_versions() {
    run(async {
        for version in [PartitionKeyVersion::V1, PartitionKeyVersion::V2] {
            let definition = PartitionKeyDefinition::from("/pk").with_version(version);
            let container =
                new_container_with(ContainerProperties::new("c", definition), None).await;
            let got = container.read(None).await.unwrap().into_model().unwrap();
            assert_eq!(got.partition_key.version(), version);
            create(&container, "a", item("1", "a")).await;
            assert_eq!(read(&container, "a", "1").await["id"], "1");
        }
    });
}

#[test]
fn hierarchical_partition_key() {
    run(async {
        let definition = PartitionKeyDefinition::from(("/a", "/b", "/c"));
        let read = read_back(ContainerProperties::new("c", definition)).await;
        assert_eq!(read.partition_key.kind(), PartitionKeyKind::MultiHash);
        assert_eq!(read.partition_key.paths(), ["/a", "/b", "/c"]);
    });
}

#[test]
fn replace() {
    run(async {
        let container = new_container().await;
        let mut properties = container.read(None).await.unwrap().into_model().unwrap();
        let before = properties.system_properties.etag.clone();
        properties.default_ttl = TimeToLive::NoDefault;
        properties.indexing_policy = Some(
            IndexingPolicy::default()
                .with_indexing_mode(IndexingMode::Consistent)
                .with_included_path("/a/?")
                .with_excluded_path("/*"),
        );
        let replaced = container.replace(properties, None).await.unwrap();
        assert_eq!(u16::from(replaced.status()), 200);
        let mut replaced = replaced.into_model().unwrap();
        assert_eq!(replaced.default_ttl, TimeToLive::NoDefault);
        assert_eq!(
            replaced.indexing_policy.as_ref().unwrap().included_paths,
            vec!["/a/?".into()]
        );
        assert_ne!(replaced.system_properties.etag, before);

        replaced.default_ttl = TimeToLive::Forever;
        let again = container.replace(replaced, None).await.unwrap();
        assert_eq!(again.into_model().unwrap().default_ttl, TimeToLive::Forever);
    });
}

#[test]
fn query() {
    run(async {
        let database = new_database().await;
        for id in ["a", "b", "c"] {
            create_in(&database, properties(id), None).await;
        }
        let query = Query::from("SELECT * FROM c WHERE c.id = @id")
            .with_parameter("@id", "b")
            .unwrap();
        let found: Vec<ContainerProperties> = database
            .query_containers(query, None)
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].id, "b");
    });
}

async fn read_back(properties: ContainerProperties) -> ContainerProperties {
    let container = new_container_with(properties, None).await;
    container.read(None).await.unwrap().into_model().unwrap()
}
