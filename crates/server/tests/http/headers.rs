//! Header values that are checked, and flags that are not.

use serde_json::json;

use crate::support::{ITEMS, PK, QUERY, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);

#[test]
fn an_invalid_value_is_named() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    for (header, values) in [
        (
            "x-ms-version",
            &["2020-01-01", "latest", "2020-07-15 x"][..],
        ),
        (
            "x-ms-consistency-level",
            &["Stronger", "1", "Boundedstaleness x"],
        ),
        ("x-ms-indexing-directive", &["Sometimes", "3"]),
        (
            "x-ms-max-item-count",
            &["x", "-2", "1.5", "2147483648", "99999999999999999999"],
        ),
        ("x-ms-cosmos-priority-level", &["Medium", "0"]),
        (
            "x-ms-cosmos-throughput-bucket",
            &["0", "6", "x", "-1", "1.5"],
        ),
        ("x-ms-cosmos-read-consistency-strategy", &["Strongest"]),
        ("x-ms-offer-throughput", &["x", "1.5"]),
        ("x-ms-cosmos-offer-autopilot-settings", &["{", "x"]),
        ("a-im", &["Something Feed"]),
        ("if-modified-since", &["yesterday"]),
        ("x-ms-documentdb-expiry-seconds", &["x", "-1"]),
    ] {
        for value in values {
            let item = format!("{ITEMS}/a");
            let response = client.request("GET", &item, &[KEY, (header, value)], "");
            let text = format!("Value '{value}' specified for the header '{header}' is invalid.");
            response.refused(400, 0, "BadRequest", &text);
        }
    }
}

#[test]
fn valid_values_are_taken() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    for (header, values) in [
        (
            "x-ms-version",
            &["2018-12-31", "2020-07-15", "2020-11-05"][..],
        ),
        (
            "x-ms-consistency-level",
            &["Session", "ConsistentPrefix", "Eventual"],
        ),
        (
            "x-ms-indexing-directive",
            &["Default", "Include", "Exclude", "0", "1", "2"],
        ),
        ("x-ms-max-item-count", &["-1", "0", "1", "2147483647"]),
        ("x-ms-cosmos-priority-level", &["High", "Low"]),
        ("x-ms-cosmos-throughput-bucket", &["1", "5"]),
        (
            "x-ms-cosmos-read-consistency-strategy",
            &["Eventual", "Session", "LatestCommitted"],
        ),
        (
            "x-ms-documentdb-responsecontinuationtokenlimitinkb",
            &["1", "8"],
        ),
        (
            "x-ms-documentdb-query-enablecrosspartition",
            &["true", "True", "maybe"],
        ),
        ("x-ms-documentdb-populatequerymetrics", &["perhaps"]),
        ("x-ms-cosmos-use-thinclient", &["true"]),
        ("x-ms-unheard-of", &["\u{e9}"]),
    ] {
        for value in values {
            for path in [ITEMS.to_owned(), format!("{ITEMS}/a")] {
                let response = client.request("GET", &path, &[KEY, (header, value)], "");
                assert_eq!(
                    response.status,
                    200,
                    "{header}: {value}: {}",
                    response.text()
                );
            }
        }
    }
}

#[test]
fn a_request_without_a_version_is_fine() {
    let world = start();
    let client = world.client();
    let bytes = client.bytes("GET", "/dbs/d", &[], b"");
    let text = String::from_utf8(bytes).unwrap();
    let mut connection = world.connect();
    connection.send(text.replace("x-ms-version: 2020-07-15\r\n", "").as_bytes());
    connection.receive("GET").expect(200);
}

#[test]
fn consistency_may_only_be_weakened() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    for level in ["Strong", "BoundedStaleness"] {
        for path in [ITEMS.to_owned(), format!("{ITEMS}/a")] {
            let headers = [KEY, ("x-ms-consistency-level", level)];
            let response = client.request("GET", &path, &headers, "");
            let text = format!(
                "ConsistencyLevel {level} specified in the request is invalid when service is \
                 configured with consistency level Session. Ensure the request consistency level \
                 is not stronger than the service consistency level."
            );
            response.refused(400, 0, "BadRequest", &text);
        }
    }
}

#[test]
fn continuations_and_their_limit() {
    let world = start();
    let client = world.client();
    for index in 0..3 {
        client.create_item(&format!("i{index}"), "p", &json!({}));
    }
    let limit = "x-ms-documentdb-responsecontinuationtokenlimitinkb";
    for value in ["0", "-1", "x"] {
        let response = client.request("GET", ITEMS, &[(limit, value)], "");
        response.refused(
            400,
            0,
            "BadRequest",
            "Please pass in a valid continuation token size limit which must be a positive integer",
        );
    }
    for token in ["nonsense", "AAAA", "{\"a\":1}", "%%%", "-RID:~x==#RT:1"] {
        let headers = [("x-ms-continuation", token)];
        let feed = client.request("GET", ITEMS, &headers, "");
        feed.refused(400, 0, "BadRequest", "Invalid Continuation Token");
        let query = [("x-ms-continuation", token), QUERY];
        let query = client.request("POST", ITEMS, &query, r#"{"query":"SELECT * FROM c"}"#);
        query.refused(400, 0, "BadRequest", "Invalid Continuation Token");
    }
    for token in [
        "-RID:~a0NPAOszCpOChB4AAAAAAA==#RT:1#TRC:2#ISV:2#IEO:65567#QCF:8",
        "+RIDLEL:~a0NPAOszCpOChB4AAAAAAA==#RT:1#TRC:2#ISV:2#IEO:65567#QCF:8#FPC:AgEAAFFFAAHA+AI=",
        r#"{"token":"-RID:~a0NPAOszCpOChB4AAAAAAA==#RT:1#TRC:1","range":{"min":"","max":"FF"}}"#,
        r#"[{"token":"+RID:~a0NPAOszCpOChB4AAAAAAA==#RT:1#TRC:2","range":{"min":"","max":"FF"}}]"#,
    ] {
        let headers = [("x-ms-continuation", token), QUERY];
        let query = client.request("POST", ITEMS, &headers, r#"{"query":"SELECT * FROM c"}"#);
        query.refused(400, 0, "BadRequest", "Azure Cosmos DB made this token");
    }
    let long = "k".repeat(1_500);
    let key = json!([long]).to_string();
    for id in ["a", "b"] {
        let body = json!({"id": id, "pk": long}).to_string();
        client
            .request("POST", ITEMS, &[(PK, &key)], &body)
            .expect(201);
    }
    let headers = [
        (PK, key.as_str()),
        (limit, "1"),
        ("x-ms-max-item-count", "1"),
    ];
    let response = client.request("GET", ITEMS, &headers, "");
    response.refused(
        400,
        0,
        "BadRequest",
        "continuation token limit specified is not large enough",
    );
}

#[test]
fn a_continuation_of_another_container_is_refused() {
    let world = start();
    let client = world.client();
    client.create_container(&json!({"id": "o", "partitionKey": {"paths": ["/pk"]}}));
    client.create_item("a", "p", &json!({}));
    client.create_item("b", "p", &json!({}));
    let page = client.request("GET", ITEMS, &[("x-ms-max-item-count", "1")], "");
    let token = page
        .expect(200)
        .header("x-ms-continuation")
        .unwrap()
        .to_owned();
    let headers = [("x-ms-continuation", token.as_str())];
    let response = client.request("GET", "/dbs/d/colls/o/docs", &headers, "");
    response.refused(400, 0, "BadRequest", "Invalid Continuation Token");
}

#[test]
fn bytes_that_are_no_text() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    for name in [
        "authorization",
        "x-ms-date",
        "if-none-match",
        "x-ms-session-token",
        "x-ms-continuation",
        "x-ms-consistency-level",
        "x-ms-documentdb-partitionkeyrangeid",
        "x-ms-cosmos-intended-collection-rid",
        "content-type",
        "prefer",
    ] {
        let mut bytes = client.bytes("GET", ITEMS, &[(name, "MARK")], b"");
        let at = bytes
            .windows(4)
            .position(|window| window == b"MARK")
            .unwrap();
        bytes.splice(at..at + 4, *b"\xff\xfe");
        let mut connection = world.connect();
        connection.send(&bytes);
        let response = connection.receive("GET");
        println!("{name}");
        response.refused(
            400,
            0,
            "BadRequest",
            &format!("for the header '{name}' is invalid"),
        );
    }
    // A partition key is read as Latin-1 where it is not UTF-8.
    client.create_item("l", "\u{fc}", &json!({}));
    let mut bytes = client.bytes("GET", &format!("{ITEMS}/l"), &[(PK, "[\"MARK\"]")], b"");
    let at = bytes
        .windows(4)
        .position(|window| window == b"MARK")
        .unwrap();
    bytes.splice(at..at + 4, *b"\xfc");
    let mut connection = world.connect();
    connection.send(&bytes);
    connection.receive("GET").expect(200);
}

#[test]
fn a_continuation_does_not_leave_its_scope() {
    let world = start();
    let client = world.client();
    for pk in ["p", "q", "r"] {
        for id in ["a", "b", "c"] {
            client.create_item(id, pk, &json!({}));
        }
    }
    let page = client
        .request("GET", ITEMS, &[KEY, ("x-ms-max-item-count", "1")], "")
        .expect(200);
    let token = page.header("x-ms-continuation").unwrap();
    for pk in ["q", "r"] {
        let key = json!([pk]).to_string();
        let headers = [(PK, key.as_str()), ("x-ms-continuation", token)];
        let response = client.request("GET", ITEMS, &headers, "");
        if response.status == 200 {
            let body = response.json();
            let items = body["Documents"].as_array().unwrap();
            assert!(items.iter().all(|item| item["pk"] == pk), "{body}");
        } else {
            response.refused(400, 0, "BadRequest", "");
        }
    }
}

#[test]
fn an_empty_consistency_level_is_none() {
    let world = start();
    let client = world.client();
    let level = |value| client.request("GET", "/dbs/d", &[("x-ms-consistency-level", value)], "");
    level("").expect(200);
    level("Sometimes").refused(400, 0, "BadRequest", "x-ms-consistency-level");
}

#[test]
fn a_strategy_counts_more_than_a_level() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let headers = |level| {
        [
            (PK, r#"["p"]"#),
            ("x-ms-consistency-level", level),
            ("x-ms-cosmos-read-consistency-strategy", "LatestCommitted"),
        ]
    };
    let read = |level| client.request("GET", &format!("{ITEMS}/a"), &headers(level), "");
    for level in ["Eventual", "Strong"] {
        assert_eq!(
            read(level).expect(200).header("x-ms-request-charge"),
            Some("2")
        );
    }
}

#[test]
fn of_two_activity_ids_one_comes_back() {
    let world = start();
    let client = world.client();
    let read = client.request("GET", "/dbs/d", &[("x-ms-activity-id", "one, two")], "");
    assert_eq!(read.expect(200).header("x-ms-activity-id"), Some("one"));
}

#[test]
fn items_say_where_they_are_and_how_full_their_container_is() {
    let world = start();
    let client = world.client();
    let created = client.create_item("a b", "p", &json!({}));
    let read = client.item("GET", "a%20b", "p", "").expect(200);
    for response in [&created, &read] {
        let location = response.header("content-location").unwrap();
        let expected = format!("http://{}{ITEMS}/a%20b", world.address);
        assert_eq!(location, expected);
        let quota = response.header("x-ms-resource-quota").unwrap();
        assert!(quota.contains("documentsCount=-1;"), "{quota}");
        let usage = response.header("x-ms-resource-usage").unwrap();
        assert!(usage.contains("documentsCount="), "{usage}");
    }
    let missing = client.item("GET", "b", "p", "").expect(404);
    assert_eq!(missing.header("content-location"), None);
    assert_eq!(missing.header("x-ms-content-path"), None);
    assert_eq!(
        missing.header("x-ms-alt-content-path"),
        Some("dbs/d/colls/c")
    );
    for (kind, expected) in [
        ("triggers", "storedProcedures=0;triggers=1;functions=0;"),
        ("udfs", "storedProcedures=0;triggers=1;functions=1;"),
    ] {
        let body =
            r#"{"id":"s","body":"function(){}","triggerType":"Pre","triggerOperation":"All"}"#;
        let made = client
            .post(&format!("/dbs/d/colls/c/{kind}"), body)
            .expect(201);
        let quota = "storedProcedures=100;triggers=25;functions=50;";
        assert_eq!(made.header("x-ms-resource-quota"), Some(quota));
        assert_eq!(made.header("x-ms-resource-usage"), Some(expected));
    }
    let account = client.get("/").expect(200);
    assert_eq!(account.header("x-ms-media-storage-usage-mb"), Some("0"));
    assert_eq!(
        account.header("x-ms-max-media-storage-usage-mb"),
        Some("2048")
    );
}

#[test]
fn a_container_says_that_it_shares_throughput() {
    let world = start();
    let client = world.client();
    let throughput = [("x-ms-offer-throughput", "400")];
    client
        .request("POST", "/dbs", &throughput, r#"{"id":"s"}"#)
        .expect(201);
    let create = |id: &str, headers: &[(&str, &str)]| {
        let body = json!({"id": id, "partitionKey": {"paths": ["/pk"]}}).to_string();
        client
            .request("POST", "/dbs/s/colls", headers, &body)
            .expect(201)
    };
    assert_eq!(
        create("a", &[]).header("x-ms-share-throughput"),
        Some("True")
    );
    assert_eq!(
        create("b", &throughput).header("x-ms-share-throughput"),
        None
    );
}

#[test]
fn control_characters_may_stand_in_strings() {
    let world = start();
    let client = world.client();
    let key = [(PK, r#"["p"]"#)];
    let body = "{\"id\":\"a\",\"pk\":\"p\",\"t\":\"x\ty\nz\"}";
    let created = client.request("POST", ITEMS, &key, body).expect(201);
    assert_eq!(created.json()["t"], "x\ty\nz");
}
