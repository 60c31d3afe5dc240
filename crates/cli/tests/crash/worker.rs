//! One client with items of its own, which predicts the items of the server.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};

use crate::client::{Client, Response};
use crate::random::Random;

const DOCS: &str = "/dbs/d/colls/c/docs";
const CONTAINER: &str = "dbs/d/colls/c";
/// A stored procedure that applies the operations of a batch to its logical partition, and then
/// fails if its argument demands it.
pub(crate) const PROCEDURE: &str = "function (operations, fails) {
    var link = __.getAltLink();
    function check(error) { if (error) throw error; }
    operations.forEach(function (operation) {
        if (operation.remove) __.deleteDocument(link + '/docs/' + operation.remove, check);
        else __.upsertDocument(link, operation, check);
    });
    if (fails) throw new Error('after all');
}";

const PROCEDURE_LINK: &str = "dbs/d/colls/c/sprocs/s";
const KEYS: u64 = 3;
const IDS: u64 = 12;
const FILL_BYTES_MAX: u64 = 12_000;

/// Partition key and id.
type Place = (String, String);
/// The version of each existing item.
type Items = BTreeMap<Place, u64>;

pub(crate) struct Worker {
    number: usize,
    random: Random,
    version: u64,
    known: Items,
    /// The items after the request without an answer, if the server carried that request out.
    perhaps: Option<Items>,
    pub(crate) acknowledged: usize,
    pub(crate) unanswered: usize,
    pub(crate) unanswered_happened: usize,
}

/// A request, the status that its answer must have, and the items after the request.
struct Request {
    method: &'static str,
    at: At,
    headers: Vec<(&'static str, &'static str)>,
    body: String,
    status: u16,
    after: Items,
}

/// What a request is sent to.
enum At {
    Items,
    Item(String),
    Procedure,
}

impl Worker {
    pub(crate) fn new(number: usize) -> Worker {
        Worker {
            number,
            random: Random::new(1_000 + number as u64),
            version: 0,
            known: Items::new(),
            perhaps: None,
            acknowledged: 0,
            unanswered: 0,
            unanswered_happened: 0,
        }
    }

    pub(crate) fn items(&self) -> usize {
        self.known.len()
    }

    /// Writes until the server is gone.
    pub(crate) fn work(&mut self, mut client: Client) {
        loop {
            let key = format!("w{}-{}", self.number, self.random.below(KEYS));
            let request = self.request(&key);
            match send(&mut client, &key, &request) {
                Ok(response) => {
                    assert_eq!(
                        response.status, request.status,
                        "{} {}",
                        request.body, response.body
                    );
                    if request.after != self.known {
                        self.acknowledged += 1;
                    }
                    self.known = request.after;
                }
                Err(_) => {
                    self.perhaps = Some(request.after);
                    return;
                }
            }
        }
    }

    fn request(&mut self, key: &str) -> Request {
        let id = self.random.below(IDS).to_string();
        let address = (key.to_owned(), id.clone());
        let exists = self.known.contains_key(&address);
        let mut after = self.known.clone();
        let request = |method, at, headers, body, status, after| Request {
            method,
            at,
            headers,
            body,
            status,
            after,
        };
        match self.random.below(11) {
            0..3 => {
                let (version, body) = self.document(key, &id);
                let status = if exists { 409 } else { 201 };
                after.entry(address).or_insert(version);
                request("POST", At::Items, Vec::new(), body, status, after)
            }
            3..6 => {
                let (version, body) = self.document(key, &id);
                let status = if exists { 200 } else { 201 };
                after.insert(address, version);
                let headers = vec![("x-ms-documentdb-is-upsert", "True")];
                request("POST", At::Items, headers, body, status, after)
            }
            6 | 7 => {
                let (version, body) = self.document(key, &id);
                let status = if exists { 200 } else { 404 };
                after.entry(address).and_modify(|known| *known = version);
                request("PUT", At::Item(id), Vec::new(), body, status, after)
            }
            8 => {
                let status = if exists { 204 } else { 404 };
                after.remove(&address);
                request(
                    "DELETE",
                    At::Item(id),
                    Vec::new(),
                    String::new(),
                    status,
                    after,
                )
            }
            9 => self.batch(key),
            _ => self.run(key),
        }
    }

    /// Upserts and deletes of a stored procedure, which now and then throws at its end.
    fn run(&mut self, key: &str) -> Request {
        let mut after = self.known.clone();
        let mut operations = Vec::new();
        for _ in 0..2 + self.random.below(5) {
            let id = self.random.below(IDS).to_string();
            let address = (key.to_owned(), id.clone());
            if after.contains_key(&address) && self.random.below(3) == 0 {
                after.remove(&address);
                operations.push(json!({"remove": id}));
            } else {
                let (version, body) = self.document(key, &id);
                after.insert(address, version);
                operations.push(serde_json::from_str(&body).unwrap());
            }
        }
        let fails = self.random.below(4) == 0;
        let status = if fails { 400 } else { 200 };
        Request {
            method: "POST",
            at: At::Procedure,
            headers: Vec::new(),
            body: json!([operations, fails]).to_string(),
            status,
            after: if fails { self.known.clone() } else { after },
        }
    }

    /// Some upserts and deletes, sometimes with a last operation that fails and so rolls the batch
    /// back.
    fn batch(&mut self, key: &str) -> Request {
        let mut after = self.known.clone();
        let mut operations = Vec::new();
        for _ in 0..2 + self.random.below(5) {
            let id = self.random.below(IDS).to_string();
            let address = (key.to_owned(), id.clone());
            if after.contains_key(&address) && self.random.below(3) == 0 {
                after.remove(&address);
                operations.push(json!({"operationType": "Delete", "id": id}));
            } else {
                let (version, body) = self.document(key, &id);
                after.insert(address, version);
                let body: Value = serde_json::from_str(&body).unwrap();
                operations.push(json!({"operationType": "Upsert", "resourceBody": body}));
            }
        }
        let mut status = 200;
        if self.random.below(4) == 0 {
            operations.push(json!({"operationType": "Delete", "id": "never"}));
            (after, status) = (self.known.clone(), 207);
        }
        let headers = vec![
            ("x-ms-cosmos-is-batch-request", "True"),
            ("x-ms-cosmos-batch-atomic", "True"),
            ("x-ms-cosmos-batch-ordered", "True"),
        ];
        let body = Value::Array(operations).to_string();
        Request {
            method: "POST",
            at: At::Items,
            headers,
            body,
            status,
            after,
        }
    }

    fn document(&mut self, key: &str, id: &str) -> (u64, String) {
        self.version += 1;
        let fill = fill(self.version);
        let document = json!({"id": id, "p": key, "version": self.version, "fill": fill});
        (self.version, document.to_string())
    }

    /// Compares the items of the server with the items that the server must have.
    pub(crate) fn verify(&mut self, mut client: Client) {
        let found = self.read_all(&mut client);
        let perhaps = self.perhaps.take();
        self.unanswered += usize::from(perhaps.is_some());
        if found == self.known {
            return;
        }
        let happened = perhaps.as_ref() == Some(&found);
        assert!(
            happened,
            "worker {}: lost or torn writes\nfound   {found:?}\nknown   {:?}\nperhaps {perhaps:?}",
            self.number, self.known
        );
        self.unanswered_happened += 1;
        self.known = found;
    }

    fn read_all(&self, client: &mut Client) -> Items {
        let mut items = Items::new();
        for number in 0..KEYS {
            let key = format!("w{}-{number}", self.number);
            let partition_key = format!("[\"{key}\"]");
            let headers = [
                ("x-ms-documentdb-partitionkey", partition_key.as_str()),
                ("x-ms-max-item-count", "1000"),
            ];
            let response = client
                .send("GET", DOCS, "docs", CONTAINER, &headers, "")
                .unwrap();
            assert_eq!(response.status, 200, "{}", response.body);
            let page: Value = serde_json::from_str(&response.body).unwrap();
            for document in page["Documents"].as_array().unwrap() {
                let (address, version) = check_document(document);
                assert_eq!(address.0, key);
                assert_eq!(items.insert(address, version), None);
            }
        }
        items
    }

    /// Reads every possible id, also the ids of items that must not exist.
    pub(crate) fn read_each(&mut self, mut client: Client) {
        for number in 0..KEYS {
            for id in 0..IDS {
                let address = (format!("w{}-{number}", self.number), id.to_string());
                let request = Request {
                    method: "GET",
                    at: At::Item(address.1.clone()),
                    headers: Vec::new(),
                    body: String::new(),
                    status: 200,
                    after: Items::new(),
                };
                let response = send(&mut client, &address.0, &request).unwrap();
                let found = (response.status == 200).then(|| {
                    let document = serde_json::from_str(&response.body).unwrap();
                    check_document(&document).1
                });
                assert_eq!(found.as_ref(), self.known.get(&address), "{address:?}");
            }
        }
    }
}

fn send(client: &mut Client, key: &str, request: &Request) -> io::Result<Response> {
    let partition_key = format!("[\"{key}\"]");
    let mut headers = request.headers.clone();
    headers.push(("Content-Type", "application/json"));
    let mut headers: Vec<(&str, &str)> = headers.into_iter().collect();
    headers.push(("x-ms-documentdb-partitionkey", &partition_key));
    let (path, kind, link) = match &request.at {
        At::Item(id) => (
            format!("{DOCS}/{id}"),
            "docs",
            format!("{CONTAINER}/docs/{id}"),
        ),
        At::Items => (DOCS.to_owned(), "docs", CONTAINER.to_owned()),
        At::Procedure => (
            format!("/{PROCEDURE_LINK}"),
            "sprocs",
            PROCEDURE_LINK.to_owned(),
        ),
    };
    client.send(request.method, &path, kind, &link, &headers, &request.body)
}

/// An item must be whole: its filling follows from its version.
fn check_document(document: &Value) -> (Place, u64) {
    let version = document["version"].as_u64().unwrap();
    assert_eq!(document["fill"], fill(version));
    let text = |name: &str| document[name].as_str().unwrap().to_owned();
    ((text("p"), text("id")), version)
}

fn fill(version: u64) -> String {
    let length = usize::try_from(version.wrapping_mul(7919) % FILL_BYTES_MAX).unwrap();
    version.to_string().chars().cycle().take(length).collect()
}
