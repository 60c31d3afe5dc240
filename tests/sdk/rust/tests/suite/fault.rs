//! Faults that the client puts into its own transport, and how it goes on with the server after them.

use std::{num::NonZeroU32, sync::Arc};

use azure_data_cosmos::{
    ContainerClient, CosmosClient, FeedScope,
    fault_injection::{
        FaultInjectionConditionBuilder, FaultInjectionErrorType as Fault,
        FaultInjectionResultBuilder, FaultInjectionRule, FaultInjectionRuleBuilder,
        FaultOperationType as Operation,
    },
    models::ThroughputProperties,
    options::{MaxItemCountHint, QueryOptions},
};
use futures::TryStreamExt;
use serde_json::Value;

use crate::fixture::{
    account, anywhere, create, create_in, fill, ids, item, new_database, properties, query_ids,
    read, run, status,
};
use crate::server::SERVER;

const OFTEN: u32 = 1000;

fn rule(operation: Operation, fault: Fault, times: u32) -> Arc<FaultInjectionRule> {
    let condition = FaultInjectionConditionBuilder::new().with_operation_type(operation);
    let result = FaultInjectionResultBuilder::new().with_error(fault);
    let rule = FaultInjectionRuleBuilder::new(format!("{fault:?}"), result.build())
        .with_condition(condition.build())
        .with_hit_limit(times);
    Arc::new(rule.build())
}

/// The container as the shared client has it, and as a client with this rule has it.
async fn containers(
    rule: &Arc<FaultInjectionRule>,
    throughput: u64,
) -> (ContainerClient, ContainerClient) {
    let database = new_database().await;
    let throughput = ThroughputProperties::manual(throughput);
    let plain = create_in(&database, properties("c"), Some(throughput)).await;
    let client = CosmosClient::builder()
        .with_fault_injection_rules(vec![Arc::clone(rule)])
        .expect("rules")
        .build(account(&SERVER.key), anywhere())
        .await
        .expect("a client");
    let faulty = client.database_client(database.id());
    let faulty = faulty.container_client("c", None).await;
    (plain, faulty.expect("the container"))
}

#[test]
fn a_read_goes_on_after_a_fault() {
    run(async {
        for fault in [
            Fault::TooManyRequests,
            Fault::PartitionIsGone,
            Fault::ServiceUnavailable,
            Fault::ConnectionError,
        ] {
            let rule = rule(Operation::ReadItem, fault, 1);
            let (plain, faulty) = containers(&rule, 400).await;
            create(&plain, "a", item("1", "a")).await;
            assert_eq!(read(&faulty, "a", "1").await["id"], "1", "{fault:?}");
            assert_eq!(rule.hit_count(), 1, "{fault:?}");
        }
    });
}

#[test]
fn a_write_goes_on_after_a_fault_and_is_done_once() {
    run(async {
        for fault in [
            Fault::TooManyRequests,
            Fault::RetryWith,
            Fault::PartitionIsGone,
        ] {
            let rule = rule(Operation::CreateItem, fault, 1);
            let (plain, faulty) = containers(&rule, 400).await;
            create(&faulty, "a", item("1", "a")).await;
            assert_eq!(rule.hit_count(), 1, "{fault:?}");
            let all = query_ids(&plain, "SELECT * FROM c", FeedScope::full_container()).await;
            assert_eq!(all, "1", "{fault:?}");
        }
    });
}

/// The client asks for the ranges again and continues each of them where its last page ended.
#[test]
fn a_query_over_three_partitions_goes_on_after_a_fault() {
    run(async {
        for fault in [Fault::PartitionIsGone, Fault::TooManyRequests] {
            for query in ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.n"] {
                let rule = rule(Operation::QueryItem, fault, 2);
                let (plain, faulty) = containers(&rule, 18000).await;
                fill(&plain, 30, 1).await;
                let seven = MaxItemCountHint::Limit(NonZeroU32::new(7).expect("seven"));
                let options = QueryOptions::default().with_max_item_count(seven);
                let found: Vec<Value> = faulty
                    .query_items(query, FeedScope::full_container(), Some(options))
                    .await
                    .expect("a query")
                    .try_collect()
                    .await
                    .expect("every page");
                assert_eq!(found.len(), 30, "{fault:?} {query}");
                let all = query_ids(&plain, "SELECT * FROM c", FeedScope::full_container()).await;
                assert_eq!(ids(&found), all, "{fault:?} {query}");
                assert_eq!(rule.hit_count(), 2, "{fault:?} {query}");
            }
        }
    });
}

#[test]
fn a_fault_that_does_not_end_is_told() {
    run(async {
        let rule = rule(Operation::ReadItem, Fault::ServiceUnavailable, OFTEN);
        let (plain, faulty) = containers(&rule, 400).await;
        create(&plain, "a", item("1", "a")).await;
        assert_eq!(status(faulty.read_item("a", "1", None).await), 503);
        assert!(rule.hit_count() > 1);
        assert_eq!(read(&plain, "a", "1").await["id"], "1");
        rule.disable();
        assert_eq!(read(&faulty, "a", "1").await["id"], "1");
    });
}
