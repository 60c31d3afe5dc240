//! One operation of a batch, whatever it was written in.

use orrery_json::Value;
use orrery_keys::PartitionKey;
use orrery_model::{Document, Failure, IndexingDirective, Operation, OperationKind, Precondition};

use crate::patch::patch_from_value;

#[derive(Debug)]
pub struct BatchOperation {
    /// What to do, or why its content is wrong.
    pub operation: Result<Operation, Failure>,
    /// Only where operations of one request may have different keys.
    pub partition_key: Option<PartitionKey>,
    /// The client does not want the item back.
    pub minimal: bool,
}

impl BatchOperation {
    /// Whether the answer leaves the item out; reads always carry it.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationType {
    Create,
    Upsert,
    Read,
    Replace,
    Delete,
    Patch,
}

/// The fields of an operation before they are put together.
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
            operation: self.operation(),
            partition_key,
            minimal,
        })
    }

    fn operation(self) -> Result<Operation, Failure> {
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
        })
    }
}

fn precondition(text: String) -> Option<Precondition> {
    match text.as_str() {
        "" => None,
        "*" => Some(Precondition::Any),
        _ => Some(Precondition::Etag(text)),
    }
}

fn directive(text: &str) -> Result<IndexingDirective, Failure> {
    crate::headers::parse_indexing_directive(text).ok_or_else(|| {
        Failure::BadRequest(format!(
            "One of the input values is invalid. '{text}' is not an indexing directive."
        ))
    })
}
