//! Random bytes and damaged requests: every answer is well formed and no server error, and the
//! server lives on. A failure prints its round; rounds are the same in every run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde_json::json;

use crate::support::{CONTAINER, Client, ITEMS, PK, QUERY, UPSERT, World, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);
const BATCH: (&str, &str) = ("x-ms-cosmos-is-batch-request", "True");
const ATOMIC: (&str, &str) = ("x-ms-cosmos-batch-atomic", "True");

/// A small generator; hostile input need not be unpredictable.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

const BODIES: [&str; 9] = [
    r#"{"id":"a","pk":"p","n":1,"l":[1,2,{"x":null}]}"#,
    r#"{"id":"x","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#,
    r#"{"query":"SELECT * FROM c WHERE c.n > @n","parameters":[{"name":"@n","value":1}]}"#,
    r#"[{"operationType":"Create","resourceBody":{"id":"b","pk":"p"}},{"operationType":"Read","id":"a"}]"#,
    r#"{"operations":[{"op":"set","path":"/x/y","value":1},{"op":"incr","path":"/n","value":2}]}"#,
    r#"{"id":"p","permissionMode":"Read","resource":"dbs/d/colls/c","resourcePartitionKey":["v"]}"#,
    r#"{"content":{"offerThroughput":500},"resource":"dbs/x/","offerResourceId":"x","id":"x"}"#,
    "",
    "[]",
];

/// Method, path, headers, and the number of a body.
type Request<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], usize);

/// Requests that are in order.
const REQUESTS: [Request<'static>; 17] = [
    ("GET", "/", &[], 7),
    ("GET", "/dbs", &[], 7),
    ("POST", "/dbs/d/colls", &[], 1),
    ("GET", CONTAINER, &[], 7),
    ("PUT", "/dbs/d/colls/x", &[], 1),
    ("GET", ITEMS, &[], 7),
    ("POST", ITEMS, &[KEY, UPSERT], 0),
    ("POST", ITEMS, &[QUERY], 2),
    ("POST", ITEMS, &[KEY, BATCH, ATOMIC], 3),
    ("GET", "/dbs/d/colls/c/docs/a", &[KEY], 7),
    ("PUT", "/dbs/d/colls/c/docs/a", &[KEY], 0),
    ("PATCH", "/dbs/d/colls/c/docs/a", &[KEY], 4),
    ("DELETE", "/dbs/d/colls/c/docs/b", &[KEY], 7),
    ("GET", "/dbs/d/colls/c/pkranges", &[], 7),
    ("POST", "/dbs/d/users/u/permissions", &[UPSERT], 5),
    ("GET", "/offers", &[], 7),
    (
        "POST",
        "/dbs/d/colls/c/operations/partitionkeydelete",
        &[KEY],
        7,
    ),
];

const HEADERS: [(&str, &[&str]); 17] = [
    (
        PK,
        &[
            r#"["p"]"#,
            "[{}]",
            "[null]",
            "[]",
            "[1e308]",
            r#"["a","b","c","d"]"#,
            "[-0]",
        ],
    ),
    (
        "x-ms-documentdb-partitionkeyrangeid",
        &["0", "1", "-1", "4294967296", "a,0", ","],
    ),
    ("x-ms-continuation", &["", "AAAA", "%00", "{}", "////"]),
    ("x-ms-max-item-count", &["-1", "1", "0", "2147483647", "x"]),
    (
        "x-ms-session-token",
        &[
            "0:-1#1",
            "0:-1#18446744073709551615",
            "0:9#9#9=9",
            ":::",
            ",",
        ],
    ),
    ("x-ms-start-epk", &["", "00", "FF", "zz", "1F"]),
    ("x-ms-end-epk", &["", "00", "FF", "0"]),
    (
        "x-ms-read-key-type",
        &["EffectivePartitionKeyRange", "ResourceId", ""],
    ),
    ("if-match", &["*", "\"x\"", "", "x"]),
    ("if-none-match", &["*", "\"1\"", ""]),
    ("x-ms-cosmos-is-batch-request", &["True", "False"]),
    ("x-ms-cosmos-batch-atomic", &["True", "False", "x"]),
    (
        "x-ms-offer-throughput",
        &["400", "1000000", "99999999999", "-1"],
    ),
    (
        "x-ms-cosmos-offer-autopilot-settings",
        &[r#"{"maxThroughput":1000}"#, "[]", "{"],
    ),
    (
        "x-ms-cosmos-intended-collection-rid",
        &["AQAAAIEAAAA=", "", "x"],
    ),
    ("a-im", &["Incremental Feed", "x"]),
    (
        "prefer",
        &["return=minimal", "return=representation, x", ";;,"],
    ),
];

/// Whether the bytes are a complete request, after which the server answers without waiting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Whole,
    Unknown,
}

/// Long enough for the server to have seen the end of a whole request.
const PAUSE: Duration = Duration::from_millis(15);

/// Sends and demands an answer below 500, or a closed connection. Gives the status.
fn check(world: &World, round: usize, bytes: &[u8], form: Form) -> Option<u16> {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut connection = world.connect();
        connection.try_send(bytes);
        if form == Form::Unknown && !connection.hears_within(PAUSE) {
            connection.end_sending();
        }
        let method = if bytes.starts_with(b"HEAD ") {
            "HEAD"
        } else {
            "GET"
        };
        let response = connection.try_receive(method)?;
        let status = response.status;
        assert!((200..500).contains(&status), "{status}");
        if status >= 400 && !response.body.is_empty() {
            assert!(response.json()["message"].is_string());
        }
        Some(status)
    }));
    result.unwrap_or_else(|_| panic!("round {round}: {:?}", String::from_utf8_lossy(bytes)))
}

/// Puts the database and the container back if a request happened to delete them.
fn restore(client: &Client) {
    client.post("/dbs", r#"{"id":"d"}"#);
    client.post(
        "/dbs/d/colls",
        r#"{"id":"c","partitionKey":{"paths":["/pk"],"version":2}}"#,
    );
    client.post("/dbs/d/users", r#"{"id":"u"}"#);
    client.request(
        "POST",
        ITEMS,
        &[KEY, UPSERT],
        r#"{"id":"a","pk":"p","n":1}"#,
    );
    client.get(CONTAINER).expect(200);
}

#[test]
fn signed_requests_put_together_at_random() {
    let world = start();
    let client = world.client();
    let mut random = Random(0x5EED_0001);
    let offer = client.get("/offers").json()["Offers"][0]["_rid"].clone();
    let offer = format!("/offers/{}", offer.as_str().unwrap());
    let mut requests: Vec<Request<'_>> = REQUESTS.to_vec();
    requests.push(("PUT", &offer, &[], 6));
    requests.push(("GET", &offer, &[], 7));
    let mut succeeded = 0;
    for round in 0..2_500 {
        if round % 50 == 0 {
            restore(&client);
        }
        let (mut method, path, headers, body) = requests[random.below(requests.len())];
        let mut headers = headers.to_vec();
        let mut body = BODIES[body].as_bytes().to_vec();
        match random.below(5) {
            0 => method = random.pick(&["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]),
            1 => body = random.pick(&BODIES).as_bytes().to_vec(),
            2 => damage(&mut random, &mut body),
            _ => {}
        }
        for _ in 0..random.below(4) {
            let (name, values) = HEADERS[random.below(HEADERS.len())];
            headers.retain(|(own, _)| *own != name);
            headers.push((name, random.pick(values)));
        }
        let bytes = client.bytes(method, path, &headers, &body);
        let status = check(&world, round, &bytes, Form::Whole).expect("an answer");
        succeeded += usize::from(status < 400);
    }
    restore(&client);
    // The sweep reaches behind the checks of its own wrapping.
    assert!(succeeded > 500, "{succeeded}");
}

#[test]
fn damaged_requests() {
    let world = start();
    let client = world.client();
    let mut random = Random(0x5EED_0002);
    let item = json!({"id": "a", "pk": "p"}).to_string();
    let originals = [
        client.bytes("POST", ITEMS, &[KEY, UPSERT], item.as_bytes()),
        client.bytes("GET", "/dbs/d/colls/c/docs/a", &[KEY], b""),
        client.bytes("POST", ITEMS, &[QUERY], BODIES[2].as_bytes()),
    ];
    for round in 0..1_200 {
        let mut bytes = originals[round % originals.len()].clone();
        for _ in 0..=random.below(3) {
            damage(&mut random, &mut bytes);
        }
        check(&world, round, &bytes, Form::Unknown);
    }
    restore(&client);
}

#[test]
fn random_bytes() {
    let world = start();
    let mut random = Random(0x5EED_0003);
    for round in 0..300 {
        let length = random.below(400);
        let mut bytes: Vec<u8> = (0..length)
            .map(|_| random.next().to_le_bytes()[0])
            .collect();
        if round % 3 == 0 {
            bytes.splice(0..0, *b"GET /dbs HTTP/1.1\r\n");
        }
        check(&world, round, &bytes, Form::Unknown);
    }
    restore(&world.client());
}

/// One change: a flipped bit, a byte more, a byte less, a piece twice, or the end cut off.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    match random.below(6) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes.insert(at, random.next().to_le_bytes()[0]),
        2 => drop(bytes.remove(at)),
        3 => {
            let piece = bytes[at..bytes.len().min(at + 8)].to_vec();
            bytes.splice(at..at, piece);
        }
        4 => bytes.truncate(at),
        _ => {}
    }
}
