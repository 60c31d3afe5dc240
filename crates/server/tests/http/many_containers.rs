//! A thousand containers in one account cost the others nothing.

use std::ops::Range;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Client, start};

const CONTAINERS: usize = 1_000;
const READS: usize = 300;

/// The quickest of some, which a busy machine disturbs least.
fn quickest(numbers: Range<usize>, one: impl Fn(usize)) -> Duration {
    let times = numbers.map(|number| {
        let started = Instant::now();
        one(number);
        started.elapsed()
    });
    times.min().unwrap()
}

fn read_time(client: &Client) -> Duration {
    quickest(0..READS, |_| {
        client.item("GET", "a", "p", "").expect(200);
    })
}

fn create_time(client: &Client, numbers: Range<usize>) -> Duration {
    quickest(numbers, |number| {
        client.create_container(&json!({
            "id": format!("m{number}"),
            "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
        }));
    })
}

#[test]
fn a_thousand_containers_slow_neither_reads_nor_each_other() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({})).expect(201);
    let alone = read_time(&client);
    let first = create_time(&client, 0..100);
    create_time(&client, 100..CONTAINERS - 100);
    let last = create_time(&client, CONTAINERS - 100..CONTAINERS);
    let among_many = read_time(&client);

    // Generous, because other tests share the machine; a cost per container would be tenfold.
    let slack = Duration::from_millis(2);
    assert!(
        among_many < alone * 3 + slack,
        "{alone:?} became {among_many:?}"
    );
    assert!(last < first * 5 + slack, "{first:?} became {last:?}");
    let items = format!("/dbs/d/colls/m{}/docs", CONTAINERS - 1);
    let key = (crate::support::PK, r#"["p"]"#);
    let written = client.request("POST", &items, &[key], r#"{"id":"1","pk":"p"}"#);
    written.expect(201);
}
