//! All answers that an account can give, as text.

use std::collections::BTreeSet;
use std::sync::Arc;

use orrery_engine::{
    ChangeFeedRequest, ChangeFeedStart, ChangeMode, Container, FeedRequest, FeedScope, QueryText,
};
use orrery_model::ConsistencyLevel;

use crate::replication::random_workload::RandomWorkload;
use crate::support::{World, json};

const LEVEL: ConsistencyLevel = ConsistencyLevel::Session;

const QUERIES: [&str; 6] = [
    "SELECT VALUE COUNT(1) FROM c",
    "SELECT * FROM c WHERE c.u = 1",
    "SELECT c.id, c.n FROM c WHERE c.n >= 1 ORDER BY c.n DESC",
    "SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, '1') OR c.v IN (1, 2)",
    "SELECT c.u, COUNT(1) AS n FROM c GROUP BY c.u",
    "SELECT * FROM c WHERE IS_DEFINED(c.ttl) AND c.w != 2",
];

pub(crate) async fn answers(world: &World, turmoil: &RandomWorkload) -> Vec<String> {
    let catalogue = world.engine.catalogue();
    let mut all = vec![format!("{:?}", catalogue.offers)];
    for database in catalogue.databases.values() {
        all.push(format!("{:?} {:?}", database.database, database.users));
        for entry in database.containers.values() {
            let container = &entry.container;
            all.push(format!(
                "{:?} {:?} {:?} {} {:?} {:?}",
                container.definition,
                container.rid,
                entry.etag,
                entry.modified_seconds,
                entry.offer,
                entry.scripts
            ));
            for partition in &container.partitions {
                all.push(format!(
                    "{} {} {:?} {:?}",
                    partition.id,
                    partition.range,
                    partition.ancestors,
                    partition.counters()
                ));
            }
            let items = world.all(container, FeedScope::Container, 1_000).await;
            let rids = items.iter().map(|item| json(item).get("_rid").clone());
            let rids: BTreeSet<String> = rids.map(|rid| format!("{rid:?}")).collect();
            assert_eq!(rids.len(), items.len(), "a resource id is given once");
            all.extend(items);
            for query in QUERIES {
                all.push(format!("{query}: {}", rows(world, container, query).await));
            }
            all.push(changes(world, container, ChangeMode::LatestVersion, None).await);
            if let Some(position) = turmoil.history_begins(container.rid) {
                all.push(
                    changes(
                        world,
                        container,
                        ChangeMode::AllVersionsAndDeletes,
                        Some(position),
                    )
                    .await,
                );
            }
        }
    }
    all
}

async fn rows(world: &World, container: &Arc<Container>, text: &str) -> String {
    let query = QueryText {
        text: text.to_owned(),
        parameters: Vec::new(),
        resume: None,
    };
    let request = FeedRequest {
        scope: FeedScope::Container,
        query: Some(world.engine.compile(&query, container).unwrap()),
        items_max: 1_000,
        continuation: None,
        continuation_bytes_max: None,
        budget: LEVEL.into(),
        wants_report: false,
        without_index: false,
        enable_scan: true,
    };
    let page = world.engine.feed(container, request).await.result;
    format!("{:?}", page.map(|page| page.items))
}

async fn changes(
    world: &World,
    container: &Arc<Container>,
    mode: ChangeMode,
    position: Option<&str>,
) -> String {
    let start = match position {
        Some(position) => ChangeFeedStart::After(position.to_owned()),
        None => ChangeFeedStart::Beginning,
    };
    let request = ChangeFeedRequest {
        scope: FeedScope::Container,
        mode,
        start,
        since_seconds: None,
        items_max: 1_000,
        budget: LEVEL.into(),
    };
    let page = world.engine.changes(container, request).await.result;
    format!("{:?}", page.map(|page| (page.changes, page.position)))
}
