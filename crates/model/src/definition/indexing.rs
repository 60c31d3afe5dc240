//! The indexing policy: which values are found through an index.

use orrery_json::Value;

use super::composite::{self, CompositePath};
use super::fields::{DefinitionFields, invalid_input, list_unless_empty, object, word_of};
use super::full_text;
use super::index_path::{Ending, IndexPath};
use super::spatial::{self, SpatialIndex};
use super::vector::{self, VectorIndex};
use super::verbatim_path::VerbatimPath;
use crate::{Failure, limits};

/// An indexing policy. In the mode `Consistent` the root is in exactly one of `included` and
/// `excluded`; in the mode `None` every other setting is off and empty.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexingPolicy {
    pub mode: IndexingMode,
    pub automatic: bool,
    pub included: Vec<IndexPath>,
    pub excluded: Vec<IndexPath>,
    pub composite: Vec<Vec<CompositePath>>,
    pub spatial: Vec<SpatialIndex>,
    pub vector: Vec<VectorIndex>,
    pub full_text: Vec<VerbatimPath>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexingMode {
    Consistent,
    None,
}

const MODES: [(&str, IndexingMode); 2] = [
    ("consistent", IndexingMode::Consistent),
    ("none", IndexingMode::None),
];

impl Default for IndexingPolicy {
    fn default() -> IndexingPolicy {
        IndexingPolicy {
            mode: IndexingMode::Consistent,
            automatic: true,
            included: vec![IndexPath::root()],
            excluded: vec![IndexPath::etag()],
            composite: Vec::new(),
            spatial: Vec::new(),
            vector: Vec::new(),
            full_text: Vec::new(),
        }
    }
}

impl IndexingPolicy {
    pub(super) fn parse(body: &DefinitionFields<'_>) -> Result<IndexingPolicy, Failure> {
        let Some(policy) = body.object("indexingPolicy")? else {
            return Ok(IndexingPolicy::default());
        };
        // In the mode `none` the rest of the policy is ignored.
        match parse_mode(&policy)? {
            IndexingMode::Consistent => parse_consistent(&policy),
            IndexingMode::None => Ok(IndexingPolicy::none()),
        }
    }

    /// Parses a policy as [`IndexingPolicy::to_value`] writes it.
    pub fn of_value(policy: Value) -> Result<IndexingPolicy, Failure> {
        let body = object([("indexingPolicy", policy)]);
        IndexingPolicy::parse(&DefinitionFields::of_body(&body)?)
    }

    /// A policy that indexes nothing.
    pub fn none() -> IndexingPolicy {
        IndexingPolicy {
            mode: IndexingMode::None,
            automatic: false,
            included: Vec::new(),
            excluded: Vec::new(),
            ..IndexingPolicy::default()
        }
    }

    pub fn to_value(&self) -> Value {
        let paths = |paths: &[IndexPath]| {
            Value::Array(
                paths
                    .iter()
                    .map(|path| object([("path", path.to_value())]))
                    .collect(),
            )
        };
        let full_text = self
            .full_text
            .iter()
            .map(|path| object([("path", path.to_value())]));
        object([
            ("indexingMode", word_of(&self.mode, &MODES)),
            ("automatic", Value::from(self.automatic)),
            ("includedPaths", paths(&self.included)),
            ("excludedPaths", paths(&self.excluded)),
            ("compositeIndexes", composite::to_value(&self.composite)),
            ("spatialIndexes", spatial::to_value(&self.spatial)),
            ("vectorIndexes", vector::indexes_to_value(&self.vector)),
            ("fullTextIndexes", list_unless_empty(full_text)),
        ])
    }
}

fn parse_mode(policy: &DefinitionFields<'_>) -> Result<IndexingMode, Failure> {
    let text = policy.text("indexingMode")?.unwrap_or_default();
    // The message names the replacement, since old programs still send this mode.
    if text.eq_ignore_ascii_case("lazy") {
        return Err(invalid_input(
            "The indexing mode lazy is not available any more. Use consistent.",
        ));
    }
    Ok(policy
        .choice("indexingMode", &MODES)?
        .unwrap_or(IndexingMode::Consistent))
}

fn parse_consistent(policy: &DefinitionFields<'_>) -> Result<IndexingPolicy, Failure> {
    let (included, excluded) = parse_paths(policy)?;
    Ok(IndexingPolicy {
        mode: IndexingMode::Consistent,
        automatic: policy.boolean("automatic")?.unwrap_or(true),
        included,
        excluded,
        composite: composite::parse(policy)?,
        spatial: spatial::parse(policy)?,
        vector: vector::parse_indexes(policy)?,
        full_text: full_text::parse_indexes(policy)?,
    })
}

/// The included and excluded paths, with the defaults of Cosmos DB.
fn parse_paths(policy: &DefinitionFields<'_>) -> Result<(Vec<IndexPath>, Vec<IndexPath>), Failure> {
    let included = path_list(policy, "includedPaths")?;
    let mut excluded = path_list(policy, "excludedPaths")?.unwrap_or_default();
    // A policy without included paths, or without any paths, indexes everything.
    let included = match included {
        None if excluded.iter().any(IndexPath::is_root) => Vec::new(),
        None => vec![IndexPath::root()],
        Some(included) if included.is_empty() && excluded.is_empty() => vec![IndexPath::root()],
        Some(included) => included,
    };
    // The root decides about all paths that no other path covers, so it must be on one side.
    if included.iter().any(IndexPath::is_root) == excluded.iter().any(IndexPath::is_root) {
        return Err(invalid_input(
            "Please ensure that the path '/*' is in exactly one of includedPaths and \
             excludedPaths.",
        ));
    }
    if let Some(path) = included
        .iter()
        // Equal paths on both sides would match equally well, and nothing would decide.
        .find(|path| excluded.iter().any(|other| path.means(other)))
    {
        return Err(invalid_input(format!(
            "Please ensure that the path '{}' is not in both includedPaths and excludedPaths.",
            path.text()
        )));
    }
    let etag = IndexPath::etag();
    // Cosmos DB excludes the entity tag unless a path of the policy names it.
    if !included
        .iter()
        .chain(&excluded)
        .any(|path| path.steps() == etag.steps())
    {
        excluded.push(etag);
    }
    Ok((included, excluded))
}

/// The paths of a list. Old SDKs add kinds of indexes to the paths, which all mean the same today.
fn path_list(
    policy: &DefinitionFields<'_>,
    property: &str,
) -> Result<Option<Vec<IndexPath>>, Failure> {
    let Some(entries) = policy.objects(property)? else {
        return Ok(None);
    };
    if entries.len() > limits::INDEX_PATHS_MAX {
        return Err(invalid_input(format!(
            "'{}' has {} paths. A maximum of {} is allowed.",
            policy.name(property),
            entries.len(),
            limits::INDEX_PATHS_MAX
        )));
    }
    let path = |entry: &DefinitionFields<'_>| {
        IndexPath::parse(entry.required_text("path")?, Ending::Required)
    };
    entries.iter().map(path).collect::<Result<_, _>>().map(Some)
}
