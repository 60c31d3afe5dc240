//! The partition key of a container, as it was written.

use orrery_json::{Path, Value};
use orrery_keys::{KeyDefinition, KeyKind, KeyVersion};

use super::fields::{Fields, object, refused, word_of};
use super::written_path::WrittenPath;
use crate::{Failure, limits};

/// A key definition, and what its JSON showed of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionKeySetting {
    definition: KeyDefinition,
    /// The same paths as in the definition, as the client spelt them.
    paths: Vec<WrittenPath>,
    /// A client that leaves the version out gets version 1, and must not be told of it.
    version_written: bool,
    /// Set on containers that once had no partition key.
    system_key: bool,
}

const KINDS: [(&str, KeyKind); 2] = [("Hash", KeyKind::Hash), ("MultiHash", KeyKind::MultiHash)];

impl PartitionKeySetting {
    pub fn definition(&self) -> &KeyDefinition {
        &self.definition
    }

    pub fn paths(&self) -> &[WrittenPath] {
        &self.paths
    }

    pub fn is_system_key(&self) -> bool {
        self.system_key
    }

    pub(super) fn parse(body: &Fields<'_>) -> Result<PartitionKeySetting, Failure> {
        let fields = body
            .object("partitionKey")?
            .ok_or(Failure::MissingProperty("partitionKey"))?;
        let kind = fields.choice("kind", &KINDS)?.unwrap_or(KeyKind::Hash);
        let paths = parse_paths(&fields, kind)?;
        let written = parse_version(&fields)?;
        let version = match (written, kind) {
            (Some(version), _) => version,
            (None, KeyKind::Hash) => KeyVersion::V1,
            (None, KeyKind::MultiHash) => KeyVersion::V2,
        };
        let plain: Vec<Path> = paths.iter().map(|path| path.path().clone()).collect();
        let definition = KeyDefinition::new(plain, kind, version)
            .map_err(|error| refused(format!("'partitionKey': {error}.")))?;
        Ok(PartitionKeySetting {
            definition,
            paths,
            version_written: written.is_some() || kind == KeyKind::MultiHash,
            system_key: fields.boolean("systemKey")?.unwrap_or(false),
        })
    }

    pub(super) fn to_value(&self) -> Value {
        let version = match (self.version_written, self.definition.version()) {
            (false, _) => Value::Undefined,
            (true, KeyVersion::V1) => Value::from(1),
            (true, KeyVersion::V2) => Value::from(2),
        };
        object([
            (
                "paths",
                Value::Array(self.paths.iter().map(WrittenPath::to_value).collect()),
            ),
            ("kind", word_of(&self.definition.kind(), &KINDS)),
            ("version", version),
            (
                "systemKey",
                if self.system_key {
                    Value::from(true)
                } else {
                    Value::Undefined
                },
            ),
        ])
    }
}

fn parse_paths(fields: &Fields<'_>, kind: KeyKind) -> Result<Vec<WrittenPath>, Failure> {
    let texts = fields.texts("paths")?.unwrap_or_default();
    let paths_max = match kind {
        KeyKind::Hash => 1,
        KeyKind::MultiHash => limits::PARTITION_KEY_PATHS_MAX,
    };
    // A client that writes four paths meant a hierarchical key, whatever kind it says.
    let named_max = if texts.len() > limits::PARTITION_KEY_PATHS_MAX {
        limits::PARTITION_KEY_PATHS_MAX
    } else {
        paths_max
    };
    if texts.len() > paths_max {
        return Err(refused(format!(
            "Too many partition key paths ({}) specified. A maximum of {named_max} is allowed.",
            texts.len()
        )));
    }
    if texts.is_empty() {
        return Err(refused(
            "'partitionKey.paths' must name the path of the partition key.",
        ));
    }
    let mut paths = Vec::new();
    for text in texts {
        let path = WrittenPath::parse(text)
            .map_err(|error| refused(format!("'partitionKey.paths': {error}.")))?;
        if paths.contains(&path) {
            return Err(refused(format!(
                "The partition key path '{text}' is given twice."
            )));
        }
        paths.push(path);
    }
    Ok(paths)
}

fn parse_version(fields: &Fields<'_>) -> Result<Option<KeyVersion>, Failure> {
    // The Java client writes the name of its constant.
    match fields.get("version").and_then(Value::as_str) {
        Some("V1") => return Ok(Some(KeyVersion::V1)),
        Some("V2") => return Ok(Some(KeyVersion::V2)),
        _ => {}
    }
    match fields.integer("version")? {
        None => Ok(None),
        Some(1) => Ok(Some(KeyVersion::V1)),
        Some(2) => Ok(Some(KeyVersion::V2)),
        Some(other) => Err(refused(format!(
            "'partitionKey.version' must be 1 or 2, not {other}."
        ))),
    }
}
