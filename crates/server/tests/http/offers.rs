//! Throughput: which resources have an offer, how it looks, how it changes.

use serde_json::{Value, json};

use crate::support::{Client, start};

const THROUGHPUT: &str = "x-ms-offer-throughput";
const AUTOSCALE: &str = "x-ms-cosmos-offer-autopilot-settings";
const AUTOSCALE_4000: &str =
    r#"{"maxThroughput":4000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":0}}}"#;

fn container(client: &Client, database: &str, id: &str, headers: &[(&str, &str)]) -> Value {
    let body = json!({"id": id, "partitionKey": {"paths": ["/pk"]}}).to_string();
    client
        .request("POST", &format!("/dbs/{database}/colls"), headers, &body)
        .expect(201)
        .json()
}

/// The offers of a resource, asked for as the various clients do.
fn offers_of(client: &Client, resource: &Value) -> Vec<Value> {
    let (link, rid) = (
        resource["_self"].as_str().unwrap(),
        resource["_rid"].as_str().unwrap(),
    );
    let mut found: Vec<Vec<Value>> = Vec::new();
    for text in [
        format!("SELECT * from root where root.resource = \"{link}\""),
        format!("SELECT * FROM c WHERE c.offerResourceId = '{rid}'"),
        format!("select * from root r where r.offerResourceId= \"{rid}\""),
    ] {
        let body = client.query("/offers", &text).expect(200).json();
        assert_eq!(body["_count"], body["Offers"].as_array().unwrap().len());
        found.push(body["Offers"].as_array().unwrap().clone());
    }
    assert!(found.iter().all(|offers| *offers == found[0]), "{found:?}");
    found.swap_remove(0)
}

#[test]
fn the_form_of_an_offer() {
    let world = start();
    let client = world.client();
    let owner = container(&client, "d", "x", &[(THROUGHPUT, "500")]);
    let [offer] = offers_of(&client, &owner).try_into().unwrap();
    assert_eq!(offer["resource"], owner["_self"], "byte for byte");
    assert_eq!(offer["offerResourceId"], owner["_rid"]);
    assert_eq!(offer["offerVersion"], "V2");
    assert_eq!(offer["content"]["offerThroughput"], 500);
    assert_eq!(offer["content"].get("offerAutopilotSettings"), None);
    assert_eq!(offer["id"], offer["_rid"]);
    let rid = offer["_rid"].as_str().unwrap();
    assert_eq!(rid.len(), 4);
    assert_eq!(offer["_self"], format!("offers/{rid}/"));
    for path in [format!("/offers/{rid}"), format!("/offers/{rid}/")] {
        let read = client.get(&path).expect(200);
        assert_eq!(read.json(), offer);
        assert_eq!(read.header("etag"), offer["_etag"].as_str());
        assert_eq!(read.header("x-ms-offer-replace-pending"), Some("False"));
        let minimum = read.header("x-ms-cosmos-min-throughput").unwrap();
        assert_eq!(minimum.parse(), Ok(400));
    }
}

#[test]
fn who_has_an_offer() {
    let world = start();
    let client = world.client();
    let plain = container(&client, "d", "x", &[]);
    let [offer] = offers_of(&client, &plain).try_into().unwrap();
    assert_eq!(offer["content"]["offerThroughput"], 400, "the default");
    assert!(offers_of(&client, &client.get("/dbs/d").json()).is_empty());

    let shared = client
        .request("POST", "/dbs", &[(THROUGHPUT, "600")], r#"{"id":"s"}"#)
        .expect(201);
    assert_eq!(
        offers_of(&client, &shared.json())[0]["content"]["offerThroughput"],
        600
    );
    let member = container(&client, "s", "x", &[]);
    assert!(
        offers_of(&client, &member).is_empty(),
        "it shares the database's throughput"
    );
    let own = container(&client, "s", "y", &[(THROUGHPUT, "700")]);
    assert_eq!(
        offers_of(&client, &own)[0]["content"]["offerThroughput"],
        700
    );
    client.delete("/dbs/s").expect(204);
    assert!(offers_of(&client, &shared.json()).is_empty());
    assert!(offers_of(&client, &own).is_empty());
}

#[test]
fn throughput_is_replaced_and_read_back() {
    let world = start();
    let client = world.client();
    let owner = container(&client, "d", "x", &[(THROUGHPUT, "400")]);
    let [mut offer] = offers_of(&client, &owner).try_into().unwrap();
    let path = format!("/offers/{}", offer["_rid"].as_str().unwrap());
    offer["content"]["offerThroughput"] = json!(900);
    let replaced = client.put(&path, &offer.to_string()).expect(200);
    assert_eq!(replaced.json()["content"]["offerThroughput"], 900);
    assert_eq!(replaced.header("x-ms-offer-replace-pending"), Some("False"));
    assert!(replaced.header("x-ms-cosmos-min-throughput").is_some());
    assert_ne!(replaced.json()["_etag"], offer["_etag"]);
    assert_eq!(client.get(&path).json()["content"]["offerThroughput"], 900);
    let stale = [("if-match", offer["_etag"].as_str().unwrap())];
    let response = client.request("PUT", &path, &stale, &offer.to_string());
    response.refused(412, 0, "PreconditionFailed", "");
    for wrong in [
        json!(0),
        json!(100),
        json!(450),
        json!(-200),
        json!("x"),
        json!(1_000_100),
    ] {
        offer["content"]["offerThroughput"] = wrong.clone();
        let response = client.put(&path, &offer.to_string());
        println!("{wrong}");
        response.refused(400, 0, "BadRequest", "");
    }
    offer["content"]["offerThroughput"] = json!(800);
    offer["resource"] = json!("dbs/AAAA==/");
    client
        .put(&path, &offer.to_string())
        .refused(400, 0, "BadRequest", "");
}

#[test]
fn autoscale_and_its_policy() {
    let world = start();
    let client = world.client();
    let owner = container(&client, "d", "x", &[(AUTOSCALE, AUTOSCALE_4000)]);
    let [offer] = offers_of(&client, &owner).try_into().unwrap();
    let settings = &offer["content"]["offerAutopilotSettings"];
    assert_eq!(settings["maxThroughput"], 4000);
    assert_eq!(
        settings["autoUpgradePolicy"]["throughputPolicy"]["incrementPercent"],
        0
    );
    assert_eq!(
        offer["content"]["offerThroughput"], 400,
        "a tenth of the maximum"
    );
    let plain = container(
        &client,
        "d",
        "y",
        &[(AUTOSCALE, r#"{"maxThroughput":5000}"#)],
    );
    let [offer] = offers_of(&client, &plain).try_into().unwrap();
    assert!(offer["content"]["offerThroughput"].as_u64() > Some(400));
    assert_eq!(
        offer["content"]["offerAutopilotSettings"].get("autoUpgradePolicy"),
        None
    );

    let path = format!("/offers/{}", offer["_rid"].as_str().unwrap());
    let mut manual = offer.clone();
    manual["content"] = json!({"offerThroughput": 600});
    client
        .put(&path, &manual.to_string())
        .refused(400, 0, "BadRequest", "");
    let migrate = [("x-ms-cosmos-migrate-offer-to-manual-throughput", "true")];
    let migrated = client
        .request("PUT", &path, &migrate, &offer.to_string())
        .expect(200)
        .json();
    assert_eq!(migrated["content"].get("offerAutopilotSettings"), None);
    let migrate = [("x-ms-cosmos-migrate-offer-to-autopilot", "true")];
    let back = client
        .request("PUT", &path, &migrate, &migrated.to_string())
        .expect(200)
        .json();
    assert!(back["content"]["offerAutopilotSettings"]["maxThroughput"].as_u64() >= Some(1000));
}

#[test]
fn throughput_that_is_refused_at_create() {
    let world = start();
    let client = world.client();
    let body = json!({"id": "x", "partitionKey": {"paths": ["/pk"]}}).to_string();
    for headers in [
        &[(THROUGHPUT, "399")][..],
        &[(THROUGHPUT, "0")],
        &[(THROUGHPUT, "450")],
        &[(THROUGHPUT, "1000100")],
        &[(AUTOSCALE, r#"{"maxThroughput":999}"#)],
        &[(AUTOSCALE, r#"{"maxThroughput":1500}"#)],
        &[(AUTOSCALE, "{}")],
        &[(AUTOSCALE, AUTOSCALE_4000), (THROUGHPUT, "400")],
    ] {
        let response = client.request("POST", "/dbs/d/colls", headers, &body);
        println!("{headers:?}");
        response.refused(400, 0, "BadRequest", "");
        let response = client.request("POST", "/dbs", headers, r#"{"id":"x"}"#);
        response.refused(400, 0, "BadRequest", "");
    }
    let text = "Requested throughput -200 is less than required minimum throughput 1000";
    let negative = [(AUTOSCALE, r#"{"maxThroughput":-200}"#)];
    let response = client.request("POST", "/dbs/d/colls", &negative, &body);
    response.refused(400, 0, "BadRequest", text);
}

#[test]
fn throughput_may_change_again_at_once() {
    let world = start();
    let client = world.client();
    let owner = container(&client, "d", "x", &[(THROUGHPUT, "400")]);
    let [mut offer] = offers_of(&client, &owner).try_into().unwrap();
    let path = format!("/offers/{}", offer["_rid"].as_str().unwrap());
    for units in [25_000, 400, 30_000, 10_000] {
        offer["content"]["offerThroughput"] = json!(units);
        client.put(&path, &offer.to_string()).expect(200);
    }
}

#[test]
fn a_replaced_offer_says_which_it_is() {
    let world = start();
    let client = world.client();
    let owner = container(&client, "d", "x", &[]);
    let [mut offer] = offers_of(&client, &owner).try_into().unwrap();
    let path = format!("/offers/{}", offer["_rid"].as_str().unwrap());
    offer.as_object_mut().unwrap().remove("id");
    client.put(&path, &offer.to_string()).expect(200);
    offer.as_object_mut().unwrap().remove("_rid");
    client
        .put(&path, &offer.to_string())
        .refused(400, 0, "BadRequest", "'id; '");
}
