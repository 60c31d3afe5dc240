//! The log of requests: for those with a key, while somebody looks, and never what a request carried.

use serde_json::{Value, json};

use crate::support::{Client, Credential, ITEMS, PK, READ_ONLY, start};

const LOG: &str = "/_orrery/requests";

fn requests(client: &Client, after: u64) -> (u64, Vec<Value>) {
    let body = client
        .get(&format!("{LOG}?after={after}"))
        .expect(200)
        .json();
    let Value::Array(requests) = &body["requests"] else {
        panic!("{body}");
    };
    (body["next"].as_u64().unwrap(), requests.clone())
}

#[test]
fn requests_are_seen_from_the_first_look_on() {
    let world = start();
    let client = world.client();
    let (next, seen) = requests(&client, 0);
    assert_eq!((next, seen.len()), (0, 0), "nobody looked before");

    let item = json!({"id": "secret-free", "pk": "hidden", "body": "unseen"});
    let agent = [("user-agent", "a client"), ("x-ms-activity-id", "mine")];
    client
        .request("POST", ITEMS, &agent, &item.to_string())
        .expect(201);
    let missing = format!("{ITEMS}/missing");
    client
        .request("GET", &missing, &[(PK, r#"["hidden"]"#)], "")
        .expect(404);
    client.get("/dbs?secret=1").expect(200);

    let (next, seen) = requests(&client, 0);
    assert_eq!(next, 3);
    let columns: Vec<_> = seen
        .iter()
        .map(|line| {
            (
                line["method"].clone(),
                line["path"].clone(),
                line["status"].clone(),
            )
        })
        .collect();
    assert_eq!(
        columns,
        [
            (json!("POST"), json!(ITEMS), json!(201)),
            (json!("GET"), json!(missing), json!(404)),
            (json!("GET"), json!("/dbs"), json!(200)),
        ]
    );
    assert_eq!(seen[0]["client"], "a client");
    assert_eq!(seen[0]["activityId"], "mine");
    assert_eq!(seen[0]["partition"], "0");
    assert!(seen[0]["charge"].as_f64().unwrap() > 1.0);
    assert!(seen[0]["durationMs"].as_f64().unwrap() > 0.0);
    let text = serde_json::to_string(&seen).unwrap();
    for carried in ["hidden", "unseen", "secret", "sig"] {
        assert!(!text.contains(carried), "{carried} in {text}");
    }
    assert_eq!(requests(&client, next), (3, vec![]));
    assert_eq!(requests(&client, 2).1.len(), 1);
}

#[test]
fn it_takes_a_key_and_a_number() {
    let world = start();
    world.client_with(Credential::Nothing).get(LOG).expect(401);
    world.client_of(READ_ONLY).get(LOG).expect(200);
    let client = world.client();
    client.post(LOG, "{}").expect(405);
    client.get(&format!("{LOG}?after=x")).expect(400);
}
