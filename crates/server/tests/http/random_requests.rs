//! Requests as somebody makes them up who has a token and wants more than it covers: right requests with
//! headers of other scopes, names and ids of other items, continuations of other feeds, and nonsense.

use serde_json::{Value, json};

use crate::support::{CONTAINER, PK, RANGE_ID};

/// A generator of numbers that a seed determines.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    fn word(&mut self) -> String {
        let length = self.below(40);
        (0..length)
            .map(|_| char::from(b' ' + u8::try_from(self.below(95)).unwrap()))
            .collect()
    }
}

/// What the sender has heard of the account: names, resource ids, continuations of feeds that are not its own.
#[derive(Default)]
pub(crate) struct Rumours {
    pub(crate) paths: Vec<String>,
    pub(crate) rids: Vec<String>,
    pub(crate) epks: Vec<String>,
    pub(crate) continuations: Vec<String>,
    pub(crate) positions: Vec<String>,
    pub(crate) etags: Vec<String>,
}

/// The container and the partition key that the sender's token covers.
#[derive(Clone, Copy)]
pub(crate) struct Home {
    pub(crate) container: &'static str,
    /// A complete partition key, as the text of the header.
    pub(crate) key: &'static str,
}

#[derive(Debug, Clone)]
pub(crate) struct RandomRequest {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

/// Queries over items, and one over any feed.
pub(crate) const QUERIES: [&str; 24] = [
    "SELECT * FROM c",
    "SELECT * FROM c WHERE c.pk = 'q'",
    "SELECT * FROM c WHERE c.pk != 'p'",
    "SELECT * FROM c WHERE c.pk IN ('p', 'q', 'r')",
    "SELECT VALUE c.text FROM c",
    "SELECT * FROM c ORDER BY c.n",
    "SELECT * FROM c ORDER BY c.n DESC",
    "SELECT * FROM c ORDER BY c.text",
    "SELECT c.text FROM c WHERE c.n >= 0 AND c.text >= ''",
    "SELECT DISTINCT VALUE c.text FROM c",
    "SELECT c.text, COUNT(1) AS many FROM c GROUP BY c.text",
    "SELECT VALUE MAX(c.text) FROM c",
    "SELECT VALUE MIN(c.text) FROM c",
    "SELECT VALUE COUNT(1) FROM c",
    "SELECT TOP 5 * FROM c",
    "SELECT * FROM c OFFSET 1 LIMIT 3",
    "SELECT VALUE t FROM c JOIN t IN c.tags",
    "SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.tags) FROM c",
    "SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t > '')",
    "SELECT * FROM c WHERE c.id = 'a' OR c.id = 'b'",
    "SELECT * FROM c WHERE CONTAINS(c.text, 'e', true)",
    "SELECT VALUE udf.f(c) FROM c",
    "SELECT * FROM c WHERE c.id = @id AND c._rid > ''",
    "SELECT * FROM root",
];

const METHODS: [&str; 20] = [
    "GET", "GET", "GET", "GET", "GET", "POST", "POST", "POST", "POST", "POST", "POST", "POST",
    "POST", "PUT", "PUT", "PATCH", "DELETE", "DELETE", "HEAD", "OPTIONS",
];
const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const KEYS: [&str; 12] = [
    r#"["p"]"#,
    r#"["p"]"#,
    r#"["p"]"#,
    r#"["q"]"#,
    r#"["r"]"#,
    r#"["a"]"#,
    r#"["a","1"]"#,
    r#"["b","1"]"#,
    "[]",
    "[{}]",
    "[null]",
    r#"["p","q"]"#,
];
const FLAGS: [&str; 3] = ["True", "False", "x"];

impl Rumours {
    pub(crate) fn request(&self, random: &mut Random, home: Home) -> RandomRequest {
        // Three of four requests have a form that the service knows.
        if random.percent(75) {
            return self.sensible(random, home);
        }
        let path = self.path(random);
        let mut headers = Rumours::kind(random);
        headers.extend(self.selection(random, home));
        headers.extend(self.more(random));
        RandomRequest {
            method: random.of(&METHODS),
            path,
            headers,
            body: self.body(random),
        }
    }

    fn sensible(&self, random: &mut Random, home: Home) -> RandomRequest {
        let own = home.container;
        let container = random.of(&[own, own, own, own, CONTAINER, "/dbs/d/colls/h"]);
        let items = format!("{container}/docs");
        let item = format!("{items}/{}", random.of(&IDS));
        let flag = |name: &'static str| (name, "True".to_owned());
        let query_type = ("content-type", "application/query+json".to_owned());
        let (method, path, mut headers, body) = match random.below(17) {
            0..=3 => ("POST", items, vec![query_type], self.query(random)),
            4 => ("GET", items, vec![], Vec::new()),
            5 | 6 => {
                let mode = random.of(&["Incremental Feed", "Full-Fidelity Feed"]);
                ("GET", items, vec![("a-im", mode.to_owned())], Vec::new())
            }
            7 | 8 => {
                let headers = vec![
                    flag("x-ms-cosmos-is-batch-request"),
                    ("x-ms-cosmos-batch-atomic", random.of(&FLAGS).to_owned()),
                    flag("x-ms-cosmos-batch-continue-on-error"),
                ];
                ("POST", items, headers, self.batch(random))
            }
            9 => ("GET", item, vec![], Vec::new()),
            10 => ("PUT", item, vec![], self.document(random)),
            11 => ("PATCH", item, vec![], PATCH.as_bytes().to_vec()),
            12 => ("DELETE", item, vec![], Vec::new()),
            13 => ("POST", items, vec![], self.document(random)),
            14 | 15 => {
                let script = random.of(&["all", "write", "read"]);
                let path = format!("{container}/sprocs/{script}");
                ("POST", path, vec![], self.arguments(random))
            }
            _ => {
                let path = format!("{container}/conflicts");
                (
                    random.of(&["GET", "POST"]),
                    path,
                    vec![query_type],
                    self.query(random),
                )
            }
        };
        if random.percent(50) {
            headers.push((PK, home.key.to_owned()));
            headers.push((
                "x-ms-documentdb-query-enablecrosspartition",
                "True".to_owned(),
            ));
        } else {
            headers.extend(self.selection(random, home));
        }
        if random.percent(30) {
            headers.extend(self.more(random));
        }
        RandomRequest {
            method,
            path,
            headers,
            body,
        }
    }

    fn path(&self, random: &mut Random) -> String {
        let mut path = random.of(&refs(&self.paths)).to_owned();
        if path.ends_with("/docs") && random.percent(50) {
            path = format!("{path}/{}", random.of(&IDS));
        }
        match random.below(12) {
            0 => path.to_uppercase(),
            1 => path.replace('/', "//"),
            2 => format!("{path}/"),
            3 => path.replacen("/docs", "%2Fdocs", 1),
            4 => format!("{path}/..%2f..%2fdocs"),
            5 => format!("{path}?x-ms-start-epk=&partitionKey=q"),
            _ => path,
        }
    }

    /// What makes a `POST` a query, a batch and so on, and a `GET` a change feed.
    fn kind(random: &mut Random) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        for name in [
            "x-ms-documentdb-isquery",
            "x-ms-cosmos-is-query-plan-request",
            "x-ms-cosmos-is-batch-request",
            "x-ms-cosmos-batch-atomic",
            "x-ms-cosmos-batch-ordered",
            "x-ms-documentdb-is-upsert",
        ] {
            if random.percent(20) {
                headers.push((name, random.of(&FLAGS).to_owned()));
            }
        }
        if random.percent(40) {
            let kind = random.of(&["application/query+json", "application/json", "text/plain"]);
            headers.push(("content-type", kind.to_owned()));
        }
        if random.percent(15) {
            headers.push(("a-im", "Incremental Feed".to_owned()));
        }
        headers
    }

    /// Everything that says which part of a container is meant.
    fn selection(&self, random: &mut Random, home: Home) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        match random.below(10) {
            0 => {}
            1 | 2 => headers.push((PK, random.of(&KEYS).to_owned())),
            _ => headers.push((PK, home.key.to_owned())),
        }
        if random.percent(5) {
            headers.push((PK, random.of(&KEYS).to_owned()));
        }
        if random.percent(30) {
            let range = random.of(&["0", "1", "2", "3", "-1", "x", "a,0", "4294967296"]);
            headers.push((RANGE_ID, range.to_owned()));
        }
        if random.percent(30) {
            for name in ["x-ms-start-epk", "x-ms-end-epk"] {
                let epk = match random.below(6) {
                    0 => continue,
                    1 => String::new(),
                    2 => "FF".to_owned(),
                    3 => format!("{:032X}", random.next()),
                    _ => random.of(&refs(&self.epks)).to_owned(),
                };
                headers.push((name, epk));
            }
            let kind = "EffectivePartitionKeyRange".to_owned();
            headers.push(("x-ms-read-key-type", kind));
        }
        if random.percent(40) {
            let token = match random.below(10) {
                0 => random.word(),
                _ => random.of(&refs(&self.continuations)).to_owned(),
            };
            headers.push(("x-ms-continuation", token));
        }
        if random.percent(30) {
            let position = match random.below(6) {
                0 => "*".to_owned(),
                1 => format!(
                    "\"{}-{}:{}\"",
                    random.of(&refs(&self.epks)),
                    "FF",
                    random.below(99)
                ),
                2 => random.of(&refs(&self.etags)).to_owned(),
                _ => random.of(&refs(&self.positions)).to_owned(),
            };
            headers.push(("if-none-match", position));
        }
        if random.percent(30) {
            let count = random.of(&["1", "2", "-1", "1000", "0"]);
            headers.push(("x-ms-max-item-count", count.to_owned()));
        }
        headers
    }

    fn more(&self, random: &mut Random) -> Vec<(&'static str, String)> {
        let choices: [(&'static str, &[&str]); 22] = [
            ("x-ms-documentdb-query-enablecrosspartition", &FLAGS),
            ("x-ms-documentdb-query-enable-scan", &FLAGS),
            ("x-ms-documentdb-populatequerymetrics", &FLAGS),
            ("x-ms-cosmos-populateindexmetrics", &FLAGS),
            ("x-ms-documentdb-populatequotainfo", &FLAGS),
            ("x-ms-documentdb-populatepartitionstatistics", &FLAGS),
            ("x-orrery-explain", &FLAGS),
            ("x-ms-cosmos-query-optimisticdirectexecute", &FLAGS),
            ("x-ms-documentdb-script-enable-logging", &FLAGS),
            ("x-ms-documentdb-pre-trigger-include", &["t", "t,u", ""]),
            ("x-ms-documentdb-post-trigger-include", &["u", "t"]),
            (
                "x-ms-cosmos-changefeed-wire-format-version",
                &["2021-09-15"],
            ),
            ("x-ms-consistency-level", &["Eventual", "Session", "Strong"]),
            ("x-ms-session-token", &["0:-1#1", "0:-1#999999", "x"]),
            ("x-ms-documentdb-expiry-seconds", &["600", "0"]),
            ("x-ms-offer-throughput", &["400", "x"]),
            ("x-ms-cosmos-migrate-offer-to-autopilot", &FLAGS),
            ("x-ms-cosmos-allow-tentative-writes", &FLAGS),
            ("x-http-method-override", &["DELETE", "GET"]),
            ("x-ms-cosmos-is-internal", &FLAGS),
            ("if-modified-since", &["Thu, 01 Jan 1970 00:00:00 GMT"]),
            ("prefer", &["return=minimal", "return=representation"]),
        ];
        let mut headers = Vec::new();
        for _ in 0..random.below(4) {
            let (name, values) = choices[random.below(choices.len())];
            headers.push((name, random.of(values).to_owned()));
        }
        if random.percent(20) {
            let rid = random.of(&refs(&self.rids)).to_owned();
            headers.push(("x-ms-cosmos-intended-collection-rid", rid));
        }
        if random.percent(10) {
            headers.push(("if-match", random.of(&refs(&self.etags)).to_owned()));
        }
        headers
    }

    fn body(&self, random: &mut Random) -> Vec<u8> {
        match random.below(10) {
            0 => Vec::new(),
            1 => self.query(random),
            2 => self.batch(random),
            3 => self.document(random),
            4 => PATCH.as_bytes().to_vec(),
            5 => self.permission(random),
            6 => br#"{"id":"all","body":"function () { return 1; }"}"#.to_vec(),
            7 => br#"{"id":"c","partitionKey":{"paths":["/pk"]},"defaultTtl":1}"#.to_vec(),
            8 => self.arguments(random),
            _ => random.word().into_bytes(),
        }
    }

    fn query(&self, random: &mut Random) -> Vec<u8> {
        let mut query = json!({
            "query": random.of(&QUERIES),
            "parameters": [{"name": "@id", "value": random.of(&IDS)}],
        });
        if random.percent(10) {
            let rid = random.of(&refs(&self.rids));
            query["resumeFilter"] = json!({"value": [], "rid": rid, "exclude": false});
        }
        query.to_string().into_bytes()
    }

    fn batch(&self, random: &mut Random) -> Vec<u8> {
        if random.percent(10) {
            let mut rows = hybrid_rows();
            if random.percent(50) {
                let at = random.below(rows.len());
                rows[at] = rows[at].wrapping_add(1);
            }
            return rows;
        }
        let operation = |random: &mut Random| {
            let kind = random.of(&["Create", "Upsert", "Replace", "Read", "Delete", "Patch"]);
            let mut operation = json!({"operationType": kind});
            if random.percent(70) {
                operation["partitionKey"] = json!(random.of(&KEYS));
            }
            if random.percent(80) {
                operation["id"] = json!(random.of(&IDS));
            }
            if kind == "Patch" {
                operation["resourceBody"] = serde_json::from_str(PATCH).unwrap();
            } else if random.percent(70) {
                operation["resourceBody"] = serde_json::from_slice(&self.document(random)).unwrap();
            }
            operation
        };
        let count = 1 + random.below(4);
        let operations: Vec<Value> = (0..count).map(|_| operation(random)).collect();
        Value::from(operations).to_string().into_bytes()
    }

    fn document(&self, random: &mut Random) -> Vec<u8> {
        let mut document = json!({"id": random.of(&IDS), "n": random.below(9), "text": "mine"});
        document["pk"] = json!(random.of(&["p", "p", "p", "q", "r"]));
        document["t"] = json!(random.of(&["a", "a", "b"]));
        document["u"] = json!(random.of(&["1", "2"]));
        if random.percent(10) {
            document["_rid"] = json!(random.of(&refs(&self.rids)));
            document["ttl"] = json!(1);
        }
        document.to_string().into_bytes()
    }

    fn permission(&self, random: &mut Random) -> Vec<u8> {
        let resource = random.of(&refs(&self.paths));
        let permission = json!({"id": "u", "permissionMode": "All", "resource": resource});
        permission.to_string().into_bytes()
    }

    fn arguments(&self, random: &mut Random) -> Vec<u8> {
        let link = random.of(&refs(&self.paths)).trim_matches('/').to_owned();
        let document: Value = serde_json::from_slice(&self.document(random)).unwrap();
        json!([link, document, random.of(&QUERIES)])
            .to_string()
            .into_bytes()
    }
}

/// A batch that creates an item, as .NET sends it.
fn hybrid_rows() -> Vec<u8> {
    let hex = "81f0d8ff7f010a00000081f1d8ff7f220000001b7cd88b817054e17f43000000000200000013\
               7b226964223a2261222c22706b223a2270227d";
    let byte = |at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap();
    (0..hex.len() / 2).map(byte).collect()
}

const PATCH: &str =
    r#"{"operations":[{"op":"set","path":"/x","value":1},{"op":"incr","path":"/n","value":1}]}"#;

fn refs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}
