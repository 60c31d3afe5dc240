//! Who may ask: signatures, dates, keys.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use orrery_model::{AccountKeyRole, AccountKeys, Secret};
use orrery_wire::HttpDate;
use serde_json::json;

use crate::signature::{authorization, encoded, sign};
use crate::support::{
    Credential, ITEMS, PK, PRIMARY, QUERY, READ_ONLY, SECONDARY, START_SECONDS, start,
};

const KEY: (&str, &str) = (PK, r#"["p"]"#);

#[test]
fn without_a_valid_signature() {
    let world = start();
    let client = world.client();
    let nobody = world.client_with(Credential::Nothing);
    let date = client.date();
    let missing =
        "Required Header authorization is missing. Ensure a valid Authorization token is passed.";
    for headers in [&[][..], &[("authorization", "")]] {
        for path in ["/", "/dbs", "/dbs/d", ITEMS, "/dbs/nobody", "/offers"] {
            nobody
                .request("GET", path, headers, "")
                .refused(401, 0, "Unauthorized", missing);
        }
    }
    for value in [
        "Bearer x",
        "type=master",
        "type=master&ver=1.0&sig=x",
        "type%3Dmaster%26ver%3D1.0%26sig%3D%zz",
        "type=sas&ver=1.0&sig=x",
        "type=aad&ver=1.0&sig=a.b.c",
        "type=resource&ver=1&sig=x;y;",
    ] {
        let headers = [("authorization", value), ("x-ms-date", date.as_str())];
        nobody
            .request("GET", "/dbs/d", &headers, "")
            .refused(401, 0, "Unauthorized", "");
    }
    let wrong = world.client_of(b"another key").get("/dbs/d");
    let lower = date.to_lowercase();
    let text = format!(
        "The input authorization token can't serve the request. Please check that the expected \
         payload is built as per the protocol, and check the key being used. Server used the \
         following payload to sign: 'get\ndbs\ndbs/d\n{lower}\n\n'"
    );
    wrong.refused(401, 0, "Unauthorized", &text);
    let signature = authorization(PRIMARY, "GET", "/dbs/d", &date);
    let headers = [("authorization", signature.as_str()), ("x-ms-date", &date)];
    for (method, path) in [
        ("DELETE", "/dbs/d"),
        ("GET", "/dbs/D"),
        ("GET", "/dbs/d/colls"),
    ] {
        let response = nobody.request(method, path, &headers, "");
        response.refused(401, 0, "Unauthorized", "to sign");
    }
    nobody.request("GET", "/dbs/d", &headers, "").expect(200);
}

#[test]
fn a_refusal_comes_before_anything_is_told() {
    let world = start();
    let wrong = world.client_of(b"another key");
    for path in [
        "/dbs/nobody",
        "/dbs/d/colls/nobody/docs/x",
        "/dbs/d/colls/c/sprocs",
    ] {
        wrong.get(path).refused(401, 0, "Unauthorized", "");
    }
    wrong
        .post("/dbs", "not json")
        .refused(401, 0, "Unauthorized", "");
    wrong.delete("/dbs/d").refused(401, 0, "Unauthorized", "");
    world.client().get("/dbs/d").expect(200);
}

#[test]
fn the_date_of_the_signature() {
    let world = start();
    let nobody = world.client_with(Credential::Nothing);
    let at = |seconds: u64| HttpDate(seconds).to_string();
    let get = |date: &str| {
        let signature = authorization(PRIMARY, "GET", "/dbs/d", date);
        let headers = [("authorization", signature.as_str()), ("x-ms-date", date)];
        nobody.request("GET", "/dbs/d", &headers, "")
    };
    for seconds in [
        START_SECONDS - 15 * 60,
        START_SECONDS,
        START_SECONDS + 15 * 60,
    ] {
        get(&at(seconds)).expect(200);
    }
    for seconds in [0, START_SECONDS - 15 * 60 - 1, START_SECONDS + 15 * 60 + 1] {
        let text = "The authorization token is not valid at the current time.";
        get(&at(seconds)).refused(403, 0, "Forbidden", text);
    }
    for date in ["", "yesterday", "2027-01-15T08:00:00Z"] {
        let response = get(date);
        assert!(
            [401, 403].contains(&response.status),
            "{date}: {}",
            response.text()
        );
    }
    let payload = "get\ndbs\ndbs/d\n\n\n";
    let signature = encoded(&sign(PRIMARY, payload));
    let response = nobody.request("GET", "/dbs/d", &[("authorization", &signature)], "");
    response.refused(401, 0, "Unauthorized", "date");
    world.advance(3_600);
    get(&at(START_SECONDS)).refused(403, 0, "Forbidden", "");
}

#[test]
fn the_date_header_serves_too_and_forms_of_the_header() {
    let world = start();
    let nobody = world.client_with(Credential::Nothing);
    let date = HttpDate(START_SECONDS).to_string();
    let payload = format!("get\ndbs\ndbs/d\n\n{}\n", date.to_lowercase());
    let by_date = encoded(&sign(PRIMARY, &payload));
    let headers = [("authorization", by_date.as_str()), ("date", &date)];
    nobody.request("GET", "/dbs/d", &headers, "").expect(200);

    let payload = format!("get\ndbs\ndbs/d\n{}\n\n", date.to_lowercase());
    let signature = sign(PRIMARY, &payload);
    let raw = format!("type=master&ver=1.0&sig={signature}");
    let upper = encoded(&signature);
    let lower = upper
        .replace("%3D", "%3d")
        .replace("%2F", "%2f")
        .replace("%2B", "%2b");
    for authorization in [&raw, &upper, &lower] {
        let headers = [
            ("authorization", authorization.as_str()),
            ("x-ms-date", &date),
            ("date", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ];
        nobody.request("GET", "/dbs/d", &headers, "").expect(200);
    }
}

#[test]
fn every_key_reads_and_two_write() {
    let world = start();
    world.client().create_item("a", "p", &json!({}));
    for key in [PRIMARY, SECONDARY, READ_ONLY] {
        let client = world.client_of(key);
        for path in [
            "/",
            "/dbs",
            "/dbs/d",
            "/dbs/d/colls/c",
            ITEMS,
            "/offers",
            "/dbs/d/users",
        ] {
            client.get(path).expect(200);
        }
        client.item("GET", "a", "p", "").expect(200);
        client.query(ITEMS, "SELECT * FROM c").expect(200);
        let plan = [QUERY, ("x-ms-cosmos-is-query-plan-request", "True")];
        client
            .request("POST", ITEMS, &plan, r#"{"query":"SELECT * FROM c"}"#)
            .expect(200);
    }
    world
        .client_of(SECONDARY)
        .post("/dbs", r#"{"id":"e"}"#)
        .expect(201);
}

#[test]
fn a_read_only_key_writes_nothing() {
    let world = start();
    let client = world.client();
    client.create_item("a", "p", &json!({}));
    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let reader = world.client_of(READ_ONLY);
    let item = format!("{ITEMS}/a");
    let batch = [
        KEY,
        ("x-ms-cosmos-is-batch-request", "True"),
        ("x-ms-cosmos-batch-atomic", "True"),
    ];
    for (method, path, headers, body) in [
        ("POST", "/dbs", &[][..], r#"{"id":"x"}"#),
        ("DELETE", "/dbs/d", &[], ""),
        (
            "POST",
            "/dbs/d/colls",
            &[],
            r#"{"id":"x","partitionKey":{"paths":["/pk"]}}"#,
        ),
        ("PUT", "/dbs/d/colls/c", &[], r#"{"id":"c"}"#),
        ("DELETE", "/dbs/d/colls/c", &[], ""),
        ("POST", ITEMS, &[KEY], r#"{"id":"x","pk":"p"}"#),
        (
            "POST",
            ITEMS,
            &batch,
            r#"[{"operationType":"Read","id":"a"}]"#,
        ),
        ("PUT", &item, &[KEY], r#"{"id":"a","pk":"p"}"#),
        (
            "PATCH",
            &item,
            &[KEY],
            r#"[{"op":"set","path":"/x","value":1}]"#,
        ),
        ("DELETE", &item, &[KEY], ""),
        (
            "POST",
            "/dbs/d/colls/c/operations/partitionkeydelete",
            &[KEY],
            "",
        ),
        ("POST", "/dbs/d/users", &[], r#"{"id":"x"}"#),
        ("GET", "/dbs/d/users/u/permissions", &[], ""),
    ] {
        let response = reader.request(method, path, headers, body);
        response.refused(403, 0, "Forbidden", "");
    }
    client.item("GET", "a", "p", "").expect(200);
}

#[test]
fn without_a_key_only_health_is_told() {
    let world = start();
    let nobody = world.client_with(Credential::Nothing);
    for path in ["/ready", "/health"] {
        let response = nobody.request("GET", path, &[], "");
        assert_eq!(
            (response.status, response.text().as_str()),
            (200, r#"{"status":"ok"}"#)
        );
    }
    for method in ["POST", "PUT", "DELETE"] {
        let response = nobody.request(method, "/ready", &[], "");
        assert!(
            [400, 401].contains(&response.status),
            "{method} {}",
            response.status
        );
    }
}

#[test]
fn keys_can_be_exchanged_while_the_server_runs() {
    let world = start();
    let (old, new) = (world.client(), world.client_of(b"a new key"));
    old.get("/dbs/d").expect(200);
    new.get("/dbs/d").refused(401, 0, "Unauthorized", "");
    world.handle.set_keys(&AccountKeys {
        keys: vec![(
            Secret::new(b"a new key".to_vec()),
            AccountKeyRole::ReadWrite,
        )],
    });
    old.get("/dbs/d").refused(401, 0, "Unauthorized", "");
    new.get("/dbs/d").expect(200);
}

#[test]
fn the_tokens_of_the_emulator() {
    let world = start();
    let token = |key: &[u8], from: u64, to: u64| {
        let header = r#"{"typ":"JWT","alg":"RS256","x5t":"CosmosEmulatorPrimaryMaster","kid":"CosmosEmulatorPrimaryMaster"}"#;
        let claims = json!({
            "aud": "https://localhost.localhost", "appid": "localhost", "tid": "EmulatorFederation",
            "iss": "https://sts.fake-issuer.net/7b1999a1-dfd7-440e-8204-00170979b984",
            "iat": from, "nbf": from, "exp": to
        });
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let key = part(&STANDARD.encode(key));
        format!(
            "type=aad&ver=1.0&sig={}.{}.{key}",
            part(header),
            part(&claims.to_string())
        )
    };
    let now = START_SECONDS;
    for (token, status) in [
        (token(PRIMARY, now - 10, now + 3_600), 200),
        (token(READ_ONLY, now - 10, now + 3_600), 200),
        (token(b"another", now - 10, now + 3_600), 401),
    ] {
        for form in [token.clone(), crate::signature::encode(&token)] {
            let client = world.client_with(Credential::Token(form));
            assert_eq!(client.get("/dbs/d").status, status);
        }
    }
    let expired = world.client_with(Credential::Token(token(PRIMARY, now - 7_200, now - 3_600)));
    assert!([401, 403].contains(&expired.get("/dbs/d").status));
    let reader = token(READ_ONLY, now - 10, now + 3_600);
    let reader = world.client_with(Credential::Token(reader));
    reader
        .post("/dbs", r#"{"id":"x"}"#)
        .refused(403, 0, "Forbidden", "");
}
