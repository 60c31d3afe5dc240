//! One run: its input and its outcome.

use std::sync::Arc;

use orrery_json::Value;
use orrery_memory::MemoryShare;

use crate::JsonText;

/// A script to run once.
#[derive(Debug, Clone)]
pub struct Job {
    /// The registered body, which is one function.
    pub source: Arc<str>,
    pub kind: JobKind,
    /// Headers of the request that the script may read by name.
    pub headers: Vec<(String, String)>,
    /// Whether `console.log` writes to the log; otherwise it does nothing.
    pub logging: bool,
    /// The share from which the run borrows its memory.
    pub share: MemoryShare,
}

/// The kind of a script with its input.
#[derive(Debug, Clone)]
pub enum JobKind {
    Procedure {
        /// Shared by all attempts of a job.
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
        response: PostTriggerResponse,
    },
}

/// The operation of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerOperation {
    Create,
    Replace,
    Upsert,
    Delete,
}

/// The response of the operation that a post-trigger follows.
#[derive(Debug, Clone, Default)]
pub struct PostTriggerResponse {
    pub body: Option<JsonText>,
    pub max_resource_quota: String,
    pub resource_quota_usage: String,
}

/// The result of a successful run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScriptOutcome {
    /// JSON text of the response body, if the script set it.
    pub body: Option<String>,
    /// The request body that a pre-trigger has set, if it set one.
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
            share: MemoryShare::unlimited(),
        }
    }
}

impl TriggerOperation {
    /// The operation's name in scripts.
    pub fn name(self) -> &'static str {
        match self {
            TriggerOperation::Create => "Create",
            TriggerOperation::Replace => "Replace",
            TriggerOperation::Upsert => "Upsert",
            TriggerOperation::Delete => "Delete",
        }
    }
}
