//! A client of a container with several partitions: it keeps a token for each, looks for the region that takes
//! a write, and records whatever it was told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::FAULT_FREE_REQUEST_MAX;
use super::history::{Event, Token, Value, What};
use crate::account::{Account, REGIONS};
use crate::client::Response;
use crate::random::Random;
use crate::requests::{Requests, START_WAIT_MAX};
use crate::{PAUSE, pick};

pub(super) const CONTAINER: &str = "dbs/d/colls/c";
const DOCS: &str = "/dbs/d/colls/c/docs";
/// Makes two partitions.
const THROUGHPUT: (&str, &str) = ("x-ms-offer-throughput", "18000");
/// Longer than a write waits for a partition that goes down.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Of each partition.
const KEYS: usize = 2;
/// Clients number their values apart.
const VALUES: u64 = 1_000_000;

/// A logical partition key, and the partition key range of its physical partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) range: String,
}

/// The era of the test and the era of each client. Every era uses items of its own.
pub(super) struct Eras {
    now: AtomicUsize,
    clients: Vec<AtomicUsize>,
}

/// The first era, in which no region is silent.
pub(super) const FAULT_FREE: usize = 0;

/// The era in the id of an item.
pub(super) fn era_of(id: &str) -> usize {
    let digits = id.split('-').next().and_then(|start| start.get(1..));
    digits.and_then(|digits| digits.parse().ok()).unwrap()
}

fn shared(era: usize, key: &Key) -> String {
    format!("s{era}-{}", key.name)
}

impl Eras {
    pub(super) fn new(clients: usize) -> Eras {
        Eras {
            now: AtomicUsize::new(FAULT_FREE),
            clients: (0..clients).map(|_| AtomicUsize::new(FAULT_FREE)).collect(),
        }
    }

    pub(super) fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    /// Begins the next era, and waits until no client works in the last one.
    pub(super) fn next(&self) {
        let era = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        let begun = Instant::now();
        let is_there = |client: &AtomicUsize| client.load(Ordering::SeqCst) >= era;
        while !self.clients.iter().all(is_there) {
            assert!(begun.elapsed() < START_WAIT_MAX, "a client does not go on");
            sleep(Duration::from_millis(2));
        }
    }

    fn enter(&self, client: usize) -> usize {
        let era = self.now();
        self.clients[client].store(era, Ordering::SeqCst);
        era
    }

    /// So that nobody waits for it.
    fn leave(&self, client: usize) {
        self.clients[client].store(usize::MAX, Ordering::SeqCst);
    }
}

#[derive(Debug, PartialEq, Eq)]
enum WriteOutcome {
    Done,
    Refused,
    Unknown,
}

pub(super) struct Partitioned<'a> {
    requests: Requests,
    number: usize,
    sessions: usize,
    values: u64,
    begun: Instant,
    /// By partition.
    tokens: BTreeMap<String, String>,
    /// Where the last write of a partition was taken.
    owners: BTreeMap<String, usize>,
    keys: &'a [Key],
    /// When the first request began that took very long.
    pub(super) slow: Option<Duration>,
    pub(super) history: Vec<Event>,
}

impl<'a> Partitioned<'a> {
    pub(super) fn new(
        account: &Account,
        number: usize,
        keys: &'a [Key],
        begun: Instant,
    ) -> Partitioned<'a> {
        let mut requests = Requests::new(account);
        requests.timeout = REQUEST_TIMEOUT;
        Partitioned {
            requests,
            number,
            sessions: 0,
            values: 0,
            begun,
            tokens: BTreeMap::new(),
            owners: BTreeMap::new(),
            keys,
            slow: None,
            history: Vec::new(),
        }
    }

    /// Sends requests until the test ends.
    pub(super) fn work(&mut self, random: &mut Random, eras: &Eras, is_over: impl Fn() -> bool) {
        let mut made = 0;
        while !is_over() {
            let era = eras.enter(self.number);
            let is_now = || eras.now() == era && !is_over();
            let key = self.keys[pick(random, self.keys.len())].clone();
            // A session that has read records of a silent region cannot continue in another region,
            // so sessions are short in these eras.
            let lasts = if era == FAULT_FREE { 6 } else { 2 };
            if random.below(lasts) == 0 {
                self.begin_session();
            }
            if random.below(3) == 0 {
                made += 1;
                let id = format!("u{era}-{}-{made}", self.number);
                self.create(random, &id, &key, is_now);
                self.read(pick(random, REGIONS.len()), &id, &key);
            } else {
                // Some items in conflict are written again in a later era, but not all of them.
                let is_late = era > FAULT_FREE + 1 && random.below(4) == 0 && self.is_lasting(&key);
                let id = shared(era - usize::from(is_late), &key);
                self.update(random, &id, &key, is_now);
                if random.below(2) == 0 && is_now() {
                    self.read(pick(random, REGIONS.len()), &id, &key);
                }
            }
            sleep(PAUSE);
        }
        eras.leave(self.number);
    }

    /// Whether the shared item of a key is written in the era after its own era too.
    fn is_lasting(&self, key: &Key) -> bool {
        let first = self.keys.iter().find(|other| other.range == key.range);
        first == Some(key)
    }

    fn begin_session(&mut self) {
        self.sessions += 1;
        self.tokens.clear();
    }

    fn create(&mut self, random: &mut Random, id: &str, key: &Key, is_now: impl Fn() -> bool) {
        let first = self.likely_owner(random, key);
        for attempt in 0..REGIONS.len() {
            let region = (first + attempt) % REGIONS.len();
            // A create without an answer may have succeeded. As official clients do, the client
            // tries the create in another region to find out.
            if self.write(region, id, key, None) == WriteOutcome::Done || !is_now() {
                return;
            }
        }
    }

    fn update(&mut self, random: &mut Random, id: &str, key: &Key, is_now: impl Fn() -> bool) {
        let region = pick(random, REGIONS.len());
        let Some((over, etag)) = self.read(region, id, key) else {
            return;
        };
        let first = self.likely_owner(random, key);
        for attempt in 0..REGIONS.len() {
            let region = (first + attempt) % REGIONS.len();
            if !is_now()
                || self.write(region, id, key, Some((over, &etag))) != WriteOutcome::Refused
            {
                return;
            }
        }
    }

    /// The region that probably owns the key. Sometimes another region is asked, since a superseded
    /// owner may not know of the change.
    fn likely_owner(&self, random: &mut Random, key: &Key) -> usize {
        let owner = self.owners.get(&key.range).copied().unwrap_or_default();
        if random.below(2) == 0 {
            pick(random, REGIONS.len())
        } else {
            owner
        }
    }

    /// Replaces the version with this etag, or creates the item.
    fn write(
        &mut self,
        region: usize,
        id: &str,
        key: &Key,
        over: Option<(Value, &str)>,
    ) -> WriteOutcome {
        self.values += 1;
        let value = (self.number as u64 + 1) * VALUES + self.values;
        let begun = self.begun.elapsed();
        let item = format!("{DOCS}/{id}");
        let (method, path) = match over {
            Some(_) => ("PUT", item.as_str()),
            None => ("POST", DOCS),
        };
        let link = over.map_or(CONTAINER, |_| &item[1..]);
        let body = format!(r#"{{"id":"{id}","p":"{}","n":{value}}}"#, key.name);
        let matching = over.map(|(_, etag)| ("If-Match", etag));
        let answer = self.send(region, method, (path, link), key, matching, &body);
        let outcome = match answer.as_ref().map(|answer| answer.status) {
            Some(200 | 201) => WriteOutcome::Done,
            // A newer version, a wrong region, a session that the region does not have yet, or
            // throttling.
            Some(403 | 404 | 409 | 412 | 429) => WriteOutcome::Refused,
            Some(status @ (400..=402 | 405..=408 | 410 | 411 | 413..=428)) => {
                panic!("{status} {:?}", answer.map(|answer| answer.body))
            }
            _ => WriteOutcome::Unknown,
        };
        let token = answer.filter(|_| outcome == WriteOutcome::Done);
        let token = token.map(|answer| self.take_token(&answer, key));
        if outcome == WriteOutcome::Done {
            self.owners.insert(key.range.clone(), region);
        }
        if outcome != WriteOutcome::Refused {
            let over = over.map(|(over, _)| over);
            self.record(region, id, begun, What::Wrote { value, over }, token);
        }
        outcome
    }

    /// The version and its etag, if the region answered with both.
    fn read(&mut self, region: usize, id: &str, key: &Key) -> Option<(Value, String)> {
        let begun = self.begun.elapsed();
        let path = format!("{DOCS}/{id}");
        let answer = self.send(region, "GET", (&path, &path[1..]), key, None, "")?;
        match answer.status {
            200 => {
                let document: Json = serde_json::from_str(&answer.body).unwrap();
                let value = document["n"].as_u64().unwrap();
                let etag = document["_etag"].as_str().unwrap().to_owned();
                let token = self.take_token(&answer, key);
                self.record(region, id, begun, What::Read(Some(value)), Some(token));
                Some((value, etag))
            }
            404 if answer.header("x-ms-substatus") != Some("1002") => {
                self.record(region, id, begun, What::Read(None), None);
                None
            }
            _ => None,
        }
    }

    fn record(
        &mut self,
        region: usize,
        id: &str,
        begun: Duration,
        what: What,
        token: Option<Token>,
    ) {
        self.history.push(Event {
            session: (self.number, self.sessions),
            item: id.to_owned(),
            region,
            begun,
            ended: self.begun.elapsed(),
            what,
            token,
        });
    }

    fn take_token(&mut self, answer: &Response, key: &Key) -> Token {
        let text = answer.header("x-ms-session-token").unwrap();
        let (range, token) = Token::parse(text).unwrap();
        assert_eq!(range, key.range, "of {}", key.name);
        self.tokens.insert(range.to_owned(), text.to_owned());
        token
    }

    fn send(
        &mut self,
        region: usize,
        method: &str,
        (path, link): (&str, &str),
        key: &Key,
        matching: Option<(&str, &str)>,
        body: &str,
    ) -> Option<Response> {
        self.requests.session = self.tokens.get(&key.range).cloned();
        let name = format!(r#"["{}"]"#, key.name);
        let mut headers = vec![("x-ms-documentdb-partitionkey", name.as_str())];
        headers.extend(matching);
        let begun = self.begun.elapsed();
        let answer = self
            .requests
            .send(region, method, (path, "docs", link), &headers, body);
        if self.begun.elapsed() >= begun + FAULT_FREE_REQUEST_MAX {
            self.slow.get_or_insert(begun);
        }
        answer
    }

    /// The regions that take writes of a key now.
    pub(super) fn owners(&mut self, key: &Key) -> Vec<usize> {
        self.begin_session();
        let regions = 0..REGIONS.len();
        let owners = regions.filter(|region| {
            let id = format!("e-{}-{}", self.number, self.values);
            self.write(*region, &id, key, None) == WriteOutcome::Done
        });
        owners.collect()
    }
}

/// Makes the container and the shared items of so many eras.
pub(super) fn prepare(
    account: &Account,
    number: usize,
    eras: usize,
    begun: Instant,
) -> (Vec<Key>, Vec<Event>) {
    let mut requests = Requests::new(account);
    let definition = r#"{"id":"c","partitionKey":{"paths":["/p"],"kind":"Hash","version":2}}"#;
    for (path, kind, link, headers, body) in [
        ("/dbs", "dbs", "", &[][..], r#"{"id":"d"}"#),
        ("/dbs/d/colls", "colls", "dbs/d", &[THROUGHPUT], definition),
    ] {
        let is_made = || {
            let answer = requests.send(0, "POST", (path, kind, link), headers, body);
            answer.filter(|answer| matches!(answer.status, 201 | 409))
        };
        wait_until(path, is_made);
    }
    let keys = keys(&mut requests);
    let mut client = Partitioned::new(account, number, &keys, begun);
    for era in 0..eras {
        for key in &keys {
            let id = shared(era, key);
            // A create without an answer in time may have succeeded, so a successful read counts
            // too.
            wait_until(&id, || {
                let is_made = client.write(0, &id, key, None) == WriteOutcome::Done;
                (is_made || client.read(0, &id, key).is_some()).then_some(())
            });
        }
    }
    let history = client.history;
    (keys, history)
}

/// Some of each partition.
fn keys(requests: &mut Requests) -> Vec<Key> {
    let mut found: Vec<Key> = Vec::new();
    for number in 0..50 {
        let name = format!("k{number}");
        let header = format!(r#"["{name}"]"#);
        let headers = [("x-ms-documentdb-partitionkey", header.as_str())];
        let path = format!("{DOCS}/none");
        let mut range = String::new();
        wait_until(&name, || {
            let answer = requests.send(0, "GET", (&path, "docs", &path[1..]), &headers, "");
            let token = answer.as_ref()?.header("x-ms-session-token")?;
            Token::parse(token).unwrap().0.clone_into(&mut range);
            Some(())
        });
        let same = found.iter().filter(|key| key.range == range);
        if same.count() < KEYS {
            found.push(Key { name, range });
        }
        if found.len() == 2 * KEYS {
            return found;
        }
    }
    panic!("the keys are in too few partitions: {found:?}");
}

fn wait_until<T>(what: &str, mut is_so: impl FnMut() -> Option<T>) {
    let begun = Instant::now();
    while is_so().is_none() {
        assert!(begun.elapsed() < START_WAIT_MAX, "{what}");
        sleep(Duration::from_millis(50));
    }
}
