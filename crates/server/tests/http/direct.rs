//! The answers of direct mode, and what each of them must have so that the SDKs believe it.

use bytes::BytesMut;
use orrery_model::ConsistencyLevel;
use orrery_rntbd::OperationType::{
    Batch, Create, Delete, ExecuteJavaScript, Head, HeadFeed, Patch, Query, Read, ReadFeed,
    Replace, SQLQuery, Upsert,
};
use orrery_rntbd::{OperationType, RequestToken, ResourceType, Response, ResponseToken};
use orrery_server::Limits;
use serde_json::json;

use crate::direct_client::{Ask, DirectClient};
use crate::signature::sign;
use crate::support::{PRIMARY, World, start_direct};

fn start() -> (World, DirectClient) {
    let world = start_direct(ConsistencyLevel::Session, Limits::default());
    let client = DirectClient::open(&world);
    (world, client)
}

fn create(id: &str) -> Ask {
    Ask::items(Create, r#"["p"]"#).body(json!({"id": id, "pk": "p"}).to_string())
}

fn query(text: &str) -> Ask {
    let body = json!({"query": text, "parameters": []});
    Ask::items(Query, r#"["p"]"#).body(body.to_string())
}

#[test]
fn every_operation_on_items() {
    let (_world, mut client) = start();
    let item = client.ask(create("x")).expect(201, 0);
    assert_eq!(
        item.text(ResponseToken::OwnerFullName),
        Some("dbs/d/colls/c")
    );
    let owner = client.container().to_owned();
    assert_eq!(item.text(ResponseToken::OwnerId), Some(&owner[..]));
    assert_eq!(item.text(ResponseToken::SessionToken), Some("-1#2"));
    let etag = item.text(ResponseToken::ETag).unwrap().to_owned();
    client.ask(create("x")).expect(409, 0);

    let read = client.ask(Ask::item(Read, "x")).expect(200, 0);
    assert_eq!(read.json()["id"], "x");
    assert_eq!(read.number(ResponseToken::ItemLSN), Some(2));
    let known = Ask::item(Read, "x").text(RequestToken::Match, &etag);
    let same = client.ask(known).expect(304, 0);
    assert!(same.0.payload.is_empty());

    let body = json!({"id": "x", "pk": "p", "n": 1}).to_string();
    let replace = || Ask::item(Replace, "x").body(body.clone());
    let guarded = replace().text(RequestToken::Match, "\"other\"");
    client.ask(guarded).expect(412, 0);
    client.ask(replace()).expect(200, 0);
    let minimal = replace().number(RequestToken::ReturnPreference, 1);
    assert!(client.ask(minimal).expect(200, 0).0.payload.is_empty());
    let upsert = Ask::items(Upsert, r#"["p"]"#).body(body.clone());
    client.ask(upsert).expect(200, 0);
    let patch = r#"{"operations":[{"op":"incr","path":"/n","value":2}]}"#;
    let patched = client.ask(Ask::item(Patch, "x").body(patch)).expect(200, 0);
    assert_eq!(patched.json()["n"], 3);
    client.ask(Ask::item(Delete, "x")).expect(204, 0);
    client.ask(Ask::item(Read, "x")).expect(404, 0);
    client
        .ask(Ask::items(Create, r#"["p"]"#).body("{"))
        .expect(400, 0);
}

#[test]
fn feeds_and_queries_have_counts() {
    let (_world, mut client) = start();
    let count = |answer: &crate::direct_client::Answer| answer.number(ResponseToken::ItemCount);
    for id in ["a", "b", "c"] {
        client.ask(create(id)).expect(201, 0);
    }
    let page = client.ask(query("SELECT * FROM c").number(RequestToken::PageSize, 2));
    assert_eq!(count(&page), Some(2));
    let rest = page
        .text(ResponseToken::ContinuationToken)
        .unwrap()
        .to_owned();
    let rest = query("SELECT * FROM c").text(RequestToken::ContinuationToken, &rest);
    assert_eq!(count(&client.ask(rest).expect(200, 0)), Some(1));
    // The path of the replica names the range.
    let feed = || Ask::new(ResourceType::Document, ReadFeed);
    let all = client.ask(feed().number(RequestToken::PageSize, 0xFFFF_FFFF));
    assert_eq!(count(&all.expect(200, 0)), Some(3));
    let plain = Ask::items(SQLQuery, r#"["p"]"#).body("SELECT VALUE c.id FROM c");
    let plain = client.ask(plain).expect(200, 0);
    assert_eq!(plain.json()["Documents"], json!(["a", "b", "c"]));

    let changes = || feed().text(RequestToken::AIm, "Incremental Feed");
    let page = client.ask(changes()).expect(200, 0);
    assert_eq!(count(&page), Some(3));
    let position = page.text(ResponseToken::ETag).unwrap().to_owned();
    let none = client.ask(changes().text(RequestToken::Match, &position));
    let none = none.expect(304, 0);
    assert_eq!(count(&none), Some(0));
    assert!(none.text(ResponseToken::ETag).is_some());
    let half = feed()
        .number(RequestToken::ReadFeedKeyType, 3)
        .text(RequestToken::PartitionKeyRangeId, "0");
    assert_eq!(count(&client.ask(half).expect(200, 0)), Some(3));
}

#[test]
fn batches_and_procedures() {
    let (world, mut client) = start();
    let script = json!({"id": "s", "body": "function (a) { console.log('said'); getContext().getResponse().setBody(a); }"});
    let made = world
        .client()
        .post("/dbs/d/colls/c/sprocs", &script.to_string());
    made.expect(201);
    let run = Ask::new(ResourceType::StoredProcedure, ExecuteJavaScript)
        .text(RequestToken::PartitionKey, r#"["p"]"#)
        .named(RequestToken::StoredProcedureName, "s")
        .number(RequestToken::EnableLogging, 1)
        .body("[7]");
    let answer = client.ask(run).expect(200, 0);
    assert_eq!(answer.json(), 7);
    assert!(
        answer
            .text(ResponseToken::LogResults)
            .unwrap()
            .contains("said")
    );

    let operations = json!([
        {"operationType": "Create", "resourceBody": {"id": "b", "pk": "p"}},
        {"operationType": "Read", "id": "missing"},
    ]);
    let batch = |atomic| {
        Ask::items(Batch, r#"["p"]"#)
            .number(RequestToken::IsBatchAtomic, atomic)
            .number(RequestToken::IsBatchOrdered, 1)
            .number(RequestToken::ShouldBatchContinueOnError, 1 - atomic)
            .body(operations.to_string())
    };
    client.ask(batch(1)).expect(207, 0);
    client.ask(Ask::item(Read, "b")).expect(404, 0);
    client.ask(batch(0)).expect(207, 0);
    client.ask(Ask::item(Read, "b")).expect(200, 0);
}

/// Every failed answer to a session read needs positions that the client has reached, or the client
/// asks all replicas again for many seconds.
#[test]
fn refusals_state_the_position_of_the_client() {
    let (_world, mut client) = start();
    let seen = |ask: Ask| ask.text(RequestToken::SessionToken, "0:-1#1");
    let far = |ask: Ask| ask.text(RequestToken::SessionToken, "0:-1#99");
    client.ask(Ask::item(Read, "x")).expect(404, 0);
    let rows = client.ask(query("SELECT * FROM c")).expect(200, 0);
    assert_eq!(rows.number(ResponseToken::ItemCount), Some(0));
    client.ask(create("x")).expect(201, 0);

    for (ask, status, substatus, token) in [
        (seen(Ask::item(Read, "y")), 404, 0, "-1#2"),
        (far(Ask::item(Read, "x")), 404, 1002, "-1#99"),
        (far(query("SELECT * FROM c")), 404, 1002, "-1#99"),
        (far(query("nonsense")), 400, 0, "-1#99"),
        (
            far(Ask::item(Read, "x").authorization("type=master&ver=1.0&sig=AAAA")),
            401,
            0,
            "-1#99",
        ),
        (
            far(Ask::item(Read, "x").text(RequestToken::PreTriggerInclude, "a\nb")),
            400,
            0,
            "-1#99",
        ),
    ] {
        let answer = client.ask(ask).expect(status, substatus);
        let found = answer.text(ResponseToken::SessionToken);
        assert_eq!(found, Some(token), "{status}/{substatus}");
    }
    let large = "x".repeat(3 * 1024 * 1024);
    let large = json!({"id": "l", "pk": "p", "t": large}).to_string();
    let large = Ask::items(Create, r#"["p"]"#).body(large);
    client.ask(large).expect(413, 0);
}

#[test]
fn a_range_or_container_that_is_gone_is_healed() {
    let (world, mut client) = start();
    let http = world.client();
    client.ask(create("x")).expect(201, 0);
    for key in ["a", "b", "c", "d", "e", "f"] {
        http.create_item("x", key, &json!({}));
    }
    let split = r#"{"split":{"id":"0"}}"#;
    let partitions = "/_orrery/dbs/d/colls/c/partitions";
    http.post(partitions, split).expect(200);
    for ask in [
        Ask::item(Read, "x"),
        create("y"),
        query("SELECT * FROM c"),
        Ask::new(ResourceType::Document, ReadFeed),
    ] {
        client.ask(ask).expect(410, 1007);
    }
    // Version 2 of the .NET SDK returns too few rows after such an answer to a query.
    let mut old = DirectClient::open_as(&world, "documentdb-netcore-sdk/2.11.6 Linux");
    let whole = || {
        Ask::new(ResourceType::Document, Query)
            .text(RequestToken::PartitionKeyRangeId, "0")
            .body(json!({"query": "SELECT * FROM c"}).to_string())
    };
    let rows = old.ask(whole()).expect(200, 0);
    assert_eq!(rows.number(ResponseToken::ItemCount), Some(7));
    client.ask(whole()).expect(410, 1007);
    old.ask(Ask::item(Read, "x")).expect(410, 1007);
    let path = client.path();
    for range in ["1", "2"] {
        let path = path.replace("partitions/0", &format!("partitions/{range}"));
        let read = Ask::item(Read, "x").path(&path);
        let answer = client.ask(read).expect(200, 0);
        let own = answer.text(ResponseToken::PartitionKeyRangeId).unwrap();
        assert!(["1", "2"].contains(&own));
    }

    let other = http.create_container(&json!({
        "id": "other", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}
    }));
    let other = Ask::item(Read, "x")
        .path(&path.replace("partitions/0", "partitions/1"))
        .text(RequestToken::CollectionRid, other["_rid"].as_str().unwrap());
    client.ask(other).expect(410, 1000);
    http.delete("/dbs/d/colls/c").expect(204);
    http.create_container(&json!({
        "id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}
    }));
    let seen = Ask::item(Read, "x").text(RequestToken::SessionToken, "1:-1#5");
    let answer = client.ask(seen).expect(410, 1000);
    assert_eq!(answer.text(ResponseToken::SessionToken), Some("-1#5"));
    assert_eq!(answer.number(ResponseToken::LSN), Some(5));
}

/// The .NET SDKs send the resource id of the container beside the names.
#[test]
fn names_win_over_a_resource_id() {
    let (world, mut client) = start();
    let item = client.ask(create("x")).expect(201, 0).json();
    let bytes = |text: &serde_json::Value| {
        use base64::Engine as _;
        let text = text.as_str().unwrap().replace('-', "/");
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .unwrap()
    };
    let container = world.client().get("/dbs/d/colls/c").json();
    let container = bytes(&container["_rid"]);
    client
        .ask(Ask::item(Read, "x").rid(&container))
        .expect(200, 0);
    let alone = Ask::items(Read, r#"["p"]"#).without_names();
    let read = client.ask(alone.rid(&bytes(&item["_rid"]))).expect(200, 0);
    assert_eq!(read.json(), item);
    let feed = Ask::items(ReadFeed, r#"["p"]"#).without_names();
    client.ask(feed.rid(&container)).expect(200, 0);
    let odd = Ask::items(Read, r#"["p"]"#).without_names();
    client.ask(odd.rid(&[1, 2, 3])).expect(400, 0);
}

#[test]
fn the_master_partition() {
    let (world, mut client) = start();
    let http = world.client();
    http.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let permission = json!({"id": "q", "permissionMode": "Read", "resource": "dbs/d/colls/c"});
    http.post("/dbs/d/users/u/permissions", &permission.to_string())
        .expect(201);
    let database = |ask: Ask| ask.named(RequestToken::DatabaseName, "d");
    let user = |ask: Ask| database(ask).named(RequestToken::UserName, "u");
    let named = |ask: Ask| user(ask).named(RequestToken::PermissionName, "q");
    let text = json!({"query": "SELECT * FROM c", "parameters": []}).to_string();
    for (ask, list) in [
        (Ask::master(ResourceType::Database, ReadFeed), "Databases"),
        (
            Ask::master(ResourceType::Database, Query).body(&text[..]),
            "Databases",
        ),
        (
            database(Ask::master(ResourceType::Collection, ReadFeed)),
            "DocumentCollections",
        ),
        (
            database(Ask::master(ResourceType::Collection, Query)).body(&text[..]),
            "DocumentCollections",
        ),
        (database(Ask::master(ResourceType::User, ReadFeed)), "Users"),
        (
            user(Ask::master(ResourceType::Permission, ReadFeed)),
            "Permissions",
        ),
    ] {
        let answer = client.ask(ask).expect(200, 0);
        assert_eq!(answer.json()[list].as_array().unwrap().len(), 1, "{list}");
        assert_eq!(answer.number(ResponseToken::ItemCount), Some(1), "{list}");
    }
    for (ask, id) in [
        (database(Ask::master(ResourceType::Database, Read)), "d"),
        (user(Ask::master(ResourceType::User, Read)), "u"),
        (named(Ask::master(ResourceType::Permission, Read)), "q"),
        (
            user(Ask::master(ResourceType::User, Replace)).body(r#"{"id":"u"}"#),
            "u",
        ),
    ] {
        assert_eq!(client.ask(ask).expect(200, 0).json()["id"], id);
    }
    let missing = Ask::master(ResourceType::Database, Read);
    let missing = missing.named(RequestToken::DatabaseName, "e");
    client.ask(missing).expect(404, 0);
    let delete = named(Ask::master(ResourceType::Permission, Delete));
    client.ask(delete).expect(204, 0);
}

/// Java signs its barriers without an encoding.
#[test]
fn barriers_state_positions_alone() {
    let (world, mut client) = start();
    client.ask(create("x")).expect(201, 0);
    let head = || Ask::new(ResourceType::Collection, Head).number(RequestToken::TargetLsn, 1);
    let (verb, kind, link) = head().signed();
    let date = world.client().date().to_lowercase();
    let raw = sign(PRIMARY, &format!("{verb}\n{kind}\n{link}\n{date}\n\n"));
    let raw = format!("type=master&ver=1.0&sig={raw}");
    for ask in [head(), head().authorization(&raw)] {
        let answer = client.ask(ask).expect(200, 0);
        assert!(answer.0.payload.is_empty());
        assert_eq!(answer.number(ResponseToken::LSN), Some(2));
    }
    let master = Ask::master(ResourceType::Database, HeadFeed);
    assert!(client.ask(master).expect(200, 0).0.payload.is_empty());
    // The same path under HTTP stays what it was.
    let http = world.client().request("HEAD", "/dbs/d/colls/c", &[], "");
    assert_eq!(http.status, 405);
}

#[test]
fn a_resource_token_opens_what_it_grants() {
    let (world, mut client) = start();
    client.ask(create("x")).expect(201, 0);
    let http = world.client();
    http.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let permission = json!({"id": "q", "permissionMode": "Read", "resource": "dbs/d/colls/c"});
    let made = http.post("/dbs/d/users/u/permissions", &permission.to_string());
    let token = made.json()["_token"].as_str().unwrap().to_owned();
    let with = |ask: Ask| ask.authorization(&token);
    client.ask(with(Ask::item(Read, "x"))).expect(200, 0);
    client.ask(with(query("SELECT * FROM c"))).expect(200, 0);
    client
        .ask(with(Ask::new(ResourceType::Collection, Head)))
        .expect(200, 0);
    client.ask(with(create("y"))).expect(403, 0);
    client
        .ask(with(Ask::master(ResourceType::Database, ReadFeed)))
        .expect(403, 0);
}

/// One replica and equal positions: no level needs a second request.
#[test]
fn every_level_reads_with_one_request() {
    for level in [
        ConsistencyLevel::Strong,
        ConsistencyLevel::BoundedStaleness,
        ConsistencyLevel::ConsistentPrefix,
        ConsistencyLevel::Eventual,
    ] {
        let world = start_direct(level, Limits::default());
        let mut client = DirectClient::open(&world);
        client.ask(Ask::item(Read, "x")).expect(404, 0);
        client.ask(create("x")).expect(201, 0);
        // `ask` checks that the positions are equal, at least 1, and those of one replica.
        client.ask(Ask::item(Read, "x")).expect(200, 0);
        client.ask(query("SELECT * FROM c")).expect(200, 0);
        let eventual = Ask::item(Read, "x").number(RequestToken::ConsistencyLevel, 3);
        client.ask(eventual).expect(200, 0);
    }
}

#[test]
fn what_is_not_known_is_refused_by_its_request_alone() {
    let (_world, mut client) = start();
    for (ask, status) in [
        (Ask::item(OperationType::Crash, "x"), 405),
        (Ask::new(ResourceType::Topology, Read), 400),
        (Ask::item(Read, "x").path("/somewhere/else"), 400),
        (
            Ask::item(Read, "x").number(RequestToken::PriorityLevel, 9),
            400,
        ),
    ] {
        let number = client.send(ask);
        let answer = crate::direct_client::Answer(client.receive(false).unwrap());
        assert_eq!(
            answer.number(ResponseToken::TransportRequestId),
            Some(number)
        );
        assert_eq!(
            answer.number(ResponseToken::RequestValidationFailure),
            Some(1)
        );
        assert_eq!(answer.0.status, status);
    }
    client.ask(create("x")).expect(201, 0);
}

/// The Java SDK moves the bytes of a record when it has read the first frame of it, and reads the
/// tokens of this frame later.
#[test]
fn an_answer_has_its_tls_records_to_itself() {
    let (_world, mut client) = start();
    client.ask(create("x")).expect(201, 0);
    for _ in 0..50 {
        client.send(Ask::item(Read, "x"));
    }
    for _ in 0..50 {
        let mut record = BytesMut::from(&client.receive_record()[..]);
        let answer = Response::take(&mut record, false).unwrap().unwrap();
        assert_eq!(answer.status, 200);
        assert!(record.is_empty());
    }
}

#[test]
fn requests_of_a_connection_run_beside_each_other() {
    let (_world, mut client) = start();
    let mut numbers: Vec<i64> = (0..300)
        .map(|id| client.send(create(&id.to_string())))
        .collect();
    while !numbers.is_empty() {
        let answer = crate::direct_client::Answer(client.receive(false).unwrap());
        let number = answer.number(ResponseToken::TransportRequestId).unwrap();
        assert!(numbers.contains(&number));
        numbers.retain(|other| *other != number);
        answer.expect(201, 0);
    }
}
