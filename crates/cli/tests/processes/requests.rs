//! What clients ask of the items of one container, whatever happens to the processes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::account::{Account, REGIONS};
use crate::client::{Client, Response};

const DOCS: &str = "/dbs/d/colls/c/docs";
const CONTAINER: &str = "dbs/d/colls/c";
const KEY: (&str, &str) = ("x-ms-documentdb-partitionkey", r#"["p"]"#);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
pub(crate) const START_WAIT_MAX: Duration = Duration::from_mins(1);

/// One client with a connection to each region, made again whenever it breaks.
pub(crate) struct Requests {
    addresses: [SocketAddr; 3],
    clients: [Option<Client>; 3],
    /// Where the last write was taken.
    writer: usize,
    /// The time limit of one answer.
    pub(crate) timeout: Duration,
    /// The session token that every request sends, if there is one.
    pub(crate) session: Option<String>,
}

/// An item as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) value: u64,
    pub(crate) etag: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The server refused the request and never applies it.
    Refused,
    Unknown,
}

impl Requests {
    pub(crate) fn new(account: &Account) -> Requests {
        Requests {
            addresses: [0, 1, 2].map(|region| account.address(region)),
            clients: [const { None }; 3],
            writer: 0,
            timeout: REQUEST_TIMEOUT,
            session: None,
        }
    }

    /// Makes the container, with items that have the value 0.
    pub(crate) fn prepare(&mut self, items: usize) {
        self.create("/dbs", "dbs", "", r#"{"id":"d"}"#);
        let definition = r#"{"id":"c","partitionKey":{"paths":["/p"],"kind":"Hash","version":2}}"#;
        self.create("/dbs/d/colls", "colls", "dbs/d", definition);
        for item in 0..items {
            let body = body(&item.to_string(), 0);
            self.create(DOCS, "docs", CONTAINER, &body);
        }
    }

    fn create(&mut self, path: &str, kind: &str, link: &str, body: &str) {
        let begun = Instant::now();
        loop {
            let headers: &[(&str, &str)] = if kind == "docs" { &[KEY] } else { &[] };
            let answer = self.send(self.writer, "POST", (path, kind, link), headers, body);
            match &answer {
                Some(answer) if matches!(answer.status, 201 | 409) => return,
                _ => self.writer = (self.writer + 1) % REGIONS.len(),
            }
            let answer = answer.map(|answer| answer.body);
            assert!(begun.elapsed() < START_WAIT_MAX, "{path}: {answer:?}");
            sleep(Duration::from_millis(50));
        }
    }

    /// None if the region did not answer with the item.
    pub(crate) fn read(&mut self, region: usize, item: usize) -> Option<Item> {
        let (path, link) = (format!("{DOCS}/{item}"), format!("{CONTAINER}/docs/{item}"));
        let answer = self.send(region, "GET", (&path, "docs", &link), &[KEY], "")?;
        if answer.status != 200 {
            return None;
        }
        self.take_session(&answer);
        let (_, item) = parsed(&serde_json::from_str(&answer.body).unwrap());
        Some(item)
    }

    /// Writes in the region that took the last write, and tries the next region after a failure.
    pub(crate) fn write(&mut self, item: usize, value: u64, over: Option<&str>) -> Outcome {
        let outcome = self.write_in(self.writer, item, value, over);
        if outcome != Outcome::Done {
            self.writer = (self.writer + 1) % REGIONS.len();
        }
        outcome
    }

    /// Replaces only the version with this etag, if `over` names one.
    pub(crate) fn write_in(
        &mut self,
        region: usize,
        item: usize,
        value: u64,
        over: Option<&str>,
    ) -> Outcome {
        let body = body(&item.to_string(), value);
        let (path, link) = (format!("{DOCS}/{item}"), format!("{CONTAINER}/docs/{item}"));
        let mut headers = vec![KEY];
        headers.extend(over.map(|etag| ("If-Match", etag)));
        let answer = self.send(region, "PUT", (&path, "docs", &link), &headers, &body);
        self.outcome(answer)
    }

    /// Makes an item of its own.
    pub(crate) fn create_in(&mut self, region: usize, id: &str) -> Outcome {
        let answer = self.send(
            region,
            "POST",
            (DOCS, "docs", CONTAINER),
            &[KEY],
            &body(id, 1),
        );
        self.outcome(answer)
    }

    fn outcome(&mut self, answer: Option<Response>) -> Outcome {
        match answer {
            Some(answer) if matches!(answer.status, 200 | 201) => {
                self.take_session(&answer);
                Outcome::Done
            }
            Some(answer) if matches!(answer.status, 403 | 404 | 409 | 412 | 429) => {
                Outcome::Refused
            }
            _ => Outcome::Unknown,
        }
    }

    /// Every item, as a region has it now, at a consistency level.
    pub(crate) fn all(&mut self, region: usize, level: &str) -> Option<BTreeMap<String, Item>> {
        let headers = [
            KEY,
            ("x-ms-max-item-count", "100000"),
            ("x-ms-consistency-level", level),
        ];
        let mut items = BTreeMap::new();
        let mut continuation: Option<String> = None;
        loop {
            let mut headers = headers.to_vec();
            headers.extend(
                continuation
                    .as_deref()
                    .map(|text| ("x-ms-continuation", text)),
            );
            let answer = self.send(region, "GET", (DOCS, "docs", CONTAINER), &headers, "")?;
            if answer.status != 200 {
                return None;
            }
            let page: Value = serde_json::from_str(&answer.body).unwrap();
            items.extend(page["Documents"].as_array().unwrap().iter().map(parsed));
            continuation = answer.header("x-ms-continuation").map(str::to_owned);
            if continuation.is_none() {
                return Some(items);
            }
        }
    }

    fn take_session(&mut self, answer: &Response) {
        if let Some(token) = answer.header("x-ms-session-token") {
            self.session = Some(token.to_owned());
        }
    }

    /// None if no answer came in time.
    pub(crate) fn send(
        &mut self,
        region: usize,
        method: &str,
        (path, kind, link): (&str, &str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> Option<Response> {
        let mut headers = headers.to_vec();
        let session = self.session.clone();
        headers.extend(
            session
                .as_deref()
                .map(|token| ("x-ms-session-token", token)),
        );
        let slot = &mut self.clients[region];
        let mut client = match slot.take() {
            Some(client) => client,
            None => Client::connect(self.addresses[region], self.timeout).ok()?,
        };
        let answer = client.send(method, path, kind, link, &headers, body).ok()?;
        *slot = Some(client);
        Some(answer)
    }
}

fn body(id: &str, value: u64) -> String {
    format!(r#"{{"id":"{id}","p":"p","n":{value}}}"#)
}

fn parsed(document: &Value) -> (String, Item) {
    let text = |name: &str| document[name].as_str().unwrap().to_owned();
    let item = Item {
        value: document["n"].as_u64().unwrap(),
        etag: text("_etag"),
    };
    (text("id"), item)
}
