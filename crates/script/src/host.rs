//! What a script may ask of the database.
//!
//! Every method is called on a script thread, one at a time, while the script waits. A host is
//! confined to one logical partition of one collection and gathers the writes of the script; what
//! becomes of them is decided when the run is over.

use std::time::Duration;

use orrery_json::Value;

/// JSON text of one value.
pub type JsonText = Vec<u8>;

/// A refused operation: what the script's callback gets as `{number, body}`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{number}: {message}")]
pub struct HostError {
    pub number: u16,
    pub message: String,
}

impl HostError {
    pub fn new(number: u16, message: impl Into<String>) -> HostError {
        HostError {
            number,
            message: message.into(),
        }
    }
}

/// The last part of a document link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentRef {
    /// From a link by names.
    Id(String),
    /// From a link by resource ids. Authors also append an id to a self link, so that a host may
    /// fall back to the id.
    Rid(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadDocument {
    Found(JsonText),
    /// The version is the one that `ifNoneMatch` named.
    NotModified,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Results at most; none leaves it to the host.
    pub items_max: Option<usize>,
    pub continuation: Option<String>,
    pub enable_scan: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedPage {
    pub items: Vec<JsonText>,
    pub continuation: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub text: String,
    pub parameters: Vec<(String, Value)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexAction {
    #[default]
    Default,
    Include,
    Exclude,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteOptions {
    pub index_action: IndexAction,
    /// The version that the write requires.
    pub etag: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollectionSize {
    pub current_mb: f64,
    pub max_mb: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpatialFunction {
    Distance,
    Intersects,
    Within,
    IsValid,
    IsValidDetailed,
}

pub trait Host: Send {
    /// `dbs/{rid}/colls/{rid}/`
    fn self_link(&self) -> &str;

    /// `dbs/{name}/colls/{name}`
    fn alt_link(&self) -> &str;

    /// A new unique id for a document that came without one.
    fn new_id(&mut self) -> String;

    /// Whether the budget of charges allows another operation. Time is watched by the sandbox.
    fn accepts(&mut self) -> bool {
        true
    }

    /// The run is over, well or not, and took so long, the time spent here included. Not said of a
    /// run whose thread was given up.
    fn ended(&mut self, elapsed: Duration) {
        let _ = elapsed;
    }

    fn collection_size(&self) -> Option<CollectionSize> {
        None
    }

    fn read_document(
        &mut self,
        document: &DocumentRef,
        if_none_match: Option<&str>,
    ) -> Result<ReadDocument, HostError>;

    fn read_documents(&mut self, page: &PageRequest) -> Result<FeedPage, HostError>;

    fn query_documents(&mut self, query: &Query, page: &PageRequest)
    -> Result<FeedPage, HostError>;

    /// Gives the document as stored, system properties included; so do the next two.
    fn create_document(
        &mut self,
        body: Value,
        options: &WriteOptions,
    ) -> Result<JsonText, HostError>;

    fn upsert_document(
        &mut self,
        body: Value,
        options: &WriteOptions,
    ) -> Result<JsonText, HostError>;

    fn replace_document(
        &mut self,
        document: &DocumentRef,
        body: Value,
        options: &WriteOptions,
    ) -> Result<JsonText, HostError>;

    fn delete_document(
        &mut self,
        document: &DocumentRef,
        options: &WriteOptions,
    ) -> Result<(), HostError>;

    /// `arguments` has two values for the functions of two geometries and one for the others.
    fn spatial(
        &mut self,
        function: SpatialFunction,
        arguments: &[Value],
    ) -> Result<Value, HostError> {
        let _ = arguments;
        Err(HostError::new(
            400,
            format!("The spatial function {function:?} is not supported in scripts."),
        ))
    }
}
