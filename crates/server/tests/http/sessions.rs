//! Session tokens and LSNs.

use orrery_model::ConsistencyLevel;
use serde_json::json;

use crate::support::{ITEMS, PK, QUERY, Response, UPSERT, start, start_with};

const KEY: (&str, &str) = (PK, r#"["p"]"#);
const TOKEN: &str = "x-ms-session-token";
const BODY: &str = r#"{"id":"a","pk":"p"}"#;

#[test]
fn each_write_is_one_lsn_and_reads_are_none() {
    let world = start();
    let client = world.client();
    let item = format!("{ITEMS}/a");
    let mut lsn = client.create_item("first", "p", &json!({})).lsn();
    for (method, path, headers, body, writes) in [
        ("POST", ITEMS, &[KEY][..], BODY, 1),
        ("GET", &item, &[KEY], "", 0),
        ("PUT", &item, &[KEY], BODY, 1),
        ("POST", ITEMS, &[KEY, UPSERT], BODY, 1),
        (
            "PATCH",
            &item,
            &[KEY],
            r#"[{"op":"set","path":"/x","value":1}]"#,
            1,
        ),
        ("POST", ITEMS, &[KEY], BODY, 0),
        ("GET", ITEMS, &[], "", 0),
        ("PUT", &item, &[KEY, ("if-match", "\"x\"")], BODY, 0),
        ("GET", &item, &[KEY, ("if-none-match", "*")], "", 0),
        ("DELETE", &item, &[KEY], "", 1),
        ("DELETE", &item, &[KEY], "", 0),
    ] {
        let response = client.request(method, path, headers, body);
        lsn += writes;
        println!("{method} {path} {headers:?} {}", response.status);
        assert_eq!(response.lsn(), lsn);
        assert_eq!(response.header(TOKEN), Some(format!("0:-1#{lsn}").as_str()));
        assert_eq!(
            response.header("x-ms-documentdb-partitionkeyrangeid"),
            Some("0")
        );
        for name in [
            "x-ms-global-committed-lsn",
            "x-ms-quorum-acked-lsn",
            "x-ms-cosmos-llsn",
            "x-ms-cosmos-quorum-acked-llsn",
        ] {
            assert_eq!(
                response.header(name),
                Some(lsn.to_string().as_str()),
                "{name}"
            );
        }
    }
}

#[test]
fn the_lsn_of_an_item_is_that_of_its_last_write() {
    let world = start();
    let client = world.client();
    let created = client.create_item("a", "p", &json!({}));
    client.create_item("b", "p", &json!({}));
    let read = client.item("GET", "a", "p", "").expect(200);
    let lsn = created.lsn().to_string();
    for name in ["x-ms-item-lsn", "x-ms-cosmos-item-llsn"] {
        assert_eq!(created.header(name), Some(lsn.as_str()));
        assert_eq!(read.header(name), Some(lsn.as_str()));
    }
    assert_eq!(read.lsn(), created.lsn() + 1);
}

#[test]
fn a_token_ahead_of_the_server_is_echoed() {
    let world = start();
    let client = world.client();
    let lsn = client.create_item("a", "p", &json!({})).lsn();
    let item = format!("{ITEMS}/a");
    for token in [
        format!("0:-1#{}", lsn + 1),
        format!("0:1#{lsn}"),
        format!("0:0#{}", lsn + 1),
        format!("0:{}", lsn + 1),
        format!("7:-1#99,0:-1#{}", lsn + 9),
    ] {
        for (method, path, headers, body) in [
            (
                "GET",
                item.as_str(),
                &[KEY, (TOKEN, token.as_str())][..],
                "",
            ),
            ("GET", ITEMS, &[(TOKEN, &token)], ""),
            (
                "POST",
                ITEMS,
                &[(TOKEN, &token), QUERY],
                r#"{"query":"SELECT * FROM c"}"#,
            ),
            ("GET", &format!("{ITEMS}/none"), &[KEY, (TOKEN, &token)], ""),
        ] {
            let response = client.request(method, path, headers, body);
            println!("{method} {path} {token}");
            let text = "The read session is not available for the input session token.";
            response.refused(404, 1002, "NotFound", text);
            response.refused(
                404,
                1002,
                "NotFound",
                "The read/write session is not available",
            );
            assert_eq!(response.header(TOKEN), Some(token.as_str()));
        }
        for level in ["Eventual", "ConsistentPrefix"] {
            let headers = [
                KEY,
                (TOKEN, token.as_str()),
                ("x-ms-consistency-level", level),
            ];
            client.request("GET", &item, &headers, "").expect(200);
        }
    }
    // Writes never fail because of tokens.
    let headers = [KEY, UPSERT, (TOKEN, "0:-1#999")];
    client.request("POST", ITEMS, &headers, BODY).expect(200);
}

#[test]
fn tokens_the_server_has_reached() {
    let world = start();
    let client = world.client();
    let lsn = client.create_item("a", "p", &json!({})).lsn();
    let item = format!("{ITEMS}/a");
    for token in [
        format!("0:-1#{lsn}"),
        "0:-1#0".to_owned(),
        format!("0:-1#{lsn},1:-1#99"),
        format!("0:-1#{lsn},"),
        "5:-1#1000".to_owned(),
        format!("0:{lsn}"),
    ] {
        client
            .request("GET", &item, &[KEY, (TOKEN, &token)], "")
            .expect(200);
        client
            .request("GET", ITEMS, &[(TOKEN, &token)], "")
            .expect(200);
    }
    for token in [
        "x",
        "0",
        "0:",
        "0:x",
        ":1",
        "0:-1#",
        "0:-1#x",
        ",",
        "0:-1#1,,",
        "0:1#2#x=3",
    ] {
        for (path, headers) in [
            (item.as_str(), &[KEY, (TOKEN, token)][..]),
            (ITEMS, &[(TOKEN, token)]),
        ] {
            let response = client.request("GET", path, headers, "");
            let text = format!("The session token provided '{token}' is invalid.");
            response.refused(400, 0, "BadRequest", &text);
        }
    }
}

/// Both .NET SDKs misread a token of several ranges, and so does Java's.
#[test]
fn an_answer_of_two_ranges_has_the_token_of_the_range_where_it_ended() {
    let world = start();
    let client = world.client();
    let headers = [("x-ms-offer-throughput", "12000")];
    let definition = r#"{"id":"m","partitionKey":{"paths":["/pk"],"version":2}}"#;
    client
        .request("POST", "/dbs/d/colls", &headers, definition)
        .expect(201);
    let items = "/dbs/d/colls/m/docs";
    for index in 0..6 {
        let body = json!({"id": "a", "pk": index}).to_string();
        client
            .request("POST", items, &[(PK, &json!([index]).to_string())], &body)
            .expect(201);
    }
    let cross = ("x-ms-documentdb-query-enablecrosspartition", "True");
    for (method, extra, body) in [
        ("GET", &[][..], ""),
        ("GET", &[("a-im", "Incremental feed")], ""),
        ("POST", &[QUERY, cross], r#"{"query":"SELECT * FROM c"}"#),
        (
            "POST",
            &[QUERY, cross],
            r#"{"query":"SELECT VALUE COUNT(1) FROM c"}"#,
        ),
    ] {
        let ask = |agent: &str, more: &[(&str, &str)]| {
            let agent = [("user-agent", agent)];
            let headers = [extra, more, &agent].concat();
            client.request(method, items, &headers, body).expect(200)
        };
        let token = |response: &Response| response.header(TOKEN).unwrap().to_owned();
        let feed = ask(
            "cosmos-netstandard-sdk/3.64.0",
            &[("x-orrery-whole-query", "true")],
        );
        assert!(
            token(&feed).starts_with("1:-1#"),
            "{method} {body}: {}",
            token(&feed)
        );
        let named = feed.header("x-ms-documentdb-partitionkeyrangeid");
        assert_eq!(named, Some("1"));
        let listed = token(&ask(
            "azsdk-python-cosmos/4",
            &[("x-orrery-whole-query", "true")],
        ));
        let ranges = listed
            .split(',')
            .map(|part| part.split_once(':').unwrap().0);
        assert_eq!(ranges.collect::<Vec<_>>(), ["0", "1"], "{listed}");
        client
            .request("GET", items, &[(TOKEN, &listed)], "")
            .expect(200);
    }
    let (mut ranges, mut continuation) = (Vec::new(), String::new());
    loop {
        let page = [
            ("x-ms-max-item-count", "1"),
            ("x-ms-continuation", &continuation),
        ];
        let response = client.request("GET", items, &page, "").expect(200);
        ranges.push(
            response
                .header(TOKEN)
                .unwrap()
                .split_once(':')
                .unwrap()
                .0
                .to_owned(),
        );
        match response.header("x-ms-continuation") {
            Some(next) => next.clone_into(&mut continuation),
            None => break,
        }
    }
    assert_eq!(ranges.first().map(String::as_str), Some("0"));
    assert!(ranges.is_sorted(), "{ranges:?}");
}

#[test]
fn stronger_accounts_check_tokens_and_charge_double() {
    let charge = |level| {
        let world = start_with(level);
        let client = world.client();
        client.create_item("a", "p", &json!({}));
        let ahead = [KEY, (TOKEN, "0:-1#999")];
        let response = client.request("GET", &format!("{ITEMS}/a"), &ahead, "");
        let status = response.status;
        (
            status,
            client.item("GET", "a", "p", "").expect(200).charge(),
        )
    };
    let (status, session) = charge(ConsistencyLevel::Session);
    assert_eq!(status, 404);
    let (status, strong) = charge(ConsistencyLevel::Strong);
    assert_eq!(status, 404);
    assert!((strong - 2.0 * session).abs() < 1e-9);
    let (status, eventual) = charge(ConsistencyLevel::Eventual);
    assert_eq!(status, 200);
    assert!((eventual - session).abs() < 1e-9);
}

#[test]
fn a_strategy_reads_its_own_way_whatever_the_account_is() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    let read = |strategy: Option<&str>, token: &str| {
        let strategy = strategy.map(|name| ("x-ms-cosmos-read-consistency-strategy", name));
        let mut headers = vec![KEY, (TOKEN, token)];
        headers.extend(strategy);
        client.request("GET", "/dbs/d/colls/c/docs/a", &headers, "")
    };
    let plain = read(None, "0:-1#1").expect(200).charge();
    for (strategy, token, status, factor) in [
        ("Eventual", "0:-1#999", 200, 1.0),
        ("Session", "0:-1#1", 200, 1.0),
        ("Session", "0:-1#999", 404, 1.0),
        ("LatestCommitted", "0:-1#1", 200, 2.0),
        ("LatestCommitted", "0:-1#999", 404, 2.0),
    ] {
        let response = read(Some(strategy), token).expect(status);
        let difference = response.charge() - factor * plain;
        assert!(difference.abs() < 1e-9, "{strategy}");
    }
    let response = read(Some("GlobalStrong"), "0:-1#1");
    response.refused(400, 0, "BadRequest", "GlobalStrong");
}

/// A client forgets its routing map when an answer about items does not name its range.
#[test]
fn failures_name_their_partition_and_their_owner_too() {
    let world = start();
    let client = world.client();
    let item = client.create_item("a", "p", &json!({})).json();
    let by_rid = format!("/{}", item["_self"].as_str().unwrap());
    let other = (PK, r#"["q"]"#);
    let ahead = (TOKEN, "0:-1#999");
    for (method, path, headers, body, status) in [
        ("GET", "/dbs/d/colls/c/docs/n", &[KEY][..], "", 404),
        ("GET", "/dbs/d/colls/c/docs/a", &[KEY, ahead], "", 404),
        ("GET", ITEMS, &[ahead], "", 404),
        ("GET", &by_rid, &[other], "", 404),
        ("DELETE", &by_rid, &[other], "", 404),
        ("POST", ITEMS, &[KEY], BODY, 409),
        ("POST", ITEMS, &[other], BODY, 400),
        (
            "DELETE",
            "/dbs/d/colls/c/docs/a",
            &[KEY, ("if-match", "\"x\"")],
            "",
            412,
        ),
    ] {
        let response = client.request(method, path, headers, body);
        println!("{method} {path} {headers:?}");
        assert_eq!(response.status, status, "{}", response.text());
        for name in [
            TOKEN,
            "x-ms-documentdb-partitionkeyrangeid",
            "x-ms-alt-content-path",
        ] {
            assert!(response.header(name).is_some(), "no {name}");
        }
    }
}

#[test]
fn a_malformed_token_refuses_a_write() {
    let world = start();
    let client = world.client();
    let headers = [(PK, r#"["p"]"#), ("x-ms-session-token", "nonsense")];
    let text = "The session token provided 'nonsense' is invalid.";
    let item = r#"{"id":"a","pk":"p"}"#;
    client
        .request("POST", ITEMS, &headers, item)
        .refused(400, 0, "BadRequest", text);
    let batch = [
        ("x-ms-cosmos-is-batch-request", "True"),
        ("x-ms-cosmos-batch-atomic", "True"),
    ];
    let body = format!(r#"[{{"operationType":"Create","resourceBody":{item}}}]"#);
    client
        .request("POST", ITEMS, &[headers, batch].concat(), &body)
        .refused(400, 0, "BadRequest", text);
    let ahead = [(PK, r#"["p"]"#), ("x-ms-session-token", "0:-1#99")];
    client.request("POST", ITEMS, &ahead, item).expect(201);
}
