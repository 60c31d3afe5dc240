//! Requests as bytes, built in reused buffers.

use std::io::Write as _;

use anyhow::{Result, bail};
use orrery_client::{RequestDate, SignaturePayload, Signer};

use crate::endpoint::Endpoint;

const VERSION: &str = "2020-07-15";
const QUERY_PAGE_ITEMS_MAX: u64 = 1000;

/// The account and the container of a run.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) signer: Signer,
    pub(crate) database: String,
    pub(crate) container: String,
}

impl Target {
    pub(crate) fn new(
        endpoint: Endpoint,
        signer: Signer,
        [database, container]: [&str; 2],
    ) -> Result<Self> {
        for name in [database, container] {
            // Names without escapes are equal in a path and in a signature, so both need no
            // encoding.
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            if name.is_empty() || !name.bytes().all(plain) {
                bail!("name {name:?} is not made of letters, digits, '-', '_' and '.'");
            }
        }
        let (database, container) = (database.to_owned(), container.to_owned());
        Ok(Self {
            endpoint,
            signer,
            database,
            container,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Delete,
}

impl Verb {
    /// The method in the request line, and in the signature.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Get => ("GET", "get"),
            Self::Post => ("POST", "post"),
            Self::Put => ("PUT", "put"),
            Self::Delete => ("DELETE", "delete"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptKind {
    Procedure,
    Function,
}

impl ScriptKind {
    /// The path segment of the kind, which is also the resource type in the signature.
    fn segment(self) -> &'static str {
        match self {
            Self::Procedure => "sprocs",
            Self::Function => "udfs",
        }
    }
}

/// The headers that differ between queries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueryHeaders<'a> {
    /// The partition key. Without a key the query covers all partitions.
    pub(crate) partition_key: Option<&'a str>,
    pub(crate) continuation: Option<&'a str>,
    /// Whether the server sends the metrics of the query.
    pub(crate) metrics: bool,
}

/// Builds one request at a time, in a buffer that all requests share.
pub(crate) struct RequestWriter {
    target: Target,
    common_headers: String,
    container_link: String,
    date: RequestDate,
    link: String,
    bytes: Vec<u8>,
}

impl RequestWriter {
    pub(crate) fn new(target: Target) -> Self {
        // The headers that every request has, formatted once.
        let common_headers = format!(
            " HTTP/1.1\r\nhost: {}\r\naccept: application/json\r\nuser-agent: orrery-bench\r\n\
             x-ms-version: {VERSION}\r\n",
            target.endpoint.authority()
        );
        let container_link = format!("dbs/{}/colls/{}", target.database, target.container);
        let (date, link, bytes) = (RequestDate::default(), String::new(), Vec::new());
        Self {
            target,
            common_headers,
            container_link,
            date,
            link,
            bytes,
        }
    }

    /// The prepared request.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Prepares a point read.
    pub(crate) fn read(&mut self, id: &str, key: &str) {
        self.item_link(id);
        self.begin_resource(Verb::Get, "docs");
        self.partition_key(key);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// A read of the region's own data: the header weakens the consistency of the account.
    pub(crate) fn read_eventually(&mut self, id: &str, key: &str) {
        self.item_link(id);
        self.begin_resource(Verb::Get, "docs");
        self.partition_key(key);
        self.bytes
            .extend_from_slice(b"x-ms-consistency-level: Eventual\r\n\r\n");
    }

    /// Prepares the creation of an item.
    pub(crate) fn create(&mut self, key: &str, item: &[u8]) {
        self.begin_items(Verb::Post);
        self.partition_key(key);
        self.finish_json(item);
    }

    /// Prepares the creation or replacement of an item.
    pub(crate) fn upsert(&mut self, key: &str, item: &[u8]) {
        self.begin_items(Verb::Post);
        self.partition_key(key);
        self.bytes
            .extend_from_slice(b"x-ms-documentdb-is-upsert: True\r\n");
        self.finish_json(item);
    }

    /// Prepares the replacement of an item.
    pub(crate) fn replace(&mut self, [id, key]: [&str; 2], item: &[u8]) {
        self.item_link(id);
        self.begin_resource(Verb::Put, "docs");
        self.partition_key(key);
        self.finish_json(item);
    }

    /// A page of the item feed of the first partition key range.
    pub(crate) fn scan(&mut self, items_max: u64) {
        self.begin_items(Verb::Get);
        self.bytes
            .extend_from_slice(b"x-ms-documentdb-partitionkeyrangeid: 0\r\n");
        self.header("x-ms-max-item-count", items_max);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// One page of a query, with the headers that SDKs send.
    pub(crate) fn query(&mut self, headers: QueryHeaders<'_>, body: &[u8]) {
        self.begin_items(Verb::Post);
        self.bytes
            .extend_from_slice(b"x-ms-documentdb-isquery: True\r\n");
        match headers.partition_key {
            Some(key) => self.partition_key(key),
            None => self.header("x-ms-documentdb-query-enablecrosspartition", "True"),
        }
        self.header("x-ms-max-item-count", QUERY_PAGE_ITEMS_MAX);
        if let Some(token) = headers.continuation {
            self.header("x-ms-continuation", token);
        }
        if headers.metrics {
            self.header("x-ms-documentdb-populatequerymetrics", "True");
        }
        self.finish("application/query+json", body);
    }

    /// A query for one item within its logical partition. The id must need no JSON escapes.
    pub(crate) fn query_item(&mut self, id: &str, key: &str) {
        let body = format!(
            "{{\"query\":\"SELECT * FROM c WHERE c.id = @id\",\
             \"parameters\":[{{\"name\":\"@id\",\"value\":\"{id}\"}}]}}"
        );
        let headers = QueryHeaders {
            partition_key: Some(key),
            ..QueryHeaders::default()
        };
        self.query(headers, body.as_bytes());
    }

    /// One page of the change feed of a partition key range. `after` is the etag of the page
    /// before.
    pub(crate) fn changes(&mut self, range: &str, after: Option<&str>, items_max: u64) {
        self.begin_items(Verb::Get);
        self.header("a-im", "Incremental Feed");
        self.header("x-ms-documentdb-partitionkeyrangeid", range);
        self.header("x-ms-max-item-count", items_max);
        if let Some(etag) = after {
            self.header("if-none-match", etag);
        }
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// The order that lists the partitions of the container.
    pub(crate) fn list_partitions(&mut self) {
        self.begin_partitions(Verb::Get);
        self.bytes.extend_from_slice(b"\r\n");
    }

    pub(crate) fn change_partitions(&mut self, body: &[u8]) {
        self.begin_partitions(Verb::Post);
        self.finish_json(body);
    }

    /// A transactional batch of one logical partition, whose answer contains no items.
    pub(crate) fn batch(&mut self, key: &str, body: &[u8]) {
        self.begin_items(Verb::Post);
        self.partition_key(key);
        self.bytes.extend_from_slice(
            b"x-ms-cosmos-is-batch-request: True\r\nx-ms-cosmos-batch-atomic: True\r\n\
              prefer: return=minimal\r\n",
        );
        self.finish_json(body);
    }

    pub(crate) fn upsert_script(&mut self, kind: ScriptKind, body: &[u8]) {
        self.link.clone_from(&self.container_link);
        self.begin(Verb::Post, kind.segment(), Some(kind.segment()));
        self.bytes
            .extend_from_slice(b"x-ms-documentdb-is-upsert: True\r\n");
        self.finish_json(body);
    }

    /// Runs a stored procedure. `arguments` is a JSON array.
    pub(crate) fn execute(&mut self, id: &str, key: &str, arguments: &[u8]) {
        self.link.clear();
        for part in [&self.container_link, "/sprocs/", id] {
            self.link.push_str(part);
        }
        self.begin_resource(Verb::Post, ScriptKind::Procedure.segment());
        self.partition_key(key);
        self.finish_json(arguments);
    }

    pub(crate) fn create_database(&mut self) {
        self.link.clear();
        self.begin(Verb::Post, "dbs", Some("dbs"));
        let body = format!("{{\"id\":\"{}\"}}", self.target.database);
        self.finish_json(body.as_bytes());
    }

    /// Creates the container. `indexing` is the JSON of an indexing policy; None takes the server's
    /// default.
    pub(crate) fn create_container(&mut self, throughput: Option<u32>, indexing: Option<&str>) {
        self.database_link();
        self.begin(Verb::Post, "colls", Some("colls"));
        if let Some(throughput) = throughput {
            self.header("x-ms-offer-throughput", throughput);
        }
        let indexing = indexing.map(|policy| format!(",\"indexingPolicy\":{policy}"));
        let body = format!(
            "{{\"id\":\"{}\",\"partitionKey\":{{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}}{}}}",
            self.target.container,
            indexing.unwrap_or_default()
        );
        self.finish_json(body.as_bytes());
    }

    pub(crate) fn delete_database(&mut self) {
        self.database_link();
        self.begin_resource(Verb::Delete, "dbs");
        self.bytes.extend_from_slice(b"\r\n");
    }

    pub(crate) fn delete_container(&mut self) {
        self.link.clone_from(&self.container_link);
        self.begin_resource(Verb::Delete, "colls");
        self.bytes.extend_from_slice(b"\r\n");
    }

    fn database_link(&mut self) {
        self.link = format!("dbs/{}", self.target.database);
    }

    fn item_link(&mut self, id: &str) {
        self.link.clear();
        for part in [&self.container_link, "/docs/", id] {
            self.link.push_str(part);
        }
    }

    /// Begins a request to the items of the container.
    fn begin_items(&mut self, verb: Verb) {
        self.link.clone_from(&self.container_link);
        self.begin(verb, "docs", Some("docs"));
    }

    fn begin_partitions(&mut self, verb: Verb) {
        self.link.clone_from(&self.container_link);
        self.begin_below("/_orrery", verb, "partitions", Some("partitions"));
    }

    fn begin_resource(&mut self, verb: Verb, resource_type: &'static str) {
        self.begin(verb, resource_type, None);
    }

    /// Writes the request line and the signed headers for the resource at `self.link`, or for one
    /// of its feeds.
    fn begin(&mut self, verb: Verb, resource_type: &'static str, feed: Option<&'static str>) {
        self.begin_below("", verb, resource_type, feed);
    }

    /// Writes the same below a path prefix, which is not part of the signature.
    fn begin_below(
        &mut self,
        prefix: &str,
        verb: Verb,
        resource_type: &'static str,
        feed: Option<&'static str>,
    ) {
        // The date is formatted once a second and not for each request.
        self.date.refresh();
        let (method, verb) = verb.names();
        let out = &mut self.bytes;
        // The buffer keeps its capacity, so later requests allocate nothing.
        out.clear();
        out.extend_from_slice(method.as_bytes());
        out.push(b' ');
        out.extend_from_slice(prefix.as_bytes());
        if !self.link.is_empty() {
            out.push(b'/');
            out.extend_from_slice(self.link.as_bytes());
        }
        if let Some(feed) = feed {
            out.push(b'/');
            out.extend_from_slice(feed.as_bytes());
        }
        out.extend_from_slice(self.common_headers.as_bytes());
        out.extend_from_slice(b"x-ms-date: ");
        out.extend_from_slice(self.date.header().as_bytes());
        out.extend_from_slice(b"\r\nauthorization: ");
        // The signature covers the link of the parent, also where the request is for a feed.
        let signed = SignaturePayload {
            verb,
            resource_type,
            link: &self.link,
        };
        self.target
            .signer
            .authorize(out, signed, self.date.lower_case());
        out.extend_from_slice(b"\r\n");
    }

    /// Writes the header of the partition key. The key must need no JSON escapes.
    fn partition_key(&mut self, key: &str) {
        self.bytes
            .extend_from_slice(b"x-ms-documentdb-partitionkey: [\"");
        self.bytes.extend_from_slice(key.as_bytes());
        self.bytes.extend_from_slice(b"\"]\r\n");
    }

    fn header(&mut self, name: &str, value: impl std::fmt::Display) {
        write!(self.bytes, "{name}: {value}\r\n").expect("writing to memory cannot fail");
    }

    fn finish_json(&mut self, body: &[u8]) {
        self.finish("application/json", body);
    }

    /// Writes the last headers and the body.
    fn finish(&mut self, content_type: &str, body: &[u8]) {
        self.header("content-type", content_type);
        self.header("content-length", body.len());
        self.bytes.extend_from_slice(b"\r\n");
        self.bytes.extend_from_slice(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Target {
        let endpoint = Endpoint::parse("http://localhost:8081").unwrap();
        Target::new(endpoint, Signer::new(&"a2V5".parse().unwrap()), ["d", "c"]).unwrap()
    }

    /// The lines that depend neither on the clock nor on the connection.
    fn stable_lines(request: &[u8]) -> Vec<String> {
        let text = std::str::from_utf8(request).unwrap();
        let volatile = [
            "x-ms-date",
            "authorization",
            "host",
            "accept",
            "user-agent",
            "x-ms-version",
        ];
        let stable = |line: &&str| !volatile.iter().any(|name| line.starts_with(name));
        text.split("\r\n")
            .filter(stable)
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn requests() {
        type Build = fn(&mut RequestWriter);
        let cases: [(Build, &[&str]); 20] = [
            (
                |w| w.read("k1", "p1"),
                &[
                    "GET /dbs/d/colls/c/docs/k1 HTTP/1.1",
                    "x-ms-documentdb-partitionkey: [\"p1\"]",
                    "",
                    "",
                ],
            ),
            (
                |w| w.read_eventually("k1", "p1"),
                &[
                    "GET /dbs/d/colls/c/docs/k1 HTTP/1.1",
                    "x-ms-documentdb-partitionkey: [\"p1\"]",
                    "x-ms-consistency-level: Eventual",
                    "",
                    "",
                ],
            ),
            (
                |w| w.create("k1", b"{}"),
                &[
                    "POST /dbs/d/colls/c/docs HTTP/1.1",
                    "x-ms-documentdb-partitionkey: [\"k1\"]",
                    "content-type: application/json",
                    "content-length: 2",
                    "",
                    "{}",
                ],
            ),
            (
                |w| w.upsert("k1", b"{}"),
                &[
                    "POST /dbs/d/colls/c/docs HTTP/1.1",
                    "x-ms-documentdb-partitionkey: [\"k1\"]",
                    "x-ms-documentdb-is-upsert: True",
                    "content-type: application/json",
                    "content-length: 2",
                    "",
                    "{}",
                ],
            ),
            (
                |w| w.replace(["k1", "p1"], b"{}"),
                &[
                    "PUT /dbs/d/colls/c/docs/k1 HTTP/1.1",
                    "x-ms-documentdb-partitionkey: [\"p1\"]",
                    "content-type: application/json",
                    "content-length: 2",
                    "",
                    "{}",
                ],
            ),
            (
                |w| w.scan(10),
                &[
                    "GET /dbs/d/colls/c/docs HTTP/1.1",
                    "x-ms-documentdb-partitionkeyrangeid: 0",
                    "x-ms-max-item-count: 10",
                    "",
                    "",
                ],
            ),
            (
                |w| w.query_item("k1", "p1"),
                &[
                    "POST /dbs/d/colls/c/docs HTTP/1.1",
                    "x-ms-documentdb-isquery: True",
                    "x-ms-documentdb-partitionkey: [\"p1\"]",
                    "x-ms-max-item-count: 1000",
                    "content-type: application/query+json",
                    "content-length: 87",
                    "",
                    r#"{"query":"SELECT * FROM c WHERE c.id = @id","parameters":[{"name":"@id","value":"k1"}]}"#,
                ],
            ),
            (
                |w| w.changes("2", Some("\"7\""), 1000),
                &[
                    "GET /dbs/d/colls/c/docs HTTP/1.1",
                    "a-im: Incremental Feed",
                    "x-ms-documentdb-partitionkeyrangeid: 2",
                    "x-ms-max-item-count: 1000",
                    "if-none-match: \"7\"",
                    "",
                    "",
                ],
            ),
            (
                RequestWriter::list_partitions,
                &["GET /_orrery/dbs/d/colls/c/partitions HTTP/1.1", "", ""],
            ),
            (
                |w| w.change_partitions(b"{}"),
                &[
                    "POST /_orrery/dbs/d/colls/c/partitions HTTP/1.1",
                    "content-type: application/json",
                    "content-length: 2",
                    "",
                    "{}",
                ],
            ),
            (
                RequestWriter::create_database,
                &[
                    "POST /dbs HTTP/1.1",
                    "content-type: application/json",
                    "content-length: 10",
                    "",
                    "{\"id\":\"d\"}",
                ],
            ),
            (
                |w| {
                    let headers = QueryHeaders {
                        partition_key: Some("k1"),
                        ..QueryHeaders::default()
                    };
                    w.query(headers, b"{}");
                },
                &[
                    "POST /dbs/d/colls/c/docs HTTP/1.1",
                    "x-ms-documentdb-isquery: True",
                    "x-ms-documentdb-partitionkey: [\"k1\"]",
                    "x-ms-max-item-count: 1000",
                    "content-type: application/query+json",
                    "content-length: 2",
                    "",
                    "{}",
                ],
            ),
            (
                |w| {
                    let headers = QueryHeaders {
                        partition_key: None,
                        continuation: Some("t"),
                        metrics: true,
                    };
                    w.query(headers, b"{}");
                },
                &[
                    "POST /dbs/d/colls/c/docs HTTP/1.1",
                    "x-ms-documentdb-isquery: True",
                    "x-ms-documentdb-query-enablecrosspartition: True",
                    "x-ms-max-item-count: 1000",
                    "x-ms-continuation: t",
                    "x-ms-documentdb-populatequerymetrics: True",
                    "content-type: application/query+json",
                    "content-length: 2",
                    "",
                    "{}",
                ],
            ),
            (
                |w| w.batch("k1", b"[]"),
                &[
                    "POST /dbs/d/colls/c/docs HTTP/1.1",
                    "x-ms-documentdb-partitionkey: [\"k1\"]",
                    "x-ms-cosmos-is-batch-request: True",
                    "x-ms-cosmos-batch-atomic: True",
                    "prefer: return=minimal",
                    "content-type: application/json",
                    "content-length: 2",
                    "",
                    "[]",
                ],
            ),
            (
                |w| w.upsert_script(ScriptKind::Function, b"{}"),
                &[
                    "POST /dbs/d/colls/c/udfs HTTP/1.1",
                    "x-ms-documentdb-is-upsert: True",
                    "content-type: application/json",
                    "content-length: 2",
                    "",
                    "{}",
                ],
            ),
            (
                |w| w.execute("s", "k1", b"[1]"),
                &[
                    "POST /dbs/d/colls/c/sprocs/s HTTP/1.1",
                    "x-ms-documentdb-partitionkey: [\"k1\"]",
                    "content-type: application/json",
                    "content-length: 3",
                    "",
                    "[1]",
                ],
            ),
            (
                |w| w.create_container(None, Some("{}")),
                &[
                    "POST /dbs/d/colls HTTP/1.1",
                    "content-type: application/json",
                    "content-length: 89",
                    "",
                    "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2},\
                     \"indexingPolicy\":{}}",
                ],
            ),
            (
                |w| w.create_container(Some(400), None),
                &[
                    "POST /dbs/d/colls HTTP/1.1",
                    "x-ms-offer-throughput: 400",
                    "content-type: application/json",
                    "content-length: 69",
                    "",
                    "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}}",
                ],
            ),
            (
                RequestWriter::delete_container,
                &["DELETE /dbs/d/colls/c HTTP/1.1", "", ""],
            ),
            (
                RequestWriter::delete_database,
                &["DELETE /dbs/d HTTP/1.1", "", ""],
            ),
        ];
        let mut writer = RequestWriter::new(target());
        for (build, expected) in cases {
            build(&mut writer);
            assert_eq!(stable_lines(writer.bytes()), expected);
        }
    }

    #[test]
    fn names_that_need_escapes_are_refused() {
        for names in [["a b", "c"], ["d", ""], ["d", "a/b"]] {
            let target = target();
            assert!(
                Target::new(target.endpoint, target.signer, names).is_err(),
                "{names:?}"
            );
        }
    }
}
