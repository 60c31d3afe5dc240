use std::num::NonZeroU32;

use azure_data_cosmos::{
    FeedScope, Query,
    options::{MaxItemCountHint, QueryOptions},
};
use futures::StreamExt;
use serde_json::Value;

use crate::fixture::{fill, ids, new_container, query_ids, run};

#[test]
fn scopes() {
    run(async {
        let container = new_container().await;
        let query = "SELECT * FROM c";
        assert_eq!(
            query_ids(&container, query, FeedScope::full_container()).await,
            ""
        );
        fill(&container, 3, 2).await;
        assert_eq!(
            query_ids(&container, query, FeedScope::partition("p1")).await,
            "1-0 1-1"
        );
        assert_eq!(
            query_ids(&container, query, FeedScope::full_container()).await,
            "0-0 0-1 1-0 1-1 2-0 2-1"
        );
        let by_key = "SELECT * FROM c WHERE c.pk = 'p2'";
        assert_eq!(
            query_ids(&container, by_key, FeedScope::full_container()).await,
            "2-0 2-1"
        );
    });
}

#[test]
fn filters() {
    run(async {
        let container = new_container().await;
        fill(&container, 1, 5).await;
        for (filter, want) in [
            ("c.n = @two", "0-2"),
            ("c.n > @two", "0-3 0-4"),
            ("c.n >= @two AND c.n < 4", "0-2 0-3"),
            ("c.n != @two AND c.even", "0-0 0-4"),
            ("c.even = false OR c.n = 0", "0-0 0-1 0-3"),
            ("NOT c.even", "0-1 0-3"),
            ("c[\"id\"] = '0-1'", "0-1"),
            ("c.id IN ('0-0', '0-3', 'x')", "0-0 0-3"),
            ("c.nested.s = @s", "0-1"),
            ("c.absent = null", ""),
        ] {
            let query = Query::from(format!("SELECT * FROM c WHERE {filter}"))
                .with_parameter("@two", 2)
                .and_then(|q| q.with_parameter("@s", "s1"))
                .unwrap();
            for scope in [FeedScope::partition("p0"), FeedScope::full_container()] {
                assert_eq!(
                    query_ids(&container, query.clone(), scope).await,
                    want,
                    "{filter}"
                );
            }
        }
    });
}

#[test]
fn pages_and_continuation() {
    run(async {
        let container = new_container().await;
        fill(&container, 1, 7).await;
        let three = MaxItemCountHint::Limit(NonZeroU32::new(3).unwrap());
        let options = QueryOptions::default().with_max_item_count(three);
        for scope in [FeedScope::partition("p0"), FeedScope::full_container()] {
            let mut pages = container
                .query_items::<Value>("SELECT * FROM c", scope.clone(), Some(options.clone()))
                .await
                .unwrap()
                .into_pages();
            let first = pages.next().await.unwrap().unwrap();
            assert!(first.headers().request_charge().unwrap().value() > 0.0);
            let mut all = first.into_items();
            assert_eq!(all.len(), 3);

            let rest = options
                .clone()
                .with_continuation_token(pages.to_continuation_token().unwrap());
            let mut pages = container
                .query_items::<Value>("SELECT * FROM c", scope, Some(rest))
                .await
                .unwrap()
                .into_pages();
            while let Some(page) = pages.next().await {
                all.extend(page.unwrap().into_items());
            }
            assert_eq!(ids(&all), "0-0 0-1 0-2 0-3 0-4 0-5 0-6");
        }
    });
}

#[test]
fn syntax_error() {
    run(async {
        let container = new_container().await;
        let error = match container
            .query_items::<Value>("SELEKT * FROM c", FeedScope::partition("a"), None)
            .await
        {
            Ok(mut items) => items.next().await.unwrap().unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(u16::from(error.status()), 400);
    });
}
