//! One run: what is asked for and what comes of it.

use std::sync::Arc;

use orrery_json::Value;
use orrery_memory::Share;

use crate::JsonText;

/// A script to run once.
#[derive(Debug, Clone)]
pub struct Job {
    /// The registered body: one function.
    pub source: Arc<str>,
    pub kind: JobKind,
    /// Headers of the request that the script may read by name.
    pub headers: Vec<(String, String)>,
    /// Whether `console.log` writes; otherwise it does nothing.
    pub logging: bool,
    /// What the memory of the run is borrowed from.
    pub share: Share,
}

#[derive(Debug, Clone)]
pub enum JobKind {
    Procedure {
        /// Shared by the runs that a job may need.
        arguments: Arc<[Value]>,
    },
    PreTrigger {
        operation: TriggerOperation,
        /// Absent for a delete.
        body: Option<JsonText>,
    },
    PostTrigger {
        operation: TriggerOperation,
        body: Option<JsonText>,
        response: PostResponse,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerOperation {
    Create,
    Replace,
    Upsert,
    Delete,
}

/// The answer of the operation that a post-trigger follows.
#[derive(Debug, Clone, Default)]
pub struct PostResponse {
    pub body: Option<JsonText>,
    pub max_resource_quota: String,
    pub resource_quota_usage: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScriptOutcome {
    /// JSON text of the response body, if the script set it.
    pub body: Option<String>,
    /// The body a pre-trigger put in the place of the request's, if it did.
    pub request_body: Option<Value>,
    pub log: String,
}

impl Job {
    pub fn procedure(source: impl Into<Arc<str>>, arguments: Vec<Value>) -> Job {
        Job {
            source: source.into(),
            kind: JobKind::Procedure {
                arguments: arguments.into(),
            },
            headers: Vec::new(),
            logging: false,
            share: Share::unlimited(),
        }
    }
}

impl TriggerOperation {
    /// The word scripts know it by.
    pub fn name(self) -> &'static str {
        match self {
            TriggerOperation::Create => "Create",
            TriggerOperation::Replace => "Replace",
            TriggerOperation::Upsert => "Upsert",
            TriggerOperation::Delete => "Delete",
        }
    }
}
