//! What can be decided about an operation before its turn comes, decided on the caller's thread.
//!
//! The commit path runs one transaction after another; everything that does not depend on the
//! state (parsing, the key, unique digests, index terms, the text to store) is done here.

use orrery_exec::{CompileError, Condition, compile_condition};
use orrery_json::{Number, Value};
use orrery_keys::PartitionKey;
use orrery_model::{
    Charge, ConflictPolicy, Document, Failure, IndexingDirective, Operation, OperationKind, Patch,
    Precondition, WriteWork, limits,
};

use crate::indexing::IndexedVersion;
use crate::stored::Digest;
use crate::{Container, LogicalPartition, unique};

/// An operation that needs only the state to be carried out.
#[derive(Debug)]
pub struct PreparedOperation {
    pub(crate) kind: PreparedKind,
    pub(crate) if_match: Option<Precondition>,
    pub(crate) if_none_match: Option<Precondition>,
    pub(crate) indexing: IndexingDirective,
}

impl PreparedOperation {
    /// An operation that is refused when its turn comes, for a batch in which an earlier one may
    /// be refused first.
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
    /// The client's properties, without the closing brace.
    pub(crate) open_text: Vec<u8>,
    pub(crate) digests: Vec<Digest>,
    /// 0 when the item has no `ttl`, or none that means something.
    pub(crate) ttl: i32,
    pub(crate) version: IndexedVersion,
    pub(crate) indexed: bool,
    /// What the conflict policy compares, if the document has it; otherwise its time counts.
    pub(crate) number: Option<f64>,
}

impl PreparedDocument {
    pub(crate) fn charged_terms(&self) -> usize {
        self.version.entries.charged_terms()
    }
}

/// Where and when the operations of a request are carried out.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub container: &'a Container,
    pub key: &'a PartitionKey,
    pub logical: &'a LogicalPartition,
    pub now_seconds: u64,
}

/// Index terms from which on a write is so expensive that it pays in advance.
const TERMS_PAID_LATER_MAX: usize = 500;

impl PreparedOperation {
    /// The least that the operation will cost, where that is much and known before the partition
    /// decides the operation.
    pub fn price(&self) -> Option<Charge> {
        let PreparedKind::Create(document) = &self.kind else {
            return None;
        };
        let terms_changed = document.charged_terms();
        (terms_changed > TERMS_PAID_LATER_MAX).then(|| {
            Charge::write(WriteWork {
                bytes_added: Some(document.open_text.len()),
                terms_changed,
                ..WriteWork::default()
            })
        })
    }
}

/// Checks an operation against the container and the partition key of its request.
pub fn prepare(place: Place<'_>, operation: Operation) -> Result<PreparedOperation, Failure> {
    let indexing = operation.indexing;
    let document = |document: Document| prepare_document(place, &document, indexing);
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
    place: Place<'_>,
    document: &Document,
    indexing: IndexingDirective,
) -> Result<PreparedDocument, Failure> {
    let Place { container, key, .. } = place;
    let definition = &container.definition;
    let extracted = definition
        .partition_key
        .definition()
        .extract(document.value())
        .map_err(|error| {
            Failure::BadRequest(format!("One of the input values is invalid. {error}."))
        })?;
    if extracted != *key && !is_system_key(container, key) {
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
    // Kept also while the container has TTL off: it counts from the moment it is turned on.
    let ttl = match (document.ttl(), container.default_ttl()) {
        (Ok(ttl), _) => ttl.unwrap_or(0),
        (Err(failure), Some(_)) => return Err(failure),
        (Err(_), None) => 0,
    };
    let indexed = match indexing {
        IndexingDirective::Default => definition.indexing.automatic,
        IndexingDirective::Include => true,
        IndexingDirective::Exclude => false,
    };
    let document_key = place.logical.document_key(document.id());
    let version = if indexed {
        let seconds = u32::try_from(place.now_seconds).unwrap_or(u32::MAX);
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
        number: conflict_number(&definition.conflict, document.value()),
    })
}

/// Writing the entries of an item takes the thread that writes for everybody.
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
        .of_value(document)
        .as_number()
        .map(Number::as_f64)
}

/// Containers migrated from before partition keys keep items without one under the empty key.
fn is_system_key(container: &Container, key: &PartitionKey) -> bool {
    key.is_empty() && container.definition.partition_key.is_system_key()
}
