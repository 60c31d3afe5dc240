//! The address of an account as a whole: whichever region is there answers.

use orrery_account::OperatorOrder;
use orrery_model::ConsistencyLevel;
use serde_json::json;

use crate::region_world::{NORTH, RegionWorld, WEST, eventually, start_regions};
use crate::support::{ITEMS, PK};

const KEY: (&str, &str) = (PK, r#"["p"]"#);
const ITEM: &str = "/dbs/d/colls/c/docs/a";

fn down(world: &RegionWorld, region: &str) {
    world.order(OperatorOrder::TakeDown {
        region: region.to_owned(),
    });
}

fn up(world: &RegionWorld, region: &str) {
    world.order(OperatorOrder::BringUp {
        region: region.to_owned(),
    });
}

#[test]
fn the_write_region_answers_first() {
    let world = start_regions(ConsistencyLevel::Session);
    let client = world.client_of_account();
    client.create_item("a", "p", &json!({}));
    world.fail_over();
    // On the same connection.
    client.create_item("b", "p", &json!({}));
    let expected = json!([{"name": NORTH, "databaseAccountEndpoint": world.endpoint(NORTH)}]);
    assert_eq!(
        client.get("/").expect(200).json()["writableLocations"],
        expected
    );
}

#[test]
fn any_region_that_is_there_answers() {
    let world = start_regions(ConsistencyLevel::Session);
    let client = world.client_of_account();
    client.create_item("a", "p", &json!({}));
    let north = world.client(NORTH);
    eventually(|| north.request("GET", ITEM, &[KEY], "").status == 200);
    down(&world, WEST);
    let document = client.get("/").expect(200).json();
    assert_eq!(document["readableLocations"].as_array().unwrap().len(), 2);
    client.request("GET", ITEM, &[KEY], "").expect(200);
    // Clients read the account again after this one.
    let refused = client.request("POST", ITEMS, &[KEY], r#"{"id":"b","pk":"p"}"#);
    refused.refused(403, 3, "Forbidden", "writes are not allowed");
    down(&world, NORTH);
    assert_eq!(client.get("/").status, 503);
    up(&world, WEST);
    eventually(|| client.get("/").status == 200);
    up(&world, NORTH);
    let again = || client.request("POST", ITEMS, &[KEY], r#"{"id":"b","pk":"p"}"#);
    eventually(|| again().status == 201);
}
