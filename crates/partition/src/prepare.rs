//! Prepares an operation on the thread of its request, before the committer orders it.
//!
//! The commit path runs transactions one after another. So all work that does not depend on the
//! state happens here: parsing, the partition key, unique digests, index terms, the stored text.

use orrery_exec::{CompileError, Condition, compile_condition};
use orrery_json::{Number, Value};
use orrery_keys::{KeyComponent, PartitionKey};
use orrery_model::{
    Charge, ConflictPolicy, Document, Failure, IndexingDirective, IndexingMode, Operation,
    OperationKind, Patch, Precondition, WriteWork, limits,
};

use crate::indexing::IndexedVersion;
use crate::stored_item::Digest;
use crate::{Container, LogicalPartition, unique};

/// An operation that is complete except for the state.
#[derive(Debug)]
pub struct PreparedOperation {
    pub(crate) kind: PreparedKind,
    pub(crate) if_match: Option<Precondition>,
    pub(crate) if_none_match: Option<Precondition>,
    pub(crate) indexing: IndexingDirective,
}

impl PreparedOperation {
    /// An operation that fails in its turn, for a batch in which an earlier operation may fail
    /// first.
    pub fn refused(failure: Failure) -> PreparedOperation {
        PreparedOperation {
            kind: PreparedKind::Refused(failure),
            if_match: None,
            if_none_match: None,
            indexing: IndexingDirective::Default,
        }
    }
}

#[derive(Debug)]
pub(crate) enum PreparedKind {
    Refused(Failure),
    Create(PreparedDocument),
    Upsert(PreparedDocument),
    Read {
        id: String,
    },
    Replace {
        id: String,
        document: PreparedDocument,
    },
    Patch {
        id: String,
        patch: Patch,
        condition: Option<Condition>,
    },
    Delete {
        id: String,
    },
}

#[derive(Debug)]
pub(crate) struct PreparedDocument {
    pub(crate) id: String,
    /// The client's properties as JSON text, without the closing brace.
    pub(crate) open_text: Vec<u8>,
    pub(crate) digests: Vec<Digest>,
    /// The item's `ttl`; 0 for an item without a valid one.
    pub(crate) ttl: i32,
    pub(crate) version: IndexedVersion,
    pub(crate) indexed: bool,
    pub(crate) excludes_system_properties: bool,
    /// The value that the conflict policy compares. Without it, the timestamp is compared.
    pub(crate) number: Option<f64>,
}

impl PreparedDocument {
    pub(crate) fn charged_terms(&self) -> usize {
        self.version.entries.charged_terms()
    }
}

/// The target and the time of the operations of a request.
#[derive(Debug, Clone, Copy)]
pub struct OperationContext<'a> {
    pub container: &'a Container,
    pub key: &'a PartitionKey,
    pub logical: &'a LogicalPartition,
    pub now_seconds: u64,
}

/// Number of index terms above which a write is charged in advance.
const TERMS_CHARGED_AFTERWARDS_MAX: usize = 500;

impl PreparedOperation {
    /// The minimum charge of the operation, if it is high and known before the committer runs the
    /// operation.
    pub fn price(&self) -> Option<Charge> {
        let PreparedKind::Create(document) = &self.kind else {
            return None;
        };
        let terms_changed = document.charged_terms();
        (terms_changed > TERMS_CHARGED_AFTERWARDS_MAX).then(|| {
            Charge::write(WriteWork {
                bytes_added: Some(document.open_text.len()),
                terms_changed,
                ..WriteWork::default()
            })
        })
    }
}

/// Validates an operation against the container and the partition key of its request.
pub fn prepare(
    context: OperationContext<'_>,
    operation: Operation,
) -> Result<PreparedOperation, Failure> {
    let indexing = operation.indexing;
    let excludes_system_properties = operation.excludes_system_properties;
    let document = |document: Document| {
        let prepared = prepare_document(context, &document, indexing)?;
        Ok(PreparedDocument {
            excludes_system_properties,
            ..prepared
        })
    };
    let kind = match operation.kind {
        OperationKind::Create(body) => PreparedKind::Create(document(body)?),
        OperationKind::Upsert(body) => PreparedKind::Upsert(document(body)?),
        OperationKind::Read { id } => PreparedKind::Read { id },
        OperationKind::Replace { id, document: body } => PreparedKind::Replace {
            id,
            document: document(body)?,
        },
        OperationKind::Patch { id, patch } => {
            let condition = patch.condition.as_deref().map(compile).transpose()?;
            PreparedKind::Patch {
                id,
                patch,
                condition,
            }
        }
        OperationKind::Delete { id } => PreparedKind::Delete { id },
    };
    Ok(PreparedOperation {
        kind,
        if_match: operation.if_match,
        if_none_match: operation.if_none_match,
        indexing,
    })
}

fn compile(condition: &str) -> Result<Condition, Failure> {
    compile_condition(condition).map_err(|error| match error {
        CompileError::Unsupported { .. } => Failure::NotImplemented(error.to_string()),
        other => Failure::BadRequest(format!("the patch condition is not valid: {other}")),
    })
}

pub(crate) fn prepare_document(
    context: OperationContext<'_>,
    document: &Document,
    indexing: IndexingDirective,
) -> Result<PreparedDocument, Failure> {
    let OperationContext { container, key, .. } = context;
    let definition = &container.definition;
    let extracted = definition
        .partition_key
        .definition()
        .extract(document.value());
    if extracted != *key && !(is_system_key(container, key) && is_undefined(&extracted)) {
        return Err(Failure::PartitionKeyMismatch);
    }
    let mut open_text = Vec::with_capacity(1024);
    document.write_open_text(&mut open_text);
    if open_text.len() > limits::ITEM_BYTES_MAX {
        return Err(Failure::TooLarge(format!(
            "Request size is too large. An item may have {} bytes of JSON.",
            limits::ITEM_BYTES_MAX
        )));
    }
    // The `ttl` is stored even if the container has TTL turned off, so that items expire once a
    // client turns TTL on.
    let ttl = document.ttl()?.unwrap_or(0);
    let indexed = match indexing {
        // Without an index there is nothing to be left out of, and a later policy indexes the item.
        IndexingDirective::Default => {
            definition.indexing.automatic || definition.indexing.mode == IndexingMode::None
        }
        IndexingDirective::Include => true,
        IndexingDirective::Exclude => false,
    };
    let document_key = context.logical.document_key(document.id());
    let version = if indexed {
        let seconds = u32::try_from(context.now_seconds).unwrap_or(u32::MAX);
        IndexedVersion::new(container.index(), &document_key, document.value(), seconds)
    } else {
        IndexedVersion::unindexed(container.index(), &document_key)
    };
    check_entries(&version)?;
    Ok(PreparedDocument {
        id: document.id().to_owned(),
        open_text,
        digests: unique::digests(&definition.unique_keys, document.value()),
        ttl,
        version,
        indexed,
        excludes_system_properties: false,
        number: conflict_number(&definition.conflict, document.value()),
    })
}

/// Limits the number of index entries, because all of them are written on the committer's thread,
/// which every client shares.
fn check_entries(version: &IndexedVersion) -> Result<(), Failure> {
    let entries = version.entries.len();
    if entries <= limits::ITEM_INDEXED_PATHS_MAX {
        return Ok(());
    }
    let paths = version.entries.count_indexes();
    let (what, count, limit) = if paths > limits::ITEM_INDEXED_PATHS_MAX {
        (
            "different indexed paths",
            paths,
            limits::ITEM_INDEXED_PATHS_MAX,
        )
    } else if entries > limits::ITEM_INDEX_ENTRIES_MAX {
        ("index entries", entries, limits::ITEM_INDEX_ENTRIES_MAX)
    } else {
        return Ok(());
    };
    Err(Failure::TooLarge(format!(
        "The item has {count} {what}, and an item may have {limit}. Exclude the properties that queries do not \
         filter by from the indexing policy, or write them as an array of names and values."
    )))
}

fn conflict_number(policy: &ConflictPolicy, document: &Value) -> Option<f64> {
    let ConflictPolicy::LastWriterWins { path } = policy else {
        return None;
    };
    if path.text() == "/_ts" {
        return None;
    }
    path.path()
        .value_in(document)
        .as_number()
        .map(Number::as_f64)
}

fn is_undefined(key: &PartitionKey) -> bool {
    let mut components = key.components().iter();
    components.all(|component| *component == KeyComponent::Undefined)
}

/// Containers from before partition keys have items without a key, under the empty key.
fn is_system_key(container: &Container, key: &PartitionKey) -> bool {
    key.is_empty() && container.definition.partition_key.is_system_key()
}
