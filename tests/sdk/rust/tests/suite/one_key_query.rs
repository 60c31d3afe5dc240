//! Within one logical partition the client sends the query as it is written. Across partitions it
//! refuses aggregates, GROUP BY and DISTINCT itself, so this is where they run.

use std::collections::BTreeMap;

use azure_data_cosmos::FeedScope;
use serde_json::{Value, json};

use crate::{
    catalogue::{answers, answers_in_order, column, items, items_of, number, sorted_by, text},
    fixture::run,
};

fn key() -> FeedScope {
    FeedScope::partition("k7")
}

#[test]
fn aggregates() {
    run(async {
        let prices: Vec<f64> = items_of("k7").iter().map(|i| number(&i["price"])).collect();
        let sum: f64 = prices.iter().sum();
        let count = prices.len();
        #[expect(clippy::cast_precision_loss, reason = "a few items")]
        let mean = sum / count as f64;
        let least = prices.iter().copied().fold(f64::INFINITY, f64::min);
        let most = prices.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (aggregate, want) in [
            ("COUNT(1)", json!(count)),
            ("SUM(c.price)", json!(sum)),
            ("AVG(c.price)", json!(mean)),
            ("MIN(c.price)", json!(least)),
            ("MAX(c.price)", json!(most)),
            ("SUM(c.absent)", json!(0)),
        ] {
            let value = format!("SELECT VALUE {aggregate} FROM c");
            answers(value, key(), std::slice::from_ref(&want)).await;
            let list = format!("SELECT {aggregate} AS x, COUNT(1) AS items FROM c");
            answers(list, key(), &[json!({"x": want, "items": count})]).await;
        }
    });
}

#[test]
fn groups() {
    run(async {
        let mut groups: BTreeMap<String, (u32, f64)> = BTreeMap::new();
        for item in items_of("k7") {
            let group = groups.entry(text(&item["kind"])).or_default();
            group.0 += 1;
            group.1 += number(&item["price"]);
        }
        let want: Vec<Value> = groups
            .into_iter()
            .map(|(kind, (items, total))| json!({"kind": kind, "items": items, "total": total}))
            .collect();
        let query =
            "SELECT c.kind, COUNT(1) AS items, SUM(c.price) AS total FROM c GROUP BY c.kind";
        answers(query, key(), &want).await;
    });
}

#[test]
fn distinct() {
    run(async {
        let mut kinds = column(&sorted_by(items_of("k7"), "kind"), "kind");
        kinds.dedup();
        answers("SELECT DISTINCT VALUE c.kind FROM c", key(), &kinds).await;
        let ordered = "SELECT DISTINCT VALUE c.kind FROM c ORDER BY c.kind";
        answers_in_order(ordered, key(), &kinds).await;
    });
}

#[test]
fn joins_and_subqueries() {
    run(async {
        let large = |item: &Value| {
            let parts = item["parts"].as_array().expect("an array");
            parts.iter().any(|part| number(&part["count"]) >= 4.0)
        };
        for (scope, items) in [
            (key(), items_of("k7")),
            (FeedScope::full_container(), items()),
        ] {
            let joined: Vec<Value> = items
                .iter()
                .flat_map(|item| {
                    let parts = item["parts"].as_array().expect("an array");
                    parts
                        .iter()
                        .map(|part| json!({"id": item["id"], "part": part}))
                })
                .collect();
            let join = "SELECT c.id, p AS part FROM c JOIN p IN c.parts";
            answers(join, scope.clone(), &joined).await;
            let with: Vec<Value> = items.into_iter().filter(large).collect();
            let exists = "SELECT VALUE c.id FROM c WHERE \
                EXISTS(SELECT VALUE p FROM p IN c.parts WHERE p.count >= 4)";
            answers(exists, scope, &column(&with, "id")).await;
        }
    });
}
