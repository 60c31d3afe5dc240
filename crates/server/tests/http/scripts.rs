//! Stored procedures and user-defined functions: registration, runs, what a client is told.

use std::time::Duration;

use orrery_engine::ScriptOptions;
use serde_json::{Value, json};

use crate::support::{
    Client, Credential, ITEMS, PK, QUERY, READ_ONLY, UPSERT, start, start_with_scripts,
};

const SPROCS: &str = "/dbs/d/colls/c/sprocs";
const TRIGGERS: &str = "/dbs/d/colls/c/triggers";
const UDFS: &str = "/dbs/d/colls/c/udfs";
const KEY: (&str, &str) = (PK, r#"["p"]"#);
const LOGGING: (&str, &str) = ("x-ms-documentdb-script-enable-logging", "True");
const LOG: &str = "x-ms-documentdb-script-log-results";

fn script(id: &str, body: &str) -> String {
    json!({"id": id, "body": body}).to_string()
}

/// Registers a procedure and runs it on the key `p`.
fn run(client: &Client, body: &str, arguments: &str) -> crate::support::Response {
    client
        .request("POST", SPROCS, &[UPSERT], &script("s", body))
        .json();
    client.request("POST", &format!("{SPROCS}/s"), &[KEY], arguments)
}

#[test]
fn arguments_may_be_an_object_like_an_array() {
    let world = start();
    let client = world.client();
    let body =
        "function (a, b, c) { getContext().getResponse().setBody(a + (b || '') + (c || '')); }";
    for arguments in [
        r#"{"0":"onetwothree","length":1}"#,
        r#"{"0":"onetwothree","length":"1"}"#,
        r#"{"0":"onetwothree","length":10000}"#,
        r#"{"0":"onetwothree","1":"test","length":1.5}"#,
        r#"{"0":"one","2":"twothree","length":3}"#,
        r#"{"0":"one","2":"three","1":"two","length":3}"#,
    ] {
        let answer = run(&client, body, arguments).expect(200);
        assert_eq!(answer.json(), "onetwothree", "{arguments}");
    }
    let body = "function (a) { getContext().getResponse().setBody(typeof a); }";
    for arguments in ["null", "{}", r#"{"a":4}"#, r#"{"0":4}"#] {
        let answer = run(&client, body, arguments).expect(200);
        assert_eq!(answer.json(), "undefined", "{arguments}");
    }
    for arguments in [r#"{"0":4,"length":600000}"#, r#"{"0":4,"length":1e9}"#] {
        run(&client, body, arguments).expect(400);
    }
}

#[test]
fn every_container_has_a_procedure_that_echoes() {
    let world = start();
    let client = world.client();
    let echo = format!("{SPROCS}/__.sys.echo");
    let answer = client.request("POST", &echo, &[KEY], r#"["foobar"]"#);
    assert_eq!(answer.expect(200).json(), "foobar");
    client
        .request("POST", &echo, &[], r#"["foobar"]"#)
        .expect(400);
    client.get(&echo).expect(404);
    assert_eq!(client.get(SPROCS).expect(200).json()["_count"], 0);
}

#[test]
fn the_life_of_a_script() {
    let world = start();
    let client = world.client();
    for (feed, envelope) in [
        (SPROCS, "StoredProcedures"),
        (TRIGGERS, "Triggers"),
        (UDFS, "UserDefinedFunctions"),
    ] {
        let is_trigger = feed == TRIGGERS;
        let body = |id: &str| {
            let mut body = json!({"id": id, "body": "not { JavaScript \"é\""});
            if is_trigger {
                body["triggerType"] = json!("pre");
                body["triggerOperation"] = json!("all");
            }
            body.to_string()
        };
        let created = client.post(feed, &body("s")).expect(201);
        let made = created.json();
        assert_eq!(created.header("etag"), made["_etag"].as_str());
        assert!(created.charge() > 0.0);
        assert_eq!(
            created.header("x-ms-alt-content-path"),
            Some("dbs/d/colls/c")
        );
        assert_eq!(made["body"], "not { JavaScript \"é\"");
        assert_eq!(
            made.get("triggerType"),
            is_trigger.then(|| json!("pre")).as_ref()
        );
        assert!(made["_ts"].is_u64());
        let rid = made["_rid"].as_str().unwrap();
        let keyword = feed.rsplit('/').next().unwrap();
        let link = made["_self"].as_str().unwrap();
        assert!(link.ends_with(&format!("/{keyword}/{rid}/")), "{link}");

        client
            .post(feed, &body("s"))
            .refused(409, 0, "Conflict", "");
        let by_name = format!("{feed}/s");
        let by_rid = format!("/{link}");
        assert_eq!(client.get(&by_name).expect(200).json(), made);
        assert_eq!(client.get(&by_rid).expect(200).json(), made);
        let etag = made["_etag"].as_str().unwrap();
        let known = client.request("GET", &by_name, &[("if-none-match", etag)], "");
        known.expect(304);

        let replaced = client
            .request("PUT", &by_rid, &[("if-match", etag)], &body("t"))
            .expect(200)
            .json();
        assert_eq!(
            (&replaced["id"], &replaced["_rid"]),
            (&json!("t"), &made["_rid"])
        );
        client.get(&by_name).refused(404, 0, "NotFound", "");
        client
            .request("PUT", &by_rid, &[("if-match", etag)], &body("t"))
            .refused(412, 0, "PreconditionFailed", "");
        client
            .request("POST", feed, &[UPSERT], &body("t"))
            .expect(200);
        client
            .request("POST", feed, &[UPSERT], &body("u"))
            .expect(201);
        client
            .put(&format!("{feed}/u"), &body("t"))
            .refused(409, 0, "Conflict", "");

        let listed = client.get(feed).expect(200).json();
        assert_eq!(listed["_count"], 2);
        assert_eq!(listed[envelope][0]["id"], "t");
        let page = client.request("GET", feed, &[("x-ms-max-item-count", "1")], "");
        let token = page.header("x-ms-continuation").unwrap().to_owned();
        assert_eq!(page.json()["_count"], 1);
        let rest = client.request("GET", feed, &[("x-ms-continuation", &token)], "");
        assert_eq!(rest.json()[envelope][0]["id"], "u");
        let found = client.query(feed, "SELECT VALUE r.id FROM r WHERE r.id > 't'");
        assert_eq!(found.expect(200).json()[envelope], json!(["u"]));

        client.delete(&format!("{feed}/u")).expect(204);
        client
            .delete(&format!("{feed}/u"))
            .refused(404, 0, "NotFound", "");
        assert_eq!(client.get(feed).json()["_count"], 1);
    }
}

#[test]
fn what_is_no_script_is_refused() {
    let world = start();
    let client = world.client();
    for (feed, body, name) in [
        (SPROCS, r#"{"body":"f"}"#, "id"),
        (SPROCS, r#"{"id":"s"}"#, "body"),
        (UDFS, r#"{"id":"s","body":""}"#, "body"),
        (TRIGGERS, r#"{"id":"s","body":"f"}"#, "triggerType"),
        (
            TRIGGERS,
            r#"{"id":"s","body":"f","triggerType":"Post"}"#,
            "triggerOperation",
        ),
    ] {
        let text = format!(
            "The input content is invalid because the required properties - '{name}; ' - are missing"
        );
        client.post(feed, body).refused(400, 0, "BadRequest", &text);
    }
    for body in [
        "{",
        r#"{"id":"a/b","body":"f"}"#,
        r#"{"id":"s","body":"f","triggerType":"Mid","triggerOperation":"All"}"#,
    ] {
        client
            .post(TRIGGERS, body)
            .refused(400, 0, "BadRequest", "");
    }
    let elsewhere = "/dbs/d/colls/none/sprocs";
    client.get(elsewhere).refused(404, 1003, "NotFound", "");
    client
        .post(elsewhere, &script("s", "f"))
        .refused(404, 1003, "NotFound", "");
    for (method, path) in [
        ("PATCH", SPROCS),
        ("PUT", UDFS),
        ("POST", "/dbs/d/colls/c/udfs/f"),
        ("POST", "/dbs/d/colls/c/triggers/t"),
    ] {
        let response = client.request(method, path, &[KEY], "[]");
        response.refused(405, 0, "MethodNotAllowed", "");
    }
}

#[test]
fn a_container_has_so_many_scripts_and_no_more() {
    let world = start();
    let client = world.client();
    for n in 0..50 {
        client
            .post(UDFS, &script(&format!("f{n}"), "f"))
            .expect(201);
    }
    client
        .post(UDFS, &script("g", "f"))
        .refused(403, 0, "Forbidden", "50 user-defined functions");
    client
        .request("POST", UDFS, &[UPSERT], &script("f1", "f"))
        .expect(200);
    client.delete(&format!("{UDFS}/f1")).expect(204);
    client.post(UDFS, &script("g", "f")).expect(201);
}

#[test]
fn bodies_are_what_the_procedure_set() {
    let world = start();
    let client = world.client();
    for (body, arguments, expected) in [
        (
            "function () { getContext().getResponse().setBody(999); }",
            "",
            "999",
        ),
        (
            "function (x) { getContext().getResponse().setBody('a' + x); }",
            r#"["so"]"#,
            r#""aso""#,
        ),
        (
            "(a, b) => { getContext().getResponse().setBody({ b: b, a: a }); }",
            r"[[1],null]",
            r#"{"b":null,"a":[1]}"#,
        ),
        (
            "function named() {
                for (var i = 0; i < 10; i++) getContext().getResponse().appendValue('Body', i);
            }",
            "null",
            r#""0123456789""#,
        ),
        ("function () {}", "[1]", ""),
    ] {
        let response = run(&client, body, arguments).expect(200);
        assert_eq!(response.text(), expected, "{body}");
        let link = client.get(&format!("{SPROCS}/s")).json()["_self"].clone();
        let by_rid = format!("/{}", link.as_str().unwrap());
        let again = client.request("POST", &by_rid, &[KEY], arguments);
        assert_eq!(again.expect(200).text(), expected, "{body}");
        assert!(response.charge() > 0.0);
        assert!(response.header("x-ms-session-token").is_some());
        assert_eq!(response.header(LOG), None);
    }
}

#[test]
fn a_log_is_sent_to_whoever_asks() {
    let world = start();
    let client = world.client();
    let body = "function (x) { if (x) console.log('The value of x is %s.', x); }";
    client.post(SPROCS, &script("s", body)).expect(201);
    let path = format!("{SPROCS}/s");
    for (headers, arguments, expected) in [
        (&[KEY][..], "[1]", None),
        (
            &[KEY, LOGGING],
            "[1]",
            Some("The%20value%20of%20x%20is%201."),
        ),
        (&[KEY, LOGGING], "[]", None),
    ] {
        let response = client
            .request("POST", &path, headers, arguments)
            .expect(200);
        assert_eq!(response.header(LOG), expected, "{headers:?} {arguments}");
    }
}

#[test]
fn runs_that_cannot_begin() {
    let world = start();
    let client = world.client();
    let path = format!("{SPROCS}/s");
    client
        .request("POST", &path, &[KEY], "[]")
        .refused(404, 0, "NotFound", "");
    client
        .post(SPROCS, &script("s", "function () {}"))
        .expect(201);
    client.post(&path, "[]").refused(
        400,
        0,
        "BadRequest",
        "PartitionKey value must be supplied for this operation.",
    );
    for (key, arguments) in [
        (r#"["p"]"#, "1"),
        (r#"["p"]"#, "[1"),
        (r#"["p","q"]"#, "[]"),
    ] {
        let response = client.request("POST", &path, &[(PK, key)], arguments);
        assert_eq!(response.status, 400, "{key} {arguments}");
    }
}

#[test]
fn failures_of_runs() {
    let world = start();
    let client = world.client();
    client.create_item("1", "p", &json!({}));
    let executing = "Encountered exception while executing Javascript. Exception = Error: ";
    for (body, status, substatus, code, text) in [
        (
            "function () { var ; }",
            400,
            65_535,
            "BadRequest",
            "Encountered exception while compiling Javascript.".to_owned(),
        ),
        (
            "function () { throw new Error('no such thing'); }",
            400,
            0,
            "BadRequest",
            format!("{executing}no such thing"),
        ),
        (
            "function () { throw new Error(417, 'seventeen'); }",
            400,
            417,
            "BadRequest",
            format!("{executing}seventeen"),
        ),
        (
            "function () { __.createDocument(__.getSelfLink(), { id: '1', pk: 'p' }); }",
            400,
            409,
            "BadRequest",
            "already exists".to_owned(),
        ),
        (
            "function () { __.createDocument(__.getSelfLink(), { id: '2', pk: 'q' }); }",
            400,
            400,
            "BadRequest",
            "Requests originating from scripts cannot reference partition keys".to_owned(),
        ),
        (
            "function () { getContext().getResponse().setBody('x'.repeat(5000000)); }",
            400,
            413,
            "BadRequest",
            String::new(),
        ),
    ] {
        println!("{body}");
        run(&client, body, "[]").refused(status, substatus, code, &text);
    }
}

#[test]
fn runs_that_do_not_end() {
    let world = start_with_scripts(ScriptOptions {
        wall_time: Duration::from_millis(60),
        accept_time: Duration::from_millis(40),
        ..ScriptOptions::default()
    });
    let client = world.client();
    let endless = "function () {
        __.createDocument(__.getSelfLink(), { id: '1', pk: 'p' });
        while (true) {}
    }";
    run(&client, endless, "[]").refused(408, 0, "RequestTimeout", "Request timed out.");
    client
        .item("GET", "1", "p", "")
        .refused(404, 0, "NotFound", "");
    let path = format!("{SPROCS}/of-a-page");
    client
        .post(SPROCS, &script("of-a-page", endless))
        .expect(201);
    let of_a_page = [KEY, ("x-orrery-browser", "True")];
    let response = client.request("POST", &path, &of_a_page, "");
    response.refused(504, 0, "RequestTimeout", "Request timed out.");
    assert_eq!(response.header("x-orrery-status"), Some("408"));
    client.post(SPROCS, &script("again", endless)).expect(201);
    let path = format!("{SPROCS}/again");
    let blocked = (0..20).find_map(|_| {
        let response = client.request("POST", &path, &[KEY], "");
        (response.status != 408).then_some(response)
    });
    blocked.unwrap().refused(
        403,
        0,
        "Forbidden",
        "is blocked for execution because it has violated its allowed resource limit several times.",
    );
}

#[test]
fn runs_that_take_too_much() {
    let world = start_with_scripts(ScriptOptions {
        wall_time: Duration::from_secs(30),
        heap_bytes: 4 << 20,
        ..ScriptOptions::default()
    });
    let client = world.client();
    let hoard = "function () { var all = []; while (true) all.push(new Array(1000).fill(0)); }";
    run(&client, hoard, "[]").refused(400, 0, "BadRequest", "");
    let deep = "function () { (function f() { return 1 + f(); })(); }";
    run(&client, deep, "[]").refused(400, 0, "BadRequest", "");
}

/// A value of two to the power of sixty elements in a heap of a few bytes.
const DOUBLED: &str = "var x = 1; for (var i = 0; i < 60; i++) x = [x, x];";

/// Each answer names the limit that the script exceeded, and the server goes on to serve requests.
#[test]
fn values_that_are_larger_than_they_look() {
    let world = start();
    let client = world.client();
    client.create_item("1", "p", &json!({}));
    for (statement, text) in [
        (
            "__.createDocument(__.getSelfLink(), { id: '2', pk: 'p', x });",
            "The document takes more than 33554432 bytes of memory, which one value may take.",
        ),
        (
            "__.queryDocuments(__.getSelfLink(), { query: 'SELECT * FROM c', parameters: [{ name: '@p', value: x }] });",
            "The query has more characters of JSON than the limit of 4194304.",
        ),
        (
            "__.response.setBody(x);",
            "The value of 'Body' has too many characters, which is more than the limit of 4194304.",
        ),
    ] {
        let body = format!("function () {{ {DOUBLED} {statement} }}");
        let answer = run(&client, &body, "[]");
        answer.refused(400, 413, "BadRequest", text);
        client.item("GET", "1", "p", "").expect(200);
    }
    let thrown = run(
        &client,
        &format!("function () {{ {DOUBLED} throw x; }}"),
        "[]",
    );
    // To write the value as text takes the time of the run on a busy machine.
    assert!(matches!(thrown.status, 400 | 408), "{}", thrown.status);
    let function = script("huge", &format!("function () {{ {DOUBLED} return x; }}"));
    client.post(UDFS, &function).expect(201);
    let text = "The value of the function takes more than 33554432 bytes of memory";
    client
        .query(ITEMS, "SELECT VALUE udf.huge() FROM c")
        .refused(400, 413, "BadRequest", text);
    run(&client, "function () { __.response.setBody(1); }", "[]").expect(200);
    client.item("GET", "2", "p", "").expect(404);
}

#[test]
fn functions_that_do_not_end() {
    let world = start_with_scripts(ScriptOptions {
        threads: 1,
        wall_time: Duration::from_millis(60),
        ..ScriptOptions::default()
    });
    let client = world.client();
    client.create_item("1", "p", &json!({}));
    let endless = script("endless", "function () { for (;;) {} }");
    client.post(UDFS, &endless).expect(201);
    let text = "SELECT VALUE udf.endless() FROM c";
    // Queries with endless functions run one after the other; a query without functions waits for
    // none of them.
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..5)
            .map(|_| scope.spawn(|| world.client().query(ITEMS, text)))
            .collect();
        client.query(ITEMS, "SELECT * FROM c").expect(200);
        for one in asked {
            let answer = one.join().unwrap();
            answer.refused(408, 0, "RequestTimeout", "Request timed out.");
        }
    });
}

#[test]
fn steps_are_limited_as_well() {
    let world = start_with_scripts(ScriptOptions {
        steps_max: 100_000,
        wall_time: Duration::from_secs(30),
        ..ScriptOptions::default()
    });
    let client = world.client();
    let body = "function (times) { for (var i = 0; i < times; i++) {} }";
    run(&client, body, "[1000]").expect(200);
    run(&client, body, "[1000000]").refused(408, 0, "RequestTimeout", "Request timed out.");
}

/// A successful run publishes all of its writes to other clients; a failed run publishes none.
#[test]
fn a_run_is_one_transaction() {
    let world = start();
    let client = world.client();
    let body = "function (fails) {
        ['1', '2'].forEach(function (id) {
            __.createDocument(__.getSelfLink(), { id: id, pk: 'p' }, function (err, made) {
                if (err) throw err;
                getContext().getResponse().setBody(made._etag);
            });
        });
        if (fails) __.createDocument(__.getSelfLink(), { id: '1', pk: 'p' });
    }";
    run(&client, body, "[true]").refused(400, 409, "BadRequest", "");
    client
        .item("GET", "1", "p", "")
        .refused(404, 0, "NotFound", "");
    let before = client.item("GET", "1", "p", "").lsn();
    let done = run(&client, body, "[false]").expect(200);
    assert_eq!(done.lsn(), before + 1);
    let token = done.header("x-ms-session-token").unwrap().to_owned();
    let session = ("x-ms-session-token", token.as_str());
    let read = client.request("GET", &format!("{ITEMS}/2"), &[KEY, session], "");
    assert_eq!(read.expect(200).json()["_etag"], done.json());
    assert!(done.charge() > 2.0);
}

#[test]
fn functions_in_queries() {
    let world = start();
    let client = world.client();
    let half = script(
        "half",
        "function (x) { if (x < 0) throw new Error('less'); return x / 2; }",
    );
    client.post(UDFS, &half).expect(201);
    for (n, pk) in [(2, "p"), (4, "q"), (6, "p")] {
        client.create_item(&n.to_string(), pk, &json!({"n": n}));
    }
    for (text, expected) in [
        (
            "SELECT VALUE udf.half(c.n) FROM c WHERE udf.half(c.n) > 1",
            json!([2, 3]),
        ),
        (
            "SELECT VALUE SUM(udf.half(c.n)) FROM c WHERE c.pk = 'p'",
            json!([4]),
        ),
        (
            "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS([1, 3], udf.half(c.n)) AND c.pk = 'p'",
            json!(["2", "6"]),
        ),
    ] {
        let rows = client.query(ITEMS, text).expect(200).json();
        let mut rows: Vec<Value> = rows["Documents"].as_array().unwrap().clone();
        rows.sort_by_key(ToString::to_string);
        assert_eq!(json!(rows), expected, "{text}");
    }
    client
        .query(ITEMS, "SELECT VALUE udf.half(-1) FROM c")
        .refused(400, 0, "BadRequest", "less");
    let numbered = script("numbered", "function () { throw new Error(1234, 'no'); }");
    client.post(UDFS, &numbered).expect(201);
    client
        .query(ITEMS, "SELECT VALUE udf.numbered() FROM c")
        .refused(400, 1234, "BadRequest", "no");
    client
        .query(ITEMS, "SELECT VALUE udf.double(c.n) FROM c")
        .refused(400, 0, "BadRequest", "double");
    let plan = client.request(
        "POST",
        ITEMS,
        &[
            QUERY,
            ("x-ms-cosmos-is-query-plan-request", "True"),
            ("x-ms-cosmos-supported-query-features", "OrderBy"),
        ],
        r#"{"query":"SELECT VALUE udf.half(c.n) FROM c ORDER BY c.n"}"#,
    );
    let plan = plan.expect(200).json();
    let rewritten = plan["queryInfo"]["rewrittenQuery"].as_str().unwrap();
    assert!(rewritten.contains("udf.half(c.n)"), "{rewritten}");
    client
        .query(
            ITEMS,
            &rewritten.replace("{documentdb-formattableorderbyquery-filter}", "true"),
        )
        .expect(200);
}

#[test]
fn who_may_run_a_script() {
    let world = start();
    let client = world.client();
    client
        .post(SPROCS, &script("s", "function () {}"))
        .expect(201);
    client
        .post(SPROCS, &script("t", "function () {}"))
        .expect(201);
    let path = format!("{SPROCS}/s");
    let read_only = world.client_of(READ_ONLY);
    read_only.get(&path).expect(200);
    let query = ("x-ms-documentdb-isquery", "True");
    for headers in [&[KEY][..], &[KEY, query]] {
        read_only
            .request("POST", &path, headers, "[]")
            .refused(403, 0, "Forbidden", "read-only");
    }

    client.post("/dbs/d/users", r#"{"id":"u"}"#).expect(201);
    let link = client.get(&path).json()["_self"]
        .as_str()
        .unwrap()
        .to_owned();
    for (resource, mode, key, allowed) in [
        ("dbs/d/colls/c", "Read", None, false),
        ("dbs/d/colls/c", "All", None, true),
        ("dbs/d/colls/c", "All", Some("p"), true),
        ("dbs/d/colls/c", "All", Some("q"), false),
        ("dbs/d/colls/c/sprocs/s", "All", None, true),
        ("dbs/d/colls/c/sprocs/t", "All", None, false),
        (link.as_str(), "All", None, true),
    ] {
        let mut permission = json!({"id": "m", "permissionMode": mode, "resource": resource});
        if let Some(key) = key {
            permission["resourcePartitionKey"] = json!([key]);
        }
        let permissions = "/dbs/d/users/u/permissions";
        let made = client
            .post(permissions, &permission.to_string())
            .expect(201)
            .json();
        let token = made["_token"].as_str().unwrap().to_owned();
        let limited = world.client_with(Credential::Token(token));
        let answer = limited.request("POST", &path, &[KEY], "[]");
        let expected = if allowed { 200 } else { 403 };
        assert_eq!(answer.status, expected, "{permission}");
        client.delete(&format!("{permissions}/m")).expect(204);
    }
}
