//! Users and permissions: life and names.

use serde_json::json;

use crate::support::{UPSERT, start};

#[test]
fn the_life_of_a_user() {
    let world = start();
    let client = world.client();
    let created = client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let user = created.json();
    assert_eq!(created.header("etag"), user["_etag"].as_str());
    assert_eq!(user["_permissions"], "permissions/");
    assert!(
        user["_self"]
            .as_str()
            .unwrap()
            .ends_with(&format!("/users/{}/", user["_rid"].as_str().unwrap()))
    );
    assert_eq!(client.get("/dbs/d/users/u").expect(200).json(), user);
    let by_rid = format!("/{}", user["_self"].as_str().unwrap());
    assert_eq!(client.get(&by_rid).expect(200).json(), user);
    let renamed = client
        .put("/dbs/d/users/u", r#"{"id":"v"}"#)
        .expect(200)
        .json();
    assert_eq!(
        (&renamed["id"], &renamed["_rid"]),
        (&json!("v"), &user["_rid"])
    );
    client.get("/dbs/d/users/u").refused(404, 0, "NotFound", "");
    client
        .request("POST", "/dbs/d/users", &[UPSERT], r#"{"id":"v"}"#)
        .expect(200);
    client
        .request("POST", "/dbs/d/users", &[UPSERT], r#"{"id":"w"}"#)
        .expect(201);
    client
        .put("/dbs/d/users/v", r#"{"id":"w"}"#)
        .refused(409, 0, "Conflict", "");
    client.delete("/dbs/d/users/v").expect(204);
    assert_eq!(client.get("/dbs/d/users").json()["_count"], 1);
}

#[test]
fn the_life_of_a_permission() {
    let world = start();
    let client = world.client();
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let path = "/dbs/d/users/u/permissions";
    let body =
        json!({"id": "p", "permissionMode": "read", "resource": "dbs/d/colls/c"}).to_string();
    let created = client.post(path, &body).expect(201);
    let permission = created.json();
    assert_eq!(created.header("etag"), permission["_etag"].as_str());
    assert_eq!(permission["permissionMode"], "read");
    assert_eq!(permission["resource"], "dbs/d/colls/c");
    client.post(path, &body).refused(409, 0, "Conflict", "");
    let changed = json!({"id": "q", "permissionMode": "All", "resource": "dbs/d/colls/c"});
    let replaced = client
        .put(&format!("{path}/p"), &changed.to_string())
        .expect(200)
        .json();
    assert_eq!(
        (&replaced["id"], &replaced["permissionMode"]),
        (&json!("q"), &json!("All"))
    );
    assert_eq!(replaced["_rid"], permission["_rid"]);
    client
        .get(&format!("{path}/p"))
        .refused(404, 0, "NotFound", "");
    let unknown = json!({
        "id": "r", "permissionMode": "Read", "resource": "dbs/AQAAAA==/colls/AQAAAIEAAAA="
    });
    client
        .request("POST", path, &[UPSERT], &unknown.to_string())
        .expect(201);
    client
        .request("POST", path, &[UPSERT], &unknown.to_string())
        .expect(200);
    let keyed = json!({
        "id": "k", "permissionMode": "Read", "resource": "dbs/d/colls/c",
        "resourcePartitionKey": ["v"]
    });
    let keyed = client.post(path, &keyed.to_string()).expect(201).json();
    assert_eq!(keyed["resourcePartitionKey"], json!(["v"]));
    for mode in ["Write", "", "readall"] {
        let body = json!({"id": "m", "permissionMode": mode, "resource": "dbs/d"}).to_string();
        client.post(path, &body).refused(400, 0, "BadRequest", "");
    }
    client.delete(&format!("{path}/q")).expect(204);
    client
        .delete(&format!("{path}/q"))
        .refused(404, 0, "NotFound", "");
    let found = client
        .query(path, "SELECT * FROM r WHERE r.id = 'k'")
        .expect(200)
        .json();
    assert_eq!(found["_count"], 1);
}
