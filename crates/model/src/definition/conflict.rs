//! Who wins when two regions write the same item.

use orrery_json::Value;

use super::fields::{Fields, object, refused};
use super::written_path::WrittenPath;
use crate::Failure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// The highest value at a top-level property wins.
    LastWriterWins { path: WrittenPath },
    /// A stored procedure decides; without one, conflicts wait in the feed.
    Custom { procedure: String },
}

#[derive(Clone, Copy)]
enum Mode {
    LastWriterWins,
    Custom,
}

const MODES: [(&str, Mode); 2] = [
    ("LastWriterWins", Mode::LastWriterWins),
    ("Custom", Mode::Custom),
];

const TIMESTAMP: &str = "/_ts";

pub(super) fn parse(body: &Fields<'_>) -> Result<ConflictPolicy, Failure> {
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
        ConflictPolicy::LastWriterWins { path } => ("LastWriterWins", path.text(), ""),
        ConflictPolicy::Custom { procedure } => ("Custom", "", procedure.as_str()),
    };
    object([
        ("mode", Value::from(mode)),
        ("conflictResolutionPath", Value::from(path)),
        ("conflictResolutionProcedure", Value::from(procedure)),
    ])
}

fn last_writer_wins(text: &str) -> Result<ConflictPolicy, Failure> {
    match WrittenPath::parse(text) {
        Ok(path) if path.path().segments().len() == 1 => {
            Ok(ConflictPolicy::LastWriterWins { path })
        }
        _ => Err(refused(format!(
            "Invalid path '{text}' for last writer wins conflict resolution. Name one top-level \
             property."
        ))),
    }
}
