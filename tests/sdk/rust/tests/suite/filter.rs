use azure_data_cosmos::{FeedScope, Query};
use serde_json::Value;

use crate::{
    catalogue::{answers, column, items, items_of, number, text},
    fixture::run,
};

type Filter = fn(&Value) -> bool;

const CASES: [(&str, Filter); 12] = [
    ("c.name LIKE 'Lamp 1%'", |i| name(i).starts_with("Lamp 1")),
    ("c.name LIKE '%[0-2]'", |i| {
        name(i).ends_with(['0', '1', '2'])
    }),
    ("c.name NOT LIKE 'Lamp%'", |i| !name(i).starts_with("Lamp")),
    ("CONTAINS(c.name, 'LAMP', true)", |i| {
        name(i).contains("Lamp")
    }),
    ("STARTSWITH(c.name, 'chair 4')", |i| {
        name(i).starts_with("chair 4")
    }),
    ("ENDSWITH(c.name, '7')", |i| name(i).ends_with('7')),
    ("ARRAY_CONTAINS(c.parts, {count: 3}, true)", |i| {
        let parts = i["parts"].as_array().expect("an array");
        parts.iter().any(|part| part["count"] == 3)
    }),
    ("ARRAY_CONTAINS(c.parts, @part)", |i| {
        let parts = i["parts"].as_array().expect("an array");
        parts
            .iter()
            .any(|part| part["count"] == 3 && part["name"] == "part1")
    }),
    ("NOT IS_DEFINED(c.mixed)", |i| i.get("mixed").is_none()),
    ("c.mixed = @null", |i| i.get("mixed") == Some(&Value::Null)),
    ("c.name = @name", |i| name(i) == "Lamp 12"),
    ("c.price BETWEEN 5 AND @least", |i| {
        (5.0..=7.5).contains(&number(&i["price"]))
    }),
];

fn name(item: &Value) -> String {
    text(&item["name"])
}

#[test]
fn functions_and_parameters() {
    run(async {
        for (filter, keeps) in CASES {
            let query = Query::from(format!("SELECT VALUE c.id FROM c WHERE {filter}"))
                .with_parameter("@name", "Lamp 12")
                .and_then(|q| q.with_parameter("@least", 7.5))
                .and_then(|q| q.with_parameter("@null", Value::Null))
                .and_then(|q| {
                    q.with_parameter("@part", serde_json::json!({"name": "part1", "count": 3}))
                })
                .unwrap();
            for (scope, mut items) in [
                (FeedScope::full_container(), items()),
                (FeedScope::partition("k8"), items_of("k8")),
            ] {
                items.retain(keeps);
                answers(query.clone(), scope, &column(&items, "id")).await;
            }
        }
    });
}
