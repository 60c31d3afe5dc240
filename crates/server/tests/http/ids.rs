//! Ids of all kinds: spaces, percent signs, quotes, other scripts. Orrery decodes a path once, so
//! every such item can be read again.

use serde_json::json;

use crate::signature::encode;
use crate::support::{ITEMS, PK, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);

const ODD: [&str; 23] = [
    "Test",
    "This is a test",
    " Test",
    "Test ",
    "\u{9c40}\u{e9}\u{fc}",
    "\u{1F600}",
    ",=.:~+-@()^${}[]!_",
    "a?b",
    "a#b",
    "a%20b",
    "ends in %20",
    "%E9%B1%80",
    "%",
    "100%25",
    "a+b",
    "it's \"quoted\"",
    "a\r\nb",
    "a\tb",
    "a&b=c;d",
    ".",
    "..",
    "docs",
    "dbs",
];

#[test]
fn odd_item_ids_work_with_every_operation() {
    let world = start();
    let client = world.client();
    for id in ODD {
        println!("{id:?}");
        let body = json!({"id": id, "pk": "p"}).to_string();
        let created = client.request("POST", ITEMS, &[KEY], &body).expect(201);
        assert_eq!(created.json()["id"], id);
        let path = format!("{ITEMS}/{}", encode(id));
        assert_eq!(
            client.request("GET", &path, &[KEY], "").expect(200).json()["id"],
            id
        );
        client
            .request("GET", &format!("{path}/"), &[KEY], "")
            .expect(200);
        client.request("PUT", &path, &[KEY], &body).expect(200);
        let patch = r#"[{"op":"set","path":"/x","value":1}]"#;
        client.request("PATCH", &path, &[KEY], patch).expect(200);
        let query = json!({
            "query": "SELECT * FROM c WHERE c.id = @id", "parameters": [{"name": "@id", "value": id}]
        });
        let headers = [crate::support::QUERY];
        let found = client
            .request("POST", ITEMS, &headers, &query.to_string())
            .expect(200);
        assert_eq!(found.json()["_count"], 1);
        client.request("DELETE", &path, &[KEY], "").expect(204);
        client
            .request("GET", &path, &[KEY], "")
            .refused(404, 0, "NotFound", "");
    }
}

#[test]
fn ids_of_the_greatest_length() {
    let world = start();
    let client = world.client();
    for id in ["x".repeat(1023), "\u{e9}".repeat(511)] {
        let body = json!({"id": id, "pk": "p"}).to_string();
        client.request("POST", ITEMS, &[KEY], &body).expect(201);
        let path = format!("{ITEMS}/{}", encode(&id));
        client.request("GET", &path, &[KEY], "").expect(200);
    }
    let id = "\u{1F600}".repeat(255);
    client
        .post("/dbs", &json!({"id": "n".repeat(255)}).to_string())
        .expect(201);
    let user = client.post("/dbs/d/users", &json!({"id": id}).to_string());
    assert!([201, 400].contains(&user.status));
}

#[test]
fn odd_names_of_databases_and_containers() {
    let world = start();
    let client = world.client();
    for name in [
        "My Db",
        "colls",
        "\u{e9}\u{1F600}",
        "a%20b",
        "a+b",
        "AAAAAA==x",
        "it's",
    ] {
        println!("{name:?}");
        client
            .post("/dbs", &json!({"id": name}).to_string())
            .expect(201);
        let database = format!("/dbs/{}", encode(name));
        assert_eq!(client.get(&database).expect(200).json()["id"], name);
        let definition = json!({"id": name, "partitionKey": {"paths": ["/pk"]}});
        client
            .post(&format!("{database}/colls"), &definition.to_string())
            .expect(201);
        let container = format!("{database}/colls/{}", encode(name));
        assert_eq!(client.get(&container).expect(200).json()["id"], name);
        let items = format!("{container}/docs");
        client
            .request("POST", &items, &[KEY], r#"{"id":"a","pk":"p"}"#)
            .expect(201);
        let read = client
            .request("GET", &format!("{items}/a"), &[KEY], "")
            .expect(200);
        let path = read.header("x-ms-alt-content-path").unwrap();
        if name.is_ascii() && !name.contains('%') {
            assert_eq!(
                path,
                format!("dbs/{name}/colls/{name}"),
                "spaces stay as they are"
            );
        }
        assert!(
            path.bytes()
                .all(|byte| byte.is_ascii_graphic() || byte == b' '),
            "{path}"
        );
        client.delete(&database).expect(204);
    }
}

/// As JavaScript and .NET send them: the question mark is signed with the rest of the link.
#[test]
fn question_marks_in_item_ids_may_stand_as_they_are() {
    let world = start();
    let client = world.client();
    for id in ["a?b", "a?", "a?b=c&d?e"] {
        let body = json!({"id": id, "pk": "p"}).to_string();
        client.request("POST", ITEMS, &[KEY], &body).expect(201);
        let path = format!("{ITEMS}/{id}");
        let read = client.request("GET", &path, &[KEY], "").expect(200);
        assert_eq!(read.json()["id"], id);
        let location = read.header("content-location").unwrap();
        assert!(location.ends_with(&path), "{location}");
        client.request("PUT", &path, &[KEY], &body).expect(200);
        client.request("DELETE", &path, &[KEY], "").expect(204);
    }
}

#[test]
fn an_item_with_a_slash_in_its_id_is_created_and_not_found() {
    let world = start();
    let client = world.client();
    client
        .request("POST", ITEMS, &[KEY], r#"{"id":"a/b","pk":"p"}"#)
        .expect(201);
    let found = client.query(ITEMS, "SELECT * FROM c WHERE c.id = 'a/b'");
    assert_eq!(found.expect(200).json()["_count"], 1);
    for path in ["a/b", "a%2Fb", "a/b/c/d", "a%5Cb"] {
        let path = format!("{ITEMS}/{path}");
        for (method, body) in [
            ("GET", ""),
            ("PUT", r#"{"id":"a/b","pk":"p"}"#),
            ("PATCH", r#"[{"op":"set","path":"/x","value":1}]"#),
            ("DELETE", ""),
        ] {
            client
                .request(method, &path, &[KEY], body)
                .refused(404, 0, "NotFound", "");
        }
    }
    client
        .request("POST", ITEMS, &[KEY], r#"{"id":"a\\b","pk":"p"}"#)
        .refused(400, 0, "BadRequest", "invalid character");
}
