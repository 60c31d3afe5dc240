//! Missing resources, and the name of the missing one; verbs that a resource does not have; URLs
//! that name no resource.

use crate::support::{PK, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);
const ITEM: &str = r#"{"id":"x","pk":"p"}"#;

#[test]
fn missing_resources_and_missing_owners() {
    let world = start();
    let client = world.client();
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let patch = r#"[{"op":"set","path":"/x","value":1}]"#;
    let container = r#"{"id":"n","partitionKey":{"paths":["/pk"]}}"#;
    for (method, path, body, substatus) in [
        ("GET", "/dbs/n", "", 0),
        ("DELETE", "/dbs/n", "", 0),
        ("GET", "/dbs/d/colls/n", "", 0),
        ("PUT", "/dbs/d/colls/n", container, 0),
        ("DELETE", "/dbs/d/colls/n", "", 0),
        ("GET", "/dbs/n/colls/c", "", 1003),
        ("PUT", "/dbs/n/colls/n", container, 1003),
        ("DELETE", "/dbs/n/colls/c", "", 1003),
        ("GET", "/dbs/n/colls", "", 1003),
        ("POST", "/dbs/n/colls", container, 1003),
        ("GET", "/dbs/d/colls/c/docs/n", "", 0),
        ("PUT", "/dbs/d/colls/c/docs/x", ITEM, 0),
        ("PATCH", "/dbs/d/colls/c/docs/n", patch, 0),
        ("DELETE", "/dbs/d/colls/c/docs/n", "", 0),
        ("GET", "/dbs/d/colls/n/docs/x", "", 0),
        ("POST", "/dbs/d/colls/n/docs", ITEM, 0),
        ("PUT", "/dbs/d/colls/n/docs/x", ITEM, 0),
        ("PATCH", "/dbs/d/colls/n/docs/x", patch, 0),
        ("DELETE", "/dbs/d/colls/n/docs/x", "", 0),
        ("GET", "/dbs/d/colls/n/docs", "", 0),
        ("GET", "/dbs/n/colls/c/docs/x", "", 1003),
        ("POST", "/dbs/n/colls/c/docs", ITEM, 1003),
        ("DELETE", "/dbs/n/colls/c/docs/x", "", 1003),
        ("GET", "/dbs/n/colls/c/docs", "", 1003),
        ("GET", "/dbs/d/colls/n/pkranges", "", 1003),
        ("GET", "/dbs/n/colls/c/pkranges", "", 1003),
        ("GET", "/dbs/d/colls/c/pkranges/7", "", 0),
        ("GET", "/dbs/d/users/n", "", 0),
        ("PUT", "/dbs/d/users/n", r#"{"id":"n"}"#, 0),
        ("DELETE", "/dbs/d/users/n", "", 0),
        ("GET", "/dbs/n/users", "", 1003),
        ("POST", "/dbs/n/users", r#"{"id":"n"}"#, 1003),
        ("GET", "/dbs/d/users/u/permissions/n", "", 0),
        ("DELETE", "/dbs/d/users/u/permissions/n", "", 0),
        ("GET", "/dbs/d/users/n/permissions", "", 1003),
        ("GET", "/offers/AQID", "", 0),
    ] {
        let response = client.request(method, path, &[KEY], body);
        println!("{method} {path}");
        response.refused(404, substatus, "NotFound", "Resource Not Found");
        assert!(
            response
                .text()
                .contains("https://aka.ms/cosmosdb-tsg-not-found")
        );
    }
}

#[test]
fn a_missing_item_says_so_and_a_wrong_key_is_a_missing_item() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &serde_json::json!({}));
    let text = "Entity with the specified id does not exist in the system.";
    for method in ["GET", "DELETE"] {
        client
            .item(method, "b", "p", "")
            .refused(404, 0, "NotFound", text);
        client
            .item(method, "a", "q", "")
            .refused(404, 0, "NotFound", text);
    }
    client.item("DELETE", "a", "p", "").expect(204);
    client
        .item("DELETE", "a", "p", "")
        .refused(404, 0, "NotFound", text);
}

#[test]
fn verbs_that_are_not_supported() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &serde_json::json!({}));
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let offer = client.get("/offers").json()["Offers"][0]["_rid"]
        .as_str()
        .unwrap()
        .to_owned();
    let offer = format!("/offers/{offer}");
    for (path, methods) in [
        ("/", &["POST", "PUT", "PATCH", "DELETE"][..]),
        ("/dbs", &["PUT", "PATCH", "DELETE"]),
        ("/dbs/d", &["POST", "PATCH"]),
        ("/dbs/d/colls", &["PUT", "PATCH", "DELETE"]),
        ("/dbs/d/colls/c", &["POST", "PATCH"]),
        ("/dbs/d/colls/c/docs", &["PUT", "PATCH", "DELETE"]),
        ("/dbs/d/colls/c/docs/a", &["POST"]),
        (
            "/dbs/d/colls/c/pkranges",
            &["POST", "PUT", "PATCH", "DELETE"],
        ),
        ("/dbs/d/colls/c/pkranges/0", &["POST", "PUT", "DELETE"]),
        (
            "/dbs/d/colls/c/operations/partitionkeydelete",
            &["GET", "PUT", "DELETE"],
        ),
        ("/dbs/d/users", &["PUT", "PATCH", "DELETE"]),
        ("/dbs/d/users/u", &["POST", "PATCH"]),
        ("/dbs/d/users/u/permissions", &["PUT", "PATCH", "DELETE"]),
        ("/offers", &["POST", "PUT", "DELETE"]),
        (&offer, &["POST", "PATCH", "DELETE"]),
    ] {
        for method in methods {
            let response = client.request(method, path, &[KEY], "{}");
            println!("{method} {path}");
            response.refused(
                405,
                0,
                "MethodNotAllowed",
                "The requested verb is not supported.",
            );
        }
    }
}

#[test]
fn urls_that_name_nothing() {
    let world = start();
    let client = world.client();
    for path in [
        "/nonsense",
        "/dbs/d/nonsense",
        "/dbs/d/nonsense/x",
        "/dbs/d/colls/c/nonsense",
        "/dbs/d/colls/c/udfs/a/b",
        "/dbs/d/users/u/nonsense",
        "/offers/AAAA/x",
    ] {
        let response = client.get(path);
        // A path that cannot be parsed may be refused before its signature is looked at.
        println!("{path}");
        response.refused(400, 0, "BadRequest", "Server could not parse the Url.");
    }
    for path in ["/dbs/%zz", "/dbs/%", "/dbs/%FF%FE", "/dbs/a%2"] {
        let response = client.get(path);
        assert!(
            [400, 401].contains(&response.status),
            "{path} {}",
            response.text()
        );
    }
}
