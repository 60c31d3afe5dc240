//! The conflict resolution policy: which version wins when two regions write the same item.

use orrery_json::Value;

use super::fields::{DefinitionFields, invalid_input, object};
use super::verbatim_path::VerbatimPath;
use crate::Failure;

/// The policy `conflictResolutionPolicy` of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// The version with the highest value at a top-level property wins.
    LastWriterWins { path: VerbatimPath },
    /// A stored procedure decides. Without a procedure, conflicts wait in the conflict feed.
    Custom { procedure: String },
}

/// The `mode` of the policy in JSON.
#[derive(Clone, Copy)]
enum Mode {
    LastWriterWins,
    Custom,
}

const MODES: [(&str, Mode); 2] = [
    ("LastWriterWins", Mode::LastWriterWins),
    ("Custom", Mode::Custom),
];

/// The default path: the time of the write.
const TIMESTAMP: &str = "/_ts";

pub(super) fn parse(body: &DefinitionFields<'_>) -> Result<ConflictPolicy, Failure> {
    let Some(policy) = body.object("conflictResolutionPolicy")? else {
        return last_writer_wins(TIMESTAMP);
    };
    match policy
        .choice("mode", &MODES)?
        .unwrap_or(Mode::LastWriterWins)
    {
        Mode::LastWriterWins => {
            let path = policy.text("conflictResolutionPath")?.unwrap_or_default();
            last_writer_wins(if path.is_empty() { TIMESTAMP } else { path })
        }
        Mode::Custom => {
            let procedure = policy
                .text("conflictResolutionProcedure")?
                .unwrap_or_default();
            Ok(ConflictPolicy::Custom {
                procedure: procedure.to_owned(),
            })
        }
    }
}

pub(super) fn to_value(policy: &ConflictPolicy) -> Value {
    let (mode, path, procedure) = match policy {
        // Both properties are always present in an answer, the unused one as an empty text.
        ConflictPolicy::LastWriterWins { path } => ("LastWriterWins", path.text(), ""),
        ConflictPolicy::Custom { procedure } => ("Custom", "", procedure.as_str()),
    };
    object([
        ("mode", Value::from(mode)),
        ("conflictResolutionPath", Value::from(path)),
        ("conflictResolutionProcedure", Value::from(procedure)),
    ])
}

/// The policy for this path, or a refusal of the path.
fn last_writer_wins(text: &str) -> Result<ConflictPolicy, Failure> {
    match VerbatimPath::parse(text) {
        // Cosmos DB compares only top-level properties.
        Ok(path) if path.path().segments().len() == 1 => {
            Ok(ConflictPolicy::LastWriterWins { path })
        }
        _ => Err(invalid_input(format!(
            "Invalid path '{text}' for last writer wins conflict resolution. Name one top-level \
             property."
        ))),
    }
}
