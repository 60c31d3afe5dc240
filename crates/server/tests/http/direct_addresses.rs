//! Where clients in direct mode find the replicas of a container.

use orrery_model::ConsistencyLevel;
use orrery_server::Limits;
use serde_json::{Value, json};

use crate::connection::Response;
use crate::signature::{encoded, sign};
use crate::support::{Credential, PRIMARY, World, start_direct};

struct Found {
    world: World,
    database: String,
    container: String,
}

fn start() -> Found {
    let world = start_direct(ConsistencyLevel::Session, Limits::default());
    let rid = |path| {
        let rid = world.client().get(path).json()["_rid"].clone();
        rid.as_str().unwrap().to_owned()
    };
    let (database, container) = (rid("/dbs/d"), rid("/dbs/d/colls/c"));
    Found {
        world,
        database,
        container,
    }
}

impl Found {
    fn resolve(&self) -> String {
        let path = format!("dbs/{}/colls/{}/docs", self.database, self.container);
        path.replace('/', "%2f").replace('=', "%3d")
    }

    /// Asks with the signature of `kind` and `link` by `key`.
    fn ask(&self, key: &[u8], path: &str, kind: &str, link: &str) -> Response {
        let date = self.world.client().date();
        let payload = format!("get\n{kind}\n{link}\n{}\n\n", date.to_lowercase());
        let signature = encoded(&sign(key, &payload));
        let headers = [("authorization", &signature[..]), ("x-ms-date", &date)];
        let nobody = self.world.client_with(Credential::Nothing);
        nobody.request("GET", path, &headers, "")
    }

    fn of_container(&self, ranges: &str) -> Response {
        let path = format!(
            "//addresses/?$resolveFor={}&$filter=protocol%20eq%20rntbd&$partitionKeyRangeIds={ranges}",
            self.resolve()
        );
        self.ask(PRIMARY, &path, "docs", &self.container.to_lowercase())
    }
}

fn addresses(response: &Response) -> Vec<Value> {
    let body = response.json();
    body["Addresss"].as_array().unwrap().clone()
}

#[test]
fn every_range_has_four_addresses_at_one_listener() {
    let found = start();
    let (direct, _) = found.world.direct.as_ref().unwrap();
    let answer = found.of_container("0");
    let list = addresses(&answer);
    let primary = |address: &&Value| address["isPrimary"] == json!(true);
    assert_eq!((list.len(), list.iter().filter(primary).count()), (4, 1));
    for address in &list {
        assert_eq!(address["protocol"], "rntbd");
        assert_eq!(address["partitionKeyRangeId"], "0");
        let uri = address["physcialUri"].as_str().unwrap();
        let expected = format!(
            "rntbd://127.0.0.1:{}/apps/orrery/services/{}/partitions/0/replicas/",
            direct.port(),
            found.container
        );
        assert!(uri.starts_with(&expected) && uri.ends_with('/'), "{uri}");
    }
    assert!(addresses(&found.of_container("7")).is_empty());
    let split = r#"{"split":{"id":"0"}}"#;
    let client = found.world.client();
    client
        .post("/_orrery/dbs/d/colls/c/partitions", split)
        .expect(200);
    assert!(addresses(&found.of_container("0")).is_empty());
    assert_eq!(addresses(&found.of_container("1")).len(), 4);
    assert_eq!(addresses(&found.of_container("2,0,1")).len(), 8);
    found.world.client().delete("/dbs/d/colls/c").expect(204);
    assert_eq!(found.of_container("1").status, 404);
}

#[test]
fn the_master_partition_has_addresses() {
    let found = start();
    let path = "/addresses?$filter=protocol%20eq%20rntbd&$resolveFor=dbs";
    let list = addresses(&found.ask(PRIMARY, path, "dbs", ""));
    assert_eq!(list.len(), 4);
    assert_eq!(list[0]["partitionKeyRangeId"], "M");
}

#[test]
fn addresses_need_a_credential() {
    let found = start();
    let resolve = found.resolve();
    let path = format!("/addresses/?$resolveFor={resolve}&$filter=protocol%20eq%20rntbd");
    let rid = found.container.to_lowercase();
    assert_eq!(found.ask(PRIMARY, &path, "docs", &rid).status, 200);
    assert_eq!(found.ask(b"another key", &path, "docs", &rid).status, 401);
    assert_eq!(found.ask(PRIMARY, &path, "docs", "").status, 401);
    let nobody = found.world.client_with(Credential::Nothing);
    assert_eq!(nobody.get(&path).status, 401);

    let client = found.world.client();
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let token = |permission: Value| {
        let made = client.post("/dbs/d/users/u/permissions", &permission.to_string());
        let token = made.json()["_token"].as_str().unwrap().to_owned();
        found.world.client_with(Credential::Token(token))
    };
    let container = json!({"id": "a", "permissionMode": "Read", "resource": "dbs/d/colls/c"});
    assert_eq!(token(container).get(&path).status, 200);
    client.create_container(&json!({
        "id": "other", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}
    }));
    let other = json!({"id": "b", "permissionMode": "All", "resource": "dbs/d/colls/other"});
    assert_eq!(token(other).get(&path).status, 403);
}

#[test]
fn the_account_document_promises_one_replica() {
    let found = start();
    let account = found.world.client().get("/").json();
    for policy in ["userReplicationPolicy", "systemReplicationPolicy"] {
        assert_eq!(account[policy]["maxReplicasetSize"], 1, "{policy}");
    }
    let https = "/addresses/?$resolveFor=dbs&$filter=protocol%20eq%20https";
    found
        .ask(PRIMARY, https, "dbs", "")
        .refused(400, 0, "NotImplemented", "Protocol.Tcp");
}
