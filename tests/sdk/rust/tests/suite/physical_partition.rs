use std::num::NonZeroU32;

use azure_data_cosmos::{
    FeedScope, Query,
    feed::FeedRange,
    models::{
        ContainerProperties, PartitionKeyDefinition, PartitionKeyVersion, ThroughputProperties,
    },
    options::{MaxItemCountHint, QueryOptions},
};
use futures::TryStreamExt;
use serde_json::Value;

use crate::fixture::{fill, ids, new_container_with, properties, query_ids, read, run};

const KEYS: usize = 30;

#[test]
fn feed_ranges_of_new_containers() {
    run(async {
        for (throughput, version, want) in [
            (400, PartitionKeyVersion::V2, vec!["FF".to_owned()]),
            (
                11000,
                PartitionKeyVersion::V2,
                vec![format!("1{}", "F".repeat(31)), "FF".into()],
            ),
            (
                18000,
                PartitionKeyVersion::V2,
                vec![
                    format!("1{}", "5".repeat(31)),
                    format!("2{}", "A".repeat(31)),
                    "FF".into(),
                ],
            ),
            (
                18000,
                PartitionKeyVersion::V1,
                vec![
                    "05C1D5AB55AB54".into(),
                    "05C1E5AB55AB54".into(),
                    "FF".into(),
                ],
            ),
        ] {
            let definition = PartitionKeyDefinition::from("/pk").with_version(version);
            let container = new_container_with(
                ContainerProperties::new("c", definition),
                Some(ThroughputProperties::manual(throughput)),
            )
            .await;
            let ranges = container.read_feed_ranges(None).await.unwrap();
            let mut bounds: Vec<String> =
                ranges.iter().map(|r| r.max_exclusive().to_hex()).collect();
            bounds.sort();
            assert_eq!(bounds, want);
        }
    });
}

/// The client keeps one token for the session of all ranges, and sends it with each read.
#[test]
fn pages_of_all_ranges_leave_a_session_that_reads_every_key() {
    run(async {
        let throughput = ThroughputProperties::manual(18000);
        let container = new_container_with(properties("c"), Some(throughput)).await;
        fill(&container, KEYS, 1).await;
        for page_size in [2, 100] {
            let limit = MaxItemCountHint::Limit(NonZeroU32::new(page_size).unwrap());
            let options = QueryOptions::default().with_max_item_count(limit);
            let scope = FeedScope::full_container();
            let pages = container.query_items("SELECT * FROM c", scope, Some(options));
            let all: Vec<Value> = pages.await.unwrap().try_collect().await.unwrap();
            assert_eq!(all.len(), KEYS);
            for n in 0..KEYS {
                let id = format!("{n}-0");
                assert_eq!(read(&container, format!("p{n}"), &id).await["id"], id);
            }
        }
    });
}

#[test]
fn three_answer_as_one() {
    run(async {
        let throughput = ThroughputProperties::manual(18000);
        let container = new_container_with(properties("c"), Some(throughput)).await;
        fill(&container, KEYS, 1).await;
        for n in 0..KEYS {
            let id = format!("{n}-0");
            assert_eq!(read(&container, format!("p{n}"), &id).await["id"], id);
        }
        for page_size in [1, 7, 100] {
            let limit = MaxItemCountHint::Limit(NonZeroU32::new(page_size).unwrap());
            let options = QueryOptions::default().with_max_item_count(limit);
            let all: Vec<Value> = container
                .query_items(
                    "SELECT * FROM c",
                    FeedScope::full_container(),
                    Some(options),
                )
                .await
                .unwrap()
                .try_collect()
                .await
                .unwrap();
            assert_eq!(all.len(), KEYS, "pages of {page_size}");
        }
        let query = Query::from("SELECT * FROM c WHERE c.id = @id")
            .with_parameter("@id", "17-0")
            .unwrap();
        assert_eq!(
            query_ids(&container, query, FeedScope::full_container()).await,
            "17-0"
        );
    });
}

#[test]
fn feed_ranges_cover_the_container_once() {
    run(async {
        let throughput = ThroughputProperties::manual(18000);
        let container = new_container_with(properties("c"), Some(throughput)).await;
        fill(&container, KEYS, 1).await;
        let mut all = Vec::new();
        let ranges = container.read_feed_ranges(None).await.unwrap();
        assert_eq!(ranges.len(), 3);
        for range in ranges {
            let part: Vec<Value> = container
                .query_items("SELECT * FROM c", FeedScope::range(range), None)
                .await
                .unwrap()
                .try_collect()
                .await
                .unwrap();
            all.extend(part);
        }
        let whole = query_ids(&container, "SELECT * FROM c", FeedScope::full_container()).await;
        assert_eq!(ids(&all), whole);
        assert_eq!(all.len(), KEYS);

        // The physical range that holds a key, and the key alone.
        let covering = container
            .feed_range_from_partition_key("p5", None)
            .await
            .unwrap();
        assert_eq!(covering.len(), 1);
        let scope = FeedScope::range(covering[0].clone());
        let held = query_ids(&container, "SELECT * FROM c", scope).await;
        assert!(held.split(' ').any(|id| id == "5-0"), "{held}");
        let alone = FeedRange::for_partition("p5".into(), &PartitionKeyDefinition::from("/pk"));
        let scope = FeedScope::range(alone);
        assert_eq!(query_ids(&container, "SELECT * FROM c", scope).await, "5-0");
    });
}
