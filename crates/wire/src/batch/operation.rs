//! One operation of a batch, independent of its encoding.

use orrery_json::Value;
use orrery_keys::PartitionKey;
use orrery_model::{Document, Failure, IndexingDirective, Operation, OperationKind, Precondition};

use crate::patch::patch_from_value;

/// One parsed operation of a batch.
#[derive(Debug)]
pub struct BatchOperation {
    /// The operation, or the failure of its content.
    pub operation: Result<Operation, Failure>,
    /// The partition key of the operation. Only bulk requests have operations with different keys.
    pub partition_key: Option<PartitionKey>,
    /// The client does not need the item in the answer.
    pub minimal: bool,
}

impl BatchOperation {
    /// Whether the answer leaves the item out. An answer to a read always contains the item.
    pub fn drops_body(&self, request_prefers_minimal: bool) -> bool {
        let is_read = matches!(
            self.operation,
            Ok(Operation {
                kind: OperationKind::Read { .. },
                ..
            })
        );
        (self.minimal || request_prefers_minimal) && !is_read
    }
}

/// The type of an operation. Its content is parsed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationType {
    Create,
    Upsert,
    Read,
    Replace,
    Delete,
    Patch,
}

/// The fields of an operation as parsed, before they are combined.
#[derive(Debug)]
pub(super) struct RawOperation {
    pub(super) kind: OperationType,
    pub(super) id: Option<String>,
    pub(super) body: Option<Result<Value, Failure>>,
    pub(super) partition_key: Option<String>,
    pub(super) if_match: Option<String>,
    pub(super) if_none_match: Option<String>,
    pub(super) indexing: Option<String>,
    pub(super) minimal: bool,
}

impl RawOperation {
    /// An operation with its type only; the decoders fill the other fields.
    pub(super) fn new(kind: OperationType) -> RawOperation {
        RawOperation {
            kind,
            id: None,
            body: None,
            partition_key: None,
            if_match: None,
            if_none_match: None,
            indexing: None,
            minimal: false,
        }
    }

    /// Parses the partition key, and combines the other fields.
    pub(super) fn into_operation(mut self) -> Result<BatchOperation, Failure> {
        let partition_key = match self.partition_key.take() {
            Some(text) => Some(PartitionKey::parse_header(&text).map_err(|error| {
                Failure::BadRequest(format!(
                    "Partition key {text} is invalid. One of the input values is invalid: {error}."
                ))
            })?),
            None => None,
        };
        let minimal = self.minimal;
        Ok(BatchOperation {
            // A wrong key fails the whole batch; any other wrong content fails only its operation.
            operation: self.operation(),
            partition_key,
            minimal,
        })
    }

    /// Combines the fields to an operation, or finds what is wrong with them.
    fn operation(self) -> Result<Operation, Failure> {
        // Creates have the id in their body, so a missing id is an error only for the other kinds.
        let id = self.id.ok_or(Failure::MissingProperty("id"));
        let body = self
            .body
            .unwrap_or(Err(Failure::MissingProperty("resourceBody")));
        let kind = match self.kind {
            OperationType::Create => OperationKind::Create(Document::from_value(body?)?),
            OperationType::Upsert => OperationKind::Upsert(Document::from_value(body?)?),
            OperationType::Read => OperationKind::Read { id: id? },
            OperationType::Replace => OperationKind::Replace {
                id: id?,
                document: Document::from_value(body?)?,
            },
            OperationType::Delete => OperationKind::Delete { id: id? },
            OperationType::Patch => OperationKind::Patch {
                id: id?,
                patch: patch_from_value(body?)?,
            },
        };
        Ok(Operation {
            kind,
            if_match: self.if_match.and_then(precondition),
            if_none_match: self.if_none_match.and_then(precondition),
            indexing: self
                .indexing
                .as_deref()
                .map_or(Ok(IndexingDirective::Default), directive)?,
            excludes_system_properties: false,
        })
    }
}

/// The condition in an operation. An empty text is no condition.
fn precondition(text: String) -> Option<Precondition> {
    match text.as_str() {
        "" => None,
        "*" => Some(Precondition::Any),
        _ => Some(Precondition::Etag(text)),
    }
}

/// The indexing directive of an operation.
fn directive(text: &str) -> Result<IndexingDirective, Failure> {
    crate::headers::parse_indexing_directive(text).ok_or_else(|| {
        Failure::BadRequest(format!(
            "One of the input values is invalid. '{text}' is not an indexing directive."
        ))
    })
}
