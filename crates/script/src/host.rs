//! The interface of a script to the database.
//!
//! Every method is called on a script thread, one at a time, while the script waits. A host is
//! confined to one logical partition of one collection and collects the writes of the script. The
//! caller decides at the end of the run whether these writes are committed.

use std::time::Duration;

use orrery_json::Value;

/// JSON text of one value.
pub type JsonText = Vec<u8>;

/// A refused operation; the script's callback receives it as `{number, body}`.
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

/// The last segment of a document link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentRef {
    /// The id from a link by names.
    Id(String),
    /// The resource id from a link by resource ids. Script authors also append an id to a self
    /// link, so a host may use the text as an id.
    Rid(String),
}

/// The result of a point read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadDocument {
    Found(JsonText),
    /// The document has the version that `ifNoneMatch` named.
    NotModified,
}

/// The limits and the start of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Maximal number of results; `None` leaves it to the host.
    pub items_max: Option<usize>,
    pub continuation: Option<String>,
    pub enable_scan: bool,
}

/// One page of results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedPage {
    pub items: Vec<JsonText>,
    pub continuation: Option<String>,
}

/// A query of a script with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptQuery {
    pub text: String,
    pub parameters: Vec<(String, Value)>,
}

/// The indexing directive of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexAction {
    #[default]
    Default,
    Include,
    Exclude,
}

/// The options of a write.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteOptions {
    pub index_action: IndexAction,
    /// The version that the write requires.
    pub etag: Option<String>,
}

/// The size of the collection and its limit, as scripts see them.
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

/// The database operations of one run.
pub trait Host: Send {
    /// `dbs/{rid}/colls/{rid}/`
    fn self_link(&self) -> &str;

    /// `dbs/{name}/colls/{name}`
    fn alt_link(&self) -> &str;

    /// A new unique id for a document without one.
    fn new_id(&mut self) -> String;

    /// Whether the charge budget permits another operation. The sandbox watches the time itself.
    fn accepts(&mut self) -> bool {
        true
    }

    /// Reports that the run has ended, successfully or not, with its elapsed time including host
    /// calls. An abandoned thread does not report.
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

    fn query_documents(
        &mut self,
        query: &ScriptQuery,
        page: &PageRequest,
    ) -> Result<FeedPage, HostError>;

    /// Returns the document as stored, with system properties; the next two methods do the same.
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

    /// `arguments` has two values for functions of two geometries, and one value for the others.
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
