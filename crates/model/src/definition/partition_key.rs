//! The partition key setting of a container, in the client's spelling.

use orrery_json::{PropertyPath, Value};
use orrery_keys::{PartitionKeyDefinition, PartitionKeyKind, PartitionKeyVersion};

use super::fields::{DefinitionFields, invalid_input, object, word_of};
use super::verbatim_path::VerbatimPath;
use crate::{Failure, limits};

/// A partition key definition, and the parts of its JSON that the definition does not contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionKeySetting {
    definition: PartitionKeyDefinition,
    /// The paths of the definition, in the client's spelling.
    paths: Vec<VerbatimPath>,
    /// Whether the client wrote a version. A client that leaves the version out gets version 1, and
    /// the answer must not contain the version.
    version_written: bool,
    /// Whether the container was created without a partition key.
    system_key: bool,
}

const KINDS: [(&str, PartitionKeyKind); 2] = [
    ("Hash", PartitionKeyKind::Hash),
    ("MultiHash", PartitionKeyKind::MultiHash),
];

impl PartitionKeySetting {
    /// The definition that routes items.
    pub fn definition(&self) -> &PartitionKeyDefinition {
        &self.definition
    }

    pub fn paths(&self) -> &[VerbatimPath] {
        &self.paths
    }

    /// The partition key of a container that was created without one.
    pub(super) fn system() -> Value {
        object([
            ("paths", Value::Array(vec![Value::from("/_partitionKey")])),
            ("kind", Value::from("Hash")),
            ("systemKey", Value::from(true)),
        ])
    }

    /// Returns whether the container has the key that the server chose.
    pub fn is_system_key(&self) -> bool {
        self.system_key
    }

    /// Checks that Cosmos DB accepts these paths for a new container. Containers that older
    /// versions of Orrery created may have other paths.
    pub(super) fn check_new(&self) -> Result<(), Failure> {
        let texts = self.paths.iter().map(VerbatimPath::text);
        let mut refusals = texts.filter_map(|text| Some(path_refused(text, refused_at(text)?)));
        refusals.next().map_or(Ok(()), Err)
    }

    pub(super) fn parse(body: &DefinitionFields<'_>) -> Result<PartitionKeySetting, Failure> {
        let fields = body
            .object("partitionKey")?
            .ok_or(Failure::MissingProperty("partitionKey"))?;
        let kind = fields
            .choice("kind", &KINDS)?
            .unwrap_or(PartitionKeyKind::Hash);
        let paths = parse_paths(&fields, kind)?;
        let written = parse_version(&fields)?;
        let version = match (written, kind) {
            (Some(version), _) => version,
            (None, PartitionKeyKind::Hash) => PartitionKeyVersion::V1,
            // Hierarchical keys exist in version 2 only.
            (None, PartitionKeyKind::MultiHash) => PartitionKeyVersion::V2,
        };
        // The definition compares paths, and not their spelling.
        let plain: Vec<PropertyPath> = paths.iter().map(|path| path.path().clone()).collect();
        let definition = PartitionKeyDefinition::new(plain, kind, version)
            .map_err(|error| invalid_input(format!("'partitionKey': {error}.")))?;
        Ok(PartitionKeySetting {
            definition,
            paths,
            // The answer for a hierarchical key always contains the version.
            version_written: written.is_some() || kind == PartitionKeyKind::MultiHash,
            system_key: fields.boolean("systemKey")?.unwrap_or(false),
        })
    }

    pub(super) fn to_value(&self) -> Value {
        let version = match (self.version_written, self.definition.version()) {
            (false, _) => Value::Undefined,
            (true, PartitionKeyVersion::V1) => Value::from(1),
            (true, PartitionKeyVersion::V2) => Value::from(2),
        };
        object([
            (
                "paths",
                Value::Array(self.paths.iter().map(VerbatimPath::to_value).collect()),
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

/// Parses the paths and checks their number.
fn parse_paths(
    fields: &DefinitionFields<'_>,
    kind: PartitionKeyKind,
) -> Result<Vec<VerbatimPath>, Failure> {
    let texts = fields.texts("paths")?.unwrap_or_default();
    let paths_max = match kind {
        PartitionKeyKind::Hash => 1,
        PartitionKeyKind::MultiHash => limits::PARTITION_KEY_PATHS_MAX,
    };
    // A client that writes four paths means a hierarchical key, whatever kind the body has; so the
    // message names the limit of that kind.
    let named_max = if texts.len() > limits::PARTITION_KEY_PATHS_MAX {
        limits::PARTITION_KEY_PATHS_MAX
    } else {
        paths_max
    };
    if texts.len() > paths_max {
        return Err(invalid_input(format!(
            "Too many partition key paths ({}) specified. A maximum of {named_max} is allowed.",
            texts.len()
        )));
    }
    if texts.is_empty() {
        return Err(invalid_input(
            "'partitionKey.paths' must name the path of the partition key.",
        ));
    }
    let mut paths = Vec::new();
    for text in texts {
        let path = VerbatimPath::parse(text)
            .map_err(|_| path_refused(text, refused_at(text).unwrap_or_default()))?;
        if paths.contains(&path) {
            return Err(invalid_input(format!(
                "The partition key path '{text}' is given twice."
            )));
        }
        paths.push(path);
    }
    Ok(paths)
}

/// The refusal of a path, with the message of Cosmos DB and the position of the mistake.
fn path_refused(text: &str, position: usize) -> Failure {
    invalid_input(format!(
        "The partition key component definition path '{text}' could not be accepted, failed near position \
         '{position}'. Partition key paths must contain only valid characters and not contain a trailing \
         slash or wildcard character."
    ))
}

/// The position of the first character that the path of a partition key may not contain.
fn refused_at(text: &str) -> Option<usize> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ');
    // Each round reads one segment: a slash, and then a quoted name or plain characters.
    let mut rest = text;
    loop {
        let position = |rest: &str| Some(text.len() - rest.len());
        let Some(segment) = rest.strip_prefix('/') else {
            return position(rest);
        };
        rest = match segment.chars().next() {
            Some(quote @ ('"' | '\'')) => match segment[1..].split_once(quote) {
                Some((name, after)) if !name.is_empty() => after,
                _ => return position(segment),
            },
            _ => segment.trim_start_matches(is_plain),
        };
        // The segment is empty, or begins with a refused character.
        if rest.len() == segment.len() {
            return position(rest);
        }
        if rest.is_empty() {
            return None;
        }
    }
}

/// The version that the client wrote, as a number or as a name.
fn parse_version(fields: &DefinitionFields<'_>) -> Result<Option<PartitionKeyVersion>, Failure> {
    // The Java SDK writes the name of its constant.
    match fields.get("version").and_then(Value::as_str) {
        Some("V1") => return Ok(Some(PartitionKeyVersion::V1)),
        Some("V2") => return Ok(Some(PartitionKeyVersion::V2)),
        _ => {}
    }
    match fields.integer("version")? {
        None => Ok(None),
        Some(1) => Ok(Some(PartitionKeyVersion::V1)),
        Some(2) => Ok(Some(PartitionKeyVersion::V2)),
        Some(other) => Err(invalid_input(format!(
            "'partitionKey.version' must be 1 or 2, not {other}."
        ))),
    }
}
