//! The conflict feed: when it is empty, and the outcome of concurrent writes in two regions.

use orrery_account::LinkOrder;
use serde_json::{Value, json};

use crate::region_world::{NORTH, RegionWorld, WEST, eventually, start_multi_write};
use crate::support::{CONTAINER, CROSS_PARTITION, Client, ITEMS, PK, QUERY, RANGE_ID, start};

const FEED: &str = "/dbs/d/colls/c/conflicts";
const KEY: (&str, &str) = (PK, r#"["p"]"#);

#[test]
fn an_account_with_one_write_region_has_no_conflicts() {
    let world = start();
    let client = world.client();
    let feed = client.get(FEED).expect(200);
    assert_eq!(feed.json()["Conflicts"], json!([]));
    assert_eq!(feed.header("x-ms-item-count"), Some("0"));
    assert_eq!(
        client.query(FEED, "SELECT * FROM c").expect(200).json()["_count"],
        0
    );
    for method in ["GET", "DELETE"] {
        let path = format!("{FEED}/x");
        let missing = client.request(method, &path, &[KEY], "");
        missing.refused(404, 0, "NotFound", "");
        let keyless = client.request(method, &path, &[], "");
        keyless.refused(400, 0, "BadRequest", "PartitionKey");
    }
    client
        .request("PUT", FEED, &[], "{}")
        .refused(405, 0, "MethodNotAllowed", "");
    client
        .get("/dbs/d/colls/none/conflicts")
        .refused(404, 1003, "NotFound", "");
}

fn conflicts(client: &Client) -> Vec<Value> {
    let feed = client.get(FEED).expect(200).json();
    feed["Conflicts"].as_array().unwrap().clone()
}

fn item(client: &Client, id: &str) -> Option<Value> {
    let found = client.item("GET", id, "p", "");
    (found.status == 200).then(|| found.json())
}

/// Creates an item in both regions at once.
fn collide(regions: &RegionWorld, ids: &[&str]) {
    regions.links(LinkOrder::Cut);
    for (region, from) in [(WEST, "west"), (NORTH, "north")] {
        for id in ids {
            let rest = json!({"from": from});
            regions.client(region).create_item(id, "p", &rest);
        }
    }
    regions.links(LinkOrder::Resume);
    eventually(|| {
        [WEST, NORTH].iter().all(|region| {
            let client = regions.client(region);
            conflicts(&client).len() == ids.len()
        })
    });
}

#[test]
fn both_regions_list_what_lost_until_somebody_decides() {
    let regions = start_multi_write(&json!({"mode": "Custom"}));
    let (west, north) = (regions.client(WEST), regions.client(NORTH));
    collide(&regions, &["1", "2"]);
    let listed = conflicts(&west);
    assert_eq!(listed, conflicts(&north));
    let conflict = &listed[0];
    let lost: Value = serde_json::from_str(conflict["content"].as_str().unwrap()).unwrap();
    let shown = item(&north, lost["id"].as_str().unwrap()).unwrap();
    assert_eq!(lost["id"], shown["id"]);
    assert_ne!(lost["from"], shown["from"]);
    for (name, expected) in [
        ("resourceType", "document"),
        ("operationType", "create"),
        ("resourceId", shown["_rid"].as_str().unwrap()),
    ] {
        assert_eq!(conflict[name], expected, "{name}");
    }
    let id = conflict["id"].as_str().unwrap();
    let path = format!("{FEED}/{id}");
    let read = north.request("GET", &path, &[KEY], "").expect(200);
    assert_eq!(read.json(), *conflict);
    // The winning version, addressed by resource ids, as the .NET SDK requests it.
    let container = west.get(CONTAINER).expect(200).json();
    let link = container["_self"].as_str().unwrap();
    let resource = conflict["resourceId"].as_str().unwrap();
    let current = west.request("GET", &format!("/{link}docs/{resource}"), &[KEY], "");
    assert_eq!(current.expect(200).json(), shown);

    north.request("DELETE", &path, &[KEY], "").expect(204);
    north.request("DELETE", &path, &[KEY], "").expect(204);
    eventually(|| conflicts(&west).len() == 1);
    assert_eq!(item(&west, "1"), item(&north, "1"));
    west.request("GET", &path, &[KEY], "")
        .refused(404, 0, "NotFound", "");
}

#[test]
fn feeds_have_pages_and_answer_queries() {
    let regions = start_multi_write(&json!({"mode": "Custom"}));
    collide(&regions, &["1", "2", "3"]);
    let client = regions.client(NORTH);
    let all = conflicts(&client);
    let mut paged = Vec::new();
    let mut token: Option<String> = None;
    loop {
        let mut headers = vec![("x-ms-max-item-count", "2")];
        headers.extend(token.as_deref().map(|token| ("x-ms-continuation", token)));
        let page = client.request("GET", FEED, &headers, "").expect(200);
        let body = page.json();
        paged.extend(body["Conflicts"].as_array().unwrap().clone());
        token = page.header("x-ms-continuation").map(str::to_owned);
        if token.is_none() {
            break;
        }
    }
    assert_eq!(paged, all);
    for (header, value, count) in [
        (PK, r#"["p"]"#, 3),
        (PK, r#"["other"]"#, 0),
        (RANGE_ID, "0", 3),
    ] {
        let text = json!({"query": "SELECT * FROM c", "parameters": []}).to_string();
        let queried = client.request("POST", FEED, &[QUERY, (header, value)], &text);
        assert_eq!(queried.expect(200).json()["_count"], count, "{value}");
        let read = client.request("GET", FEED, &[(header, value)], "");
        assert_eq!(read.expect(200).json()["_count"], count, "{value}");
    }
    let filtered = client.query(
        FEED,
        "SELECT VALUE c.id FROM c WHERE c.operationType = 'create'",
    );
    assert_eq!(filtered.expect(200).json()["_count"], 3);
    let text = json!({"query": "SELECT * FROM c"}).to_string();
    let not = (CROSS_PARTITION, "false");
    let refused = client.request("POST", FEED, &[QUERY, not], &text);
    refused.refused(
        400,
        0,
        "BadRequest",
        "Cross partition query is required but disabled",
    );
    let of_key = client.request("POST", FEED, &[QUERY, not, KEY], &text);
    assert_eq!(of_key.expect(200).json()["_count"], 3);
}

#[test]
fn a_write_ends_a_conflict_and_a_delete_stands() {
    let regions = start_multi_write(&json!({"mode": "Custom"}));
    let (west, north) = (regions.client(WEST), regions.client(NORTH));
    collide(&regions, &["1"]);
    let body = json!({"id": "1", "pk": "p", "from": "both"}).to_string();
    west.item("PUT", "1", "p", &body).expect(200);
    eventually(|| item(&north, "1").is_some_and(|item| item["from"] == "both"));
    assert!(conflicts(&north).is_empty());

    regions.links(LinkOrder::Cut);
    let body = json!({"id": "1", "pk": "p", "from": "west"}).to_string();
    west.item("PUT", "1", "p", &body).expect(200);
    north.item("DELETE", "1", "p", "").expect(204);
    regions.links(LinkOrder::Resume);
    eventually(|| item(&west, "1").is_none());
    eventually(|| conflicts(&north).len() == 1);
    assert_eq!(conflicts(&west), conflicts(&north));
    assert_eq!(conflicts(&west)[0]["operationType"], "replace");
    let deleted = west.request("GET", &format!("{ITEMS}/1"), &[KEY], "");
    deleted.refused(404, 0, "NotFound", "");
}
