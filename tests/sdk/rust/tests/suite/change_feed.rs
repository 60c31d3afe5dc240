//! The change feed of both modes, and a container that splits under its reader.

use std::{num::NonZeroU32, time::Duration};

use azure_data_cosmos::{
    ContainerClient, FeedScope,
    models::{ChangeFeedItem, ThroughputProperties},
    options::{ChangeFeedOptions, ChangeFeedStartFrom, MaxItemCountHint},
};
use futures::StreamExt;
use serde_json::Value;

use crate::fixture::{create, fill, ids, item, new_container_with, properties, query_ids, run};

const EVERYTHING: &str = "SELECT * FROM c";

fn pages_of(count: u32) -> ChangeFeedOptions {
    let count = NonZeroU32::new(count).expect("not zero");
    ChangeFeedOptions::default().with_max_item_count(MaxItemCountHint::Limit(count))
}

async fn pages(
    container: &ContainerClient,
    scope: FeedScope,
    options: ChangeFeedOptions,
) -> impl futures::Stream<Item = Vec<Value>> + Unpin {
    let feed = container
        .query_change_feed::<Value>(scope, ChangeFeedStartFrom::Beginning, Some(options))
        .await
        .expect("a feed");
    Box::pin(feed.map(|page| {
        let page = page.expect("a page");
        let current = |change: &ChangeFeedItem<Value>| change.current().expect("an item").clone();
        page.items().iter().map(current).collect()
    }))
}

/// Reads until so many items were seen; a feed has no end.
async fn take(
    feed: &mut (impl futures::Stream<Item = Vec<Value>> + Unpin),
    count: usize,
) -> Vec<Value> {
    let mut seen = Vec::new();
    while seen.len() < count {
        let page = tokio::time::timeout(Duration::from_secs(60), feed.next()).await;
        seen.extend(page.expect("changes in time").expect("another page"));
    }
    seen
}

#[test]
fn every_scope_and_page_size() {
    run(async {
        let throughput = Some(ThroughputProperties::manual(18000));
        let container = new_container_with(properties("c"), throughput).await;
        fill(&container, 10, 4).await;
        let everything = query_ids(&container, EVERYTHING, FeedScope::full_container()).await;
        for size in [1, 7, 1000] {
            let mut feed = pages(&container, FeedScope::full_container(), pages_of(size)).await;
            assert_eq!(
                ids(&take(&mut feed, 40).await),
                everything,
                "pages of {size}"
            );
        }
        let mut feed = pages(&container, FeedScope::partition("p3"), pages_of(3)).await;
        let in_key = take(&mut feed, 4).await;
        let numbers: Vec<_> = in_key.iter().map(|item| item["n"].as_i64()).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(2), Some(3)]);
    });
}

#[test]
fn an_open_feed_goes_on_across_a_split() {
    run(async {
        let throughput = Some(ThroughputProperties::manual(400));
        let container = new_container_with(properties("c"), throughput).await;
        fill(&container, 30, 1).await;
        let everything = query_ids(&container, EVERYTHING, FeedScope::full_container()).await;
        let mut feed = pages(&container, FeedScope::full_container(), pages_of(7)).await;
        let mut seen = take(&mut feed, 7).await;
        let poller = container
            .begin_replace_throughput(ThroughputProperties::manual(25000), None)
            .await
            .expect("a new throughput");
        poller.await.expect("the new throughput");
        // The split happens in the background; reading goes on meanwhile.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        seen.extend(take(&mut feed, 23).await);
        assert_eq!(ids(&seen), everything);
        create(&container, "p3", item("late", "p3")).await;
        assert_eq!(ids(&take(&mut feed, 1).await), "late");
        let again = query_ids(&container, EVERYTHING, FeedScope::full_container()).await;
        assert_eq!(again.split(' ').count(), 31);
    });
}
