//! A collection in memory, and a runtime that runs scripts against it.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::allow_attributes,
    reason = "a module of tests, and which part is used differs"
)]

pub mod child;

use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use orrery_json::{Object, Value, parse};
use orrery_script::{
    Clock, CollectionSize, DocumentRef, FeedPage, Host, HostError, Job, JsonText, PageRequest,
    ReadDocument, Runtime, ScriptError, ScriptOptions, ScriptOutcome, ScriptQuery, SpatialFunction,
    WriteOptions,
};

pub const SELF_LINK: &str = "dbs/dbRid/colls/collRid/";
pub const ALT_LINK: &str = "dbs/d/colls/c";

pub fn clock() -> Clock {
    let start = Instant::now();
    Clock::Monotonic(Arc::new(move || start.elapsed()))
}

pub fn runtime(options: ScriptOptions) -> Runtime {
    Runtime::new(options, clock()).unwrap()
}

pub fn json(text: &str) -> Value {
    parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Runs `job` and waits for its end.
pub fn run(
    runtime: &Runtime,
    job: Job,
    host: MemoryHost,
) -> (MemoryHost, Result<ScriptOutcome, ScriptError>) {
    let (sender, receiver) = mpsc::channel();
    runtime.submit(job, host, move |host, result| {
        let _ = sender.send((host, result));
    });
    receiver.recv_timeout(Duration::from_secs(30)).unwrap()
}

/// Runs a procedure on an empty collection.
pub fn procedure(runtime: &Runtime, source: &str) -> Result<ScriptOutcome, ScriptError> {
    let mut job = Job::procedure(source, Vec::new());
    job.logging = true;
    run(runtime, job, MemoryHost::default()).1
}

/// Documents in order of creation. The id `panic` makes any operation panic, `forbidden` fails.
#[derive(Debug, Clone, Default)]
pub struct MemoryHost {
    pub documents: Vec<Object>,
    pub versions: u32,
    pub ids: u32,
    /// Number of accepted operations; `None` accepts all.
    pub accepts: Option<usize>,
}

impl MemoryHost {
    pub fn with(documents: &Value) -> MemoryHost {
        let mut host = MemoryHost::default();
        for document in documents.as_array().unwrap_or_default() {
            host.create_document(document.clone(), &WriteOptions::default())
                .unwrap();
        }
        host
    }

    fn position(&self, document: &DocumentRef) -> Result<usize, HostError> {
        let (name, key) = match document {
            DocumentRef::Id(id) => ("id", id),
            DocumentRef::Rid(rid) => ("_rid", rid),
        };
        check_id(key)?;
        self.documents
            .iter()
            .position(|document| document.get(name).and_then(Value::as_str) == Some(key))
            .ok_or_else(|| HostError::new(404, format!("Document '{key}' does not exist.")))
    }

    fn store(&mut self, mut document: Object, place: Option<usize>) -> JsonText {
        self.versions += 1;
        let rid = match place {
            Some(place) => self.documents[place]["_rid"].clone(),
            None => Value::from(format!("rid{}", self.versions)),
        };
        let link = format!("{SELF_LINK}docs/{}/", rid.as_str().unwrap());
        document.insert("_rid".to_owned(), rid);
        document.insert("_self".to_owned(), Value::from(link));
        let etag = format!("\"{}\"", self.versions);
        document.insert("_etag".to_owned(), Value::from(etag));
        let stored = text(&document);
        match place {
            Some(place) => self.documents[place] = document,
            None => self.documents.push(document),
        }
        stored
    }

    fn check_etag(&self, place: usize, options: &WriteOptions) -> Result<(), HostError> {
        match &options.etag {
            Some(etag) if self.documents[place]["_etag"].as_str() != Some(etag) => {
                Err(HostError::new(412, "The etag does not match."))
            }
            _ => Ok(()),
        }
    }

    fn page<'a>(
        items: impl Iterator<Item = &'a Object>,
        page: &PageRequest,
    ) -> Result<FeedPage, HostError> {
        let from = match page.continuation.as_deref().map(str::parse) {
            None => 0,
            Some(Ok(from)) => from,
            Some(Err(_)) => return Err(HostError::new(400, "The continuation is not one.")),
        };
        let all: Vec<_> = items.map(text).collect();
        let end = page
            .items_max
            .map_or(all.len(), |max| max.saturating_add(from).min(all.len()));
        Ok(FeedPage {
            items: all[from.min(end)..end].to_vec(),
            continuation: (end < all.len()).then(|| end.to_string()),
        })
    }
}

impl Host for MemoryHost {
    fn self_link(&self) -> &str {
        SELF_LINK
    }

    fn alt_link(&self) -> &str {
        ALT_LINK
    }

    fn new_id(&mut self) -> String {
        self.ids += 1;
        format!("new-{}", self.ids)
    }

    fn accepts(&mut self) -> bool {
        match &mut self.accepts {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }

    fn collection_size(&self) -> Option<CollectionSize> {
        Some(CollectionSize {
            current_mb: 1.0,
            max_mb: 1024.0,
        })
    }

    fn read_document(
        &mut self,
        document: &DocumentRef,
        if_none_match: Option<&str>,
    ) -> Result<ReadDocument, HostError> {
        let document = &self.documents[self.position(document)?];
        if if_none_match.is_some() && if_none_match == document["_etag"].as_str() {
            return Ok(ReadDocument::NotModified);
        }
        Ok(ReadDocument::Found(text(document)))
    }

    fn read_documents(&mut self, page: &PageRequest) -> Result<FeedPage, HostError> {
        MemoryHost::page(self.documents.iter(), page)
    }

    /// Understands `SELECT * FROM c` and `SELECT * FROM c WHERE c.x = @p`.
    fn query_documents(
        &mut self,
        query: &ScriptQuery,
        page: &PageRequest,
    ) -> Result<FeedPage, HostError> {
        let Some(rest) = query.text.strip_prefix("SELECT * FROM c") else {
            return Err(HostError::new(400, "Syntax error."));
        };
        let condition = rest
            .strip_prefix(" WHERE c.")
            .and_then(|condition| condition.split_once(" = "));
        match condition {
            None => MemoryHost::page(self.documents.iter(), page),
            Some((property, parameter)) => {
                let value = query
                    .parameters
                    .iter()
                    .find(|(name, _)| name == parameter)
                    .map(|(_, value)| value);
                let matches = self
                    .documents
                    .iter()
                    .filter(|document| document.get(property) == value);
                MemoryHost::page(matches, page)
            }
        }
    }

    fn create_document(
        &mut self,
        body: Value,
        options: &WriteOptions,
    ) -> Result<JsonText, HostError> {
        let document = object(body)?;
        let id = id(&document)?;
        if self.position(&DocumentRef::Id(id.clone())).is_ok() {
            return Err(HostError::new(409, format!("'{id}' already exists.")));
        }
        let _ = options;
        Ok(self.store(document, None))
    }

    fn upsert_document(
        &mut self,
        body: Value,
        options: &WriteOptions,
    ) -> Result<JsonText, HostError> {
        let document = object(body)?;
        let place = self.position(&DocumentRef::Id(id(&document)?)).ok();
        if let Some(place) = place {
            self.check_etag(place, options)?;
        }
        Ok(self.store(document, place))
    }

    fn replace_document(
        &mut self,
        document: &DocumentRef,
        body: Value,
        options: &WriteOptions,
    ) -> Result<JsonText, HostError> {
        let place = self.position(document)?;
        self.check_etag(place, options)?;
        Ok(self.store(object(body)?, Some(place)))
    }

    fn delete_document(
        &mut self,
        document: &DocumentRef,
        options: &WriteOptions,
    ) -> Result<(), HostError> {
        let place = self.position(document)?;
        self.check_etag(place, options)?;
        self.documents.remove(place);
        Ok(())
    }

    fn spatial(
        &mut self,
        function: SpatialFunction,
        arguments: &[Value],
    ) -> Result<Value, HostError> {
        Ok(Value::from(format!("{function:?}/{}", arguments.len())))
    }
}

fn object(body: Value) -> Result<Object, HostError> {
    match body {
        Value::Object(object) => Ok(object),
        _ => Err(HostError::new(400, "The document is not an object.")),
    }
}

fn id(document: &Object) -> Result<String, HostError> {
    let id = document
        .get("id")
        .and_then(Value::as_str)
        .ok_or_else(|| HostError::new(400, "The document has no id."))?;
    check_id(id)?;
    Ok(id.to_owned())
}

fn check_id(id: &str) -> Result<(), HostError> {
    assert!(id != "panic", "the host panics");
    if id == "forbidden" {
        return Err(HostError::new(403, "Forbidden."));
    }
    Ok(())
}

fn text(document: &Object) -> JsonText {
    Value::Object(document.clone()).to_string().into_bytes()
}
