//! Unique keys: lists of paths whose values must be unique within a logical partition.

use orrery_json::Value;

use super::fields::{DefinitionFields, invalid_input, object};
use super::verbatim_path::VerbatimPath;
use crate::{Failure, limits};

/// One unique key: the values at all of its paths together must be unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UniqueKey {
    pub paths: Vec<VerbatimPath>,
}

pub(super) fn parse(body: &DefinitionFields<'_>) -> Result<Vec<UniqueKey>, Failure> {
    let Some(policy) = body.object("uniqueKeyPolicy")? else {
        return Ok(Vec::new());
    };
    let keys = policy.objects("uniqueKeys")?.unwrap_or_default();
    if keys.len() > limits::UNIQUE_KEYS_MAX {
        return Err(invalid_input(format!(
            "The unique key policy has {} unique keys. A maximum of {} is allowed.",
            keys.len(),
            limits::UNIQUE_KEYS_MAX
        )));
    }
    keys.iter().map(parse_key).collect()
}

pub(super) fn to_value(keys: &[UniqueKey]) -> Value {
    let key = |key: &UniqueKey| {
        let paths = key.paths.iter().map(VerbatimPath::to_value).collect();
        object([("paths", Value::Array(paths))])
    };
    object([("uniqueKeys", Value::Array(keys.iter().map(key).collect()))])
}

/// Parses one unique key and checks the number of its paths.
fn parse_key(fields: &DefinitionFields<'_>) -> Result<UniqueKey, Failure> {
    let texts = fields.texts("paths")?.unwrap_or_default();
    // A key without paths would make every second item a conflict.
    if texts.is_empty() || texts.len() > limits::UNIQUE_KEY_PATHS_MAX {
        return Err(invalid_input(format!(
            "'{}' has {} paths. A unique key has 1 to {}.",
            fields.name("paths"),
            texts.len(),
            limits::UNIQUE_KEY_PATHS_MAX
        )));
    }
    let mut paths = Vec::new();
    for text in texts {
        let path = VerbatimPath::parse(text)
            .map_err(|error| invalid_input(format!("'{}': {error}.", fields.name("paths"))))?;
        if paths.contains(&path) {
            return Err(invalid_input(format!(
                "The unique key path '{text}' is given twice."
            )));
        }
        paths.push(path);
    }
    Ok(UniqueKey { paths })
}
