//! The client plans these queries and merges the partitions itself.

use azure_data_cosmos::{FeedScope, Query};
use serde_json::Value;

use crate::{
    catalogue::{
        answers, answers_in_order, column, items, items_of, number, rows, sorted_by, total_order,
    },
    fixture::run,
};

#[test]
fn unique_numbers() {
    run(async {
        let everywhere = FeedScope::full_container();
        let mut sorted = column(&sorted_by(items(), "n"), "id");
        answers_in_order(
            "SELECT VALUE c.id FROM c ORDER BY c.n",
            everywhere.clone(),
            &sorted,
        )
        .await;
        sorted.reverse();
        answers_in_order(
            "SELECT VALUE c.id FROM c ORDER BY c.n DESC",
            everywhere,
            &sorted,
        )
        .await;
    });
}

#[test]
fn every_primitive_type() {
    run(async {
        for (scope, items) in [
            (FeedScope::full_container(), items()),
            (FeedScope::partition("k3"), items_of("k3")),
            (FeedScope::partition("k16"), items_of("k16")),
        ] {
            for direction in ["ASC", "DESC"] {
                let query = format!("SELECT c.id, c.mixed FROM c ORDER BY c.mixed {direction}");
                let got = rows(query.clone(), scope.clone(), 1).await;
                assert_eq!(got.len(), items.len(), "{query}");
                let ordered = got.is_sorted_by(|a: &Value, b: &Value| {
                    let order = total_order(a.get("mixed"), b.get("mixed"));
                    if direction == "ASC" {
                        order.is_le()
                    } else {
                        order.is_ge()
                    }
                });
                assert!(ordered, "{query}: {got:?}");
                // Ties may come in any order, but in the same one whatever the page size.
                answers_in_order(query, scope.clone(), &got).await;
                let every = format!("SELECT VALUE c.id FROM c ORDER BY c.mixed {direction}");
                answers(every, scope.clone(), &column(&items, "id")).await;
            }
        }
    });
}

#[test]
fn top_and_window() {
    run(async {
        for (scope, items) in [
            (FeedScope::full_container(), items()),
            (FeedScope::partition("k5"), items_of("k5")),
        ] {
            let sorted = column(&sorted_by(items, "n"), "id");
            for (skip, take) in [(0, 1), (0, 25), (3, 10), (95, 20), (290, 50), (300, 1)] {
                let start = skip.min(sorted.len());
                let want = &sorted[start..(skip + take).min(sorted.len())];
                let window =
                    format!("SELECT VALUE c.id FROM c ORDER BY c.n OFFSET {skip} LIMIT {take}");
                answers_in_order(window, scope.clone(), want).await;
                if skip == 0 {
                    let top = format!("SELECT TOP {take} VALUE c.id FROM c ORDER BY c.n");
                    answers_in_order(top, scope.clone(), want).await;
                }
            }
        }
    });
}

#[test]
fn filtered_by_parameters() {
    run(async {
        let query = Query::from("SELECT c.id FROM c WHERE c.price > @price ORDER BY c.n")
            .with_parameter("@price", 20)
            .unwrap();
        let mut want = sorted_by(items(), "n");
        want.retain(|item| number(&item["price"]) > 20.0);
        let want: Vec<Value> = column(&want, "id")
            .into_iter()
            .map(|id| serde_json::json!({"id": id}))
            .collect();
        answers_in_order(query, FeedScope::full_container(), &want).await;
    });
}
