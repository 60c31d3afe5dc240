use serde_json::json;

use crate::fixture::{create, new_container, run};

#[test]
fn point_read_of_one_kilobyte_costs_one_unit() {
    run(async {
        let container = new_container().await;
        create(
            &container,
            "a",
            json!({"id": "1", "pk": "a", "s": "x".repeat(700)}),
        )
        .await;
        let response = container.read_item("a", "1", None).await.unwrap();
        let charge = response.headers().request_charge().unwrap().value();
        assert!((charge - 1.0).abs() < f64::EPSILON, "{charge}");
    });
}

#[test]
fn failures_have_a_charge_and_an_activity() {
    run(async {
        let container = new_container().await;
        let error = container
            .read_item("a", "absent", None)
            .await
            .err()
            .unwrap();
        assert!(error.is_from_wire());
        let text = format!(
            "{:?}",
            error.response().map(|r| format!("{:?}", r.headers()))
        );
        assert!(text.contains("request_charge"), "{text}");
    });
}
