//! Whatever a token of one partition key is used for: no answer holds a byte of other items, and nothing else
//! than items of that key changes.
//!
//! Everything outside of the grant contains a marker, which is sought in the bytes of every answer, and the
//! state outside of the grant is read with the account's key now and then. `ORRERY_CASES=100000` makes that many
//! requests, `ORRERY_SEED=n` begins the random numbers elsewhere.

use serde_json::{Value, json};

use crate::connection::{Connection, Response};
use crate::random_requests::{Home, QUERIES, Random, RandomRequest, Rumours};
use crate::resource_tokens::permit;
use crate::support::{CONTAINER, Client, ITEMS, PK, QUERY, World, start};

/// They take some 20 seconds on a busy machine with two processors.
const CASES_DEFAULT: usize = 100_000;
/// Requests that are sent before the first answer is awaited.
const PIPELINE: usize = 20;
/// Requests between two looks at the state outside of the grant.
const CASES_PER_LOOK: usize = 2_000;

/// In every item outside of the grants, in their properties' names and values, and in what no token of a key reads.
const MARKER: &str = "Xy7-Marker-Of-Others";

const HIERARCHY: &str = "/dbs/d/colls/h";
const AT_P: Home = Home {
    container: CONTAINER,
    key: r#"["p"]"#,
};
const AT_A: Home = Home {
    container: HIERARCHY,
    key: r#"["a","1"]"#,
};

fn number(name: &str, default: usize) -> usize {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().unwrap())
}

#[test]
fn a_token_of_one_key_neither_shows_nor_changes_anything_else() {
    let seed = number("ORRERY_SEED", 1);
    let cases = number("ORRERY_CASES", CASES_DEFAULT);
    let world = world();
    let rumours = rumours(&world);
    let grants = [
        ("dbs/d/colls/c", "All", json!(["p"]), AT_P),
        ("dbs/d/colls/c", "Read", json!(["p"]), AT_P),
        ("dbs/d/colls/h", "All", json!(["a"]), AT_A),
        ("dbs/d/colls/h", "All", json!(["a", "1"]), AT_A),
        ("dbs/d/colls/c/docs/a", "All", json!(["p"]), AT_P),
    ];
    let bearers = grants
        .iter()
        .enumerate()
        .map(|(number, (resource, mode, key, home))| {
            let grant =
                json!({"permissionMode": mode, "resource": resource, "resourcePartitionKey": key});
            // Two permissions of one user may not be on the same resource and key.
            let id = format!("u{number}");
            Bearer {
                token: permit_user(&world, &id, &grant),
                connection: world.connect(),
                home: *home,
            }
        });
    let mut bearers: Vec<_> = bearers.collect();
    let before = outside(&world);
    let mut random = Random::new(seed as u64);
    let (mut done, mut own, mut looked) = (0, 0, 0);
    let mut statuses = std::collections::BTreeMap::<u16, usize>::new();
    while done < cases {
        let bearer = random.below(bearers.len());
        let bearer = &mut bearers[bearer];
        let requests: Vec<_> = (0..PIPELINE)
            .map(|_| rumours.request(&mut random, bearer.home))
            .collect();
        for (request, response) in bearer.ask(&world, &requests) {
            check(seed, &request, &response);
            *statuses.entry(response.status).or_default() += 1;
            own += usize::from(String::from_utf8_lossy(&response.body).contains("mine"));
            done += 1;
        }
        if done - looked >= CASES_PER_LOOK || done >= cases {
            assert_eq!(
                outside(&world),
                before,
                "after {done} requests, ORRERY_SEED={seed}"
            );
            looked = done;
        }
    }
    println!("{done} requests, {own} answers with own items, answers by status: {statuses:?}");
    // A test that is refused everything proves nothing.
    for status in [200, 201, 204, 207, 304, 400, 403, 404] {
        assert!(
            statuses.contains_key(&status),
            "no answer with {status}: {statuses:?}"
        );
    }
    assert!(
        statuses[&200] > done / 20 && own > done / 20,
        "{own} {statuses:?}"
    );
}

struct Bearer {
    token: Client,
    connection: Connection,
    home: Home,
}

impl Bearer {
    fn ask(&mut self, world: &World, requests: &[RandomRequest]) -> Vec<(RandomRequest, Response)> {
        let mut bytes = Vec::new();
        for request in requests {
            let headers: Vec<_> = request
                .headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            let (method, path) = (request.method, &request.path);
            bytes.extend(self.token.bytes(method, path, &headers, &request.body));
        }
        self.connection.send(&bytes);
        let mut answered = Vec::new();
        for request in requests {
            let Some(response) = self.connection.try_receive(request.method) else {
                break;
            };
            let closes = response.header("connection") == Some("close");
            answered.push((request.clone(), response));
            if closes {
                self.connection = world.connect();
                break;
            }
        }
        assert!(!answered.is_empty(), "no answer to {:?}", requests.first());
        answered
    }
}

fn check(seed: usize, request: &RandomRequest, response: &Response) {
    let description = || {
        let body = String::from_utf8_lossy(&request.body);
        let RandomRequest {
            method,
            path,
            headers,
            ..
        } = request;
        format!("ORRERY_SEED={seed} {method} {path} {headers:?} {body}")
    };
    let shows = |bytes: &[u8]| {
        bytes
            .windows(MARKER.len())
            .any(|part| part == MARKER.as_bytes())
    };
    assert!(
        !shows(&response.body),
        "{} shows {}",
        description(),
        response.text()
    );
    for (name, value) in &response.headers {
        assert!(
            !shows(value.as_bytes()),
            "{} shows {name}: {value}",
            description()
        );
    }
    let is_internal = response.status == 500;
    assert!(!is_internal, "{}: {}", description(), response.text());
}

fn permit_user(world: &World, user: &str, grant: &Value) -> Client {
    let client = world.client();
    let body = json!({"id": user}).to_string();
    client.post("/dbs/d/users", &body).expect(201);
    let mut permission = grant.clone();
    permission["id"] = json!(MARKER);
    let path = format!("/dbs/d/users/{user}/permissions");
    let made = client
        .post(&path, &permission.to_string())
        .expect(201)
        .json();
    let token = made["_token"].as_str().unwrap().to_owned();
    world.client_with(crate::support::Credential::Token(token))
}

/// Items of the grants and others, scripts that try to reach what they are given, and another container and
/// database.
fn world() -> World {
    let world = start();
    let client = world.client();
    client.delete(CONTAINER).expect(204);
    let throughput = [("x-ms-offer-throughput", "18000")];
    for definition in [
        json!({
            "id": "c", "partitionKey": {"paths": ["/pk"], "version": 2},
            "changeFeedPolicy": {"retentionDuration": 600},
            "conflictResolutionPolicy": {"mode": "Custom"}
        }),
        json!({"id": "h", "partitionKey": {"paths": ["/t", "/u"], "kind": "MultiHash", "version": 2}}),
        json!({"id": "o", "partitionKey": {"paths": ["/pk"]}}),
    ] {
        let made = client.request("POST", "/dbs/d/colls", &throughput, &definition.to_string());
        made.expect(201);
    }
    client
        .post("/dbs", &json!({"id": "e"}).to_string())
        .expect(201);
    client
        .post("/dbs/d/users", &json!({"id": MARKER}).to_string())
        .expect(201);
    for (number, id) in ["a", "b", "c", "d"].into_iter().enumerate() {
        for (pk, t, u) in [("p", "a", "1"), ("q", "b", "1"), ("r", "b", "2")] {
            let text = |is_mine: bool| if is_mine { "mine" } else { MARKER };
            let mut item = json!({"id": id, "pk": pk, "n": number, "text": text(pk == "p")});
            item["tags"] = json!([text(pk == "p"), number]);
            if pk != "p" {
                item[MARKER] = json!(number);
            }
            for items in [ITEMS, "/dbs/d/colls/o/docs"] {
                if items != ITEMS {
                    item["text"] = json!(MARKER);
                }
                let key = json!([pk]).to_string();
                client
                    .request("POST", items, &[(PK, &key)], &item.to_string())
                    .expect(201);
            }
            let is_mine = t == "a";
            let item = json!({"id": id, "t": t, "u": u, "n": number, "text": text(is_mine),
                "tags": [text(is_mine)]});
            let key = json!([t, u]).to_string();
            let items = format!("{HIERARCHY}/docs");
            client
                .request("POST", &items, &[(PK, &key)], &item.to_string())
                .expect(201);
        }
    }
    for container in [CONTAINER, HIERARCHY] {
        put_scripts(&client, container);
    }
    world
}

fn put_scripts(client: &Client, container: &str) {
    let procedure = |id: &str, calls: &str| {
        let body = format!(
            "function (link, item, query) {{ /* {MARKER} */
                const c = getContext().getCollection(), r = getContext().getResponse();
                const answer = (error, found) => r.setBody(error ? String(error.number) : found);
                {calls} }}"
        );
        json!({"id": id, "body": body})
    };
    let trigger = |id: &str, timing: &str| {
        json!({
            "id": id, "triggerType": timing, "triggerOperation": "All",
            "body": format!("function () {{ /* {MARKER} */
                const c = getContext().getCollection();
                c.upsertDocument(c.getSelfLink(), {{id: 'e', pk: 'q', t: 'b', u: '1'}}); }}")
        })
    };
    for (kind, script) in [
        (
            "sprocs",
            procedure("all", "c.queryDocuments(c.getSelfLink(), query, answer);"),
        ),
        (
            "sprocs",
            procedure(
                "write",
                "if (!c.upsertDocument(c.getSelfLink(), item, answer)) r.setBody('no');
                 c.deleteDocument(link, answer);",
            ),
        ),
        (
            "sprocs",
            procedure(
                "read",
                "c.readDocument(link, answer); c.readDocuments(link, {}, answer);",
            ),
        ),
        (
            "udfs",
            json!({"id": "f", "body": "function (c) { return c; }"}),
        ),
        ("triggers", trigger("t", "Pre")),
        ("triggers", trigger("u", "Post")),
    ] {
        client
            .post(&format!("{container}/{kind}"), &script.to_string())
            .expect(201);
    }
}

/// Everything that the tokens of this test must not change, as the account's key reads it.
fn outside(world: &World) -> Vec<Value> {
    let client = world.client();
    let mut seen = Vec::new();
    for path in [
        "/dbs",
        "/offers",
        "/dbs/d/users",
        "/dbs/d/colls",
        "/dbs/e/colls",
    ] {
        seen.push(client.get(path).expect(200).json());
    }
    for user in 0..5 {
        let mut permissions = client
            .get(&format!("/dbs/d/users/u{user}/permissions"))
            .json();
        for permission in permissions["Permissions"].as_array_mut().unwrap() {
            // A new one each time.
            permission["_token"] = Value::Null;
        }
        seen.push(permissions);
    }
    for container in [CONTAINER, HIERARCHY] {
        for kind in ["sprocs", "udfs", "triggers", "conflicts"] {
            seen.push(
                client
                    .get(&format!("{container}/{kind}"))
                    .expect(200)
                    .json(),
            );
        }
    }
    let count = ("x-ms-max-item-count", "1000");
    for (items, query) in [
        (ITEMS.to_owned(), "SELECT * FROM c WHERE NOT (c.pk = 'p')"),
        (
            format!("{HIERARCHY}/docs"),
            "SELECT * FROM c WHERE NOT (c.t = 'a')",
        ),
        ("/dbs/d/colls/o/docs".to_owned(), "SELECT * FROM c"),
    ] {
        let body = json!({"query": query}).to_string();
        let response = client
            .request("POST", &items, &[QUERY, count], &body)
            .expect(200);
        assert_eq!(response.header("x-ms-continuation"), None);
        let mut items = response.json()["Documents"].as_array().unwrap().clone();
        items.sort_by_key(ToString::to_string);
        seen.extend(items);
    }
    seen
}

/// Facts about the account that a sender without a key may have learned from a client with a key.
fn rumours(world: &World) -> Rumours {
    let client = world.client();
    let mut rumours = Rumours::default();
    let container = client.get(CONTAINER).json();
    let link = container["_self"]
        .as_str()
        .unwrap()
        .trim_end_matches('/')
        .to_owned();
    for container in [
        CONTAINER,
        HIERARCHY,
        "/dbs/d/colls/o",
        "/dbs/e/colls/c",
        &format!("/{link}"),
    ] {
        for below in [
            "",
            "/docs",
            "/docs",
            "/docs",
            "/docs/a",
            "/pkranges",
            "/pkranges/0",
            "/sprocs",
            "/sprocs/all",
            "/sprocs/write",
            "/sprocs/read",
            "/udfs",
            "/udfs/f",
            "/triggers",
            "/triggers/t",
            "/conflicts",
            "/conflicts/x",
            "/operations/partitionkeydelete",
        ] {
            rumours.paths.push(format!("{container}{below}"));
        }
    }
    for path in [
        "/",
        "/dbs",
        "/dbs/d",
        "/dbs/d/colls",
        "/dbs/d/users",
        "/dbs/d/users/u0",
        "/dbs/d/users/u0/permissions",
        "/dbs/d/users/u0/permissions/x",
        "/dbs/d/clientencryptionkeys",
        "/offers",
        "/addresses",
        "/operations/dtc",
        "/_orrery/dbs/d/colls/c/partitions",
        "/_orrery/dbs/d/colls/c/throughput",
        "/_orrery/requests",
        "/metrics",
    ] {
        rumours.paths.push(path.to_owned());
    }
    for offer in client.get("/offers").json()["Offers"].as_array().unwrap() {
        rumours
            .paths
            .push(format!("/offers/{}", offer["_rid"].as_str().unwrap()));
    }
    let feed = client
        .request("GET", ITEMS, &[("x-ms-max-item-count", "1000")], "")
        .expect(200);
    for item in feed.json()["Documents"].as_array().unwrap() {
        let text = |name: &str| item[name].as_str().unwrap().to_owned();
        rumours
            .paths
            .push(format!("/{}", text("_self").trim_end_matches('/')));
        rumours.rids.push(text("_rid"));
        rumours.etags.push(text("_etag"));
    }
    rumours
        .rids
        .push(container["_rid"].as_str().unwrap().to_owned());
    rumours.etags.push("*".to_owned());
    let ranges = client.get("/dbs/d/colls/c/pkranges").json();
    for range in ranges["PartitionKeyRanges"].as_array().unwrap() {
        for bound in ["minInclusive", "maxExclusive"] {
            rumours.epks.push(range[bound].as_str().unwrap().to_owned());
        }
    }
    rumours.epks.push(format!("{}80", "0".repeat(30)));
    gather_continuations(&client, &mut rumours);
    rumours
}

/// Of every feed and query, page by page, over the whole container and its parts.
fn gather_continuations(client: &Client, rumours: &mut Rumours) {
    let one = ("x-ms-max-item-count", "1");
    let selections = [
        vec![],
        vec![(PK, r#"["q"]"#)],
        vec![(PK, r#"["p"]"#)],
        vec![(crate::support::RANGE_ID, "1")],
    ];
    for selection in &selections {
        for text in ["", "changes"].into_iter().chain(QUERIES) {
            let parameter = json!([{"name": "@id", "value": "a"}]);
            let body = json!({"query": text, "parameters": parameter}).to_string();
            let (method, own, body) = match text {
                "" => ("GET", vec![one], ""),
                "changes" => ("GET", vec![one, ("a-im", "Incremental Feed")], ""),
                _ => ("POST", vec![one, QUERY], body.as_str()),
            };
            let mut token: Option<String> = None;
            for _ in 0..4 {
                let mut headers = [own.as_slice(), selection].concat();
                let name = if text == "changes" {
                    "if-none-match"
                } else {
                    "x-ms-continuation"
                };
                headers.extend(token.as_deref().map(|token| (name, token)));
                let response = client.request(method, ITEMS, &headers, body);
                rumours
                    .positions
                    .extend(response.header("etag").map(str::to_owned));
                let next = match text {
                    "changes" => response.header("etag"),
                    _ => response.header("x-ms-continuation"),
                };
                let Some(next) = next else { break };
                token = Some(next.to_owned());
                if text != "changes" {
                    rumours.continuations.push(next.to_owned());
                }
            }
        }
    }
}

#[test]
fn the_state_outside_is_seen() {
    let world = world();
    for user in 0..5 {
        permit_user(
            &world,
            &format!("u{user}"),
            &json!({"permissionMode": "Read", "resource": "dbs/d"}),
        );
    }
    let before = outside(&world);
    assert_eq!(outside(&world), before);
    let texts: Vec<_> = before.iter().map(ToString::to_string).collect();
    let marked = texts.iter().filter(|text| text.contains(MARKER)).count();
    assert!(marked > 20, "{marked}");
    let trigger = json!({"permissionMode": "All", "resource": "dbs/d/colls/c"});
    let writer = permit(&world, "w", &trigger, &[]);
    writer
        .item("PATCH", "a", "q", r#"[{"op":"set","path":"/x","value":1}]"#)
        .expect(200);
    assert_ne!(outside(&world), before);
}
