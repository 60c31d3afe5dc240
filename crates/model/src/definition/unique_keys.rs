//! Unique keys: lists of paths whose values may occur once in a logical partition.

use orrery_json::Value;

use super::fields::{Fields, object, refused};
use super::written_path::WrittenPath;
use crate::{Failure, limits};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UniqueKey {
    pub paths: Vec<WrittenPath>,
}

pub(super) fn parse(body: &Fields<'_>) -> Result<Vec<UniqueKey>, Failure> {
    let Some(policy) = body.object("uniqueKeyPolicy")? else {
        return Ok(Vec::new());
    };
    let keys = policy.objects("uniqueKeys")?.unwrap_or_default();
    if keys.len() > limits::UNIQUE_KEYS_MAX {
        return Err(refused(format!(
            "The unique key policy has {} unique keys. A maximum of {} is allowed.",
            keys.len(),
            limits::UNIQUE_KEYS_MAX
        )));
    }
    keys.iter().map(parse_key).collect()
}

pub(super) fn to_value(keys: &[UniqueKey]) -> Value {
    let key = |key: &UniqueKey| {
        let paths = key.paths.iter().map(WrittenPath::to_value).collect();
        object([("paths", Value::Array(paths))])
    };
    object([("uniqueKeys", Value::Array(keys.iter().map(key).collect()))])
}

fn parse_key(fields: &Fields<'_>) -> Result<UniqueKey, Failure> {
    let texts = fields.texts("paths")?.unwrap_or_default();
    if texts.is_empty() || texts.len() > limits::UNIQUE_KEY_PATHS_MAX {
        return Err(refused(format!(
            "'{}' has {} paths. A unique key has 1 to {}.",
            fields.name("paths"),
            texts.len(),
            limits::UNIQUE_KEY_PATHS_MAX
        )));
    }
    let mut paths = Vec::new();
    for text in texts {
        let path = WrittenPath::parse(text)
            .map_err(|error| refused(format!("'{}': {error}.", fields.name("paths"))))?;
        if paths.contains(&path) {
            return Err(refused(format!(
                "The unique key path '{text}' is given twice."
            )));
        }
        paths.push(path);
    }
    Ok(UniqueKey { paths })
}
