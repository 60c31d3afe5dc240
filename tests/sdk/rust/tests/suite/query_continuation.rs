use azure_data_cosmos::FeedScope;
use futures::StreamExt;
use serde_json::Value;

use crate::{
    catalogue::{catalogue_of_a_new_client, page_size, rows},
    fixture::run,
};

/// Every page is asked of a new client.
async fn resumes(query: &str, scope: FeedScope) {
    let want = rows(query, scope.clone(), 1000).await;
    let mut got = Vec::new();
    let mut options = page_size(23);
    loop {
        let mut pages = catalogue_of_a_new_client()
            .await
            .query_items::<Value>(query, scope.clone(), Some(options))
            .await
            .expect("a query")
            .into_pages();
        let Some(page) = pages.next().await else {
            break;
        };
        got.extend(page.expect("a page").into_items());
        let Ok(token) = pages.to_continuation_token() else {
            break;
        };
        options = page_size(23).with_continuation_token(token);
        assert!(got.len() <= want.len(), "{query}: more rows than in one go");
    }
    assert_eq!(got, want, "{query}");
}

#[test]
fn plain() {
    run(async {
        resumes("SELECT VALUE c.id FROM c", FeedScope::full_container()).await;
        resumes("SELECT VALUE c.id FROM c", FeedScope::partition("k3")).await;
        let join = "SELECT c.id, p AS part FROM c JOIN p IN c.parts";
        resumes(join, FeedScope::full_container()).await;
    });
}

#[test]
fn order() {
    run(async {
        for query in [
            "SELECT VALUE c.id FROM c ORDER BY c.n",
            "SELECT VALUE c.id FROM c ORDER BY c.n DESC",
            "SELECT c.id, c.mixed FROM c ORDER BY c.mixed",
            "SELECT c.id, c.mixed FROM c ORDER BY c.mixed DESC",
            "SELECT c.id, p.name FROM c JOIN p IN c.parts ORDER BY c.kind",
        ] {
            resumes(query, FeedScope::full_container()).await;
        }
    });
}
