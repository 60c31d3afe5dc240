//! Transactional batches.

use serde_json::{Value, json};

use crate::support::{Client, ITEMS, PK, Response, start};

pub(crate) const BATCH: (&str, &str) = ("x-ms-cosmos-is-batch-request", "True");
const ATOMIC: (&str, &str) = ("x-ms-cosmos-batch-atomic", "True");
const ORDERED: (&str, &str) = ("x-ms-cosmos-batch-ordered", "True");
const KEY: (&str, &str) = (PK, r#"["p"]"#);

fn transact(client: &Client, operations: &Value) -> Response {
    client.request(
        "POST",
        ITEMS,
        &[KEY, BATCH, ATOMIC, ORDERED],
        &operations.to_string(),
    )
}

pub(crate) fn statuses(response: &Response) -> Vec<u64> {
    let body = response.json();
    let results = body.as_array().unwrap();
    results
        .iter()
        .map(|result| result["statusCode"].as_u64().unwrap())
        .collect()
}

fn create(id: &str) -> Value {
    json!({"operationType": "Create", "resourceBody": {"id": id, "pk": "p"}})
}

#[test]
fn all_operations_succeed_with_one_lsn() {
    let world = start();
    let client = world.client();
    let before = client.create_item("old", "p", &json!({"n": 1}));
    client.create_item("gone", "p", &json!({}));
    let response = transact(
        &client,
        &json!([
            create("a"),
            {"operationType": "Upsert", "resourceBody": {"id": "b", "pk": "p"}},
            {"operationType": "Upsert", "resourceBody": {"id": "b", "pk": "p", "x": 1}},
            {"operationType": "Read", "id": "a"},
            {"operationType": "Replace", "id": "a", "resourceBody": {"id": "a", "pk": "p", "y": 2}},
            {"operationType": "Patch", "id": "old", "resourceBody": {
                "operations": [{"op": "incr", "path": "/n", "value": 1}]
            }},
            {"operationType": "Delete", "id": "gone"}
        ]),
    )
    .expect(200);
    assert_eq!(statuses(&response), [201, 201, 200, 200, 200, 200, 204]);
    let results = response.json();
    for result in results.as_array().unwrap() {
        assert!(result["requestCharge"].as_f64() > Some(0.0), "{result}");
        if result["statusCode"] == 204 {
            assert_eq!(result.get("resourceBody"), None);
        } else {
            assert_eq!(result["eTag"], result["resourceBody"]["_etag"]);
        }
    }
    assert_eq!(
        results[3]["resourceBody"]["id"], "a",
        "a read sees the writes before it"
    );
    assert_eq!(response.lsn(), before.lsn() + 2);
    assert_charge_is_the_sum(&response);
    assert_eq!(response.header("x-ms-item-count"), Some("7"));
    assert_eq!(client.item("GET", "a", "p", "").json()["y"], 2);
    assert_eq!(client.item("GET", "old", "p", "").json()["n"], 2);
}

#[test]
fn one_failure_undoes_all() {
    let world = start();
    let client = world.client();
    let old = client.create_item("old", "p", &json!({}));
    let condition = json!({
        "operations": [{"op": "set", "path": "/x", "value": 1}], "condition": "from c where false"
    });
    for (operation, status, substatus) in [
        (create("old"), 409, None),
        (json!({"operationType": "Read", "id": "none"}), 404, None),
        (json!({"operationType": "Delete", "id": "none"}), 404, None),
        (
            json!({"operationType": "Replace", "id": "old", "ifMatch": "\"x\"",
                   "resourceBody": {"id": "old", "pk": "p"}}),
            412,
            None,
        ),
        (
            json!({"operationType": "Patch", "id": "old", "resourceBody": condition}),
            412,
            Some(1110),
        ),
        (
            json!({"operationType": "Create", "resourceBody": {"pk": "p"}}),
            400,
            None,
        ),
        (
            json!({"operationType": "Create", "resourceBody": {"id": "x", "pk": "q"}}),
            400,
            Some(1001),
        ),
    ] {
        println!("{operation}");
        let response = transact(&client, &json!([create("n1"), operation, create("n2")]));
        let response = response.expect(207);
        assert_eq!(statuses(&response), [424, status, 424]);
        let failed = &response.json()[1];
        assert_eq!(
            failed.get("subStatusCode").and_then(Value::as_u64),
            substatus,
            "{failed}"
        );
        // Clients take a body for an item.
        assert_eq!(failed.get("resourceBody"), None);
        assert!(failed["message"].is_string(), "{failed}");
        assert_eq!(response.header("x-ms-item-count"), Some("3"));
        // The first create was done and undone.
        assert!(response.charge() > 6.0, "{}", response.charge());
        assert_charge_is_the_sum(&response);
        client
            .item("GET", "n1", "p", "")
            .refused(404, 0, "NotFound", "");
    }
    let after = client.item("GET", "old", "p", "").expect(200);
    assert_eq!(after.lsn(), old.lsn(), "nothing was written");
}

/// Compares hundredths of a request unit, in which charges are told.
fn assert_charge_is_the_sum(response: &Response) {
    let hundredths = |charge: f64| format!("{:.0}", charge * 100.0);
    let body = response.json();
    let results = body.as_array().unwrap().iter();
    let sum = results
        .map(|result| result["requestCharge"].as_f64().unwrap())
        .sum();
    assert_eq!(hundredths(sum), hundredths(response.charge()), "{body}");
}

/// A test of the .NET SDK wants the header of batches as it is for single operations.
#[test]
fn a_batch_that_finds_no_item_names_its_owner_by_name_alone() {
    let world = start();
    let client = world.client();
    client.create_item("old", "p", &json!({}));
    let read = |id: &str| json!({"operationType": "Read", "id": id});
    for (second, has_path) in [
        (create("b"), true),
        (read("none"), false),
        (create("old"), true),
    ] {
        let body = json!([read("old"), second]).to_string();
        let headers = [
            (PK, r#"["p"]"#),
            BATCH,
            ("x-ms-cosmos-batch-atomic", "True"),
        ];
        let answer = client.request("POST", ITEMS, &headers, &body);
        assert_eq!(
            answer.header("x-ms-content-path").is_some(),
            has_path,
            "{body}"
        );
        assert!(answer.header("x-ms-alt-content-path").is_some(), "{body}");
    }
}

#[test]
fn a_read_of_nothing_new_undoes_nothing() {
    let world = start();
    let client = world.client();
    let old = client.create_item("old", "p", &json!({}));
    let etag = old.json()["_etag"].clone();
    for (id, condition) in [("n1", "ifMatch"), ("n2", "ifNoneMatch")] {
        let read = |tag: &Value| json!({"operationType": "Read", "id": "old", condition: tag});
        let operations = json!([create(id), read(&etag), read(&json!("\"x\""))]);
        let response = transact(&client, &operations).expect(207);
        assert_eq!(statuses(&response), [201, 304, 200], "{condition}");
        assert_eq!(response.json()[1].get("resourceBody"), None);
        assert_charge_is_the_sum(&response);
        client.item("GET", id, "p", "").expect(200);
    }
}

#[test]
fn batches_that_are_refused_whole() {
    let world = start();
    let client = world.client();
    let none = transact(&client, &json!([]));
    none.refused(400, 0, "BadRequest", "Batch request has no operations.");
    let many: Vec<Value> = (0..101).map(|index| create(&format!("i{index}"))).collect();
    let text = "Batch request has more operations than what is supported.";
    transact(&client, &json!(many)).refused(400, 0, "BadRequest", text);
    assert_eq!(
        statuses(&transact(&client, &json!(many[..100])).expect(200)),
        [201; 100]
    );
    let filler = "x".repeat(700_000);
    let large: Vec<Value> = (0..3)
        .map(|id| {
            json!({"operationType": "Upsert",
                   "resourceBody": {"id": id.to_string(), "pk": "p", "f": filler}})
        })
        .collect();
    let response = transact(&client, &json!(large));
    response.refused(413, 0, "RequestEntityTooLarge", "Request size is too large");
    let headers = [BATCH, ATOMIC];
    let no_key = client.request("POST", ITEMS, &headers, &json!([create("z")]).to_string());
    no_key.refused(400, 0, "BadRequest", "PartitionKey value must be supplied");
    let mixed = json!([
        {"operationType": "Create", "partitionKey": "[\"q\"]", "resourceBody": {"id": "z", "pk": "q"}}
    ]);
    let text = "One or more operations within the batch request have a different partition key value than the request.";
    transact(&client, &mixed).refused(400, 0, "BadRequest", text);
    for body in [
        json!({}),
        json!([1]),
        json!([{"operationType": "Execute", "id": "x"}]),
        json!([{}]),
    ] {
        let response = transact(&client, &body);
        println!("{body}");
        assert!([400, 207].contains(&response.status), "{}", response.text());
    }
    let body = json!([create("z")]).to_string();
    let headers = [KEY, BATCH, ATOMIC];
    let missing = client.request("POST", "/dbs/d/colls/n/docs", &headers, &body);
    missing.refused(404, 0, "NotFound", "");
    let missing = client.request("POST", "/dbs/n/colls/n/docs", &headers, &body);
    missing.refused(404, 1003, "NotFound", "");
}

#[test]
fn minimal_answers_keep_what_was_read() {
    let world = start();
    let client = world.client();
    client.create_item("old", "p", &json!({}));
    let operations = json!([create("a"), {"operationType": "Read", "id": "old"}]).to_string();
    let headers = [KEY, BATCH, ATOMIC, ("prefer", "return=minimal")];
    let response = client
        .request("POST", ITEMS, &headers, &operations)
        .expect(200)
        .json();
    assert_eq!(response[0].get("resourceBody"), None);
    assert!(response[0]["eTag"].is_string());
    assert_eq!(response[1]["resourceBody"]["id"], "old");
    let single = json!([
        {"operationType": "Create", "minimalReturnPreference": true,
         "partitionKey": "[\"p\"]", "resourceBody": {"id": "b", "pk": "p"}},
        create("c")
    ]);
    let response = transact(&client, &single).expect(200).json();
    assert_eq!(response[0].get("resourceBody"), None);
    assert_eq!(response[1]["resourceBody"]["id"], "c");
}

/// The example that the protocol's description has, as .NET sends it.
#[test]
fn hybrid_rows_are_answered_with_hybrid_rows() {
    let world = start();
    let client = world.client();
    let hex = "81f0d8ff7f010a00000081f1d8ff7f220000001b7cd88b817054e17f43000000000200000013\
               7b226964223a2261222c22706b223a2270227d";
    let body: Vec<u8> = (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let mut connection = world.connect();
    connection.send(&client.bytes("POST", ITEMS, &[KEY, BATCH, ATOMIC], &body));
    let response = connection.receive("POST").expect(200);
    assert_eq!(response.body[..5], [0x81, 0xf0, 0xd8, 0xff, 0x7f]);
    client.item("GET", "a", "p", "").expect(200);
    connection.send(&client.bytes("POST", ITEMS, &[KEY, BATCH, ATOMIC], &body));
    let response = connection.receive("POST").expect(207);
    assert_eq!(response.body[..5], [0x81, 0xf0, 0xd8, 0xff, 0x7f]);
    for length in 0..body.len() {
        connection.send(&client.bytes("POST", ITEMS, &[KEY, BATCH, ATOMIC], &body[..length]));
        let response = connection.receive("POST");
        assert!(
            [400, 207].contains(&response.status),
            "{length} {}",
            response.status
        );
    }
}
