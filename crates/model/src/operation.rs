//! The item operations that REST, batch, bulk and scripts send to a partition.

use crate::{Document, Etag, Patch};

/// One operation on one item of the logical partition that the request names.
#[derive(Debug, Clone)]
pub struct Operation {
    pub kind: OperationKind,
    pub if_match: Option<Precondition>,
    pub if_none_match: Option<Precondition>,
    pub indexing: IndexingDirective,
    /// Whether a created or replaced item is one without `_self` and `_attachments`. Only readers
    /// that exclude the two properties as well get the item without them.
    pub excludes_system_properties: bool,
}

#[derive(Debug, Clone)]
pub enum OperationKind {
    Create(Document),
    Upsert(Document),
    Read { id: String },
    Replace { id: String, document: Document },
    Patch { id: String, patch: Patch },
    Delete { id: String },
}

/// The value of an `If-Match` or `If-None-Match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    /// `*`: any version of the item.
    Any,
    /// The entity tag, compared exactly, quotes included.
    Etag(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexingDirective {
    #[default]
    Default,
    Include,
    Exclude,
}

impl Operation {
    pub fn new(kind: OperationKind) -> Operation {
        Operation {
            kind,
            if_match: None,
            if_none_match: None,
            indexing: IndexingDirective::Default,
            excludes_system_properties: false,
        }
    }
}

impl Precondition {
    pub fn matches(&self, current: &Etag) -> bool {
        match self {
            Precondition::Any => true,
            Precondition::Etag(text) => text == current.as_str(),
        }
    }
}
