//! Bulk requests: batch requests whose operations are independent of each other.

use serde_json::{Value, json};

use crate::batch::{BATCH, statuses};
use crate::support::{Client, ITEMS, RANGE_ID, Response, start};

fn bulk(client: &Client, range: &str, go_on: &str, operations: &Value) -> Response {
    let headers = [
        BATCH,
        ("x-ms-cosmos-batch-atomic", "False"),
        ("x-ms-cosmos-batch-continue-on-error", go_on),
        (RANGE_ID, range),
    ];
    client.request("POST", ITEMS, &headers, &operations.to_string())
}

fn create(id: &str, pk: &str) -> Value {
    json!({
        "operationType": "Create", "partitionKey": json!([pk]).to_string(),
        "resourceBody": {"id": id, "pk": pk}
    })
}

#[test]
fn each_operation_has_its_own_outcome_in_its_own_place() {
    let world = start();
    let client = world.client();
    client.create_item("old", "q", &json!({}));
    let operations = json!([
        create("a", "p"),
        create("old", "q"),
        {"operationType": "Read", "id": "none", "partitionKey": "[\"z\"]"},
        {"operationType": "Read", "id": "old", "partitionKey": "[\"q\"]"},
        {"operationType": "Create", "partitionKey": "[\"p\"]", "resourceBody": {"pk": "p"}},
        {"operationType": "Create", "partitionKey": "[\"x\"]", "resourceBody": {"id": "m", "pk": "p"}},
        {"operationType": "Create", "resourceBody": {"id": "m", "pk": "p"}},
        create("b", "p"),
        {"operationType": "Delete", "id": "a", "partitionKey": "[\"p\"]"}
    ]);
    let response = bulk(&client, "0", "True", &operations).expect(207);
    assert_eq!(
        statuses(&response),
        [201, 409, 404, 200, 400, 400, 400, 201, 204]
    );
    let results = response.json();
    assert_eq!(results[5]["subStatusCode"], 1001);
    assert_eq!(results[3]["resourceBody"]["id"], "old");
    for result in results.as_array().unwrap() {
        assert!(result["requestCharge"].as_f64() > Some(0.0), "{result}");
        if result["statusCode"].as_u64() >= Some(400) {
            // Clients take a body for an item.
            assert_eq!(result.get("resourceBody"), None);
            assert!(result["message"].is_string(), "{result}");
        }
    }
    client.item("GET", "b", "p", "").expect(200);
    client
        .item("GET", "a", "p", "")
        .refused(404, 0, "NotFound", "");
    bulk(&client, "0", "True", &json!([create("c", "p")])).expect(200);
}

#[test]
fn stopping_at_the_first_failure() {
    let world = start();
    let client = world.client();
    client.create_item("old", "q", &json!({}));
    let operations = json!([create("a", "p"), create("old", "q"), create("b", "p")]);
    let response = bulk(&client, "0", "False", &operations).expect(207);
    assert_eq!(statuses(&response), [201, 409, 424]);
    client.item("GET", "a", "p", "").expect(200);
    client
        .item("GET", "b", "p", "")
        .refused(404, 0, "NotFound", "");
}

#[test]
fn a_range_that_is_not_there() {
    let world = start();
    let client = world.client();
    let response = bulk(&client, "7", "True", &json!([create("a", "p")]));
    response.refused(410, 1002, "Gone", "");
    client
        .item("GET", "a", "p", "")
        .refused(404, 0, "NotFound", "");
    let none = bulk(&client, "0", "True", &json!([]));
    none.refused(400, 0, "BadRequest", "Batch request has no operations.");
}
