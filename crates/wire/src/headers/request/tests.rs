use http::HeaderValue;
use orrery_model::{PriorityLevel, RangeId};
use proptest::prelude::*;

use super::*;

fn map(headers: &[(&'static str, &str)]) -> HeaderMap {
    headers
        .iter()
        .map(|(name, value)| {
            let name = http::HeaderName::from_static(name);
            (name, HeaderValue::from_bytes(value.as_bytes()).unwrap())
        })
        .collect()
}

#[test]
fn what_a_query_is_to_tell_of_itself() {
    let form = |headers: &[(&'static str, &str)]| {
        let map = map(headers);
        RequestHeaders::parse(&map).unwrap().query.index_metrics
    };
    let (old, new) = (names::INDEX_METRICS, names::INDEX_METRICS_V2);
    for (headers, expected) in [
        (&[][..], None),
        (&[(old, "True")], Some(IndexMetricsForm::Base64)),
        (&[(old, "False")], None),
        (&[(new, "true")], Some(IndexMetricsForm::Percent)),
        (
            &[(new, "true"), (old, "true")],
            Some(IndexMetricsForm::Percent),
        ),
        (
            &[(old, "true"), (new, "true")],
            Some(IndexMetricsForm::Percent),
        ),
        (
            &[(old, "true"), (new, "false")],
            Some(IndexMetricsForm::Base64),
        ),
    ] {
        assert_eq!(form(headers), expected, "{headers:?}");
    }
    let map = map(&[
        (names::ENABLE_SCAN, "True"),
        (names::POPULATE_QUERY_METRICS, "TRUE"),
        (names::EXPLAIN, "true"),
    ]);
    let query = RequestHeaders::parse(&map).unwrap().query;
    assert!(query.enable_scan && query.populate_metrics && query.explain);
}

#[test]
fn values_are_read() {
    let map = map(&[
        (names::CONSISTENCY_LEVEL, "Eventual"),
        (names::VERSION, "2020-07-15"),
        (names::PARTITION_KEY, "[\"é\"]"),
        (names::PARTITION_KEY_RANGE_ID, "kRNGAOrVWJo=,12"),
        (names::START_EPK, "05"),
        (names::END_EPK, "3F"),
        (names::READ_KEY_TYPE, "EffectivePartitionKeyRange"),
        (names::IF_MATCH, "*"),
        (names::IF_NONE_MATCH, "\"e\""),
        (names::INDEXING_DIRECTIVE, "Exclude"),
        (names::MAX_ITEM_COUNT, "10"),
        (names::CONTINUATION_LIMIT_KB, "1"),
        (names::PREFER, "return=minimal"),
        (names::A_IM, "Incremental feed"),
        (names::IF_MODIFIED_SINCE, "Thu, 01 Jan 1970 00:00:05 GMT"),
        (names::PRIORITY_LEVEL, "Low"),
        (names::THROUGHPUT_BUCKET, "5"),
        (names::OFFER_THROUGHPUT, "400"),
        (names::MIGRATE_TO_MANUAL, "true"),
        (names::EXPIRY_SECONDS, "60"),
        (names::POPULATE_QUOTA, "True"),
        (names::PRE_TRIGGER_INCLUDE, "a, b,"),
        (names::POST_TRIGGER_INCLUDE, ""),
        (names::SCRIPT_ENABLE_LOGGING, "True"),
        (names::ENABLE_CROSS_PARTITION, "yes"),
    ]);
    let mut headers = RequestHeaders::parse(&map).unwrap();
    let selection = headers.take_selection();
    assert_eq!(headers.consistency, Some(ConsistencyLevel::Eventual));
    assert_eq!(
        selection.partition_key().unwrap().unwrap().to_json(),
        "[\"é\"]"
    );
    assert_eq!(selection.range(), Ok(Some(RangeId(12))));
    assert_eq!(
        selection.epk_range().unwrap().unwrap().to_string(),
        "[05,3F)"
    );
    assert_eq!(headers.if_match(), Some(Precondition::Any));
    assert_eq!(
        headers.if_none_match(),
        Some(Precondition::Etag("\"e\"".to_owned()))
    );
    assert_eq!(headers.indexing, IndexingDirective::Exclude);
    assert_eq!(headers.max_item_count, Some(10));
    assert_eq!(headers.continuation_limit_kb, Some(1));
    assert!(headers.prefers_minimal && headers.populate_quota);
    assert_eq!(headers.pre_triggers, ["a", "b"]);
    assert!(headers.post_triggers.is_empty() && headers.script_logging);
    assert_eq!(headers.change_feed, Some(ChangeFeedMode::LatestVersion));
    assert_eq!(headers.if_modified_since, Some(HttpDate(5)));
    assert_eq!(headers.priority, Some(PriorityLevel::Low));
    assert_eq!(headers.throughput_bucket, Some(5));
    assert_eq!(headers.offer.throughput, Some(Throughput::Manual(400)));
    assert_eq!(headers.offer.migrate, Some(ThroughputMigration::ToManual));
    assert_eq!(headers.token_lifetime_seconds(), Ok(60));
    assert!(!headers.query.enable_cross_partition);
}

#[test]
fn bad_values_are_refused_by_name() {
    for (name, value) in [
        (names::VERSION, "2001-01-01"),
        (names::CONSISTENCY_LEVEL, "Loose"),
        (names::READ_CONSISTENCY_STRATEGY, "Loose"),
        (names::INDEXING_DIRECTIVE, "Maybe"),
        (names::MAX_ITEM_COUNT, "-2"),
        (names::MAX_ITEM_COUNT, "x"),
        (names::MAX_ITEM_COUNT, "2147483648"),
        (names::PRIORITY_LEVEL, "Medium"),
        (names::THROUGHPUT_BUCKET, "6"),
        (names::THROUGHPUT_BUCKET, "0"),
        (names::A_IM, "Everything"),
        (names::OFFER_THROUGHPUT, "many"),
        (names::OFFER_AUTOSCALE, "{"),
    ] {
        let expected = format!("Value '{value}' specified for the header '{name}' is invalid.");
        let map = map(&[(name, value)]);
        let failure = RequestHeaders::parse(&map).unwrap_err();
        assert_eq!(failure, Failure::BadRequest(expected));
    }
}

#[test]
fn headers_that_exclude_each_other() {
    let autoscale = r#"{"maxThroughput":4000}"#;
    for headers in [
        [
            (names::OFFER_THROUGHPUT, "400"),
            (names::OFFER_AUTOSCALE, autoscale),
        ],
        [
            (names::MIGRATE_TO_MANUAL, "true"),
            (names::MIGRATE_TO_AUTOSCALE, "true"),
        ],
        [
            (names::START_EPK, "00"),
            (names::READ_KEY_TYPE, "ResourceId"),
        ],
        [(names::START_EPK, "00"), (names::END_EPK, "FF")],
    ] {
        let map = map(&headers);
        let failure = RequestHeaders::parse(&map).unwrap_err();
        assert!(matches!(failure, Failure::BadRequest(_)), "{headers:?}");
    }
    let map = map(&[(names::CONTINUATION_LIMIT_KB, "0")]);
    let failure = RequestHeaders::parse(&map).unwrap_err();
    assert!(
        failure
            .to_string()
            .contains("valid continuation token size limit")
    );
}

#[test]
fn posts_are_classified_in_order() {
    let plan = (names::IS_QUERY_PLAN, "True");
    let batch = (names::IS_BATCH, "True");
    let query = (names::IS_QUERY, "true");
    let upsert = (names::IS_UPSERT, "True");
    for (headers, expected) in [
        (vec![plan, batch, query, upsert], FeedPost::QueryPlan),
        (vec![batch, query, upsert], FeedPost::Batch),
        (vec![query, upsert], FeedPost::Query),
        (vec![(names::IS_QUERY_GO, "True")], FeedPost::Query),
        (
            vec![(names::CONTENT_TYPE, "application/query+json; charset=utf-8")],
            FeedPost::Query,
        ),
        (vec![upsert], FeedPost::Upsert),
        (vec![(names::IS_QUERY, "False")], FeedPost::Create),
        (vec![], FeedPost::Create),
    ] {
        let map = map(&headers);
        assert_eq!(
            RequestHeaders::parse(&map).unwrap().feed_post(),
            expected,
            "{headers:?}"
        );
    }
}

#[test]
fn consistency_may_only_weaken() {
    let map = map(&[(names::CONSISTENCY_LEVEL, "Strong")]);
    let headers = RequestHeaders::parse(&map).unwrap();
    let failure = headers
        .effective_consistency(ConsistencyLevel::Session)
        .unwrap_err();
    assert_eq!(
        failure.to_string(),
        "ConsistencyLevel Strong specified in the request is invalid when service is \
         configured with consistency level Session. Ensure the request consistency level is \
         not stronger than the service consistency level."
    );
    let strong = ConsistencyLevel::Strong;
    assert_eq!(headers.effective_consistency(strong), Ok(strong));
}

#[test]
fn a_recreated_container_is_noticed() {
    let current = ContainerRid::new(orrery_keys::DatabaseRid::new(1), 2);
    let other = ContainerRid::new(orrery_keys::DatabaseRid::new(1), 3);
    for (rid, expected) in [
        (current.to_string(), Ok(())),
        (other.to_string(), Err(Failure::ContainerRidMismatch)),
        ("x".to_owned(), Err(Failure::ContainerRidMismatch)),
    ] {
        let map = map(&[(names::INTENDED_COLLECTION_RID, rid.as_str())]);
        let headers = RequestHeaders::parse(&map).unwrap();
        assert_eq!(headers.check_intended_container(current), expected, "{rid}");
    }
}

proptest! {
    #[test]
    fn any_value_is_answered(value in proptest::collection::vec(32_u8..=255, 0..40)) {
        for name in [
            names::PARTITION_KEY,
            names::OFFER_AUTOSCALE,
            names::PARTITION_KEY_RANGE_ID,
            names::IF_MODIFIED_SINCE,
            names::AUTHORIZATION,
        ] {
            let Ok(value) = HeaderValue::from_bytes(&value) else { continue };
            let mut map = HeaderMap::new();
            map.insert(name, value);
            if let Ok(mut headers) = RequestHeaders::parse(&map) {
                let selection = headers.take_selection();
                let _ = selection.partition_key();
                let _ = selection.range();
                let _ = crate::Credential::parse(headers.authorization);
            }
        }
    }
}
