//! Throughput on the wire: 429, what operators see, and what they can move.

use orrery_engine::ThroughputMode;
use serde_json::{Value, json};

use crate::connection::Response;
use crate::region_world::eventually;
use crate::support::{
    CONTAINER, Client, Credential, ITEMS, PK, QUERY, READ_ONLY, World, start, start_enforcing,
    start_open,
};

const PARTITIONS: &str = "/_orrery/dbs/d/colls/c/partitions";
const THROUGHPUT: &str = "/_orrery/dbs/d/colls/c/throughput";
const BUCKET: &str = "x-ms-cosmos-throughput-bucket";

fn enforcing() -> World {
    start_enforcing(ThroughputMode::Provisioned)
}

fn read(client: &Client, headers: &[(&str, &str)]) -> Response {
    let headers = [&[(PK, r#"["a"]"#)], headers].concat();
    client.request("GET", &format!("{ITEMS}/none"), &headers, "")
}

/// Uses up the running second; gives the reads that it took and the refusal at their end.
fn exhaust(client: &Client, headers: &[(&str, &str)]) -> (usize, Response) {
    for count in 0..20_000 {
        let response = read(client, headers);
        if response.status == 429 {
            return (count, response);
        }
    }
    panic!("nothing was refused");
}

fn check_refused(response: &Response, substatus: &str, retry_after_ms: &str) {
    assert_eq!(response.status, 429, "{}", response.text());
    assert_eq!(response.header("x-ms-substatus"), Some(substatus));
    assert_eq!(response.header("x-ms-retry-after-ms"), Some(retry_after_ms));
    assert_eq!(response.header("x-ms-request-charge"), Some("0"));
    assert_eq!(response.json()["code"], "TooManyRequests");
}

fn partitions(client: &Client) -> Value {
    client.get(PARTITIONS).expect(200).json()
}

#[test]
fn beyond_the_budget_is_429_until_the_next_second() {
    let world = enforcing();
    let client = world.client();
    let (reads, refused) = exhaust(&client, &[]);
    assert_eq!(reads, 400);
    check_refused(&refused, "3200", "1000");
    assert!(refused.text().contains("The request rate is too large"));
    let write = |body: &str| client.request("POST", ITEMS, &[(PK, r#"["a"]"#)], body);
    let query = || client.query(ITEMS, "SELECT * FROM c");
    let item = r#"{"id":"1","pk":"a"}"#;
    for refused in [write(item), query(), client.get(ITEMS)] {
        check_refused(&refused, "3200", "1000");
        assert!(refused.header("x-ms-session-token").is_some());
    }
    world.advance(1);
    write(item).expect(201);
    query().expect(200);
}

#[test]
fn a_bulk_request_is_refused_by_its_operations_and_a_batch_as_a_whole() {
    let world = enforcing();
    let client = world.client();
    exhaust(&client, &[]);
    let operations: Vec<_> = (0..3)
        .map(|id| {
            json!({"operationType": "Create", "partitionKey": r#"["a"]"#,
                   "resourceBody": {"id": id.to_string(), "pk": "a"}})
        })
        .collect();
    let body = json!(operations).to_string();
    let send = |atomic: &str| {
        let headers = [
            ("x-ms-cosmos-is-batch-request", "True"),
            ("x-ms-cosmos-batch-atomic", atomic),
            ("x-ms-cosmos-batch-continue-on-error", "True"),
            (PK, r#"["a"]"#),
        ];
        client.request("POST", ITEMS, &headers, &body)
    };
    check_refused(&send("True"), "3200", "1000");
    let bulk = send("False");
    for (place, result) in bulk.json().as_array().unwrap().iter().enumerate() {
        assert_eq!(result["statusCode"], 429);
        assert_eq!(result["subStatusCode"], 3200);
        // Some SDKs add up the waits of all results.
        let wait_ms = if place == 0 { 1000 } else { 1 };
        assert_eq!(result["retryAfterMilliseconds"], wait_ms);
        assert_eq!(result["requestCharge"], 0);
    }
    world.advance(1);
    let count = client
        .query(ITEMS, "SELECT VALUE COUNT(1) FROM c")
        .expect(200);
    assert_eq!(count.json()["Documents"], json!([0]));
}

#[test]
fn reads_of_metadata_have_their_own_budget() {
    let world = enforcing();
    let client = world.client();
    let mut count = 0;
    let refused = loop {
        let response = client.get(CONTAINER);
        if response.status == 429 {
            break response;
        }
        count += 1;
        assert!(count < 1_000);
    };
    assert_eq!(count, 240);
    check_refused(&refused, "3200", "1000");
    let offers = client.request(
        "POST",
        "/offers",
        &[QUERY],
        r#"{"query":"SELECT * FROM c"}"#,
    );
    check_refused(&offers, "3200", "1000");
    client.get("/").expect(200);
    assert_eq!(read(&client, &[]).status, 404);
    world.advance(1);
    client.get(CONTAINER).expect(200);
}

#[test]
fn autoscale_offers_tell_what_is_used() {
    let world = enforcing();
    let client = world.client();
    let settings = (
        "x-ms-cosmos-offer-autopilot-settings",
        r#"{"maxThroughput":1000}"#,
    );
    let body = json!({"id": "x", "partitionKey": {"paths": ["/pk"]}}).to_string();
    client
        .request("POST", "/dbs/d/colls", &[settings], &body)
        .expect(201);
    for _ in 0..300 {
        client.request("GET", "/dbs/d/colls/x/docs/none", &[(PK, r#"["a"]"#)], "");
    }
    world.advance(1);
    let offers = client.get("/offers").expect(200).json();
    let used: Vec<_> = offers["Offers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|offer| &offer["content"]["offerThroughput"])
        .collect();
    assert_eq!(used, [400, 300]);
}

#[test]
fn serverless_takes_no_throughput() {
    let world = start_enforcing(ThroughputMode::Serverless);
    let client = world.client();
    let body = json!({"id": "x", "partitionKey": {"paths": ["/pk"]}}).to_string();
    for header in [
        ("x-ms-offer-throughput", "400"),
        (
            "x-ms-cosmos-offer-autopilot-settings",
            r#"{"maxThroughput":1000}"#,
        ),
    ] {
        let refused = client.request("POST", "/dbs/d/colls", &[header], &body);
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains("serverless"));
    }
    client.post("/dbs/d/colls", &body).expect(201);
    assert_eq!(client.get("/offers").expect(200).json()["_count"], 0);
    let shown = partitions(&client);
    assert_eq!(
        shown["throughput"],
        json!({"mode": "serverless", "provisioned": null, "policy": "equal"})
    );
    assert_eq!(shown["partitions"][0]["throughput"]["provisioned"], 5000);
}

#[test]
fn operators_see_partitions() {
    let world = enforcing();
    let client = world.client();
    client.create_item("1", "hot", &json!({}));
    exhaust(&client, &[]);
    world.advance(1);
    let shown = partitions(&client);
    assert_eq!(shown["database"], "d");
    assert_eq!(shown["container"], "c");
    assert_eq!(
        shown["throughput"],
        json!({"mode": "manual", "provisioned": 400, "policy": "equal"})
    );
    let [partition] = shown["partitions"].as_array().unwrap().as_slice() else {
        panic!("{shown}");
    };
    assert_eq!(partition["id"], "0");
    assert_eq!(
        (&partition["minInclusive"], &partition["maxExclusive"]),
        (&json!(""), &json!("FF"))
    );
    assert_eq!(partition["parents"], json!([]));
    assert_eq!(
        (&partition["items"], &partition["lsn"]),
        (&json!(1), &json!(2))
    );
    let throughput = &partition["throughput"];
    assert!(
        (400.0..401.0).contains(&throughput["used"].as_f64().unwrap()),
        "{throughput}"
    );
    assert!((1.0..1.01).contains(&throughput["normalized"].as_f64().unwrap()));
    assert_eq!(
        (&throughput["provisioned"], &throughput["throttled"]),
        (&json!(400), &json!(1))
    );
    let hottest = &partition["hotKeys"][0];
    assert_eq!(hottest["key"], json!(["a"]));
    assert!(hottest["share"].as_f64().unwrap() > 0.9, "{hottest}");
}

#[test]
fn partitions_are_for_keys_of_the_account() {
    let world = start();
    for (client, get, post) in [
        (world.client_of(READ_ONLY), 200, 403),
        (world.client_with(Credential::Nothing), 401, 401),
        (world.client_of(b"another key"), 401, 401),
    ] {
        assert_eq!(client.get(PARTITIONS).status, get);
        assert_eq!(
            client.post(THROUGHPUT, r#"{"policy":"equal"}"#).status,
            post
        );
    }
    let client = world.client();
    assert_eq!(partitions(&client)["throughput"]["mode"], "off");
    assert_eq!(
        client.get("/_orrery/dbs/d/colls/none/partitions").status,
        404
    );
    assert_eq!(client.get("/dbs/d/colls/c/partitions").status, 400);
    assert_eq!(client.get("/_orrery/dbs/d/colls/c").status, 400);
    assert_eq!(client.delete(PARTITIONS).status, 405);
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let permission = json!({"id": "p", "permissionMode": "All", "resource": "dbs/d/colls/c"});
    let permission = client.post("/dbs/d/users/u/permissions", &permission.to_string());
    let token = permission.expect(201).json()["_token"]
        .as_str()
        .unwrap()
        .to_owned();
    let guest = world.client_with(Credential::Token(token));
    assert_eq!(guest.get(PARTITIONS).status, 403);
}

#[test]
fn throughput_moves_between_partitions() {
    let world = enforcing();
    let client = world.client();
    let body = json!({"id": "m", "partitionKey": {"paths": ["/pk"]}}).to_string();
    client
        .request(
            "POST",
            "/dbs/d/colls",
            &[("x-ms-offer-throughput", "12000")],
            &body,
        )
        .expect(201);
    let path = "/_orrery/dbs/d/colls/m/throughput";
    let move_to = |body: Value| client.post(path, &body.to_string());
    let units = |shown: &Value| -> Vec<u64> {
        let partitions = shown["partitions"].as_array().unwrap().iter();
        partitions
            .map(|part| part["throughput"]["provisioned"].as_u64().unwrap())
            .collect()
    };
    let shown = move_to(json!({"partitions": [{"id": "1", "throughput": 9000}]}))
        .expect(200)
        .json();
    assert_eq!(units(&shown), [6000, 9000]);
    assert_eq!(
        shown["throughput"],
        json!({"mode": "manual", "provisioned": 15000, "policy": "custom"})
    );
    for (body, phrase) in [
        (
            json!({"partitions": [{"id": "9", "throughput": 400}]}),
            "no partition '9'",
        ),
        (
            json!({"partitions": [{"id": "0", "throughput": 450}]}),
            "increments of 100",
        ),
    ] {
        let refused = move_to(body);
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains(phrase), "{}", refused.text());
    }

    let offers = client.get("/offers").expect(200).json();
    let offers = offers["Offers"].as_array().unwrap();
    let mut offer = offers
        .iter()
        .find(|offer| offer["content"]["offerThroughput"] == 15000)
        .unwrap()
        .clone();
    let replace = |offer: &Value| {
        let path = format!("/offers/{}", offer["_rid"].as_str().unwrap());
        client.put(&path, &offer.to_string())
    };
    offer["content"]["offerThroughput"] = json!(12000);
    let refused = replace(&offer);
    assert_eq!(refused.status, 400);
    assert!(
        refused.text().contains("policy back to equal"),
        "{}",
        refused.text()
    );
    let shown = move_to(json!({"policy": "equal"})).expect(200).json();
    assert_eq!(units(&shown), [7500, 7500]);
    replace(&offer).expect(200);
    assert_eq!(
        units(&client.get("/_orrery/dbs/d/colls/m/partitions").json()),
        [6000, 6000]
    );

    // More throughput than one partition can have waits for a split.
    let shown = move_to(json!({"partitions": [{"id": "0", "throughput": 15000}]}))
        .expect(200)
        .json();
    assert_eq!(shown["throughput"]["provisioned"], 21000);
    // The background may have split the partition before the answer was made. It splits no other
    // one, so the second partition keeps its own share.
    let (waiting, split) = (vec![10_000, 6000], vec![7500, 7500, 6000]);
    assert!([&waiting, &split].contains(&&units(&shown)), "{shown}");
    let now = || units(&client.get("/_orrery/dbs/d/colls/m/partitions").json());
    eventually(|| now() != waiting);
    assert_eq!(now(), split);
}

#[test]
fn buckets_bound_what_names_them() {
    let world = enforcing();
    let client = world.client();
    let set = |buckets: Value| client.post(THROUGHPUT, &json!({"buckets": buckets}).to_string());
    set(json!([{"id": 1, "maxThroughputPercentage": 25}])).expect(200);
    let (reads, refused) = exhaust(&client, &[(BUCKET, "1")]);
    assert_eq!(reads, 100);
    check_refused(&refused, "3212", "1000");
    // A bucket that is not defined uses the throughput of the container.
    let (reads, refused) = exhaust(&client, &[(BUCKET, "2")]);
    assert_eq!(reads, 300);
    check_refused(&refused, "3200", "1000");
    let wrong = read(&client, &[(BUCKET, "6")]);
    assert_eq!(wrong.status, 400);
    let message = "specified for the header 'x-ms-cosmos-throughput-bucket' is invalid.";
    assert!(wrong.text().contains(message), "{}", wrong.text());

    world.advance(100);
    let all = json!([{"id": 2, "maxThroughputPercentage": 50, "isDefaultBucket": true}]);
    check_refused(&set(all.clone()), "3213", "500000");
    world.advance(500);
    set(all).expect(200);
    let (reads, refused) = exhaust(&client, &[]);
    assert_eq!(reads, 200);
    check_refused(&refused, "3212", "1000");
}

#[test]
fn metrics_need_no_key_on_this_machine() {
    let world = enforcing();
    let client = world.client();
    client.create_item("1", "a", &json!({}));
    exhaust(&client, &[]);
    world.advance(1);
    let guest = world.client_with(Credential::Nothing);
    let metrics = guest.get("/metrics");
    assert_eq!(metrics.status, 200);
    assert_eq!(
        metrics.header("content-type"),
        Some("text/plain; version=0.0.4")
    );
    let text = metrics.text();
    let labels = r#"database="d",container="c",partition="0""#;
    for line in [
        r#"orrery_requests_total{operation="write_item",status="201"} 1"#.to_owned(),
        r#"orrery_requests_total{operation="read_item",status="429"} 1"#.to_owned(),
        r#"orrery_request_duration_seconds_count{operation="write_item"} 1"#.to_owned(),
        format!("orrery_partition_items{{{labels}}} 1"),
        format!("orrery_partition_provisioned_request_units{{{labels}}} 400"),
        format!("orrery_partition_throttled_total{{{labels}}} 1"),
        "orrery_containers 1".to_owned(),
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
    assert_eq!(guest.post("/metrics", "").status, 405);
}

#[test]
fn metrics_need_a_key_where_others_reach_them() {
    let world = start_open();
    assert_eq!(
        world
            .client_with(Credential::Nothing)
            .get("/metrics")
            .status,
        401
    );
    assert_eq!(world.client_of(b"another key").get("/metrics").status, 401);
    for client in [world.client(), world.client_of(READ_ONLY)] {
        assert_eq!(client.get("/metrics").status, 200);
    }
}
