//! Patches: what each operation does, and the words of its refusal.

use serde_json::{Value, json};

use crate::support::{Client, ITEMS, PK, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);

fn patch(client: &Client, operations: &Value) -> crate::support::Response {
    let body = json!({"operations": operations}).to_string();
    client.request("PATCH", &format!("{ITEMS}/a"), &[KEY], &body)
}

#[test]
fn what_each_operation_does() {
    let world = start();
    let client = world.client();
    for (operation, property, expected) in [
        (
            json!({"op": "add", "path": "/new", "value": 1}),
            "new",
            json!(1),
        ),
        (
            json!({"op": "add", "path": "/n", "value": "x"}),
            "n",
            json!("x"),
        ),
        (
            json!({"op": "add", "path": "/l/1", "value": 9}),
            "l",
            json!([1, 9, 2]),
        ),
        (
            json!({"op": "add", "path": "/l/-", "value": 9}),
            "l",
            json!([1, 2, 9]),
        ),
        (
            json!({"op": "add", "path": "/l/2", "value": 9}),
            "l",
            json!([1, 2, 9]),
        ),
        (
            json!({"op": "set", "path": "/l/1", "value": 9}),
            "l",
            json!([1, 9]),
        ),
        (
            json!({"op": "set", "path": "/o/x", "value": null}),
            "o",
            json!({"i": 1, "x": null}),
        ),
        (
            json!({"op": "replace", "path": "/n", "value": [1]}),
            "n",
            json!([1]),
        ),
        (json!({"op": "remove", "path": "/l/0"}), "l", json!([2])),
        (json!({"op": "remove", "path": "/o/i"}), "o", json!({})),
        (
            json!({"op": "incr", "path": "/n", "value": -2}),
            "n",
            json!(3),
        ),
        (
            json!({"op": "incr", "path": "/n", "value": 0.5}),
            "n",
            json!(5.5),
        ),
        (
            json!({"op": "incr", "path": "/made", "value": 7}),
            "made",
            json!(7),
        ),
        (
            json!({"op": "move", "from": "/n", "path": "/o/n"}),
            "o",
            json!({"i": 1, "n": 5}),
        ),
        (
            json!({"op": "move", "from": "/n", "path": "/n"}),
            "n",
            json!(5),
        ),
        (
            json!({"op": "set", "path": "/a~1b~0c", "value": 1}),
            "a/b~c",
            json!(1),
        ),
    ] {
        client.create_item(
            "a",
            "p",
            &json!({"n": 5, "l": [1, 2], "o": {"i": 1}, "s": "t"}),
        );
        let response = patch(&client, &json!([operation])).expect(200);
        assert_eq!(response.json()[property], expected, "{operation}");
        assert_eq!(response.header("etag"), response.json()["_etag"].as_str());
        client.item("DELETE", "a", "p", "").expect(204);
    }
}

#[test]
fn refusals_are_numbered_and_change_nothing() {
    let world = start();
    let client = world.client();
    let first = client
        .create_item(
            "a",
            "p",
            &json!({"n": 5, "l": [1, 2], "o": {"i": 1}, "s": "t"}),
        )
        .json();
    let good = json!({"op": "set", "path": "/good", "value": 1});
    let beyond = "For Operation(1): Add Operation can only create a child object of an existing \
                  node(array or object) and cannot create path recursively, no path found beyond: \
                  'nonExistentParent'. Learn more: https://aka.ms/cosmosdbpatchdocs";
    for (operations, text) in [
        (
            json!([{"op": "add", "path": "/nonExistentParent/Child", "value": "b"}]),
            beyond,
        ),
        (
            json!([good, {"op": "replace", "path": "/none", "value": 1}]),
            "For Operation(2): ",
        ),
        (
            json!([good, good, {"op": "remove", "path": "/none"}]),
            "For Operation(3): ",
        ),
        (
            json!([{"op": "incr", "path": "/s", "value": 1}]),
            "For Operation(1): ",
        ),
        (
            json!([{"op": "incr", "path": "/n", "value": "1"}]),
            "For Operation(1): ",
        ),
        (
            json!([{"op": "add", "path": "/l/3", "value": 1}]),
            "For Operation(1): ",
        ),
        (
            json!([{"op": "move", "from": "/none", "path": "/x"}]),
            "For Operation(1): ",
        ),
        (
            json!([{"op": "move", "from": "/o", "path": "/o/x"}]),
            "For Operation(1): ",
        ),
        (json!([{"op": "set", "path": "/id", "value": "b"}]), ""),
        (json!([{"op": "set", "path": "/_ts", "value": 1}]), ""),
        (json!([{"op": "remove", "path": "/_rid"}]), ""),
        (json!([{"op": "set", "path": "/pk", "value": "q"}]), ""),
        (json!([{"op": "remove", "path": "/pk"}]), ""),
        (json!([{"op": "move", "from": "/pk", "path": "/x"}]), ""),
        (json!([{"op": "what", "path": "/x", "value": 1}]), ""),
        (json!([{"op": "set", "path": "x", "value": 1}]), ""),
        (json!([{"op": "set", "path": "/x"}]), ""),
        (json!([]), ""),
        (json!(vec![good.clone(); 11]), ""),
    ] {
        println!("{operations}");
        let response = patch(&client, &operations);
        let substatus = response
            .header("x-ms-substatus")
            .map_or(0, |text| text.parse().unwrap());
        assert!([0, 1001].contains(&substatus), "{substatus}");
        response.refused(400, substatus, "BadRequest", text);
    }
    assert_eq!(client.item("GET", "a", "p", "").json(), first);
    patch(&client, &json!(vec![good; 10])).expect(200);
}

#[test]
fn conditions() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({"n": 3}));
    let item = format!("{ITEMS}/a");
    let with = |condition: &str| {
        let body = json!({
            "operations": [{"op": "incr", "path": "/n", "value": 1}], "condition": condition
        });
        client.request("PATCH", &item, &[KEY], &body.to_string())
    };
    assert_eq!(with("from c where c.n = 3").expect(200).json()["n"], 4);
    with("from c where c.n = 3").refused(412, 1110, "PreconditionFailed", "precondition");
    with("from c where").refused(400, 0, "BadRequest", "");
    with("nonsense").refused(400, 0, "BadRequest", "");
    assert_eq!(client.item("GET", "a", "p", "").json()["n"], 4);
    let missing = client.item(
        "PATCH",
        "none",
        "p",
        r#"[{"op":"set","path":"/x","value":1}]"#,
    );
    missing.refused(404, 0, "NotFound", "Resource Not Found");
    missing.refused(404, 0, "NotFound", "https://aka.ms/cosmosdb-tsg-not-found");
    for content_type in ["application/json", "application/json-patch+json"] {
        let headers = [KEY, ("content-type", content_type)];
        let body = r#"[{"op":"set","path":"/x","value":1}]"#;
        client.request("PATCH", &item, &headers, body).expect(200);
    }
}
